// Tables over time: numbers at given times, and what is between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace catena {

/// What a table is between two rows. Before its first and after its last row it is constant.
enum class Interpolation : std::uint8_t {
  monotone,  ///< cubics with continuous slope that stay between both rows (Fritsch and Carlson)
  linear,    ///< straight lines: the slope jumps at the rows
  cubic,     ///< cubics with the slopes of parabolas through three rows each: they may overshoot
};

/// Names of the ways between points, in the order of Interpolation.
inline constexpr std::string_view kInterpolationNames[] = {"monotone", "linear", "cubic"};

/// Rows of one number over time, n >= 1: value[stride * k] at time[k].
struct TableRows {
  std::span<const double> time;  ///< s, ascending
  const double* value = nullptr;
  std::size_t stride = 1;
  Interpolation interpolation = Interpolation::linear;
};

/// A table's number at a time.
struct TablePoint {
  double value = 0.0;
  double slope = 0.0;  ///< the derivative of `value`, per s
};

/// The table at time t, on the piece between two rows (or before or after all) in which `inside`
/// lies; a piece has its first row and not its last one. With inside = t slopes are those to the
/// right, with a time in the middle of a step those within the step.
///
/// Slopes at the rows: `cubic` takes those of the parabola through a row and its neighbours (at
/// the ends through the next two), `monotone` 0 at extrema and flat pieces and else the harmonic
/// mean of both secants, weighted by the lengths as Fritsch and Butland do, which lies in the
/// region of Fritsch and Carlson, SIAM J. Numer. Anal. 17 (1980); at the ends those of `cubic`,
/// cut back to that region. Two rows are joined by a straight line.
TablePoint evaluate(const TableRows& rows, double t, double inside);

/// A number over time.
struct ValueTable {
  std::vector<double> time;  ///< s, ascending
  std::vector<double> value;
  Interpolation interpolation = Interpolation::linear;

  TableRows rows() const { return {time, value.data(), 1, interpolation}; }
  double at(double t) const { return evaluate(rows(), t, t).value; }
  /// To the right at a given time; 0 before and after.
  double slope(double t) const { return evaluate(rows(), t, t).slope; }
  /// On the piece in which `inside` lies.
  double slope(double t, double inside) const { return evaluate(rows(), t, inside).slope; }
  /// Mean over [t, t + h], exact for each interpolation.
  double mean(double t, double h) const;
};

}  // namespace catena
