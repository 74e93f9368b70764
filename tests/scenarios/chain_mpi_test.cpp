// Chains and nets: where links and joints stand, and that no number of ranks changes them.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "scenarios/joint_scene.hpp"
#include "support/all_ranks.hpp"
#include "support/error_of.hpp"

namespace catena {
namespace {

using test::JointScene;

constexpr const char* kRod = "material: steel, shape: {capsule: {radius: 1 mm, length: 1 cm}}";

std::string chain(const std::string& keys) {
  return "generators: [{chain: {name: cable, " + std::string(kRod) + ", " + keys + "}}]\n";
}

class ChainTest : public testing::Test {
 protected:
  /// Joints meet to 1e-14 m and links are equally long; returns their length.
  double check(const JointScene& scene, GlobalId n_joints) {
    EXPECT_EQ(static_cast<GlobalId>(scene.joints.size()), n_joints);
    EXPECT_EQ(scene.homeless, 0);
    double length = 0.0;
    for (const JointConstants& joint : scene.joints) {
      EXPECT_LT(scene.misfit(joint).linear, 1e-14);
      EXPECT_LT(scene.misfit(joint).angular, 1e-14);
      for (std::size_t k = 0; k < 2; ++k) {
        if (joint.body[k] == kNoBody) continue;
        EXPECT_TRUE(scene.body(joint.body[k])->constants.jointed);
        const double arm = joint.frame[k].p.norm();
        if (length == 0.0) length = 2.0 * arm;
        EXPECT_EQ(2.0 * arm, length);
      }
    }
    return length;
  }

