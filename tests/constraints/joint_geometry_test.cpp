#include <gtest/gtest.h>

#include <cmath>

#include "catena/math/rotation.hpp"
#include "joint_scene.hpp"

namespace catena {
namespace {

using namespace test;
using Row = JointGeometry::Row;

struct RowsOfType {
  JointType type;
  int rows, axes;
};

constexpr std::array<RowsOfType, 21> kTypes = {
    {{JointType::fixed, 6, 0},          {JointType::spherical, 3, 0},
     {JointType::revolute, 5, 1},       {JointType::prismatic, 5, 1},
     {JointType::cylindrical, 4, 2},    {JointType::universal, 4, 2},
     {JointType::planar, 3, 1},         {JointType::point_on_line, 2, 1},
     {JointType::distance, 1, 1},       {JointType::gear, 1, 0},
     {JointType::knife_edge, 1, 0},     {JointType::rolling, 3, 0},
     {JointType::rope, 1, 0},           {JointType::bushing, 6, 0},
     {JointType::screw, 5, 1},          {JointType::rack, 1, 0},
     {JointType::belt, 1, 0},           {JointType::cam, 1, 0},
     {JointType::point_on_curve, 2, 1}, {JointType::spring, 1, 1},
     {JointType::torsion_spring, 1, 1}}};

class EveryType : public testing::TestWithParam<RowsOfType> {};
INSTANTIATE_TEST_SUITE_P(Joints, EveryType, testing::ValuesIn(kTypes), [](const auto& tested) {
  return "type" + std::to_string(static_cast<int>(tested.param.type));
});

/// Rate of `value(geometry)` when body j moves along its velocity k, by central differences.
template <class Value>
double rate(const JointScene& s, std::size_t j, int k, Value&& value) {
  constexpr double kSmall = 1e-5;
  const auto at = [&](double t) {
    return value(joint_geometry(s.joint, moved(s.at, j, k, t), kNoTurns, s.model));
  };
  return (at(kSmall) - at(-kSmall)) / (2.0 * kSmall);
}

TEST_P(EveryType, HasItsRowsAndHoldsAtItsCoordinates) {
  Random random(1);
  const JointScene s = scene_of(GetParam().type, random, {0.3, -0.4, 0.5});

  const JointGeometry g = s.geometry();

  EXPECT_EQ(g.rows, GetParam().rows);
  EXPECT_EQ(g.axes, GetParam().axes);
  // a cam's gap is a coordinate where it has a limit, and then it has no row
  if (GetParam().type != JointType::cam) {
    EXPECT_EQ(joint_axes(GetParam().type), GetParam().axes);
  }
  if (GetParam().type == JointType::gear || GetParam().type == JointType::belt) return;
  EXPECT_LT(joint_misfit(g).linear, 1e-14);
  EXPECT_LT(joint_misfit(g).angular, 1e-14);
}

TEST_P(EveryType, JacobianIsTheRateOfMisfitsAndCoordinatesWhereTheJointHolds) {
  // below: only along their axes
  if (GetParam().type == JointType::gear || GetParam().type == JointType::belt) return;
  Random random(2);
  for (int sample = 0; sample < 10; ++sample) {
    const JointScene s =
        scene_of(GetParam().type, random, {random.number(), random.number(), random.number()});
    const JointGeometry g = s.geometry();
    for (std::size_t j = 0; j < 2; ++j) {
      for (int k = 0; k < 6; ++k) {
        const auto at = static_cast<std::size_t>(k);
        for (std::size_t i = 0; i < static_cast<std::size_t>(g.rows); ++i) {
          if (g.velocity[i]) continue;
          const double expected =
              rate(s, j, k, [i](const JointGeometry& x) { return x.misfit[i]; });
          EXPECT_NEAR(g.jacobian[j][i][at], expected, 1e-9) << "row " << i << " body " << j;
        }
        for (std::size_t i = 0; i < static_cast<std::size_t>(g.axes); ++i) {
          const double expected =
              rate(s, j, k, [i](const JointGeometry& x) { return x.coordinate[i]; });
          EXPECT_NEAR(g.axis_jacobian[j][i][at], expected, 1e-9) << "axis " << i << " body " << j;
        }
      }
    }
  }
}

TEST(JointGeometry, SlidingHeightAndDistanceRowsAreExactRatesWhateverTheMisfit) {
  Random random(3);
  for (const auto& [type, rows] :
       {std::pair(JointType::prismatic, 2), std::pair(JointType::cylindrical, 2),
        std::pair(JointType::planar, 1), std::pair(JointType::point_on_line, 2),
        std::pair(JointType::universal, 4), std::pair(JointType::distance, 1),
        std::pair(JointType::rope, 1), std::pair(JointType::spring, 1),
        std::pair(JointType::rolling, 1)}) {
    JointScene s = scene_of(type, random, {0.1, 0.2, 0.3});
    s.at.pose[1] = random.pose();
    const JointGeometry g = s.geometry();
    // of a universal joint only its angle: d acts at the middle
    const int first = type == JointType::universal ? 3 : 0;
    for (std::size_t j = 0; j < 2; ++j) {
      for (int k = 0; k < 6; ++k) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(rows); ++i) {
          const double expected =
              rate(s, j, k, [i](const JointGeometry& x) { return x.misfit[i]; });
          EXPECT_NEAR(g.jacobian[j][i][static_cast<std::size_t>(k)], expected, 1e-9)
              << "type " << static_cast<int>(type) << " row " << i;
        }
      }
    }
  }
}

