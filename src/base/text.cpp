#include "catena/base/text.hpp"

#include <array>
#include <cstdio>

namespace catena {
namespace {

/// Significant digits after which a text reads back as the same double.
constexpr int kExactDigits = 17;

/// A number's text; longest is the largest double without exponent.
template <class Number>
std::string formatted(const char* format, int digits, Number value) {
  std::array<char, 320> text{};
  std::snprintf(text.data(), text.size(), format, digits, value);
  return text.data();
}

}  // namespace

std::string short_text(double value, int digits) { return formatted("%.*g", digits, value); }
std::string whole_text(double value) { return formatted("%.*f", 0, value); }
std::string exact_text(double value) { return short_text(value, kExactDigits); }

void append_exact_text(std::string& text, double value) {
  std::array<char, 32> number{};
  std::snprintf(number.data(), number.size(), "%.*g", kExactDigits, value);
  text += number.data();
}

std::string step_text(std::int64_t step) {
  return formatted("%0*lld", 8, static_cast<long long>(step));
}

}  // namespace catena