  Communicator comm_ = Communicator::world();
};

TEST_F(ChainTest, StraightChainHasItsLinksBetweenEqualStepsOfTheLine) {
  const JointScene scene(
      comm_,
      chain("links: 7, from: [0, 0, 2], to: [1.4, 0, 2], anchored: both, velocity: [0, 0, 1]"));

  EXPECT_NEAR(check(scene, 8), 0.2, 1e-16);
  if (!test::all_ranks_have(comm_, scene.bodies.size(), 7U)) return;
  for (std::size_t i = 0; i < 7; ++i) {
    const BodyRecord& link = scene.bodies[i];
    EXPECT_LT((link.state.pose.p - Vec3(0.1 + 0.2 * static_cast<double>(i), 0, 2)).norm(), 1e-15);
    EXPECT_LT((link.state.pose.q * Vec3::UnitZ() - Vec3::UnitX()).norm(), 1e-15);
    EXPECT_EQ(link.state.twist.v, Vec3(0, 0, 1));
  }
  EXPECT_LT((scene.point(scene.joint("cable-0"), 0) - Vec3(0, 0, 2)).norm(), 1e-15);
  EXPECT_LT((scene.point(scene.joint("cable-7"), 1) - Vec3(1.4, 0, 2)).norm(), 1e-15);
  EXPECT_EQ(scene.joint("cable-0").body, (std::array<GlobalId, 3>{kNoBody, 0, kNoBody}));
  EXPECT_EQ(scene.joint("cable-3").body, (std::array<GlobalId, 3>{2, 3, kNoBody}));
  EXPECT_EQ(scene.joint("cable-7").body, (std::array<GlobalId, 3>{6, kNoBody, kNoBody}));
}

TEST_F(ChainTest, AnchorsCountJointsFromTheFirstOneThatIsThere) {
  const std::string line = "links: 4, from: [0, 0, 0], to: [0, 0, -1]";
  for (const auto& [anchored, n, first] : {std::tuple{"none", 3, 0},
                                           {"one", 4, -1},
                                           {"first", 4, -1},
                                           {"last", 4, 0},
                                           {"both", 5, -1}}) {
    const JointScene scene(comm_, chain(line + ", anchored: " + anchored));

    check(scene, n);
    EXPECT_EQ(scene.joint("cable-0").body[0], first) << anchored;
    for (std::size_t i = 0; i < scene.joints.size(); ++i)
      EXPECT_EQ(scene.joints[i].id, static_cast<GlobalId>(i));
  }
}

TEST_F(ChainTest, LinksOnAPolylineAreEquallyLongAndJointsStandOnIt) {
  const JointScene scene(
      comm_,
      chain(
          "links: 23, path: [[0, 0, 0], [1, 0, 0], [1, 0.7, 0], [0.2, 0.7, 0.9]], anchored: both"));

  const double length = check(scene, 24);
  EXPECT_LT(length, (1.0 + 0.7 + std::hypot(0.8, 0.9)) / 23.0);
  for (const JointConstants& joint : scene.joints) {
    const Vec3 p = scene.point(joint, 1);
    const double to_first = Vec3(p[0] - std::clamp(p[0], 0.0, 1.0), p[1], p[2]).norm();
    const double to_second = Vec3(p[0] - 1.0, p[1] - std::clamp(p[1], 0.0, 0.7), p[2]).norm();
    const Vec3 u = Vec3(-0.8, 0, 0.9).normalized();
    const Vec3 d = p - Vec3(1, 0.7, 0);
    const double to_third = (d - u.dot(d) * u).norm();
    EXPECT_LT(std::min({to_first, to_second, to_third}), 1e-14);
  }
  EXPECT_LT((scene.point(scene.joint("cable-23"), 1) - Vec3(0.2, 0.7, 0.9)).norm(), 1e-14);
}

TEST_F(ChainTest, ClosedPathJoinsTheLastLinkToTheFirst) {
  const JointScene scene(comm_, chain("links: 20, joint: revolute, closed: true, "
                                      "path: [[0, 0, 0], [1, 0, 0], [1, 0, 0.5], [0, 0, 0.5]]"));

  check(scene, 20);
  EXPECT_EQ(scene.joint("cable-0").body, (std::array<GlobalId, 3>{19, 0, kNoBody}));
  EXPECT_EQ(scene.joint("cable-19").body, (std::array<GlobalId, 3>{18, 19, kNoBody}));
  // hinges of a loop stand across its plane
  for (const JointConstants& joint : scene.joints)
    EXPECT_NEAR(std::abs((scene.axes(joint, 0) * Vec3::UnitZ())[1]), 1.0, 1e-14);
}

/// D03 of the public cases: joints of the catenary of 20 rigid links of 0.1 m, supports 1.2 m
/// apart; closed form, 40 digits.
constexpr double kCatenary[][2] = {{0.0, 0.0},
                                   {3.247616238228417e-02, -9.457959017102745e-02},
                                   {6.830537265793830e-02, -1.879405439526966e-01},
                                   {1.081901426123313e-01, -2.796422621791571e-01},
                                   {1.530440271721963e-01, -3.690185959588009e-01},
                                   {2.040565855078035e-01, -4.550285889366885e-01},
                                   {2.627480592874446e-01, -5.359934634538129e-01},
                                   {3.309283199117977e-01, -6.091470830580080e-01},
                                   {4.102996055320066e-01, -6.699763442650556e-01},
                                   {5.011544016342243e-01, -7.117544010080928e-01},
                                   {6.000000000000000e-01, -7.269052321308982e-01}};

TEST_F(ChainTest, CatenaryIsThatOfRigidLinks) {
  const JointScene scene(comm_, chain("links: 20, anchored: both, catenary: "
                                      "{from: [0, 0, 0], to: [1.2, 0, 0], length: 2}"));

  EXPECT_NEAR(check(scene, 21), 0.1, 1e-16);
  for (std::size_t k = 0; k <= 20; ++k) {
    const Vec3 p = scene.point(scene.joint("cable-" + std::to_string(k)), 1);
    const std::size_t mirrored = std::min(k, 20 - k);
    const double x = k <= 10 ? kCatenary[mirrored][0] : 1.2 - kCatenary[mirrored][0];
    EXPECT_NEAR(p[0], x, 1e-14) << k;
    EXPECT_NEAR(p[2], kCatenary[mirrored][1], 1e-14) << k;
  }
}

TEST_F(ChainTest, LinksOfAnUnevenCatenaryPullAlongTheMeanForceOfTheirEnds) {
  for (const auto& [links, length] : {std::pair{2, 1.3}, {5, 1.2043}, {301, 9.0}, {1000, 1.25}}) {
    const JointScene scene(
        comm_,
        chain("links: " + std::to_string(links) + ", anchored: both, catenary: {from: [1, 2, 3], " +
              "to: [1.8, 2.6, 3.65], length: " + std::to_string(length) + "}"));

    EXPECT_NEAR(check(scene, links + 1), length / links, 1e-15);
    std::vector<Vec3> p;
    for (int k = 0; k <= links; ++k)
      p.push_back(scene.point(scene.joint("cable-" + std::to_string(k)), 1));
    EXPECT_LT((p.back() - Vec3(1.8, 2.6, 3.65)).norm(), 2e-14);
    // slopes rise by equal steps from link to link
    const auto slope = [&](std::size_t i) {
      const Vec3 d = p[i + 1] - p[i];
      return d[2] / std::hypot(d[0], d[1]);
    };
    const double step = (slope(p.size() - 2) - slope(0)) / std::max(1, links - 1);
    for (std::size_t i = 0; i + 1 < p.size(); ++i)
      EXPECT_NEAR(slope(i), slope(0) + step * static_cast<double>(i),
                  1e-11 * std::abs(slope(0)) + 1e-11);
  }
}

TEST_F(ChainTest, CurledChainWindsUpOnItsHelix) {
  const JointScene scene(comm_,
                         chain("links: 500, joint: revolute, curl: {radius: 0.1, pitch: 0.03, "
                               "length: 5, centre: [0, 0, 1]}, anchored: first"));

  EXPECT_NEAR(check(scene, 500), 0.01, 1e-16);
  double height = -1.0;
  for (int k = 0; k < 500; ++k) {
    const Vec3 p = scene.point(scene.joint("cable-" + std::to_string(k)), 1);
    EXPECT_NEAR(std::hypot(p[0], p[1]), 0.1, 1e-14);
    EXPECT_GT(p[2], height);
    height = p[2];
  }
  // turns at this height, and the angle there
  const double angle = 2.0 * std::numbers::pi * (height - 1.0) / 0.03;
  EXPECT_LT((scene.point(scene.joint("cable-499"), 1).head<2>() -
             0.1 * Vec3(std::cos(angle), std::sin(angle), 0).head<2>())
                .norm(),
            1e-12);
  EXPECT_LT((scene.axes(scene.joint("cable-7"), 0) * Vec3::UnitZ() - Vec3::UnitZ()).norm(), 1e-14);
}

TEST_F(ChainTest, HingesAreHorizontalAcrossTheChainAndBoxesLieAlongIt) {
  const JointScene scene(
      comm_,
      "generators: [{chain: {name: track, material: steel, shape: {box: {size: [0.2, 0.1, 0.02]}}, "
      "links: 3, joint: revolute, friction: 0.5, joined_collide: true, compliance: 1e-6, "
      "angular_compliance: 1e-5, damping_time: 20 ms, from: [0, 0, 0], to: [0, 0.6, 0.3]}}]\n");

  const double length = check(scene, 2);
  for (const BodyRecord& link : scene.bodies) {
    EXPECT_LT((link.state.pose.q * Vec3::UnitX() - Vec3(0, 0.6, 0.3).normalized()).norm(), 1e-15);
    EXPECT_LT((link.state.pose.q * Vec3::UnitY() - Vec3(-1, 0, 0)).norm(), 1e-15);
  }
  for (const JointConstants& joint : scene.joints) {
    EXPECT_EQ(joint.frame[0].p, Vec3(0.5 * length, 0, 0));
    EXPECT_LT((scene.axes(joint, 1) * Vec3::UnitZ() - Vec3(-1, 0, 0)).norm(), 1e-15);
    EXPECT_EQ(joint.axis[0].friction, 0.5);
    EXPECT_TRUE(joint.collide);
    EXPECT_EQ(joint.compliance, 1e-6);
    EXPECT_EQ(joint.angular_compliance, 1e-5);
    EXPECT_EQ(joint.damping_time, 0.02);
  }
}

TEST_F(ChainTest, UniversalJointsStartAtNoAngles) {
  const JointScene scene(comm_, chain("links: 30, joint: universal, path: [[0, 0, 0], [1, 0, 0.2], "
                                      "[1.5, 0.5, 0.2]], anchored: both"));

  check(scene, 31);
  for (const JointConstants& joint : scene.joints) {
    const std::array<double, 2> angle =
        joint_angles(joint, scene.poses(joint), {0.0, 0.0}, scene.model);
    EXPECT_NEAR(angle[0], 0.0, 1e-14);
    EXPECT_NEAR(angle[1], 0.0, 1e-14);
  }
}

TEST_F(ChainTest, MassAndInertiaMayBeGivenWithoutAShape) {
  const JointScene scene(
      comm_,
      "generators: [{chain: {name: rods, links: 2, mass: 2, inertia: [1, 1, 0.5], "
      "from: [0, 0, 0], to: [2, 0, 0]}}]\n");

  check(scene, 1);
  EXPECT_EQ(scene.bodies[1].constants.mass, 2.0);
  EXPECT_EQ(scene.bodies[1].constants.inertia, Vec3(1, 1, 0.5));
  EXPECT_EQ(scene.bodies[1].constants.shape.type, ShapeType::none);
}

TEST_F(ChainTest, ClumpsHangByTheEndsOfTheirLongAxis) {
  const JointScene scene(
      comm_,
      "generators: [{chain: {name: beads, material: steel, shapes: [{sphere: {radius: 0.1}}, "
      "{sphere: {radius: 0.05}, at: [0, 0, 0.2]}], links: 5, from: [0, 0, 0], to: [0, 0, -2]}}]\n");

  EXPECT_NEAR(check(scene, 4), 0.4, 1e-15);
  for (const JointConstants& joint : scene.joints)
    EXPECT_LT((scene.body(joint.body[1])->state.pose.q * joint.frame[1].p - Vec3(0, 0, 0.2)).norm(),
              1e-14);
}

TEST_F(ChainTest, LinksOfUnevenDensityHangBetweenTheirJointsAsBefore) {
  // a roller at the far end: the mass lies 6 cm towards it and 1 cm beside the axis
  const std::string keys =
      "links: 5, from: [0, 0, 2], to: [1, 0, 2], anchored: both, joint: revolute, mass: 2, "
      "inertia: [0.03, 0.02, 0.01]";
  const JointScene even(comm_, chain(keys));
  const JointScene uneven(comm_, chain(keys + ", center_of_mass: [0, 1 cm, 6 cm]"));

  if (!test::all_ranks_have(comm_, even.bodies.size(), 5U)) return;
  if (!test::all_ranks_have(comm_, uneven.bodies.size(), 5U)) return;
  for (std::size_t i = 0; i < 5; ++i) {
    const BodyRecord &a = even.bodies[i], &b = uneven.bodies[i];
    EXPECT_EQ(b.constants.mass, 2.0);
    EXPECT_EQ(b.constants.inertia, Vec3(0.03, 0.02, 0.01));
    const Vec3 off = b.state.pose.p - a.state.pose.p;
    EXPECT_LT((b.state.pose.q.conjugate() * off - Vec3(0, 0.01, 0.06)).norm(), 1e-15);
    // the capsule itself has not moved
    const Geometry& link = uneven.model.geometries[b.constants.shape.geometry];
    const Vec3 middle = b.state.pose.p + b.state.pose.q * link.parts[0].pose.p;
    EXPECT_LT((middle - a.state.pose.p).norm(), 1e-15);
  }
  EXPECT_EQ(uneven.joints.size(), 6U);
  for (std::size_t k = 0; k < std::min(even.joints.size(), uneven.joints.size()); ++k) {
    EXPECT_LT(uneven.misfit(uneven.joints[k]).linear, 1e-14);
    EXPECT_LT(uneven.misfit(uneven.joints[k]).angular, 1e-14);
    EXPECT_LT((uneven.point(uneven.joints[k], 0) - even.point(even.joints[k], 0)).norm(), 1e-15);
  }
  EXPECT_NE(test::error_of([&] {
              JointScene(comm_, chain("links: 5, from: [0, 0, 2], to: [1, 0, 2], "
                                      "center_of_mass: [0, 0, 6 cm]"));
            }).find("needs the body's mass and inertia"),
            std::string::npos);
}

TEST_F(ChainTest, NetKnotsHangOnCordsOfTheirDistance) {
  const std::string knots =
      "generators: [{net: {name: net, material: steel, shape: {sphere: {radius: 0.01}}, count: [4, "
      "3], "
      "from: [0, 0, 1], spacing: [[0.1, 0, 0], [0, 0.2, 0]], anchored: ";
  for (const auto& [anchored, n] :
       {std::pair{"none", 0}, {"corners", 4}, {"edge", 4}, {"all", 10}}) {
    const JointScene scene(comm_, knots + anchored + "}}]\n");

    EXPECT_EQ(scene.homeless, 0);
    if (!test::all_ranks_have(comm_, scene.joints.size(), 9U + 8U + static_cast<std::size_t>(n)))
      return;
    std::vector<GlobalId> ids;
    for (const JointConstants& joint : scene.joints) {
      ids.push_back(joint.id);
      EXPECT_LT(scene.misfit(joint).linear, 1e-15);
      if (joint.type == JointType::distance) {
        EXPECT_EQ(joint.length, joint.id < 9 ? 0.1 : 0.2);
        EXPECT_EQ(joint.body[1] - joint.body[0], joint.id < 9 ? 1 : 4);
      } else {
        EXPECT_EQ(joint.body[0], kNoBody);
        EXPECT_GE(joint.id, 17);
      }
    }
    std::sort(ids.begin(), ids.end());
    for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], static_cast<GlobalId>(i));
  }
}