void expect_no_momentum(const JointScene& s, const std::array<Row, 3>& row, const char* what) {
  Vec3 impulse = Vec3::Zero(), moment = Vec3::Zero();
  for (std::size_t j = 0; j < 3; ++j) {
    const Vec3 linear(row[j][0], row[j][1], row[j][2]);
    impulse += linear;
    moment += Vec3(row[j][3], row[j][4], row[j][5]) + s.at.pose[j].p.cross(linear);
  }
  EXPECT_LT(impulse.norm(), 1e-14) << what;
  EXPECT_LT(moment.norm(), 1e-14) << what;
}

TEST_P(EveryType, ImpulsesOfARowKeepBothMomentaWhateverTheMisfit) {
  Random random(4);
  for (int sample = 0; sample < 20; ++sample) {
    JointScene s = scene_of(GetParam().type, random, {0.1, 0.2, 0.3});
    for (Pose& pose : s.at.pose) pose = random.pose();
    const JointGeometry g = s.geometry();
    for (std::size_t i = 0; i < static_cast<std::size_t>(g.rows); ++i)
      expect_no_momentum(s, {g.jacobian[0][i], g.jacobian[1][i], g.jacobian[2][i]}, "row");
    for (std::size_t i = 0; i < static_cast<std::size_t>(g.axes); ++i)
      expect_no_momentum(s, {g.axis_jacobian[0][i], g.axis_jacobian[1][i], g.axis_jacobian[2][i]},
                         "axis");
  }
}

/// A tendon over points of three bodies, of one of them twice, and of the world: its row is the
/// rate of its slack, for each body, and its length is that of its legs.
TEST(JointGeometry, ATendonsRowIsTheRateOfItsSlack) {
  Random random(13);
  JointScene s;
  s.joint.type = JointType::tendon;
  s.joint.law = 0;
  s.joint.length = 9.0;
  Tendon tendon;
  for (const int body : {0, 2, 1, -1, 2}) tendon.points.push_back({body, random.vector()});
  s.model.tendons.push_back(tendon);
  for (Pose& pose : s.at.pose) pose = random.pose();
  const JointGeometry g = s.geometry();

  double length = 0.0;
  const auto place = [&](const Tendon::Point& point) {
    if (point.body < 0) return point.p;
    const Pose& pose = s.at.pose[static_cast<std::size_t>(point.body)];
    return Vec3(pose.p + pose.q * point.p);
  };
  for (std::size_t k = 1; k < tendon.points.size(); ++k)
    length += (place(tendon.points[k]) - place(tendon.points[k - 1])).norm();
  EXPECT_TRUE(g.unilateral);
  EXPECT_NEAR(g.misfit[0], 9.0 - length, 1e-13);
  for (std::size_t j = 0; j < 3; ++j) {
    for (int k = 0; k < 6; ++k) {
      const double expected = rate(s, j, k, [](const JointGeometry& x) { return x.misfit[0]; });
      EXPECT_NEAR(g.jacobian[j][0][static_cast<std::size_t>(k)], expected, 1e-9);
    }
  }
}

/// Velocity of a point fixed in body b, seen by body a, when both move with their twists: by
/// central differences of its coordinates in a.
Vec3 seen_velocity(const JointScene& s, const Vec3& point) {
  constexpr double kSmall = 1e-5;
  const Vec3 in_b = s.at.pose[1].q.conjugate() * (point - s.at.pose[1].p);
  const auto at = [&](double t) {
    std::array<Pose, 2> pose;
    for (std::size_t j = 0; j < 2; ++j)
      pose[j] = {s.at.pose[j].p + t * s.at.twist[j].v,
                 rotation_of(s.at.twist[j].w, t) * s.at.pose[j].q};
    return Vec3(pose[0].q.conjugate() * (pose[1].p + pose[1].q * in_b - pose[0].p));
  };
  return s.at.pose[0].q * ((at(kSmall) - at(-kSmall)) / (2.0 * kSmall));
}

