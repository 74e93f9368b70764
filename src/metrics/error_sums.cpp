#include "metrics/error_sums.hpp"

#include <cmath>
#include <limits>

namespace catena::row_errors {

void ErrorSums::add_relative(const std::array<double, kSums>& total, double poison, Errors& e) {
  const double impulse = std::sqrt(total[kImpulse]);
  const double free_slip = std::sqrt(total[kFreeSlip]);
  const double unscaled = std::sqrt(total[kUnscaled]) + poison;
  const double size = std::max({impulse, free_slip, std::sqrt(total[kSlip])});
  e.siconos = size > std::numeric_limits<double>::epsilon() ? unscaled / size : unscaled;
  e.fclib_merit = unscaled / (1.0 + std::sqrt(free_slip));
  const double scaled = std::sqrt(total[kScaled]) + poison;
  const double scaled_size =
      std::max({impulse, std::sqrt(total[kScaledFreeSlip]), std::sqrt(total[kScaledSlip])});
  e.scaled = scaled_size > 0.0 ? scaled / scaled_size : scaled;

  e.objective = 0.5 * total[kQuadratic] + total[kFreeWork] + poison;
  const double works = std::max(std::abs(total[kQuadratic]), std::abs(total[kFreeWork]));
  // zero impulses have no gap to speak of: they are either the solution or not
  e.gap = (works > 0.0 ? std::abs(total[kWork]) / works : (e.energy > 0.0 ? 1.0 : 0.0)) + poison;
  e.fischer_burmeister = std::sqrt(total[kFischer]) + poison;
}

Errors ErrorSums::errors(const std::array<double, kSums>& total,
                         const std::array<double, kMaxima>& largest, ErrorSet set) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  Errors e;
  // A comparison drops NaN, but the norms do not: one bad number spoils every error.
  const double poison = 0.0 * (total[kImpulse] + total[kSlip]);
  e.energy_joint = total[kJoint] + poison;
  e.energy_normal = total[kNormal] + poison;
  e.energy_friction = total[kFriction] + poison;
  e.energy_limit = total[kLimit] + poison;
  e.energy = e.energy_joint + e.energy_normal + e.energy_friction + e.energy_limit;
  const double left_out = set == ErrorSet::energy ? kNaN : poison;
  e.natural_map = largest[kNaturalLinear] + left_out;
  e.natural_map_angular = largest[kNaturalAngular] + left_out;
  e.natural_map_rms = std::sqrt(total[kNatural] / std::max(total[kCount], 1.0)) + left_out;
  add_relative(total, set == ErrorSet::all ? poison : kNaN, e);
  e.cone_violation = largest[kDistance] + (set == ErrorSet::all ? poison : kNaN);
  e.largest_impulse = largest[kLargest] + (set == ErrorSet::all ? poison : kNaN);
  return e;
}

}  // namespace catena::row_errors
