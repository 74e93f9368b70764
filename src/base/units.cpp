#include "catena/base/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "catena/base/error.hpp"

namespace catena {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) {
  // bytes above 127: letters of UTF-8 such as the micro sign
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) > 127;
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// A product of powers of m, kg, s and rad, times factor * 10^exponent. The power
/// of ten is kept apart so that "2.3 ms" is rounded once, as 2.3 / 1000.
struct Unit {
  std::array<int, 4> powers{};
  int exponent = 0;
  double factor = 1.0;

  bool same_dimension(const Unit& other) const { return powers == other.powers; }
};

Unit power(const Unit& unit, int n) {
  Unit result;
  for (std::size_t i = 0; i < result.powers.size(); ++i) result.powers[i] = unit.powers[i] * n;
  result.exponent = unit.exponent * n;
  result.factor = std::pow(unit.factor, n);
  return result;
}

Unit product(const Unit& a, const Unit& b) {
  Unit result;
  for (std::size_t i = 0; i < result.powers.size(); ++i)
    result.powers[i] = a.powers[i] + b.powers[i];
  result.exponent = a.exponent + b.exponent;
  result.factor = a.factor * b.factor;
  return result;
}

struct NamedUnit {
  std::string_view name;
  Unit unit;
  bool takes_prefix = false;
};

constexpr double kPi = std::numbers::pi;

constexpr std::array<NamedUnit, 17> kUnits = {{
    {"m", {{1, 0, 0, 0}}, true},
    {"g", {{0, 1, 0, 0}, -3}, true},
    {"s", {{0, 0, 1, 0}}, true},
    {"rad", {{0, 0, 0, 1}}, true},
    {"N", {{1, 1, -2, 0}}, true},
    {"J", {{2, 1, -2, 0}}, true},
    {"W", {{2, 1, -3, 0}}, true},
    {"Pa", {{-1, 1, -2, 0}}, true},
    {"Hz", {{0, 0, -1, 0}}, true},
    {"t", {{0, 1, 0, 0}, 3}},
    {"min", {{0, 0, 1, 0}, 0, 60.0}},
    {"h", {{0, 0, 1, 0}, 0, 3600.0}},
    {"d", {{0, 0, 1, 0}, 0, 86400.0}},
    {"deg", {{0, 0, 0, 1}, 0, kPi / 180.0}},
    {"rev", {{0, 0, 0, 1}, 0, 2.0 * kPi}},
    {"rpm", {{0, 0, -1, 1}, 0, kPi / 30.0}},
    {"1", {}},
}};

struct Prefix {
  std::string_view name;
  int exponent;
};

constexpr std::array<Prefix, 8> kPrefixes = {
    {{"k", 3}, {"M", 6}, {"G", 9}, {"c", -2}, {"m", -3}, {"u", -6}, {"\u00b5", -6}, {"n", -9}}};

[[noreturn]] void unknown_unit(std::string_view name) {
  throw Error("unknown unit " + quoted(name), {},
              "known are m, kg, g, t, s, min, h, d, rad, deg, rev, rpm, N, J, W, Pa, Hz, with "
              "prefixes such as k and m, joined by spaces, / and ^");
}

Unit named_unit(std::string_view name) {
  // whole names first: "min" is a minute and "Pa" no prefixed a
  for (const NamedUnit& known : kUnits)
    if (known.name == name) return known.unit;
  for (const Prefix& prefix : kPrefixes) {
    if (name.substr(0, prefix.name.size()) != prefix.name) continue;
    for (const NamedUnit& known : kUnits) {
      if (!known.takes_prefix || known.name != name.substr(prefix.name.size())) continue;
      Unit unit = known.unit;
      unit.exponent += prefix.exponent;
      return unit;
    }
  }
  unknown_unit(name);
}

/// Reads products such as "kg m^2/s" from left to right; parentheses group.
class UnitReader {
 public:
  explicit UnitReader(std::string_view text) : all_(text), rest_(text) {}

  Unit read() {
    const Unit unit = read_product(0);
    if (!rest_.empty()) unknown_unit(all_);
    return unit;
  }

 private:
  void skip_spaces() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  bool take(char c) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  Unit read_product(int depth) {
    if (depth > 8) unknown_unit(all_);
    Unit unit = read_factor(depth);
    for (;;) {
      skip_spaces();
      if (rest_.empty() || rest_.front() == ')') return unit;
      const bool divide = take('/');
      if (!divide) take('*');
      unit = product(unit, power(read_factor(depth), divide ? -1 : 1));
    }
  }

  Unit read_factor(int depth) {
    Unit unit;
    if (take('(')) {
      unit = read_product(depth + 1);
      if (!take(')')) unknown_unit(all_);
    } else {
      std::size_t length = 0;
      while (length < rest_.size() && is_letter(rest_[length])) ++length;
      if (length == 0 && !rest_.empty() && rest_.front() == '1') length = 1;
      if (length == 0) unknown_unit(all_);
      unit = named_unit(rest_.substr(0, length));
      rest_.remove_prefix(length);
    }
    return take('^') ? power(unit, read_exponent()) : unit;
  }