double speed(const JointScene& s, const JointGeometry& g, std::size_t i) {
  return dot(g.jacobian[0][i], s.at.twist[0]) + dot(g.jacobian[1][i], s.at.twist[1]);
}

TEST(JointGeometry, KnifeEdgeForbidsTheVelocityOfItsOriginAlongItsY) {
  Random random(5);
  JointScene s = scene_of(JointType::knife_edge, random, {0.3, 0.2, 0.1});
  const Pose frame = times(s.at.pose[1], s.joint.frame[1]);

  const JointGeometry g = s.geometry();

  EXPECT_TRUE(g.velocity[0]);
  EXPECT_EQ(g.misfit[0], 0.0);
  EXPECT_NEAR(speed(s, g, 0), (frame.q * Vec3::UnitY()).dot(seen_velocity(s, frame.p)), 1e-8);
}

TEST(JointGeometry, RollingForbidsSlipOfTheLowestPointInBothDirections) {
  Random random(6);
  constexpr double kTilt = 0.4;
  JointScene s = scene_of(JointType::rolling, random, {0.7, kTilt, -0.2});
  const Pose ground = times(s.at.pose[0], s.joint.frame[0]);
  const Pose wheel = times(s.at.pose[1], s.joint.frame[1]);
  // the rim's points are R (cos, sin) on x_B, y_B: the lowest of very many
  Vec3 lowest = wheel.p;
  for (int k = 0; k < 200000; ++k) {
    const double angle = 2e-5 * std::numbers::pi / 2 * k;
    const Vec3 rim = wheel.p + wheel.q * Vec3(0.8 * std::cos(angle), 0.8 * std::sin(angle), 0.0);
    if ((ground.q * Vec3::UnitZ()).dot(rim - lowest) < 0.0) lowest = rim;
  }
  EXPECT_NEAR((ground.q * Vec3::UnitZ()).dot(lowest - ground.p), 0.0, 1e-9);

  const JointGeometry g = s.geometry();

  const Vec3 seen = seen_velocity(s, lowest);
  const Vec3 slip = seen - (ground.q * Vec3::UnitZ()).dot(seen) * (ground.q * Vec3::UnitZ());
  EXPECT_FALSE(g.velocity[0]);
  EXPECT_TRUE(g.velocity[1] && g.velocity[2]);
  EXPECT_NEAR(std::hypot(speed(s, g, 1), speed(s, g, 2)), slip.norm(), 1e-4);
  // forward is along axle x up
  const Vec3 forward = (wheel.q * Vec3::UnitZ()).cross(ground.q * Vec3::UnitZ()).normalized();
  EXPECT_NEAR(speed(s, g, 1), forward.dot(slip), 1e-4);
}

TEST(JointGeometry, AngularMisfitsArePartsOfTheRotationVector) {
  Random random(7);
  for (const double angle : {1e-9, 1e-4, 2e-3, 4e-3, 0.5, 2.0, 3.1}) {
    JointScene fixed = scene_of(JointType::fixed, random, {0, 0, 0});
    const Vec3 world_axis = random.vector().normalized();
    const auto turn_b = [&](JointScene& s, const Vec3& axis) {
      const Pose frame = times(s.at.pose[1], s.joint.frame[1]);
      s.at.pose[1] = times({frame.p, turn(axis, angle) * frame.q}, inverse(s.joint.frame[1]));
    };
    turn_b(fixed, world_axis);
    const JointGeometry f = fixed.geometry();
    JointScene revolute = scene_of(JointType::revolute, random, {0.8, 0, 0});
    const Vec3 in_plane = Vec3(random.number(), random.number(), 0.0).normalized();
    turn_b(revolute, times(revolute.at.pose[0], revolute.joint.frame[0]).q * in_plane);
    const JointGeometry r = revolute.geometry();
    for (int k = 0; k < 3; ++k)
      EXPECT_NEAR(f.misfit[static_cast<std::size_t>(k) + 3], angle * world_axis[k],
                  2e-15 + 1e-14 * angle);
    EXPECT_NEAR(r.misfit[3], angle * in_plane.x(), 2e-15 + 1e-14 * angle);
    EXPECT_NEAR(r.misfit[4], angle * in_plane.y(), 2e-15 + 1e-14 * angle);
  }
}

TEST(JointGeometry, OppositeAxesAreHalfATurnOff) {
  JointScene s;
  s.joint.type = JointType::revolute;
  s.at.pose[1].q = Quat(0.0, 1.0, 0.0, 0.0);  // half a turn about x
  EXPECT_DOUBLE_EQ(joint_misfit(s.geometry()).angular, std::numbers::pi);
}

