// What misfits of joints are compared with: the joint's own length, whatever its arms are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "catena/simulation/simulation.hpp"
#include "catena/stepper/joint_assembler.hpp"
#include "stepper/natural_run.hpp"

namespace catena::test {
namespace {

/// Largest over a few steps.
struct Drift {
  double drift = 0.0, misfit = 0.0;
  GlobalId joint = kNoBody;
};

Drift drift_of(const std::string& trial, int steps = 5) {
  Simulation sim(Communicator::self(),
                 read_case(Communicator::self(), std::string(CATENA_TRIALS) + "/" + trial));
  Drift largest;
  for (int i = 0; i < steps; ++i) {
    const StepReport& r = sim.step();
    largest.misfit = std::max(largest.misfit, r.misfit.linear);
    if (r.drift <= largest.drift) continue;
    largest.drift = r.drift;
    largest.joint = r.drift_joint;
  }
  return largest;
}

TEST(JointDrift, OfAWheelWhoseArmIsRoundOffIsThatOfTheWheel) {
  const Drift wheel = drift_of("drift_wheel.yaml");

  EXPECT_GT(wheel.misfit, 1e-10);  // a tenth of the arm
  EXPECT_LT(wheel.drift, 1e-6);
  EXPECT_EQ(wheel.joint, kNoBody);
}

TEST(JointDrift, OfAJointThatIsCompliantByIntentIsNone) {
  const Drift bushing = drift_of("drift_bushing.yaml", 100);

  EXPECT_GT(bushing.misfit, 0.005);  // of the 9.81 mm that the weight asks for
  EXPECT_LT(bushing.drift, 1e-3);
}

TEST(JointDrift, OfACordBetweenCentresIsSeenAndNamed) {
  const Drift cord = drift_of("drift_cord.yaml");

  // sqrt(0.1^2 + 0.4^2) m after one step straight on: at least a part of its rod
  EXPECT_GT(cord.drift, 0.05);
  EXPECT_NEAR(cord.drift, cord.misfit / 0.1, 1e-9);
  EXPECT_EQ(cord.joint, 0);
}

TEST(JointDrift, UnderNaturalIsThatOfTheJointsLengthToo) {
  // 4e-7 m off at the start, on a rod between centres without arms
  const auto sim = natural_run(
      "gravity: [0, 0, 0]\nbodies: [{name: bob, mass: 3, inertia: [0, 0, 0], position: [0.8, 0, "
      "0]}]\n"
      "joints: [{name: line, type: distance, between: [world, bob], at: [[0, 0, 0], [0.8, 0, 0]], "
      "length: 0.8000004}]",
      "10 ms", "baumgarte: 0");
  const StepReport& r = sim->step();
  EXPECT_NEAR(r.drift, 4e-7 / 0.8, 1e-9);
}

TEST(JointDrift, LengthIsTheLargestOfArmGyrationAndRod) {
  BodyConstants body;
  body.kind = BodyKind::dynamic;
  body.mass = 2.0;
  body.inertia = Vec3(0.02, 0.08, 0.02);  // 0.2 m
  LocalBodies local;
  local.constants.refer_to(std::span<const BodyConstants>(&body, 1));
  JointConstants joint;
  joint.type = JointType::spherical;
  std::array<Index, kJointBodies> on{};
  on.fill(kNoIndex);
  EXPECT_EQ(joint_length(joint, on, local), 0.0);
  on[0] = 0;
  EXPECT_DOUBLE_EQ(joint_length(joint, on, local), 0.2);
  joint.frame[0].p = Vec3(0.0, 0.3, 0.4);
  joint.frame[1].p = Vec3(7.0, 0.0, 0.0);  // a place in the world
  EXPECT_DOUBLE_EQ(joint_length(joint, on, local), 0.5);
  joint.length = 3.0;
  EXPECT_DOUBLE_EQ(joint_length(joint, on, local), 0.5);
  joint.type = JointType::distance;
  EXPECT_DOUBLE_EQ(joint_length(joint, on, local), 3.0);
}

}  // namespace
}  // namespace catena::test
