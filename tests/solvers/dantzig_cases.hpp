// The pivoting solver in tests.
#pragma once

#include "support/solve_with.hpp"

namespace catena::test {

inline SolverSettings to_tolerance(double natural_map, int passes = 200) {
  SolverSettings settings{.method = SolverMethod::dantzig};
  settings.stop = stop_at(Metric::natural_map, natural_map, passes);
  return settings;
}

}  // namespace catena::test