  int read_exponent() {
    int value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < -9 || value > 9) unknown_unit(all_);
    rest_.remove_prefix(end - rest_.data());
    return value;
  }

  std::string_view all_, rest_;
};

Unit read_unit(std::string_view text) { return text.empty() ? Unit{} : UnitReader(text).read(); }

double scaled(double value, const Unit& unit) {
  const double ten = std::pow(10.0, std::abs(unit.exponent));
  const double in_si = value * unit.factor;
  return unit.exponent < 0 ? in_si / ten : in_si * ten;
}

[[noreturn]] void not_a_quantity(std::string_view text, std::string_view unit) {
  const std::string example = unit.empty() ? "0.5" : "0.5 " + std::string(unit);
  throw Error(quoted(text) + " is not a number", {}, "write for example " + example);
}

/// Takes an unsigned decimal number from the front of `rest`.
double take_number(std::string_view text, std::string_view unit, std::string_view& rest) {
  std::size_t digits = 0;
  while (digits < rest.size() && is_digit(rest[digits])) ++digits;
  if (digits > 1 && rest[0] == '0')
    throw Error(quoted(text) + " is ambiguous: it starts with a zero (octal or decimal?)", {},
                "leave out the leading zeros");
  const bool fraction_only = digits == 0 && rest.size() > 1 && rest[0] == '.' && is_digit(rest[1]);
  if (digits == 0 && !fraction_only) not_a_quantity(text, unit);
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error == std::errc::result_out_of_range)
    throw Error(quoted(text) + " is outside the range of numbers", {}, "use about 1e-300 to 1e300");
  if (error != std::errc()) not_a_quantity(text, unit);
  rest.remove_prefix(end - rest.data());
  return value;
}

/// HH:MM:SS or MM:SS with an optional fraction, in s.
double parse_clock(std::string_view text) {
  const auto fail = [&] {
    throw Error(quoted(text) + " is not a duration", {},
                "write HH:MM:SS, MM:SS or for example 90 s");
  };
  double total = 0;
  int fields = 0;
  std::string_view rest = text;
  for (bool more = true; more; ++fields) {
    const std::size_t colon = rest.find(':');
    more = colon != std::string_view::npos;
    const std::string_view field = rest.substr(0, colon);
    std::size_t digits = 0;
    while (digits < field.size() && is_digit(field[digits])) ++digits;
    const bool whole = digits == field.size();
    const bool fraction = !more && digits + 1 < field.size() && field[digits] == '.';
    if (digits == 0 || (!whole && !fraction) || (fields > 0 && digits != 2)) fail();
    double value = 0;
    const auto [end, error] =
        std::from_chars(field.data(), field.data() + field.size(), value, std::chars_format::fixed);
    if (error != std::errc() || end != field.data() + field.size()) fail();
    if (fields > 0 && value >= 60.0) fail();
    total = 60.0 * total + value;
    if (more) rest.remove_prefix(colon + 1);
  }
  if (fields > 3) fail();
  return total;
}

bool is_infinity(std::string_view text) {
  return text == ".inf" || text == ".Inf" || text == ".INF";
}

}  // namespace

double parse_quantity(std::string_view text, std::string_view unit) {
  const std::string_view whole = trimmed(text);
  if (whole.find(':') != std::string_view::npos) {
    if (unit != "s") not_a_quantity(whole, unit);
    return parse_clock(whole);
  }
  std::string_view rest = whole;
  double sign = 1.0;
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) {
    if (rest.front() == '-') sign = -1.0;
    rest.remove_prefix(1);
  }
  if (is_infinity(rest)) return sign * std::numeric_limits<double>::infinity();

  const double value = sign * take_number(whole, unit, rest);
  rest = trimmed(rest);
  if (rest.empty()) return value;

  const Unit found = read_unit(rest);
  const Unit needed = read_unit(unit);
  if (!found.same_dimension(needed)) {
    const std::string wanted = unit.empty() ? "a number without unit" : std::string(unit);
    throw Error("found " + std::string(rest) + ", needs " + wanted, {},
                unit.empty() ? "leave out the unit" : "give it in " + wanted);
  }
  // units are named in SI by the callers, but the division keeps "kN" as a target right too
  Unit conversion = product(found, power(needed, -1));
  const double converted = scaled(value, conversion);
  if (!std::isfinite(converted))
    throw Error(quoted(whole) + " is outside the range of numbers", {}, "use smaller values");
  return converted;
}

std::string_view format_number(double value, char* buffer, std::size_t size) {
  const auto constant = [&](std::string_view text) {
    CATENA_CHECK(text.size() <= size, "buffer too small for a number");
    text.copy(buffer, text.size());
    return std::string_view(buffer, text.size());
  };
  if (std::isnan(value)) return constant(".nan");
  if (std::isinf(value)) return constant(value > 0 ? ".inf" : "-.inf");
  const auto [end, error] = std::to_chars(buffer, buffer + size, value);
  CATENA_CHECK(error == std::errc(), "buffer too small for a number");
  return {buffer, static_cast<std::size_t>(end - buffer)};
}

}  // namespace catena
