// When intervals of simulated time end that need not be multiples of the time step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace catena {

/// Whether a multiple of `interval` (s) lies in the step of length `h` that led to `step`, its end
/// included.
inline bool interval_ends(std::int64_t step, double h, double interval) {
  const auto count = [&](std::int64_t steps) {
    const double intervals = static_cast<double>(steps) * h / interval;
    return std::floor(intervals + 1e-9 * std::max(1.0, intervals));
  };
  return count(step) > count(step - 1);
}

}  // namespace catena
