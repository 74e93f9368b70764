// Problems solved by Gauss-Seidel, and how far two solutions are apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "catena/solvers/solver_factory.hpp"

namespace catena::test {

struct Solved {
  SolveReport report;
  std::vector<double> impulses, velocities;
};

/// From zero impulses or from a guess.
inline Solved solve(const ConstraintProblem& problem, const SolverSettings& settings,
                    std::vector<double> guess = {}) {
  Solved s;
  s.impulses = std::move(guess);
  s.impulses.resize(static_cast<std::size_t>(problem.n_rows()), 0.0);
  s.velocities.resize(static_cast<std::size_t>(problem.bodies.n_dofs()));
  s.report = make_solver(settings)->solve(problem, s.impulses, s.velocities);
  return s;
}

/// The largest difference; infinite if they are not of the same length.
inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace catena::test