TEST(JointGeometry, DirectionOfADistanceThatVanishesIsTheAxis) {
  JointScene s;
  s.joint.type = JointType::distance;
  s.joint.length = 0.5;
  const JointGeometry g = s.geometry();
  EXPECT_EQ(g.jacobian[1][0], (Row{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(g.misfit[0], -0.5);
}

TEST(JointGeometry, DeflectionsOfSpringsAreNoMisfits) {
  Random random(8);
  JointScene s = scene_of(JointType::spring, random, {0.1, 0.2, 0.3});
  s.joint.length = 0.3;
  const JointGeometry g = s.geometry();
  EXPECT_TRUE(g.spring);
  EXPECT_NEAR(g.misfit[0], 0.5, 1e-14);
  EXPECT_EQ(joint_misfit(g).linear, 0.0);
}

TEST(JointGeometry, SpringsWithoutStiffnessAreDampersAndWithoutDampingNothing) {
  Random random(9);
  for (const JointType type : {JointType::spring, JointType::torsion_spring}) {
    JointScene s = scene_of(type, random, {0.1, 0.2, 0.3});
    s.joint.stiffness = 0.0;
    EXPECT_EQ(s.geometry().rows, 1);
    EXPECT_TRUE(s.geometry().velocity[0]);
    EXPECT_EQ(s.geometry().misfit[0], 0.0);
    s.joint.damping = 0.0;
    EXPECT_EQ(s.geometry().rows, 0);
    EXPECT_EQ(s.geometry().axes, 1);
  }
}

TEST(JointGeometry, NoCoordinatesAreEvaluatedWithoutLimitMotorOrFriction) {
  Random random(10);
  for (const RowsOfType& type : kTypes) {
    JointScene s = scene_of(type.type, random, {0.1, 0.2, 0.3});
    s.joint.axis = {};
    EXPECT_EQ(s.geometry().axes, 0);
    s.joint.axis[0].upper = 1.0;
    EXPECT_EQ(s.geometry().axes, type.type == JointType::cam ? 1 : type.axes);
    s.joint.axis[0] = {};
    s.joint.axis[1].friction = 1.0;
    EXPECT_EQ(s.geometry().axes, type.axes == 2 ? 2 : 0);
  }
}

TEST(JointGeometry, BodiesAcrossTheSideOfAPeriodicBoxAreJoinedInTheNearestImage) {
  Random random(11);
  for (const double side : {1.0, -1.0}) {
    JointScene s = scene_of(JointType::revolute, random, {0.4, 0, 0});
    s.at.pose[1].p += side * Vec3(0.01, 0.02, 0.03);  // a misfit
    const JointGeometry near = s.geometry();
    s.model.periodic.active = {true, true};
    s.model.periodic.lo = {-6.0, -7.0};
    s.model.periodic.hi = {6.0, 7.0};
    s.at.pose[1].p += Vec3(12.0, -14.0, 0.0);

    const JointGeometry across = s.geometry();

    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_NEAR(across.misfit[i], near.misfit[i], 1e-14);
      for (std::size_t j = 0; j < 2; ++j)
        for (std::size_t k = 0; k < 6; ++k)
          EXPECT_NEAR(across.jacobian[j][i][k], near.jacobian[j][i][k], 1e-14);
    }
  }
}

TEST_P(EveryType, InThePlaneNoRowCouplesTheTwoKindsOfMotion) {
  Random random(12);
  if (GetParam().type == JointType::screw) return;  // is refused in the plane
  JointScene s = scene_of(GetParam().type, random, {0.3, 0.2, 0.1});
  s.model.planar = true;
  // axes along y, or in the plane; bodies beside the plane, turned about y
  const bool in_plane =
      GetParam().type == JointType::prismatic || GetParam().type == JointType::point_on_line;
  const Quat axis =
      in_plane ? Quat::Identity() : Quat::FromTwoVectors(Vec3::UnitZ(), Vec3::UnitY());
  for (std::size_t j = 0; j < 2; ++j) {
    s.at.pose[j] = {random.vector(), turn(Vec3::UnitY(), random.number())};
    s.joint.frame[j] = {random.vector(), axis};
  }
  if (GetParam().type == JointType::rolling) s.joint.frame[0].q = Quat::Identity();

  const JointGeometry g = s.geometry();

  for (std::size_t i = 0; i < static_cast<std::size_t>(g.rows); ++i) {
    bool inside = false, across = false;
    for (std::size_t j = 0; j < 2; ++j) {
      const Row& row = g.jacobian[j][i];
      inside = inside || row[0] != 0.0 || row[2] != 0.0 || row[4] != 0.0;
      across = across || row[1] != 0.0 || row[3] != 0.0 || row[5] != 0.0;
    }
    EXPECT_NE(inside, across) << "row " << i;
    if (across) {
      EXPECT_EQ(g.misfit[i], 0.0) << "row " << i;
    }
  }
}

}  // namespace
}  // namespace catena
