#include <gtest/gtest.h>

#include <cmath>

#include "joint_scene.hpp"

namespace catena {
namespace {

using namespace test;

TEST(JointAngles, CountTurnsForthAndBack) {
  Random random(21);
  for (const JointType type : {JointType::revolute, JointType::cylindrical, JointType::universal,
                               JointType::planar, JointType::torsion_spring}) {
    JointScene s = scene_of(type, random, {0, 0, 0});
    std::array<double, 2> angle = kNoTurns;
    for (int k = 0; k <= 120; ++k) {
      // five turns and more, in steps of up to 2.7 rad
      const double first = 20.0 * std::sin(0.14 * k), second = -0.9 * first;
      std::array<double, 3> x = {first, second, 0.0};
      if (type == JointType::cylindrical) x = {0.3, first, 0.0};
      if (type == JointType::planar) x = {0.3, 0.4, first};
      const Pose frame = times(times(s.at.pose[0], s.joint.frame[0]), held(s.joint, x));
      s.at.pose[1] = times(frame, inverse(s.joint.frame[1]));
      angle = joint_angles(s.joint, s.at, angle, s.model);
      EXPECT_NEAR(angle[0], first, 1e-13) << k;
      if (type == JointType::universal) {
        EXPECT_NEAR(angle[1], second, 1e-13) << k;
      }
      const auto axis = static_cast<std::size_t>(type == JointType::cylindrical ? 1 : 0);
      if (type != JointType::planar) {
        EXPECT_NEAR(s.geometry(angle).coordinate[axis], first, 1e-13) << k;
      }
    }
  }
}

TEST(JointAngles, OfJointsWithoutAnglesStay) {
  Random random(22);
  const JointScene s = scene_of(JointType::prismatic, random, {0.5, 0, 0});
  EXPECT_EQ(joint_angles(s.joint, s.at, {3.0, 4.0}, s.model), (std::array{3.0, 4.0}));
}

TEST(JointCoordinates, AreThoseAtWhichTheJointWasPlaced) {
  Random random(23);
  const std::array<double, 3> x = {0.3, -0.7, 0.5};
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::array<std::pair<JointType, std::array<double, 3>>, 14> expected = {
      {{JointType::fixed, {none, none, none}},
       {JointType::spherical, x},
       {JointType::revolute, {0.3, none, none}},
       {JointType::prismatic, {0.3, none, none}},
       {JointType::cylindrical, {0.3, -0.7, none}},
       {JointType::universal, {0.3, -0.7, none}},
       {JointType::planar, x},
       {JointType::point_on_line, {0.3, none, none}},
       {JointType::distance, {0.8, none, none}},
       {JointType::rope, {0.8, none, none}},
       {JointType::spring, {0.8, none, none}},
       {JointType::torsion_spring, {0.3, none, none}},
       {JointType::knife_edge, {none, none, none}},
       {JointType::rolling, {none, none, none}}}};
  for (std::size_t i = 0; i < 14; ++i) {
    const JointScene s = scene_of(expected[i].first, random, x);
    const std::array<double, 3> found = joint_coordinates(s.joint, s.at, kNoTurns, s.model);
    for (std::size_t k = 0; k < 3; ++k) {
      if (std::isnan(expected[i].second[k])) {
        EXPECT_TRUE(std::isnan(found[k])) << i;
      } else {
        EXPECT_NEAR(found[k], expected[i].second[k], 1e-14) << i;
      }
    }
  }
}

TEST(JointRates, AreTheRatesOfTheCoordinatesWhereTheJointHolds) {
  constexpr double kSmall = 1e-5;
  for (const JointType type :
       {JointType::revolute, JointType::prismatic, JointType::cylindrical, JointType::universal,
        JointType::planar, JointType::point_on_line, JointType::distance, JointType::rope,
        JointType::spring, JointType::torsion_spring, JointType::point_on_curve}) {
    Random random(5);
    const JointScene s = scene_of(type, random, {0.3, -0.7, 0.2});
    for (std::size_t j = 0; j < 2; ++j) {
      for (int k = 0; k < 6; ++k) {
        JointPoses at = s.at;
        for (Twist& twist : at.twist) twist = {};
        (k < 3 ? at.twist[j].v[k] : at.twist[j].w[k - 3]) = 1.0;
        const auto there = [&](double t) {
          return joint_coordinates(s.joint, moved(s.at, j, k, t), kNoTurns, s.model);
        };
        const std::array<double, 3> before = there(-kSmall), after = there(kSmall);
        const std::array<double, 3> found = joint_rates(s.joint, at, kNoTurns, s.model);
        for (std::size_t i = 0; i < 3; ++i) {
          EXPECT_EQ(std::isnan(found[i]), std::isnan(after[i])) << static_cast<int>(type);
          if (std::isnan(found[i])) continue;
          EXPECT_NEAR(found[i], (after[i] - before[i]) / (2.0 * kSmall), 1e-8)
              << static_cast<int>(type) << " coordinate " << i << " body " << j << " " << k;
        }
      }
    }
  }
}

/// Wheels a and b turn about axes fixed in a moving carrier, by angles alpha and beta.
struct Gears {
  JointScene scene;
  std::array<Pose, 2> bearing;