TEST_F(ChainTest, ArmsOfKnotsMeetHalfWay) {
  const JointScene scene(
      comm_,
      "generators: [{net: {name: net, material: steel, shape: {box: {size: [0.02, 0.03, 0.04]}}, "
      "joint: spherical, count: [3, 3], spacing: [[0.1, 0, 0], [0, 0.1, 0.1]]}}]\n");

  if (!test::all_ranks_have(comm_, scene.joints.size(), 12U)) return;
  for (const JointConstants& joint : scene.joints) {
    EXPECT_EQ(joint.type, JointType::spherical);
    EXPECT_LT(scene.misfit(joint).linear, 1e-15);
    const Vec3 middle =
        0.5 * (scene.body(joint.body[0])->state.pose.p + scene.body(joint.body[1])->state.pose.p);
    EXPECT_LT((scene.point(joint, 0) - middle).norm(), 1e-15);
  }
}

TEST_F(ChainTest, RanksMakeTheBodiesAndJointsThatOneRankMakes) {
  const std::string text =
      "generators:\n"
      "- chain: {name: a, " +
      std::string(kRod) +
      ", links: 9, joint: universal, from: [0, 0, 0], to: [1, 1, 1], anchored: both}\n"
      "- net: {name: b, material: steel, shape: {sphere: {radius: 0.01}}, count: [3, 4], spacing: "
      "[[1, 0, 0], [0, 1, 0]], anchored: all}\n"
      "- chain: {name: c, " +
      std::string(kRod) +
      ", links: 11, closed: true, path: [[0, 0, 0], [1, 0, 0], [1, 2, 0], [0, 2, 0]]}\n"
      "- chain: {name: d, " +
      std::string(kRod) +
      ", links: 700, catenary: {from: [0, 0, 0], to: [1, 1, 1], length: 3}}\n"
      "bodies: [{name: load, material: steel, shape: {sphere: {radius: 0.1}}, position: [0, 0, "
      "-5]}]\n"
      "joints: [{name: hook, type: spherical, between: [d-0, load], at: [0, 0, 0]}]\n"
      "forces: [{name: pull, type: spring, between: [load, b-3], at: [[0, 0, -5], [0, 1, 0]], "
      "stiffness: 9}]\n";
  const JointScene all(comm_, text);
  const JointScene one(Communicator::self(), text);

  if (!test::all_ranks_have(comm_, all.joints.size(), one.joints.size())) return;
  if (!test::all_ranks_have(comm_, all.bodies.size(), one.bodies.size())) return;
  EXPECT_EQ(all.homeless, 0);
  for (std::size_t i = 0; i < one.bodies.size(); ++i) {
    EXPECT_EQ(all.bodies[i].state.pose.p, one.bodies[i].state.pose.p);
    EXPECT_EQ(all.bodies[i].state.pose.q.coeffs(), one.bodies[i].state.pose.q.coeffs());
    EXPECT_EQ(all.bodies[i].constants.jointed, one.bodies[i].constants.jointed);
  }
  std::vector<JointConstants> sorted = all.joints;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    EXPECT_EQ(sorted[i].id, static_cast<GlobalId>(i));
    EXPECT_EQ(sorted[i].body, one.joints[i].body);
    EXPECT_EQ(sorted[i].length, one.joints[i].length);
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(sorted[i].frame[k].p, one.joints[i].frame[k].p);
      EXPECT_EQ(sorted[i].frame[k].q.coeffs(), one.joints[i].frame[k].q.coeffs());
    }
  }
  EXPECT_EQ(all.model.joint_names.name_of(0), "hook");
  EXPECT_EQ(all.model.joint_names.name_of(1), "pull");
  EXPECT_EQ(all.model.joint_names.name_of(2), "a-0");
  EXPECT_EQ(all.model.joint_names.size(), static_cast<GlobalId>(one.joints.size()));
}

