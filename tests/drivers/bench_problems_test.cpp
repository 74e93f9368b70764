// The scenes by which sweeps are timed.
#include "bench_problems.hpp"

#include <gtest/gtest.h>

#include "catena/solvers/solver_factory.hpp"

namespace catena {
namespace {

SolveReport sweep(const ConstraintProblem& problem, int sweeps) {
  SolverSettings settings;
  settings.stop.max_iterations = sweeps;
  settings.stop.relative_tolerance = settings.stop.absolute_tolerance = 0.0;
  settings.stop.check_interval = 1 << 30;
  std::vector<double> impulses(static_cast<std::size_t>(problem.n_rows()), 0.0);
  std::vector<double> velocities(static_cast<std::size_t>(problem.bodies.n_dofs()));
  return make_solver(settings)->solve(problem, impulses, velocities);
}

TEST(SweepCounts, SolvesOfBothNumbersEvaluateTheErrorEquallyOften) {
  const ConstraintProblem problem = packed_lattice(100, false);
  for (const int more : {1, 14, 100}) {
    const SweepCounts counts = sweep_counts(more);
    EXPECT_GE(counts.more(), more);

    const SolveReport few = sweep(problem, counts.few);
    const SolveReport many = sweep(problem, counts.many);

    EXPECT_EQ(few.iterations, counts.few);
    EXPECT_EQ(many.iterations, counts.many);
    EXPECT_EQ(few.history.size(), many.history.size());
  }
}

TEST(PackedLattice, BodiesInsideHaveSixContactsOfTheirOwn) {
  const ConstraintProblem problem = packed_lattice(4000, true);
  const auto bodies = static_cast<double>(problem.bodies.size());
  const auto contacts = static_cast<double>(problem.contacts.size());

  // an n x n x n grid, half of its cells filled, has 3 n (n - 1)^2 diagonal pairs
  const double n = 20.0;
  EXPECT_EQ(bodies, n * n * n / 2.0);
  EXPECT_EQ(contacts, 3.0 * n * (n - 1.0) * (n - 1.0));
  check_problem(problem);
}

TEST(TimeChain, GivesTimesOfEachRepeat) {
  const std::vector<ChainSeconds> times = time_chain(Communicator::self(), 1000, 3);

  ASSERT_EQ(times.size(), 3u);
  for (const ChainSeconds& t : times) {
    EXPECT_EQ(t.rows, 3000);
    EXPECT_GT(t.factor, 0.0);
    EXPECT_GT(t.solve, 0.0);
  }
}

}  // namespace
}  // namespace catena