  explicit Gears(Random& random, const Quat& axis_a, const Quat& axis_b) {
    scene.joint.type = JointType::gear;
    scene.joint.ratio = 2.5;
    bearing = {Pose{random.vector(), axis_a}, Pose{random.vector(), axis_b}};
    for (Pose& frame : scene.joint.frame) frame = {random.vector(), random.rotation()};
    place(random.pose(), 0.4, 0.9);
    zero_gear_angles(scene.joint, scene.at);
  }
  /// Angles are counted from where the gears were first placed.
  void place(const Pose& carrier, double alpha, double beta) {
    scene.at.pose[2] = carrier;
    const std::array<double, 2> angle = {alpha, beta};
    for (std::size_t k = 0; k < 2; ++k) {
      const Pose frame =
          times(times(carrier, bearing[k]), {Vec3::Zero(), turn(Vec3::UnitZ(), angle[k])});
      scene.at.pose[k] = times(frame, inverse(placed_frame(k)));
    }
  }

 private:
  /// The frame as it was when first placed.
  Pose placed_frame(std::size_t k) {
    if (!first_set_[k]) {
      first_[k] = scene.joint.frame[k];
      first_set_[k] = true;
    }
    return first_[k];
  }
  std::array<Pose, 2> first_;
  std::array<bool, 2> first_set_{};
};

TEST(Gear, AnglesAreRelativeToTheCarrierAndStartAtZero) {
  Random random(24);
  const std::array<Quat, 4> axes = {Quat::Identity(), Quat(0.0, 1.0, 0.0, 0.0),  // z the other way
                                    Quat::FromTwoVectors(Vec3::UnitZ(), Vec3::UnitX()),
                                    random.rotation()};
  for (const Quat& axis_a : axes) {
    for (const Quat& axis_b : axes) {
      Gears gears(random, axis_a, axis_b);
      std::array<double, 2> angle = kNoTurns;
      for (int k = 0; k <= 40; ++k) {
        const double alpha = 0.5 * k, beta = -0.3 * k;
        gears.place(random.pose(), 0.4 + alpha, 0.9 + beta);
        angle = joint_angles(gears.scene.joint, gears.scene.at, angle, gears.scene.model);
        EXPECT_NEAR(angle[0], alpha, 1e-13);
        EXPECT_NEAR(angle[1], beta, 1e-13);
        EXPECT_NEAR(gears.scene.geometry(angle).misfit[0], alpha + 2.5 * beta, 1e-12);
        const auto found =
            joint_coordinates(gears.scene.joint, gears.scene.at, angle, gears.scene.model);
        EXPECT_NEAR(found[1], beta, 1e-13);
        EXPECT_TRUE(std::isnan(found[2]));
      }
    }
  }
}

TEST(Gear, RowIsTheRateOfItsMisfitAndKnowsNoMotionOfTheWhole) {
  Random random(25);
  Gears gears(random, random.rotation(), random.rotation());
  const Pose carrier = random.pose();
  gears.place(carrier, 0.4, 0.9);
  const JointGeometry g = gears.scene.geometry();
  const std::array<Pose, 3> pose = gears.scene.at.pose;
  for (std::size_t j = 0; j < 2; ++j) {
    const Vec3 z = times(pose[j], gears.scene.joint.frame[j]).q * Vec3::UnitZ();
    // wheel j alone turns with rate 1
    EXPECT_NEAR(dot(g.jacobian[j][0], {random.vector(), z}), j == 0 ? 1.0 : 2.5, 1e-14);
  }
  // all three turn together
  const Twist whole{Vec3::Zero(), random.vector()};
  double u = 0.0;
  for (std::size_t j = 0; j < 3; ++j) u += dot(g.jacobian[j][0], whole);
  EXPECT_NEAR(u, 0.0, 1e-14);
  constexpr double kSmall = 1e-5;
  gears.place(carrier, 0.4 + 0.7 * kSmall, 0.9 - 0.2 * kSmall);
  EXPECT_NEAR(gears.scene.geometry().misfit[0] / kSmall, 0.7 - 2.5 * 0.2, 1e-9);
}

}  // namespace
}  // namespace catena