TEST_F(ChainTest, LongCatenariesEndWhereTheyShould) {
  SceneSettings scene =
      test::scene_of(chain("links: 100000, anchored: both, catenary: "
                           "{from: [0, 0, 0], to: [6, 0, 1], length: 10}"));
  const Model model = make_model(scene, comm_);
  Bodies bodies;
  State state;
  generate_bodies(scene, comm_, model, bodies, state);

  EXPECT_EQ(comm_.sum(static_cast<std::int64_t>(bodies.joints.size())), 100001);
  EXPECT_EQ(comm_.sum(static_cast<std::int64_t>(bodies.constants.size())), 100000);
  double gap = 0.0;
  for (std::size_t i = 0; i + 1 < bodies.constants.size(); ++i) {
    const Pose &a = state.body[i].pose, &b = state.body[i + 1].pose;
    const Vec3 arm(0, 0, 5e-5);
    gap = std::max(gap, ((a.p + a.q * arm) - (b.p - b.q * arm)).norm());
  }
  EXPECT_LT(comm_.max(gap), 1e-14);
}

TEST_F(ChainTest, WhatNoPathCanHoldIsRefused) {
  const auto error_of = [](const std::string& keys) {
    return test::error_of([&] { test::scene_of(chain(keys)); });
  };
  EXPECT_NE(error_of("links: 3, from: [0, 0, 0], to: [0, 0, 0]").find("the same point"),
            std::string::npos);
  EXPECT_NE(error_of("links: 3, catenary: {from: [0, 0, 0], to: [1, 0, 0], length: 0.9}")
                .find("0.9 m long, its ends are 1 m apart"),
            std::string::npos);
  EXPECT_NE(
      error_of("links: 3, catenary: {from: [0, 0, 0], to: [0, 0, 1], length: 2}").find("fold"),
      std::string::npos);
  EXPECT_NE(error_of("links: 3, curl: {radius: 0.1, length: 1}").find("do not fit a helix"),
            std::string::npos);
}

}  // namespace
}  // namespace catena
