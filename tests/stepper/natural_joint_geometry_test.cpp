// Every joint in natural coordinates beside its rows in JointGeometry.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "stepper/natural_joint_scenes.hpp"

namespace catena::test {
namespace {

JointPoses poses_of(const Scene& scene) {
  JointPoses poses;
  for (std::size_t s = 0; s < 2; ++s)
    if (scene.body[s] != kNoIndex) poses.pose[s] = scene.pose[s];
  return poses;
}

JointGeometry geometry_of(const Scene& scene) {
  const JointPoses poses = poses_of(scene);
  return joint_geometry(scene.joint, poses,
                        joint_angles(scene.joint, poses, {0.0, 0.0}, scene.model), scene.model);
}

TEST(NaturalJoint, JointsThatAreMetHaveNoMisfitThereNorElsewhere) {
  for_all(-1.0, [&](const Scene& scene, const std::string& what) {
    const NaturalJoint joint = scene.made();
    const Stated at = state_of(scene, joint, scene.bodies, kTime);
    EXPECT_LT(at.misfit.norm(), 1e-14) << what;
    const JointGeometry geometry = geometry_of(scene);
    // where a distance is driven, its row is the motor's
    const bool driven_distance =
        scene.joint.type == JointType::distance && scene.joint.axis[0].motor != MotorKind::none;
    const int own = driven_distance ? 0 : geometry.rows;
    for (std::size_t r = 0; r < static_cast<std::size_t>(own); ++r)
      EXPECT_NEAR(geometry.misfit[r], 0.0, 1e-14) << what;
    for (std::size_t k = 0; k < static_cast<std::size_t>(geometry.axes); ++k)
      EXPECT_NEAR(geometry.coordinate[k], scene.coordinate[k], 1e-14) << what;
  });
}

TEST(NaturalJoint, DriverRowsAreThoseOfTheirCoordinates) {
  // a motor's row moves as its coordinate does, but for the scale of a distance
  for_all(-1.0, [&](const Scene& scene, const std::string& what) {
    const NaturalJoint joint = scene.made();
    const Stated at = state_of(scene, joint, scene.bodies, kTime);
    const JointGeometry geometry = geometry_of(scene);
    std::array<double, 6> rates{};
    joint.driver_rates(scene.bodies, kTime, rates.data());
    EXPECT_EQ(joint.is_driven(), geometry.axes > 0) << what;
    int row = joint.rows();
    for (std::size_t k = static_cast<std::size_t>(geometry.axes); k-- > 0;) {
      const JointAxis& axis = scene.joint.axis[k];
      if (axis.motor == MotorKind::none) continue;
      --row;
      const double scale =
          scene.joint.type == JointType::distance ? scene.coordinate[0] / scene.joint.length : 1.0;
      for (std::size_t s = 0; s < 2; ++s) {
        if (scene.body[s] == kNoIndex) continue;
        for (int d = 0; d < 6; ++d)
          EXPECT_NEAR(at.jacobian[s](row, d),
                      scale * geometry.axis_jacobian[s][k][static_cast<std::size_t>(d)], 1e-14)
              << what << ", axis " << k;
      }
      double speed = 0.0;
      if (axis.table >= 0) {
        const ValueTable& table = scene.model.tables[static_cast<std::size_t>(axis.table)];
        speed = axis.motor == MotorKind::velocity ? table.at(kNow) : table.slope(kNow);
      } else if (axis.motor == MotorKind::velocity) {
        speed = axis.target;
      }
      EXPECT_NEAR(at.q[row], scale * speed, 1e-13) << what << ", axis " << k;
      EXPECT_NEAR(rates[static_cast<std::size_t>(row)], scale * speed, 1e-13) << what;
      EXPECT_EQ(joint.angular(row), geometry.axis_angular[k]) << what;
    }
    for (int r = 0; r < row; ++r) {
      EXPECT_EQ(rates[static_cast<std::size_t>(r)], 0.0) << what;
      EXPECT_NEAR(at.q[r], 0.0, 1e-13) << what;
    }
  });
}

TEST(NaturalJoint, MultipliersAsRowsPushAsTheJointsRowsDo) {
  Random random(8);
  for_all(-1.0, [&](const Scene& scene, const std::string& what) {
    const NaturalJoint joint = scene.made();
    const Rows lambda = some_multipliers(scene, joint.rows(), random, false);
    const Stated at = state_of(scene, joint, scene.bodies, kTime);
    const JointGeometry geometry = geometry_of(scene);
    std::array<double, kJointRows> rows{};
    joint.as_rows(scene.bodies, lambda.data(), rows);
    // where a distance is driven, its row is the motor's
    const bool driven_distance = scene.joint.type == JointType::distance && geometry.axes > 0;
    const auto own = driven_distance ? std::size_t{0} : static_cast<std::size_t>(geometry.rows);
    std::size_t motors = 0;
    for (std::size_t s = 0; s < 2; ++s) {
      if (scene.body[s] == kNoIndex) continue;
      Rows expected = at.jacobian[s].transpose() * lambda, found = Rows::Zero();
      for (std::size_t r = 0; r < own; ++r)
        for (std::size_t d = 0; d < 6; ++d)
          found[static_cast<int>(d)] += rows[r] * geometry.jacobian[s][r][d];
      motors = 0;
      for (std::size_t k = 0; k < static_cast<std::size_t>(geometry.axes); ++k) {
        if (scene.joint.axis[k].motor == MotorKind::none) continue;
        for (std::size_t d = 0; d < 6; ++d)
          found[static_cast<int>(d)] += rows[own + motors] * geometry.axis_jacobian[s][k][d];
        ++motors;
      }
      EXPECT_LT((found - expected).norm(), 1e-13) << what;
    }
    for (std::size_t r = own + motors; r < kJointRows; ++r) EXPECT_EQ(rows[r], 0.0) << what;
    for (std::size_t r = 0; r < own; ++r)
      EXPECT_EQ(joint.angular(static_cast<int>(r)), geometry.angular[r]) << what;
  });
}

TEST(NaturalJoint, ReactionIsWhatTheRowsDoToBodyBAboutItsPoint) {
  Random random(9);
  for_all(-1.0, [&](const Scene& scene, const std::string& what) {
    const NaturalJoint joint = scene.made();
    const Rows lambda = some_multipliers(scene, joint.rows(), random, false);
    const Stated at = state_of(scene, joint, scene.bodies, kTime);
    Vec3 impulse, couple;
    joint.reaction(scene.bodies, kTime, lambda.data(), impulse, couple);
    const Vec3 p_b = scene.pose[1].p + scene.pose[1].q * scene.joint.frame[1].p;
    for (std::size_t s = 0; s < 2; ++s) {
      if (scene.body[s] == kNoIndex) continue;
      const double sign = s == 1 ? 1.0 : -1.0;
      const Rows on = sign * at.jacobian[s].transpose() * lambda;
      const Vec3 about = on.tail<3>() - (p_b - scene.pose[s].p).cross(on.head<3>());
      EXPECT_LT((impulse - on.head<3>()).norm(), 1e-14) << what;
      EXPECT_LT((couple - about).norm(), 1e-13) << what;
    }
  });
}

TEST(NaturalJoint, AKnifeEdgeHoldsTheVelocityOfItsPointAcrossIt) {
  for (const Side a : {Side::world, Side::kinematic})
    for (const Side b : {Side::general, Side::lamina})
      for (const double off : {0.0, 0.05}) {
        const Kind kind{"edge", JointType::knife_edge, {}};
        Scene scene = moved_scene(kind, a, b, 4, off);
        const NaturalJoint joint = scene.made();
        ASSERT_EQ(joint.rows(), 1);
        const Stated at = state_of(scene, joint, scene.bodies, kTime);
        const NaturalCoordinates& place = scene.bodies.place[scene.at(1)];
        const Vec3 across = place.a * (scene.joint.frame[1].q * Vec3::UnitY());
        const Vec3 arm = place.a * scene.joint.frame[1].p;
        Random random(10);
        const Vec3 v = random.vector(), w = random.vector();
        Rows twist;
        twist << v, w;
        EXPECT_NEAR(at.jacobian[1].row(0).dot(twist), across.dot(v + w.cross(arm)), 1e-14);
        EXPECT_EQ(at.misfit[0], 0.0);
        if (a != Side::kinematic) continue;
        const Vec3 from_a = place.r + arm - scene.pose[0].p;
        EXPECT_NEAR(at.jacobian[0].row(0).dot(twist), -across.dot(v + w.cross(from_a)), 1e-14);
        if (off > 0.0) continue;
        // as JointGeometry has it, where it stands
        const Scene met = make_scene(kind, a, b, 4);
        const Stated there = state_of(met, met.made(), met.bodies, kTime);
        const JointGeometry geometry = geometry_of(met);
        for (std::size_t d = 0; d < 6; ++d) {
          EXPECT_NEAR(there.jacobian[0](0, static_cast<int>(d)), geometry.jacobian[0][0][d], 1e-14);
          EXPECT_NEAR(there.jacobian[1](0, static_cast<int>(d)), geometry.jacobian[1][0][d], 1e-14);
        }
      }
}

TEST(NaturalJoint, ForcesOfAKnifeEdgeAreItsRows) {
  Random random(11);
  Scene scene =
      moved_scene({"edge", JointType::knife_edge, {}}, Side::world, Side::general, 5, 0.05);
  scene.bodies.rate[0] = {random.vector(), random.matrix()};
  scene.bodies.correction[0].a = random.matrix();
  const NaturalJoint joint = scene.made();
  const Stated at = state_of(scene, joint, scene.bodies, kTime);
  Rows mu = Rows::Zero();
  mu[0] = 0.7;
  const NaturalLoad load = held(joint, scene.bodies, kTime, mu)[0];
  // row s' = v . (r' + sum c_k a_k'), v = sum y_k a_k
  const Vec3 c = scene.joint.frame[1].p, y = scene.joint.frame[1].q * Vec3::UnitY();
  const NaturalCoordinates &place = scene.bodies.place[0], &rate = scene.bodies.rate[0];
  const Vec3 v = place.a * y, dv = rate.a * y;
  EXPECT_LT((load.hold.r - 0.7 * v).norm(), 1e-15);
  EXPECT_LT((load.hold.a - 0.7 * v * c.transpose()).norm(), 1e-15);
  EXPECT_LT((load.rate.r - 0.7 * dv).norm(), 1e-15);
  EXPECT_LT((load.rate.a - 0.7 * dv * c.transpose()).norm(), 1e-15);
  EXPECT_NEAR(at.q[0], -v.dot(scene.bodies.correction[0].a * c), 1e-15);
  std::array<double, kJointRows> rows{};
  joint.as_rows(scene.bodies, mu.data(), rows);
  EXPECT_EQ(rows[0], 0.7);
}

TEST(NaturalJoint, VelocityMotorsTurnCorrectionsIntoTheirRate) {
  // the row's s' is u . (omega_B - omega_A), omega = sum a_k x a_k' / 2
  Random random(12);
  for (const JointType type : {JointType::revolute, JointType::cylindrical, JointType::universal})
    for (std::size_t axis = 0; axis < 2; ++axis) {
      if (type == JointType::revolute && axis == 1) continue;
      if (type == JointType::cylindrical && axis == 0) continue;  // slides
      Kind kind{"motor", type, {}};
      kind.motor[axis] = {MotorKind::velocity, false};
      Scene scene = moved_scene(kind, Side::general, Side::lamina, 20 + axis, 0.05);
      for (std::size_t s = 0; s < 2; ++s) {
        scene.bodies.correction[s].a = random.matrix();
        complete_rates(scene.bodies.mass[s], scene.bodies.place[s], scene.bodies.correction[s]);
      }
      const NaturalJoint joint = scene.made();
      const Stated at = state_of(scene, joint, scene.bodies, kTime);
      const std::size_t side = type == JointType::universal && axis == 1 ? 1 : 0;
      const Vec3 u = scene.bodies.place[side].a * (scene.joint.frame[side].q * Vec3::UnitZ());
      std::array<Vec3, 2> omega{Vec3::Zero(), Vec3::Zero()};
      for (std::size_t s = 0; s < 2; ++s)
        for (int k = 0; k < 3; ++k)
          omega[s] +=
              0.5 * scene.bodies.place[s].a.col(k).cross(scene.bodies.correction[s].a.col(k));
      EXPECT_NEAR(at.q[joint.rows() - 1],
                  scene.joint.axis[axis].target - u.dot(omega[1] - omega[0]), 1e-14);
    }
}

}  // namespace
}  // namespace catena::test
