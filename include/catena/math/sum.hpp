// Sums that may be exact, so that the order of their terms does not matter.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace catena {

/// A sum of doubles: plain, or exact in a row of 32-bit digits that spans all finite doubles
/// (R. M. Neal, Fast exact summation using small and large superaccumulators, 2015). Exact ones are
/// the same bits whatever the order of the terms and however they were dealt to ranks.
class Sum {
 public:
  explicit Sum(bool exact = false) : exact_(exact) {
    if (exact_) digits_.fill(0);
  }

  Sum& operator+=(double x) {
    if (exact_)
      add_exactly(x);
    else
      plain_ += x;
    return *this;
  }
  Sum& operator-=(double x) { return *this += -x; }

  /// Numbers by which sums travel: write() fills them; those of several ranks, added up place by
  /// place in any order, are what value_of() takes (for up to 2^20 ranks).
  static constexpr std::size_t n_words(bool exact) { return exact ? kDigits + 1 : 1; }
  void write(double* words) const;
  static double value_of(bool exact, const double* words);

  /// The sum, an exact one rounded once (to within an ulp).
  double value() const;

 private:
  static constexpr std::size_t kDigits = 68;
  static constexpr std::int64_t kBase = std::int64_t{1} << 32;
  /// Terms after which digits are carried on, lest they overflow.
  static constexpr std::int32_t kMaxTerms = 1 << 29;

  void add_exactly(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const auto exponent = static_cast<std::uint32_t>(bits >> 52) & 0x7ffU;
    if (exponent == 0x7ffU) {  // infinities and NaN keep to themselves
      plain_ += x;
      return;
    }
    std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    if (exponent != 0) fraction |= std::uint64_t{1} << 52;
    // |x| = fraction 2^(place - 1074)
    const std::uint32_t place = exponent == 0 ? 0 : exponent - 1;
    const std::uint32_t shift = place % 32;
    const std::uint64_t low = (fraction & 0xffffffffU) << shift;
    const std::uint64_t high = (fraction >> 32) << shift;
    std::int64_t* digit = digits_.data() + place / 32;
    const std::int64_t first = low & 0xffffffffU;
    const std::int64_t second = (low >> 32) + (high & 0xffffffffU);
    const std::int64_t third = high >> 32;
    if (bits >> 63 != 0) {
      digit[0] -= first;
      digit[1] -= second;
      digit[2] -= third;
    } else {
      digit[0] += first;
      digit[1] += second;
      digit[2] += third;
    }
    if (++terms_ == kMaxTerms) carry();
  }
  void carry();

  bool exact_;
  std::int32_t terms_ = 0;
  double plain_ = 0.0;                        ///< the sum; of exact ones what is not finite
  std::array<std::int64_t, kDigits> digits_;  ///< of exact sums: times 2^(32 i - 1074)
};

}  // namespace catena
