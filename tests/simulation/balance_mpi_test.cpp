// A load that moves: the work of ranks stays even where bodies may move, and does not where they
// may not. Counted work alone, no clocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "catena/comm/typed_exchange.hpp"
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
    EXPECT_LE(look.quality.balance.all, 1.05);
    EXPECT_LT(look.quality.balance.all, look.balance.all);
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
  EXPECT_LE(sim.last_look().quality.balance.all, 1.05);
  EXPECT_GT(comm.min(static_cast<std::int64_t>(sim.bodies().size())), 0);
}

/// A bed of grains, on the left of which lie this many tracks of 12 shoes.
CaseSettings tracks_on_grains(int n_tracks) {
  std::string text =
      "catena: 1\nname: tracks\nmaterials: {steel: {density: 3000, friction: 0.4}}\n"
      "generators:\n"
      "  - container: {name: bin, material: steel, size: [4.8, 0.8, .inf], origin: [0, 0, 0]}\n"
      "  - lattice: {name: grains, material: steel, shape: {sphere: {radius: 0.05}},\n"
      "              count: [48, 8, 3], spacing: 0.1, origin: [0.05, 0.05, 0.05]}\n";
  for (int k = 0; k < n_tracks; ++k) {
    const std::string left = std::to_string(0.03 + 0.36 * (k % 5)),
                      right = std::to_string(0.33 + 0.36 * (k % 5)),
                      y = std::to_string(0.1 + 0.2 * (k / 5));
    text += "  - chain: {name: t" + std::to_string(k) +
            ", material: steel, links: 12, axis: [0, 1, 0],\n" +
            "            joint: revolute, closed: true, angular_compliance: 1e-6,\n" +
            "            shape: {box: {size: [0.04, 0.1, 0.02]}}, path: [[" + left + ", " + y +
            ", 0.32], [" + right + ", " + y + ", 0.32], [" + right + ", " + y + ", 0.42], [" +
            left + ", " + y + ", 0.42]]}\n";
  }
  return parse_case(text + "time: {step: 1 ms, end: 1}\nsolver: {max_iterations: 20}\n", "tracks",
                    ".", {});
}

/// Largest over mean of what ranks have.
double evenness(const Communicator& comm, double own) {
  return comm.max(own) * comm.size() / comm.sum(own);
}

/// Work of this rank on its contacts and bodies in the last step, from what lies here.
double work_on_contacts(const Simulation& sim) {
  const double rows = 3.0 * static_cast<double>(sim.stepper().n_contacts());
  const auto bodies = std::ranges::count(sim.bodies().constants, BodyKind::dynamic,
                                         [](const BodyConstants& body) { return body.kind; });
  return rows * (sim.stepper().report().solve.iterations + kStepPerRow) +
         static_cast<double>(bodies) * kStepPerBody;
}

TEST(TracksOnGrains, BothJointsAndContactsAreEven) {
  const Communicator comm = Communicator::world();
  Simulation sim(comm, tracks_on_grains(20));
  for (int i = 0; i < 2; ++i) sim.step();

  // all joints of a track have the same rows, and the rank with most of them eliminates it
  std::map<GlobalId, std::int64_t> held;
  GlobalId first = std::numeric_limits<GlobalId>::max();
  for (const JointConstants& joint : sim.bodies().joints)
    first = std::min({first, joint.body[0], joint.body[1]});
  first = comm.min(first);
  for (const JointConstants& joint : sim.bodies().joints) ++held[(joint.body[0] - first) / 12];
  std::int64_t eliminated = 0;
  for (GlobalId track = 0; track < 20; ++track) {
    const std::vector<std::int64_t> all = all_gather_values(comm, std::vector{held[track]});
    EXPECT_EQ(std::accumulate(all.begin(), all.end(), std::int64_t{0}), 12) << track;
    if (std::ranges::max_element(all) - all.begin() == comm.rank()) ++eliminated;
  }
  const double joints = evenness(comm, static_cast<double>(eliminated));
  const double contacts = evenness(comm, static_cast<double>(sim.stepper().n_contacts()));
  EXPECT_LE(joints, 1.15);
  EXPECT_LE(contacts, 1.15);
  // what is told is what was counted
  EXPECT_NEAR(sim.work_balance().joints, joints, 1e-12);
  EXPECT_NEAR(sim.work_balance().contacts, evenness(comm, work_on_contacts(sim)), 1e-12);
  if (comm.rank() == 0) std::printf("joints %.3f, contacts %.3f\n", joints, contacts);
}

TEST(TracksOnGrains, OneTrackIsToldAsTheWorkOfOneRank) {
  const Communicator comm = Communicator::world();
  Simulation sim(comm, tracks_on_grains(1));
  for (int i = 0; i < 2; ++i) sim.step();

  // all joints are on one rank, over the mean of all ranks
  EXPECT_NEAR(sim.work_balance().joints, comm.size(), 1e-12);
  EXPECT_LE(sim.work_balance().contacts, 1.15);
  EXPECT_NEAR(sim.partition().balance.joints, comm.size(), 1e-12);
}

}  // namespace
}  // namespace catena
