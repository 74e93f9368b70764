#include "catena/math/sum.hpp"

#include <cmath>

#include "catena/base/index.hpp"

namespace catena {
namespace {

/// Brings every digit but the last into [0, base): the one way to write a number.
void carry_on(std::span<std::int64_t> digits, std::int64_t base) {
  for (std::size_t i = 0; i + 1 < digits.size(); ++i) {
    std::int64_t carried = digits[i] / base;
    if (digits[i] % base < 0) --carried;
    digits[i] -= carried * base;
    digits[i + 1] += carried;
  }
}

}  // namespace

void Sum::carry() {
  carry_on(digits_, kBase);
  terms_ = 0;
}

void Sum::write(double* words) const {
  words[0] = plain_;
  if (!exact_) return;
  std::array<std::int64_t, kDigits> digits = digits_;
  carry_on(digits, kBase);
  for (std::size_t i = 0; i < kDigits; ++i) words[i + 1] = static_cast<double>(digits[i]);
}

double Sum::value_of(bool exact, const double* words) {
  if (!exact || words[0] != 0.0) return words[0];
  std::array<std::int64_t, kDigits> digits;
  for (std::size_t i = 0; i < kDigits; ++i) digits[i] = static_cast<std::int64_t>(words[i + 1]);
  carry_on(digits, kBase);
  // of a negative sum the digits of its magnitude: else the first ones would cancel
  const bool negative = digits.back() < 0;
  if (negative) {
    for (std::int64_t& digit : digits) digit = -digit;
    carry_on(digits, kBase);
  }
  std::size_t top = kDigits;
  while (top > 0 && digits[top - 1] == 0) --top;
  // three digits hold 65 bits at least; what lies below them may only break ties
  double sum = 0.0;
  for (std::size_t i = top; i > 0 && i + 3 > top; --i)
    sum += std::ldexp(static_cast<double>(digits[i - 1]), 32 * narrow<int>(i - 1) - 1074);
  return negative ? -sum : sum;
}

double Sum::value() const {
  std::array<double, kDigits + 1> words;
  write(words.data());
  return value_of(exact_, words.data());
}

}  // namespace catena
