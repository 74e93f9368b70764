// The time of a step that is predicted from counted rows and a machine's costs.
#include "catena/partition/step_prediction.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "catena/partition/balance.hpp"
#include "partition/lattice_scene.hpp"

namespace catena {
namespace {

SizedCosts costs_of(double factor, double solve, double rows, double motion) {
  const MechanismCosts costs{factor, solve, rows, motion};
  return {costs, costs};
}

/// Each cost another power of two, so that a sum tells what is in it.
StepCosts some_costs() {
  StepCosts costs;
  costs.chain = costs_of(1.0, 2.0, 4.0, 8.0);
  costs.tree = costs_of(16.0, 32.0, 64.0, 128.0);
  costs.cords = costs_of(256.0, 512.0, 1024.0, 2048.0);
  costs.net = costs_of(4096.0, 8192.0, 16384.0, 32768.0);
  costs.front_flop = 1e-3;
  costs.large_front_flop = 2e-3;
  costs.reduction = 5.0;
  costs.latency = 7.0;
  costs.byte = 0.5;
  return costs;
}

/// Bodies on joints of one type (rods have a row, spherical joints three), without contacts.
struct Mechanism {
  test::Scene scene;
  GlobalId n_bodies;

  explicit Mechanism(GlobalId n) : n_bodies(n) {
    for (GlobalId id = 0; id < n; ++id) {
      BodyRecord record;
      record.constants.id = id;
      record.constants.mass = 1.0;
      record.constants.inertia = Vec3::Ones();
      record.state.pose.p = Vec3(static_cast<double>(id), 0.0, 0.0);
      test::append(scene, record);
    }
  }
  void join(GlobalId a, GlobalId b, JointType type) {
    JointConstants joint;
    joint.id = static_cast<GlobalId>(scene.bodies.joints.size());
    joint.body = {a, b, kNoBody};
    joint.type = type;
    joint.length = 1.0;
    scene.bodies.joints.push_back(joint);
    scene.state.joints.emplace_back();
  }
  KindRows rows() {
    const Communicator comm = Communicator::world();
    const std::vector<int> part(static_cast<std::size_t>(n_bodies), 0);
    migrate(comm, scene.bodies, scene.state, part, 1);
    ContactSet contacts;
    const Model model;
    ContactSearch(comm, model).find(scene.bodies, scene.state, 1e-3, contacts);
    return count_rows(comm, scene.bodies, contacts, part, 1, {}, {}).front();
  }
};

TEST(StepPrediction, ARingCostsWhatATreeDoes) {
  Mechanism ring(40);
  for (GlobalId i = 0; i < 40; ++i) ring.join(i, (i + 1) % 40, JointType::spherical);

  const KindRows rows = ring.rows();

  EXPECT_EQ(rows.joints, 40.0);
  EXPECT_EQ(rows.tree, 120.0);
  EXPECT_EQ(rows.net, 0.0);
  EXPECT_EQ(rows.flops, 0.0);
}

TEST(StepPrediction, APlaneNetIsAllFronts) {
  constexpr GlobalId kSide = 16;
  Mechanism net(kSide * kSide);
  for (GlobalId i = 0; i < kSide; ++i)
    for (GlobalId k = 0; k < kSide; ++k) {
      if (k > 0) net.join(i * kSide + k - 1, i * kSide + k, JointType::distance);
      if (i > 0) net.join((i - 1) * kSide + k, i * kSide + k, JointType::distance);
    }
  const double joints = 2 * kSide * (kSide - 1), loops = joints - kSide * kSide;

  const KindRows rows = net.rows();

  EXPECT_EQ(rows.net, joints);
  EXPECT_EQ(rows.cords, 0.0);
  EXPECT_EQ(rows.net_several, 0.0);
  EXPECT_NEAR(rows.net_solve, joints * std::log2(joints + 1.0), 1e-3 * joints);
  EXPECT_NEAR(rows.flops, 12.0 * std::pow(loops, 1.5), 1e-3 * joints);
}

TEST(StepPrediction, OfALadderOfLongPathsFrontsHaveThreeJointsALoop) {
  // three rungs between rails of 50 knots each
  Mechanism ladder(100);
  for (GlobalId i = 0; i + 1 < 50; ++i) {
    ladder.join(i, i + 1, JointType::distance);
    ladder.join(50 + i, 51 + i, JointType::distance);
  }
  for (const GlobalId rung : {0, 25, 49}) ladder.join(rung, 50 + rung, JointType::distance);

  const KindRows rows = ladder.rows();

  // 101 joints of 100 bodies: a loop fewer than it has
  EXPECT_NEAR(rows.net, 3.0, 0.1);  // whole numbers are dealt, of 1024ths
  EXPECT_NEAR(rows.cords, 98.0, 0.1);
  EXPECT_NEAR(rows.flops, 12.0, 0.1);
}

TEST(StepPrediction, EachPhaseIsThatOfTheSlowestRank) {
  KindRows a, b;
  a.joints = b.joints = 3.0;
  a.chain = 6.0;
  a.tree = 3.0;
  b.cords = 2.0;
  b.net = 5.0;
  b.net_several = 3.0;
  b.net_solve = 10.0;
  b.flops = 2000.0;

  const StepPrediction one = predict_step(some_costs(), std::vector{a}, 10.0, {});
  const StepPrediction other = predict_step(some_costs(), std::vector{b}, 10.0, {});
  const StepPrediction both = predict_step(some_costs(), std::vector{a, b}, 10.0, {});

  EXPECT_DOUBLE_EQ(one.rows, 6 * 4.0 + 3 * 64.0);
  EXPECT_DOUBLE_EQ(one.factor, 6 * 1.0 + 3 * 16.0);
  EXPECT_DOUBLE_EQ(one.solve, 6 * 2.0 + 3 * 32.0);
  EXPECT_DOUBLE_EQ(one.motion, 10 * (6 * 8.0 + 3 * 128.0) / 9);
  EXPECT_EQ(one.messages, 0.0);
  EXPECT_DOUBLE_EQ(other.rows, 2 * 1024.0 + 2 * 16384.0 + 3 * 64.0);
  EXPECT_DOUBLE_EQ(other.factor, 2 * 256.0 + 5 * 4096.0 + 2.0);
  EXPECT_DOUBLE_EQ(other.solve, 2 * 512.0 + 10 * 8192.0);
  EXPECT_DOUBLE_EQ(other.motion, 10 * (2 * 2048.0 + 5 * 32768.0) / 7);
  EXPECT_EQ(both.rows, other.rows);
  EXPECT_EQ(both.factor, other.factor);
  // 26 sums over two ranks, and one round of a chain's messages: one up, two for each of two solves
  EXPECT_DOUBLE_EQ(both.messages, 26 * 5.0 + 5 * 7.0);
}

TEST(StepPrediction, SeparatorsAndTheirMessagesAddUpFromLevelToLevel) {
  CutPlan cut;
  cut.joints = 103;
  cut.dealt = {{1}, {0, 1}};
  cut.rows = {0, 3, 60, 40};
  cut.rows_above = {0, 0, 2, 3};
  const std::vector<KindRows> none(2);

  const StepPrediction step = predict_step(some_costs(), none, 0.0, std::vector{cut});

  // the separator's front: n^3 / 6 multiply-adds of n = 3 rows
  EXPECT_DOUBLE_EQ(step.factor, 1e-3 * 4.5);
  // 3 rows of the larger part go up: half of 3 x 3 numbers, and 3 up and 3 down in each of two
  // solves
  EXPECT_DOUBLE_EQ(step.messages, 5 * 7.0 + 8 * (4.5 + 12) * 0.5 + 26 * 5.0);
}

TEST(StepPrediction, CostsGoFromInCacheToOutOfItByTheLogarithmOfTheJoints) {
  SizedCosts costs;
  costs.cached = {1.0, 2.0, 3.0, 4.0};
  costs.large = {2.0, 4.0, 5.0, 8.0};

  EXPECT_EQ(costs.of(0.0).factor, 1.0);
  EXPECT_EQ(costs.of(kCachedJoints).solve, 2.0);
  EXPECT_EQ(costs.of(10.0 * kLargeJoints).rows, 5.0);
  EXPECT_NEAR(costs.of(std::sqrt(kCachedJoints * kLargeJoints)).motion, 6.0, 1e-12);
}

}  // namespace
}  // namespace catena
