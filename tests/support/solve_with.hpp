// Problems solved by a solver, on one rank or on all, and how far two solutions are apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "catena/solvers/gauss_seidel.hpp"
#include "support/scene.hpp"

namespace catena::test {

/// Stops at this value of the metric, in its own unit, however large it is at zero impulses.
inline StopRule stop_at(Metric metric, double tolerance,
                        int max_iterations = StopRule().max_iterations) {
  StopRule stop;
  stop.metric = metric;
  stop.relative_tolerance = 0.0;
  stop.absolute_tolerance = tolerance;
  stop.max_iterations = max_iterations;
  return stop;
}

/// Exactly n iterations, and the last iterate.
inline StopRule iterations(int n) {
  StopRule stop = stop_at(Metric::natural_map, 0.0, n);
  stop.keep_best = false;
  return stop;
}

struct Solved {
  SolveReport report;
  std::vector<double> impulses, velocities;
  std::int64_t messages = 0;  ///< sent by this rank during the solve
};

/// Collective on the problem's ranks. From zero impulses or from a guess; this rank's rows and
/// velocities.
inline Solved solve_with(Solver& solver, const ConstraintProblem& problem,
                         std::vector<double> guess = {}) {
  Solved s;
  s.impulses = std::move(guess);
  s.impulses.resize(static_cast<std::size_t>(problem.n_rows()), 0.0);
  s.velocities.resize(static_cast<std::size_t>(problem.bodies.n_dofs()));
  const std::int64_t before = problem.comm.traffic().messages;
  s.report = solver.solve(problem, s.impulses, s.velocities);
  s.messages = problem.comm.traffic().messages - before;
  return s;
}

/// Collective. From zero impulses; impulses and velocities of the whole scene, on every rank.
inline Solved solve_with(Solver& solver, const LocalScene& local) {
  Solved s = solve_with(solver, local.problem);
  s.impulses = gather_rows(local, s.impulses);
  s.velocities = gather_velocities(local, s.velocities);
  return s;
}

/// The same by Gauss-Seidel.
inline Solved solve(const ConstraintProblem& problem, const GaussSeidelSettings& settings,
                    std::vector<double> guess = {}) {
  return solve_with(*make_gauss_seidel(settings), problem, std::move(guess));
}

/// The largest difference; infinite if they are not of the same length.
inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace catena::test
