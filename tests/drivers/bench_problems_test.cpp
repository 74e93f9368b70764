// The scenes by which sweeps are timed.
#include "bench_problems.hpp"

#include <gtest/gtest.h>

#include "catena/base/timer.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

SolveReport sweep(const ConstraintProblem& problem, int sweeps) {
  GaussSeidelSettings settings;
  settings.stop = test::iterations(sweeps);
  settings.stop.check_interval = 1 << 30;
  return test::solve(problem, settings).report;
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
  const double begun = wall_seconds();
  const std::vector<ChainSeconds> times = time_chain(Communicator::self(), 1000, 3);
  const double all = wall_seconds() - begun;

  ASSERT_EQ(times.size(), 3u);
  double timed = 0.0;
  for (const ChainSeconds& t : times) {
    EXPECT_EQ(t.rows, 3000);
    // a clock may be too coarse for a solve of a millisecond, but it does not run backwards
    EXPECT_GE(t.factor, 0.0);
    EXPECT_GE(t.solve, 0.0);
    timed += t.factor + t.solve;
  }
  // each repeat has times of its own: together they are part of what the call took
  EXPECT_LE(timed, all);
  EXPECT_GT(timed, 0.0);
}

}  // namespace
}  // namespace catena
