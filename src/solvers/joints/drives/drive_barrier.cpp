#include "solvers/joints/drives/drive_barrier.hpp"

#include <algorithm>
#include <cmath>

namespace catena {

void DriveBarrier::add(double lambda, double lower, double upper, double size, double slip) {
  const bool has_lower = !std::isinf(lower), has_upper = !std::isinf(upper);
  // inside by its own size, or by a tenth of a narrow box
  const double room = has_lower && has_upper ? std::min(size, 0.1 * (upper - lower)) : size;
  Row row{.lambda = lambda, .next = 0.0, .slip_of_unit = slip / size, .below = {}, .above = {}};
  if (has_lower) row.lambda = std::max(row.lambda, lower + room);
  if (has_upper) row.lambda = std::min(row.lambda, upper - room);
  const double gap = size * slip;
  const auto bound = [&](bool is_there, double distance) {
    return is_there ? Bound{distance, gap / distance, 0.0, true} : Bound{1.0, 0.0, 0.0, false};
  };
  row.below = bound(has_lower, row.lambda - lower);
  row.above = bound(has_upper, upper - row.lambda);
  row_.push_back(row);
}

/// visit(bound, move of its distance) for all bounds that are there.
template <class Visit>
void DriveBarrier::for_each_bound(Visit&& visit) const {
  for (const Row& row : row_) {
    if (row.below.is_there) visit(row.below, row.next - row.lambda);
    if (row.above.is_there) visit(row.above, row.lambda - row.next);
  }
}

double DriveBarrier::stiffness(std::size_t g) const {
  const auto& [lambda, next, unit, below, above] = row_[g];
  return below.slip / below.distance + above.slip / above.distance;
}

double DriveBarrier::aim(std::size_t g) const {
  const auto& [lambda, next, unit, below, above] = row_[g];
  return below.target / below.distance - above.target / above.distance + stiffness(g) * lambda;
}

double DriveBarrier::gap() const { return gap_after(0.0); }

double DriveBarrier::gap_after(double part) const {
  double gap = 0.0;
  for_each_bound([&](const Bound& b, double move) {
    gap = std::max(gap, (b.distance + part * move) * (b.slip + part * b.change(move)));
  });
  return gap;
}

void DriveBarrier::aim_at_bounds() {
  for (Row& row : row_) row.below.target = row.above.target = 0.0;
}

void DriveBarrier::aim_inside(double gap) {
  for (Row& row : row_) {
    const double move = row.next - row.lambda;
    if (row.below.is_there) row.below.target = gap - move * row.below.change(move);
    if (row.above.is_there) row.above.target = gap + move * row.above.change(-move);
  }
}

double DriveBarrier::longest() const {
  double part = 1.0;
  const auto keep_positive = [&](double value, double change) {
    if (value + part * change < 0.0) part = value / -change;
  };
  for_each_bound([&](const Bound& b, double move) {
    keep_positive(b.distance, move);
    keep_positive(b.slip, b.change(move));
  });
  return part;
}

void DriveBarrier::take(double part) {
  for (Row& row : row_) {
    const double move = row.next - row.lambda;
    const auto advance = [&](Bound& b, double by) {
      if (!b.is_there) return;
      const double change = b.change(by);
      b.distance += part * by;
      b.slip += part * change;
    };
    advance(row.below, move);
    advance(row.above, -move);
    row.lambda += part * move;
  }
}

DriveBarrier::Side DriveBarrier::side(std::size_t g) const {
  const auto& [lambda, next, unit, below, above] = row_[g];
  if (below.is_there && below.distance * unit < below.slip) return Side::lower;
  if (above.is_there && above.distance * unit < above.slip) return Side::upper;
  return Side::between;
}

}  // namespace catena
