#include "io/yaml/number_hint.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "catena/base/text.hpp"
#include "catena/base/units.hpp"

namespace catena {

namespace {

bool is_plain(std::string_view text) {
  return text.find_first_not_of("+-.0123456789eE") == std::string_view::npos;
}

/// Sizes of a quantity that nothing has which moves in a scene; `likely`: the unit that a plain
/// number may have been meant in.
struct Sense {
  std::string_view unit;
  double least, most;  ///< of the magnitude, where it is not 0
  std::string_view what, too_large, too_small, example;
};

constexpr std::array<Sense, 9> kSense = {{
    {"m", 0.0, 1e7, "length", "um", "", "20 mm"},
    {"m/s", 0.0, 1e6, "speed", "mm/s", "", "36 km/h"},
    {"m/s^2", 0.0, 1e9, "acceleration", "mm/s^2", "", "9.81 m/s^2"},
    {"kg", 1e-18, 1e12, "mass", "g", "t", "500 g"},
    {"kg m^2", 0.0, 1e24, "moment of inertia", "g mm^2", "", "30 g cm^2"},
    {"kg/m^3", 1e-4, 1e6, "density", "g/m^3", "g/cm^3", "7.8 g/cm^3"},
    {"N", 0.0, 1e15, "force", "mN", "", "5 kN"},
    {"N m", 0.0, 1e18, "torque", "N mm", "", "3 N m"},
    {"rad/s", 0.0, 1e7, "angular velocity", "deg/s", "", "30 rpm"},
}};

/// Whether a plain number makes sense with this unit.
bool makes_sense(const Sense& sense, std::string_view text, std::string_view likely) {
  if (likely.empty()) return false;
  const double size =
      std::abs(parse_quantity(std::string(text) + " " + std::string(likely), sense.unit));
  return size >= sense.least && size <= sense.most;
}

std::string sense_hint(const Sense& sense, std::string_view text, double value, bool plain) {
  const double size = std::abs(value);
  const bool large = size > sense.most;
  if (size == 0.0 || (!large && size >= sense.least)) return {};
  std::string out = short_text(value, 3) + " " + std::string(sense.unit) + " is a " +
                    std::string(sense.what) + " beyond what double precision serves well";
  if (sense.unit == "m")
    out += ": places there are " + short_text(size * std::numeric_limits<double>::epsilon(), 3) +
           " m apart";
  const std::string_view likely = large ? sense.too_large : sense.too_small;
  if (plain && makes_sense(sense, text, likely))
    return out + "; write " + std::string(text) + " " + std::string(likely) + " if that is meant";
  return out + "; check the number, and give its unit, for example " + std::string(sense.example);
}

}  // namespace

std::string number_hint(std::string_view text, double value, std::string_view unit) {
  if (!std::isfinite(value)) return {};
  const bool plain = is_plain(text);
  constexpr double kTurn = 2.0 * std::numbers::pi, kMaxTurns = 2.0;
  if (unit == "rad" && plain && std::abs(value) > kMaxTurns * kTurn)
    return short_text(value, 3) + " rad is " + short_text(std::abs(value) / kTurn, 3) +
           " turns; write " + std::string(text) + " deg if degrees are meant";
  for (const Sense& sense : kSense)
    if (sense.unit == unit) return sense_hint(sense, text, value, plain);
  return {};
}

}  // namespace catena
