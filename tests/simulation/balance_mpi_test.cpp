// A load that moves: the work of ranks stays even where bodies may move, and does not where they
// may not. Counted work alone, no clocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "catena/simulation/simulation.hpp"

namespace catena {
namespace {

/// The column of the study, with fewer grains and sweeps.
CaseSettings column(const Communicator& comm, const std::string& rebalance_steps) {
  return read_case(comm, CATENA_TEST_DATA "/../../configs/studies/collapsing_column.yaml",
                   {"generators.grains.count=[6, 6, 24]", "time.step=5 ms", "time.end=1",
                    "solver.max_iterations=20", "parallel.rebalance_steps=" + rebalance_steps});
}

struct Course {
  double largest = 0.0;  ///< imbalance of a step
  double mean = 0.0;     ///< work of the busiest ranks over an even share, all steps together
  int moves = 0;
  std::int64_t bodies_moved = 0;
};

Course run(const std::string& rebalance_steps) {
  const Communicator comm = Communicator::world();
  Simulation sim(comm, column(comm, rebalance_steps));
  Course course;
  double busiest = 0.0, even = 0.0;
  std::int64_t told = -1;
  for (std::int64_t i = 0; i < sim.n_steps(); ++i) {
    sim.step();
    const BalanceSums& sums = sim.state().balance;
    busiest += sums.largest_work;
    even += sums.mean_work;
    course.largest = std::max(course.largest, sim.imbalance());
    const RebalanceDecision& look = sim.last_look();
    if (look.step == told || !look.taken) continue;
    told = look.step;
    ++course.moves;
    course.bodies_moved += look.quality.moved;
    EXPECT_LE(look.quality.imbalance, 1.05);
    EXPECT_LT(look.quality.imbalance, look.imbalance);
  }
  course.mean = busiest / even;
  return course;
}

TEST(MovingLoad, StaysEvenWithRebalancingAndDoesNotWithout) {
  const Course moving = run("100");
  const Course fixed = run("0");

  EXPECT_EQ(fixed.moves, 0);
  // few grains on more ranks: what a split costs is lost more often before it pays
  const double bound = Communicator::world().size() == 2 ? 1.12 : 1.2;
  EXPECT_GE(fixed.mean, bound);
  EXPECT_LE(moving.mean, bound);
  EXPECT_LE(moving.largest, fixed.largest);
  // no thrashing: a move every twenty steps at most, and no body more than a few times
  EXPECT_GE(moving.moves, 1);
  EXPECT_LE(moving.moves, 15);
  EXPECT_LE(moving.bodies_moved, 4 * 6 * 6 * 24);
  std::printf("with %.3f (largest %.3f, %d moves of %lld), without %.3f (largest %.3f)\n",
              moving.mean, moving.largest, moving.moves,
              static_cast<long long>(moving.bodies_moved), fixed.mean, fixed.largest);
}

TEST(MovingLoad, IsEvenedOutByClocksToo) {
  // what a clock says depends on the machine: bodies move, and no rank is left without them
  const Communicator comm = Communicator::world();
  CaseSettings settings = column(comm, "100");
  settings.parallel.weights = WorkWeights::measured;
  Simulation sim(comm, settings);

  for (int i = 0; i < 100; ++i) sim.step();

  EXPECT_TRUE(sim.last_look().taken);
  EXPECT_LE(sim.last_look().quality.imbalance, 1.05);
  EXPECT_GT(comm.min(static_cast<std::int64_t>(sim.bodies().size())), 0);
}

}  // namespace
}  // namespace catena
