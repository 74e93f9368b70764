// Joints and forces that a case lists: their frames, what acts along them, whether they fit.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "catena/base/error.hpp"
#include "scenarios/joint_scene.hpp"
#include "support/all_ranks.hpp"
#include "support/error_of.hpp"

namespace catena {
namespace {

using test::JointScene;

/// Two turned and shifted bodies, one of them a generator's; a fixed one and a plane.
constexpr const char* kBodies = R"(
bodies:
- {name: arm, mass: 2, inertia: [0.1, 0.2, 0.2], position: [1, 2, 3], orientation: {axis: [1, 2, 3], angle: 40 deg}}
- {name: post, material: steel, shape: {box: {size: [1, 1, 1]}}, fixed: true, position: [0, 0, 3]}
- {name: ground, material: steel, shape: plane}
- {name: disc, material: steel, shape: {cylinder: {radius: 0.5, length: 0.1}}, position: [3, 0, 0.5], orientation: {axis: [1, 0, 0], angle: 90 deg}}
generators:
- lattice: {name: grains, material: steel, shape: {sphere: {radius: 0.1}}, count: [4, 4, 4], spacing: 0.5, origin: [1, 1, 1], random_orientation: true, seed: 3}
- container: {name: bin, material: steel, size: [9, 9, 9], origin: [-1, -1, 0]}
)";

class JointsTest : public testing::Test {
 protected:
  JointScene made(const std::string& joints) { return {comm_, kBodies + joints}; }
  /// Message of the error, the same on all ranks.
  std::string error_of(const std::string& text) {
    return test::error_of([&] { JointScene(comm_, text); });
  }

