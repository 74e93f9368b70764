// The pivoting solver in tests.
#pragma once

#include <utility>

#include "catena/solvers/dantzig.hpp"
#include "support/solve_with.hpp"

namespace catena::test {

inline DantzigSettings to_tolerance(double natural_map, int passes = 200) {
  DantzigSettings settings;
  settings.stop = stop_at(Metric::natural_map, natural_map, passes);
  return settings;
}

inline Solved solve(const ConstraintProblem& problem, const DantzigSettings& settings,
                    std::vector<double> guess = {}) {
  return solve_with(*make_dantzig(settings), problem, std::move(guess));
}

}  // namespace catena::test
