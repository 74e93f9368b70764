// Sizes of the bodies that one generator makes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "catena/base/settings.hpp"

namespace catena {

/// What a distribution of sizes counts.
enum class SizeMeasure : std::uint8_t { number, mass };

/// `sizes:`, the distribution of the factor on all lengths of a body.
struct SizeSettings {
  enum class Kind : std::uint8_t { none, uniform, normal, log_normal, power, sieve, table };
  Kind kind = Kind::none;
  std::array<double, 2> uniform = {kNone, kNone};  ///< from, to
  double mean = 1.0, deviation = kNone;            ///< normal; log_normal: deviation of ln(factor)
  double median = 1.0;                             ///< log_normal
  double exponent = kNone;                         ///< power: density ~ factor^exponent
  double min = kNone, max = kNone;                 ///< where normal, log_normal and power end
  SizeMeasure by = SizeMeasure::number;            ///< of log_normal, power and sieve
  /// Sieve: openings, m, ascending, and the part that passes each, from 0 to 1.
  std::vector<double> sieve;
  /// One size of a table of sizes.
  struct Entry {
    double factor = kNone;
    double weight = 1.0;  ///< share of the number of bodies, in any measure
  };
  std::vector<Entry> table;
};

/// The factors of copies of one shape.
class Sizes {
 public:
  /// `diameter`: of the sphere of the shape's volume at factor 1, m; sieves only need it.
  explicit Sizes(const SizeSettings& settings = {}, double diameter = 1.0);

  /// The factor below which the part u (0 .. 1) of all bodies, by number, lies.
  double factor(double u) const;
  double largest() const;

 private:
  double sieved(double u) const;

  SizeSettings settings_;
  double diameter_;
  std::vector<double> upto_;  ///< sieve, table: part by number up to the end of each class
};

}  // namespace catena