  Communicator comm_ = Communicator::world();
};

TEST_F(JointsTest, FramesMeetAtThePointAndDirectionsThatAreGiven) {
  const Vec3 axis = Vec3(1, 1, 2).normalized();
  for (const std::string type :
       {"fixed", "spherical", "revolute", "prismatic", "cylindrical", "planar", "point_on_line"}) {
    const bool has_axis = type != "fixed" && type != "spherical";
    for (const std::string between :
         {"[arm, grains-21]", "[world, arm]", "[arm, world]", "[post, grains-63]",
          "[grains-0, ground]", "[grains-63, ground]", "[grains-63, post]", "[bin-2, arm]"}) {
      const JointScene scene =
          made("joints: [{name: j, type: " + type + ", between: " + between + ", at: [1.5, 1, 2]" +
               (has_axis ? ", axis: [1, 1, 2]" : "") + "}]\n");

      if (!test::all_ranks_have(comm_, scene.joints.size(), 1U)) return;
      EXPECT_EQ(scene.homeless, 0);
      const JointConstants& j = scene.joints[0];
      for (std::size_t k = 0; k < 2; ++k) {
        EXPECT_LT((scene.point(j, k) - Vec3(1.5, 1, 2)).norm(), 1e-14);
        const Vec3 z = has_axis ? axis : Vec3(Vec3::UnitZ());
        EXPECT_LT((scene.axes(j, k) * Vec3::UnitZ() - z).norm(), 1e-14);
      }
      EXPECT_LT((scene.axes(j, 0) * Vec3::UnitX() - scene.axes(j, 1) * Vec3::UnitX()).norm(),
                1e-14);
      EXPECT_LT(scene.misfit(j).linear, 1e-14);
      EXPECT_LT(scene.misfit(j).angular, 1e-14);
      EXPECT_NEAR(scene.states[0].angle[0], 0.0, 1e-14);
      for (const GlobalId id : j.body) {
        EXPECT_TRUE(id == kNoBody || scene.body(id)->constants.jointed);
      }
    }
  }
}

TEST_F(JointsTest, UniversalJointsCrossTheirAxes) {
  const JointScene scene = made(
      "joints: [{name: j, type: universal, between: [arm, grains-5], at: [1, 1, 1], axis: [1, 0, "
      "1], "
      "axis_b: [1, 0, -1], second: {friction: 2, limits: [-1, 2]}, friction: 1}]\n");

  const JointConstants& j = scene.joints[0];
  EXPECT_LT((scene.axes(j, 0) * Vec3::UnitZ() - Vec3(1, 0, 1).normalized()).norm(), 1e-14);
  EXPECT_LT((scene.axes(j, 1) * Vec3::UnitZ() - Vec3(1, 0, -1).normalized()).norm(), 1e-14);
  EXPECT_NEAR(scene.states[0].angle[0], 0.0, 1e-14);
  EXPECT_NEAR(scene.states[0].angle[1], 0.0, 1e-14);
  EXPECT_EQ(j.axis[0].friction, 1.0);
  EXPECT_EQ(j.axis[1].friction, 2.0);
  EXPECT_FALSE(j.axis[0].limited());
  EXPECT_EQ(j.axis[1].upper, 2.0);
}

TEST_F(JointsTest, DistanceAndSpringsAreAsLongAsAtTheStart) {
  const JointScene scene = made(
      "joints: [{name: rod, type: distance, between: [arm, grains-5], at: [[1, 2, 4], [1, 2, "
      "1]]}]\n"
      "forces:\n"
      "- {name: push, type: force, body: arm, force: [1, 0, 0]}\n"
      "- {name: coil, type: spring, between: [world, arm], at: [[1, 2, 7], [1, 2, 3]], stiffness: "
      "5, damping: 2}\n"
      "- {name: short, type: spring, between: [world, arm], at: [[1, 2, 7], [1, 2, 3]], stiffness: "
      "5, length: 1}\n"
      "- {name: pot, type: damper, between: [grains-1, grains-2], at: [[1.5, 1, 1], [2, 1, 1]], "
      "damping: 3}\n"
      "- {name: twist, type: torsional_spring, between: [post, arm], at: [1, 2, 3], axis: [0, 0, "
      "2], stiffness: 7, damping: 8, angle: 90 deg}\n");

  EXPECT_EQ(scene.joints.size(), 5U);
  EXPECT_EQ(scene.homeless, 0);
  EXPECT_NEAR(scene.joint("rod").length, 3.0, 1e-15);
  EXPECT_FALSE(scene.joint("rod").collide);
  const JointConstants& coil = scene.joint("coil");
  EXPECT_EQ(coil.id, 1);
  EXPECT_EQ(coil.type, JointType::spring);
  EXPECT_EQ(coil.length, 4.0);
  EXPECT_EQ(coil.stiffness, 5.0);
  EXPECT_EQ(coil.damping, 2.0);
  EXPECT_TRUE(coil.collide);
  EXPECT_EQ(scene.joint("short").length, 1.0);
  EXPECT_EQ(scene.joint("pot").stiffness, 0.0);
  EXPECT_EQ(scene.joint("pot").damping, 3.0);
  const JointConstants& twist = scene.joint("twist");
  EXPECT_EQ(twist.id, 4);
  EXPECT_EQ(twist.type, JointType::torsion_spring);
  EXPECT_NEAR(twist.length, std::numbers::pi / 2, 1e-15);
  EXPECT_LT((scene.axes(twist, 1) * Vec3::UnitZ() - Vec3::UnitZ()).norm(), 1e-14);
}

TEST_F(JointsTest, WheelStandsOnThePlaneBelowItsCentre) {
  const JointScene scene = made(
      "joints:\n"
      "- {name: roll, type: rolling, between: [world, disc], at: [3, 0, 0.5], axis: [0, 0, 1], "
      "axis_b: [0, 1, 0], radius: 0.5}\n"
      "- {name: blade, type: knife_edge, between: [world, arm], at: [1, 2, 2], axis_b: [0, 2, 0]}\n"
      "- {name: gears, type: gear, between: [arm, disc], axis: [1, 0, 0], axis_b: [0, 1, 0], "
      "ratio: -2, carrier: post}\n");

  const JointConstants& roll = scene.joint("roll");
  EXPECT_EQ(roll.length, 0.5);
  EXPECT_LT(scene.point(roll, 0).cwiseProduct(Vec3(0, 0, 1)).norm(), 1e-15);
  EXPECT_LT(scene.misfit(roll).linear, 1e-15);
  EXPECT_LT((scene.axes(scene.joint("blade"), 1) * Vec3::UnitY() - Vec3::UnitY()).norm(), 1e-14);
  const JointConstants& gears = scene.joint("gears");
  EXPECT_EQ(gears.body[2], 1);
  EXPECT_EQ(gears.ratio, -2.0);
  EXPECT_LT(scene.misfit(gears).angular, 1e-14);
  EXPECT_LT((scene.axes(gears, 1) * Vec3::UnitZ() - Vec3::UnitY()).norm(), 1e-14);
}

TEST_F(JointsTest, MotorsTablesAndForcesAreWhatTheCaseSays) {
  const auto path =
      std::filesystem::temp_directory_path() / ("factor-" + std::to_string(getpid()) + ".csv");
  std::ofstream(path) << "# ramp\nt, value\n0, 0\n2, 4\n";
  const JointScene scene = made(
      "joints:\n"
      "- {name: a, type: revolute, between: [world, arm], at: [1, 2, 3], axis: [0, 0, 1],\n"
      "   motor: {velocity: 10 rpm, table: {rows: [[0, 0], [1, 1]]}, max_force: 3, viscosity: 4}, "
      "restitution: 0.5, limits: [-.inf, 2]}\n"
      "- {name: b, type: prismatic, between: [world, grains-0], at: [1, 1, 1], axis: [0, 0, 1],\n"
      "   motor: {position: 10 cm, compliance: 1e-3, damping_time: 5 ms}, erp: 0.5, cfm: 1e-4, "
      "collide: true}\n"
      "forces:\n"
      "- {name: push, type: force, body: arm, force: [0, 0, 5], at: [2, 2, 3], table: {file: " +
      path.string() +
      "}}\n"
      "- {name: turn, type: torque, body: disc, torque: [0, 0, 6], frame: body}\n");
  comm_.barrier();
  std::filesystem::remove(path);

  const JointAxis& a = scene.joint("a").axis[0];
  EXPECT_EQ(a.motor, MotorKind::velocity);
  EXPECT_EQ(a.max_force, 3.0);
  EXPECT_EQ(a.motor_compliance, 0.25);
  EXPECT_EQ(a.restitution, 0.5);
  EXPECT_EQ(a.upper, 2.0);
  EXPECT_TRUE(std::isinf(a.lower));
  if (!test::all_ranks_have(comm_, a.table, 0)) return;
  EXPECT_NEAR(scene.model.tables[0].at(0.5), 0.5 * std::numbers::pi / 3, 1e-15);
  const JointConstants& joint_b = scene.joint("b");
  const JointAxis& b = joint_b.axis[0];
  EXPECT_EQ(b.motor, MotorKind::position);
  EXPECT_EQ(b.target, 0.1);
  EXPECT_EQ(b.table, -1);
  EXPECT_EQ(b.motor_compliance, 1e-3);
  EXPECT_EQ(b.motor_damping_time, 5e-3);
  EXPECT_TRUE(std::isinf(b.max_force));
  EXPECT_EQ(joint_b.erp, 0.5);
  EXPECT_EQ(joint_b.cfm, 1e-4);
  EXPECT_TRUE(joint_b.collide);
  if (!test::all_ranks_have(comm_, scene.model.forces.size(), 2U)) return;
  const AppliedForce& push = scene.model.forces[0];
  EXPECT_EQ(push.force, Vec3(0, 0, 5));
  EXPECT_LT((scene.body("arm").state.pose.q * push.at - Vec3(1, 0, 0)).norm(), 1e-14);
  if (!test::all_ranks_have(comm_, push.table, 1)) return;
  EXPECT_EQ(scene.model.tables[1].at(1.0), 2.0);
  EXPECT_FALSE(push.body_frame);
  EXPECT_TRUE(scene.model.forces[1].body_frame);
  EXPECT_EQ(scene.model.forces[1].torque, Vec3(0, 0, 6));
  EXPECT_EQ(scene.model.forces[1].at, Vec3::Zero());
}

TEST_F(JointsTest, JointsOfBodiesBeyondThePeriodicBoxMeetInTheNearestImage) {
  const JointScene scene(comm_,
                         "periodic: {x: [0, 1]}\n"
                         "bodies:\n"
                         "- {name: a, mass: 1, inertia: [1, 1, 1], position: [0.95, 0, 0]}\n"
                         "- {name: b, mass: 1, inertia: [1, 1, 1], position: [1.05, 0, 0]}\n"
                         "joints: [{name: j, type: fixed, between: [a, b], at: [1, 0, 0]}]\n");

  EXPECT_NEAR(scene.body("b").state.pose.p[0], 0.05, 1e-15);
  EXPECT_LT((scene.joints[0].frame[0].p - Vec3(0.05, 0, 0)).norm(), 1e-15);
  EXPECT_LT((scene.joints[0].frame[1].p - Vec3(-0.05, 0, 0)).norm(), 1e-15);
}

TEST_F(JointsTest, FramesThatDisagreeAreRefusedWithTheMisfit) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"type: spherical, between: [world, arm], at: [[1, 2, 3], [1, 2, 3.003]]",
       "by 0.003 m and 0 rad"},
      {"type: revolute, between: [world, arm], at: [1, 2, 3], axis: [0, 0, 1], axis_b: [0, 0.02, "
       "1]",
       "by 0 m and 0.02 rad"},
      {"type: universal, between: [world, arm], at: [1, 2, 3], axis: [0, 0, 1], axis_b: [1, 0, "
       "0.1]",
       "by 0 m and 0.0995 rad"},
      {"type: distance, between: [world, arm], at: [[1, 2, 3], [1, 2, 4]], length: 1.25",
       "by 0.25 m and 0 rad"},
      {"type: prismatic, between: [world, arm], at: [[1, 2, 3], [1.5, 2, 4]], axis: [0, 0, 1]",
       "by 0.5 m and 0 rad"},
      {"type: rolling, between: [world, disc], at: [[3, 0, 0.125], [3, 0, 0.5]], axis: [0, 0, 1], "
       "axis_b: [0, 1, 0], radius: 0.5",
       "by 0.125 m and 0 rad"}};
  for (const auto& [keys, misfit] : cases) {
    const std::string error = error_of(std::string(kBodies) +
                                       "joints:\n- {name: fits, type: fixed, between: [world, "
                                       "arm], at: [1, 2, 3]}\n- {name: hinge, " +
                                       keys + "}\n");
    EXPECT_EQ(
        error.rfind("scene.yaml:13:3: joints.hinge: its frames disagree at the start " + misfit, 0),
        0U)
        << error;
  }
  // within the tolerance
  EXPECT_EQ(
      error_of(std::string(kBodies) +
               "joints: [{name: j, type: spherical, between: [world, arm], at: [[1, 2, 3], [1, "
               "2, 3.0000005]]}]"),
      "no error");
}

