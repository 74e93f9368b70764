// What a case says of joints, forces, chains and nets, printed and read again.
#include <gtest/gtest.h>

#include <cmath>

#include "catena/base/error.hpp"
#include "catena/simulation/case.hpp"
#include "support/case_text.hpp"

namespace catena {
namespace {

using test::whole_case;

constexpr const char* kCase = R"(catena: 1
name: mechanisms
materials: {steel: {density: 7800, friction: 0.3}}
bodies:
  - {name: arm, mass: 2, inertia: [0.1, 0.2, 0.2], position: [9, 0, 3]}
  - {name: nut, mass: 1, inertia: [0.1, 0.1, 0.1], position: [9, 0, 5]}
generators:
  - chain: {name: cable, links: 1000, joint: spherical, from: [0, 0, 20], to: [60, 0, 20], anchored: both, material: steel,
            shape: {capsule: {radius: 5 mm, length: 5 cm}}}
  - chain: {name: track, links: 40, joint: revolute, closed: true, path: [[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1]],
            material: steel, shape: {box: {size: [0.1, 0.3, 0.02]}}, friction: 0.5, velocity: [0, 1, 0]}
  - chain: {name: hung, links: 20, mass: 1, inertia: [1, 1, 1], anchored: one, catenary: {from: [0, 0, 0], to: [1, 0, 0], length: 2}}
  - chain: {name: coil, links: 20, mass: 1, inertia: [1, 1, 1], curl: {radius: 1, pitch: 0.1, length: 5, axis: [0, 1, 0]}}
  - net: {name: net, count: [3, 4], spacing: [[0.1, 0, 0], [0, 0.1, 0]], material: steel, shape: {sphere: {radius: 1 cm}}, anchored: edge}
joints:
  - {name: hinge, type: revolute, between: [world, arm], at: [9, 0, 4], axis: [0, 1, 0], collide: false,
     limits: [-90 deg, 90 deg], motor: {velocity: 1 rad/s, max_force: 10, table: {file: speed.csv}}, compliance: 0, damping_time: 4 ms}
  - {name: screw, type: cylindrical, between: [arm, nut], at: [[9, 0, 3], [9, 0, 5]], axis: [0, 0, 1], limits: [-1 m, 3 m],
     second: {motor: {position: 90 deg, compliance: 1e-3, table: {rows: [[0, 0], [1, 1]]}}, friction: 0.1}}
  - {name: rod, type: distance, between: [cable-999, nut], at: [[60, 0, 20], [9, 0, 5]], erp: 0.2, cfm: 1e-5}
forces:
  - {name: suspension, type: spring, between: [world, arm], at: [[9, 0, 5], [9, 0, 3]], stiffness: 100, damping: 1, length: 1}
  - {name: push, type: force, body: cable-2, force: [0, 0, 1 kN], frame: body}
time: {step: 2 ms, end: 2 s}
solver: {joints: {method: chain, grouping: rank, cholesky_limit: 10, projection: 1 nm}}
)";

TEST(JointCase, ReadsJointsForcesAndGenerators) {
  const CaseSettings s = whole_case(kCase);

  ASSERT_EQ(s.joints.size(), 3U);
  EXPECT_DOUBLE_EQ(s.joints[0].first.limits[1], M_PI / 2);
  EXPECT_EQ(s.joints[0].first.motor.table.file, "/data/speed.csv");
  EXPECT_EQ(s.joints[0].damping_time, 4e-3);
  EXPECT_EQ(s.joints[0].place, "case.yaml:16:5: joints.hinge");
  EXPECT_EQ(s.joints[1].at.size(), 6U);
  EXPECT_DOUBLE_EQ(s.joints[1].second.motor.position, M_PI / 2);
  EXPECT_EQ(s.joints[2].erp, 0.2);
  ASSERT_EQ(s.forces.size(), 2U);
  EXPECT_EQ(s.forces[1].force, Vec3(0, 0, 1000));
  EXPECT_TRUE(s.forces[1].body_frame);
  EXPECT_EQ(std::get<ChainSettings>(s.generators[0].kind).anchored, ChainAnchors::both);
  EXPECT_EQ(std::get<ChainSettings>(s.generators[1].kind).path.kind, ChainPath::polyline);
  EXPECT_EQ(std::get<ChainSettings>(s.generators[2].kind).anchored, ChainAnchors::first);
  EXPECT_EQ(std::get<ChainSettings>(s.generators[2].kind).path.kind, ChainPath::catenary);
  EXPECT_EQ(std::get<ChainSettings>(s.generators[3].kind).path.kind, ChainPath::curl);
  EXPECT_EQ(std::get<NetSettings>(s.generators[4].kind).anchored, NetAnchors::edge);
  EXPECT_EQ(s.solver.joints.method, JointMethod::chain);
  EXPECT_EQ(s.solver.joints.grouping, ChainGrouping::rank);
  EXPECT_EQ(s.solver.joints.cholesky_limit, 10);
  EXPECT_DOUBLE_EQ(s.step_solve.projection, 1e-9);
  EXPECT_TRUE(
      std::isnan(whole_case(kCase, {"solver.joints.projection=none"}).step_solve.projection));
}

TEST(JointCase, PrintedCaseReadsBackToTheSamePrint) {
  const std::string printed = print_case(whole_case(kCase));

  EXPECT_EQ(print_case(whole_case(printed)), printed) << printed;
}

TEST(JointCase, SetReachesJointsByName) {
  const CaseSettings s =
      whole_case(kCase, {"joints.hinge.motor.velocity=2", "generators.cable.links=10",
                         "forces.push.force=[1, 0, 0]", "joints.rod.between=[cable-9, nut]"});

  EXPECT_EQ(s.joints[0].first.motor.velocity, 2.0);
  EXPECT_EQ(std::get<ChainSettings>(s.generators[0].kind).links, 10);
  EXPECT_EQ(s.forces[1].force, Vec3(1, 0, 0));
}

TEST(JointCase, OnlySpookAsksForDampingLongerThanAQuarterOfAStep) {
  const std::string fast = "joints.hinge.damping_time=0.4 ms";
  EXPECT_THROW(whole_case(kCase, {fast}), Error);
  EXPECT_NO_THROW(whole_case(kCase, {fast, "time.stepper=dvi"}));
  EXPECT_NO_THROW(whole_case(kCase, {"joints.hinge.damping_time=0.5 ms"}));
  EXPECT_NO_THROW(whole_case(
      kCase, {fast, "joints.hinge.compliance=1e-9", "joints.hinge.angular_compliance=1e-9"}));
  EXPECT_THROW(whole_case(kCase, {fast, "joints.hinge.compliance=1e-9"}), Error);
  EXPECT_THROW(whole_case(kCase, {"generators.cable.damping_time=0.4 ms"}), Error);
  EXPECT_THROW(whole_case(kCase, {"joints.screw.second.motor={position: 1, damping_time: 0.1 ms}"}),
               Error);
}

}  // namespace
}  // namespace catena
