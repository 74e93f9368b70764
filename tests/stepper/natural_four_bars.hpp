// Rows of parallelograms (A02), which pass positions in which all their bars lie in one line.
#pragma once

#include <string>

#include "stepper/natural_run.hpp"

namespace catena::test {

/// n parallelograms in a row, as A02 has them: cranks and couplers of 1 m and 1 kg, started upright
/// with 1 m/s at the top. All lie in one line 0.72 s later.
std::string four_bars(int n);

/// The row's one freedom: the angle from upright and its rate.
VectorX four_bars_at(int n, const VectorX& y, double t, int steps);

}  // namespace catena::test