TEST_F(JointsTest, StartBeyondALimitIsRefused) {
  const std::string error = error_of(
      std::string(kBodies) +
      "joints: [{name: j, type: prismatic, between: [world, arm], at: [[1, 2, 3], [1, 2, 4]], "
      "axis: [0, 0, 1], limits: [-0.5, 0.5]}]");

  EXPECT_NE(error.find(
                "joints.j: its coordinate is 1 m at the start, outside its limits of -0.5 and 0.5"),
            std::string::npos)
      << error;
}

TEST_F(JointsTest, TablesOfBodiesAreJoinedByRow) {
  const auto path =
      std::filesystem::temp_directory_path() / ("rows-" + std::to_string(getpid()) + ".csv");
  std::ofstream(path) << "radius,x,y,z\n0.1,1,0,0\n0.1,2,0,0\n0.1,3,0,0\n";
  const std::string text =
      "generators: [{table: {name: t, material: steel, file: " + path.string() +
      "}}]\njoints:\n- {name: j, type: fixed, between: [t-0, t-2], at: [1.5, 0, 0]}\n";
  const JointScene scene(comm_, text);
  const std::string error =
      error_of(text + "- {name: k, type: fixed, between: [t-0, t-3], at: [1.5, 0, 0]}\n");
  comm_.barrier();
  std::filesystem::remove(path);

  EXPECT_LT((scene.joints[0].frame[0].p - Vec3(0.5, 0, 0)).norm(), 1e-15);
  EXPECT_LT((scene.joints[0].frame[1].p - Vec3(-1.5, 0, 0)).norm(), 1e-15);
  EXPECT_EQ(error, "scene.yaml:5:3: joints.k: there is no body 't-3'; the table has 3 rows");
}

}  // namespace
}  // namespace catena
