// What motors give, with and without a bound, is found in one place: JointState::drive.
#include <gtest/gtest.h>

#include <string>

#include "support/case_text.hpp"
#include "support/gravity.hpp"

namespace catena {
namespace {

constexpr std::size_t kMotor = 1;  // of JointState::drive: limit, motor, friction
constexpr double kStep = 1e-3;

/// The joint's state after some steps.
JointState joint_of(const std::string& joint, const std::string& stepper) {
  const std::string text =
      "bodies: [{name: arm, mass: 2, inertia: [0.2, 0.1, 0.15], position: [0.5, 0, 0]}]\n"
      "joints: [{name: j, " +
      joint + "}]\ntime: {stepper: " + stepper + ", step: 1 ms, end: 1}\n";
  Simulation sim(Communicator::self(), test::case_of(text));
  for (int i = 0; i < 50; ++i) sim.step();
  EXPECT_EQ(sim.state().joints.size(), 1U);
  return sim.state().joints[0];
}

const std::string kHinge = "type: revolute, between: [world, arm], at: [0, 0, 0], axis: [0, 1, 0]";
const std::string kRail =
    "type: prismatic, between: [world, arm], at: [0.5, 0, 0], axis: [0, 0, 1]";

TEST(JointDrive, OfAMotorThatHoldsAnArmIsTheMomentOfItsWeight) {
  // the weight turns the arm about +y, by m g l
  const double moment = -2.0 * test::kG * 0.5;
  for (const char* stepper : {"spook", "dvi", "natural"})
    for (const char* motor : {"velocity: 0", "position: 0"}) {
      const JointState j = joint_of(kHinge + ", motor: {" + motor + "}", stepper);
      EXPECT_NEAR(j.drive[0][kMotor] / kStep, moment, 1e-3 * std::abs(moment)) << stepper << motor;
      // the row behind the hinge's five is the same
      EXPECT_EQ(j.drive[0][kMotor], j.impulse[5]) << stepper << motor;
      EXPECT_EQ(j.drive[0][0], 0.0);
      EXPECT_EQ(j.drive[0][2], 0.0);
    }
  // with a bound it is no row of the joint's block
  const JointState j = joint_of(kHinge + ", motor: {velocity: 0, max_force: 1000}", "spook");
  EXPECT_NEAR(j.drive[0][kMotor] / kStep, moment, 1e-3 * std::abs(moment));
  EXPECT_EQ(j.impulse[5], 0.0);
}

TEST(JointDrive, OfALiftIsItsWeight) {
  for (const char* stepper : {"spook", "dvi", "natural"}) {
    const JointState j = joint_of(kRail + ", motor: {velocity: 0.1}", stepper);
    EXPECT_NEAR(j.drive[0][kMotor] / kStep, 2.0 * test::kG, 1e-3 * 2.0 * test::kG) << stepper;
    EXPECT_EQ(j.drive[0][kMotor], j.impulse[5]) << stepper;
  }
}

TEST(JointDrive, OfTwoMotorsIsThatOfEachAxis) {
  // a cylinder joint along z: the first coordinate lifts, the second does not turn
  const std::string tube =
      "type: cylindrical, between: [world, arm], at: [0.5, 0, 0], axis: [0, 0, 1]";
  for (const char* stepper : {"spook", "natural"}) {
    const JointState j =
        joint_of(tube + ", motor: {velocity: 0.1}, second: {motor: {velocity: 0}}", stepper);
    EXPECT_NEAR(j.drive[0][kMotor] / kStep, 2.0 * test::kG, 1e-3 * 2.0 * test::kG) << stepper;
    EXPECT_NEAR(j.drive[1][kMotor], 0.0, 1e-9) << stepper;
    EXPECT_EQ(j.drive[0][kMotor], j.impulse[4]) << stepper;
  }
  // the second alone is the joint's last row, too
  const JointState j = joint_of(
      "type: cylindrical, between: [world, arm], at: [0, 0, 0], axis: [0, 1, 0], second: "
      "{motor: {velocity: 0}}",
      "spook");
  EXPECT_NEAR(j.drive[1][kMotor] / kStep, -2.0 * test::kG * 0.5, 1e-2);
  EXPECT_EQ(j.drive[0][kMotor], 0.0);
}

TEST(JointDrive, WithoutAMotorIsZero) {
  for (const char* stepper : {"spook", "natural"}) {
    const JointState j = joint_of(kHinge, stepper);
    for (const auto& axis : j.drive)
      for (const double d : axis) EXPECT_EQ(d, 0.0) << stepper;
  }
}

}  // namespace
}  // namespace catena
