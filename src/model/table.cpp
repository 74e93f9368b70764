#include "catena/model/table.hpp"

#include <algorithm>
#include <cmath>

namespace catena {

namespace {

double length(const TableRows& rows, std::size_t k) { return rows.time[k + 1] - rows.time[k]; }

double value_at(const TableRows& rows, std::size_t k) { return rows.value[rows.stride * k]; }

double secant(const TableRows& rows, std::size_t k) {
  return (value_at(rows, k + 1) - value_at(rows, k)) / length(rows, k);
}

int sign(double x) { return (x > 0.0 ? 1 : 0) - (x < 0.0 ? 1 : 0); }

/// Slope at row i of the parabola through it and its neighbours (in the first and last row through
/// the next two), so that parabolas in time are met exactly; three rows at least.
double parabola_slope(const TableRows& rows, std::size_t i) {
  const std::size_t left = std::clamp<std::size_t>(i, 1, rows.time.size() - 2) - 1;
  const double s0 = secant(rows, left), s1 = secant(rows, left + 1);
  const double curvature = (s1 - s0) / (length(rows, left) + length(rows, left + 1));
  // derivative of the Newton form s0 + curvature ((t - t_left) + (t - t_left+1))
  const double t = rows.time[i];
  return s0 + curvature * ((t - rows.time[left]) + (t - rows.time[left + 1]));
}

/// At the first or last row: `near`, `far` are the secants next to it and next but one.
double monotone_end_slope(double slope, double near, double far) {
  if (sign(slope) != sign(near)) return 0.0;
  if (sign(near) != sign(far) && std::abs(slope) > 3.0 * std::abs(near)) return 3.0 * near;
  return slope;
}

double monotone_slope(const TableRows& rows, std::size_t i) {
  const std::size_t last = rows.time.size() - 1;
  if (i == 0) return monotone_end_slope(parabola_slope(rows, 0), secant(rows, 0), secant(rows, 1));
  if (i == last)
    return monotone_end_slope(parabola_slope(rows, i), secant(rows, i - 1), secant(rows, i - 2));
  const double before = secant(rows, i - 1), after = secant(rows, i);
  if (sign(before) * sign(after) <= 0) return 0.0;
  const double h0 = length(rows, i - 1), h1 = length(rows, i);
  const double w0 = 2.0 * h1 + h0, w1 = h1 + 2.0 * h0;
  return (w0 + w1) / (w0 / before + w1 / after);
}

double slope_at(const TableRows& rows, std::size_t i) {
  if (rows.time.size() == 2) return secant(rows, 0);
  return rows.interpolation == Interpolation::monotone ? monotone_slope(rows, i)
                                                       : parabola_slope(rows, i);
}

/// The cubic between rows i and i + 1 with the values and slopes of both.
TablePoint on_cubic(const TableRows& rows, std::size_t i, double t) {
  const double h = length(rows, i);
  const double s = (t - rows.time[i]) / h;
  const double from = value_at(rows, i), to = value_at(rows, i + 1);
  const double m0 = h * slope_at(rows, i), m1 = h * slope_at(rows, i + 1);
  const double rise = to - from;
  // x_i + s (m0 + s (3 rise - 2 m0 - m1 + s (m0 + m1 - 2 rise)))
  const double c2 = 3.0 * rise - 2.0 * m0 - m1, c3 = m0 + m1 - 2.0 * rise;
  TablePoint point{from + s * (m0 + s * (c2 + s * c3)), (m0 + s * (2.0 * c2 + 3.0 * s * c3)) / h};
  // round-off, too, stays between the rows
  if (rows.interpolation == Interpolation::monotone)
    point.value = std::clamp(point.value, std::min(from, to), std::max(from, to));
  return point;
}

}  // namespace

TablePoint evaluate(const TableRows& rows, double t, double inside) {
  const auto after = std::upper_bound(rows.time.begin(), rows.time.end(), inside);
  if (after == rows.time.begin()) return {value_at(rows, 0), 0.0};
  if (after == rows.time.end()) return {value_at(rows, rows.time.size() - 1), 0.0};
  const auto i = (after - rows.time.begin()) - 1;
  if (rows.interpolation != Interpolation::linear) return on_cubic(rows, i, t);
  const double part = (t - rows.time[i]) / length(rows, i);
  return {value_at(rows, i) + part * (value_at(rows, i + 1) - value_at(rows, i)), secant(rows, i)};
}

double ValueTable::mean(double t, double h) const {
  double sum = 0.0, from = t;
  auto next = std::upper_bound(time.begin(), time.end(), t);
  while (from < t + h) {
    const double to = next == time.end() ? t + h : std::min(*next, t + h);
    // Simpson's rule is exact for cubics
    sum += interpolation == Interpolation::linear
               ? 0.5 * (at(from) + at(to)) * (to - from)
               : (at(from) + 4.0 * at(0.5 * (from + to)) + at(to)) / 6.0 * (to - from);
    from = to;
    if (next != time.end()) ++next;
  }
  return sum / h;
}

}  // namespace catena
