#include "joint_scene.hpp"

#include <cmath>
#include <numbers>

#include "catena/math/rotation.hpp"

namespace catena::test {

Quat Random::rotation() { return rotation_of(vector(2.0), 1.0); }
Pose Random::pose() { return {vector(2.0), rotation()}; }

Pose times(const Pose& a, const Pose& b) { return {a.p + a.q * b.p, a.q * b.q}; }
Pose inverse(const Pose& a) { return {a.q.conjugate() * (-a.p), a.q.conjugate()}; }
Quat turn(const Vec3& axis, double angle) { return rotation_of(axis, angle); }

/// The curve on which a point is held, near its first point.
static Curve ring() {
  std::vector<Vec3> points;
  for (int k = 0; k < 24; ++k) {
    const double angle = k * std::numbers::pi / 12.0;
    points.emplace_back(2.0 * std::cos(angle), 1.5 * std::sin(angle), 0.3 * std::cos(2.0 * angle));
  }
  return {points, true};
}

/// Of a cam: parabolas, which its table meets exactly.
static double lift_at(double angle) {
  constexpr double kTurn = 2.0 * std::numbers::pi;
  const double in_turn = angle - kTurn * std::floor(angle / kTurn);
  return 1.0 + 0.02 * in_turn * (kTurn - in_turn);
}

Pose held(const JointConstants& joint, const std::array<double, 3>& x) {
  const Vec3 z = Vec3::UnitZ();
  switch (joint.type) {
    case JointType::fixed:
      return {};
    case JointType::spherical:
      return {Vec3::Zero(), rotation_of(Vec3(x[0], x[1], x[2]), 1.0)};
    case JointType::revolute:
      return {Vec3::Zero(), turn(z, x[0])};
    case JointType::prismatic:
      return {x[0] * z, Quat::Identity()};
    case JointType::cylindrical:
      return {x[0] * z, turn(z, x[1])};
    case JointType::universal: {
      // x_B = z_A, z_B = x_A, then about z_A and about z_B
      Mat3 start;
      start.col(0) = Vec3::UnitZ();
      start.col(1) = -Vec3::UnitY();
      start.col(2) = Vec3::UnitX();
      return {Vec3::Zero(), turn(z, x[0]) * Quat(start) * turn(z, x[1])};
    }
    case JointType::planar:
      return {Vec3(x[0], x[1], 0.0), turn(z, x[2])};
    case JointType::point_on_line:
      return {x[0] * z, rotation_of(Vec3(x[1], x[2], 0.3), 1.0)};
    case JointType::distance:
    case JointType::rope:
    case JointType::spring:
      return {joint.length * Vec3(x[0], x[1], x[2]).normalized(), turn(Vec3::UnitX(), x[0])};
    case JointType::screw:
      return {joint.ratio * x[0] * z, turn(z, x[0])};
    case JointType::rack:
      return {turn(z, x[0]) * Vec3(joint.length * x[0], x[1], x[2]), turn(z, x[0])};
    case JointType::bushing:
      return {};
    case JointType::cam:  // the angle is of a against b
      return {turn(z, -x[0]) * Vec3(lift_at(x[0]), x[1], x[2]), turn(z, -x[0])};
    case JointType::point_on_curve:
      return {ring().at(x[0]).p, rotation_of(Vec3(x[1], x[2], 0.3), 1.0)};
    case JointType::tendon:
      return {joint.length * Vec3(x[0], x[1], x[2]).normalized(), turn(Vec3::UnitX(), x[0])};
    case JointType::torsion_spring:
      return {Vec3(x[1], x[2], 0.2), turn(z, x[0])};
    case JointType::rolling: {
      // axle tilted by x[1] out of the plane
      const Quat q = turn(z, x[0]) * turn(Vec3::UnitX(), 0.5 * std::numbers::pi - x[1]);
      return {Vec3(x[2], x[0], joint.length * std::cos(x[1])), q};
    }
    case JointType::knife_edge:
    case JointType::gear:
    case JointType::belt:
      break;
  }
  return {Vec3(x[0], x[1], x[2]), rotation_of(Vec3(x[2], x[0], x[1]), 1.0)};
}

JointGeometry JointScene::geometry(const std::array<double, 2>& angle) const {
  return joint_geometry(joint, at, angle, model);
}

JointScene scene_of(JointType type, Random& random, const std::array<double, 3>& x) {
  JointScene s;
  s.joint.id = 7;
  s.joint.type = type;
  s.joint.body = {10, 20, kNoBody};
  s.joint.length = 0.8;
  s.joint.stiffness = 50.0;
  s.joint.damping = 2.0;
  if (type == JointType::screw) s.joint.ratio = 0.05;
  if (type == JointType::bushing) {
    s.joint.law = 0;
    s.model.bushings.push_back({{10, 20, 30, 40, 50, 60}, {1, 2, 3, 4, 5, 6}});
  }
  if (type == JointType::cam) {
    s.joint.law = 0;
    ValueTable lift{{}, {}, Interpolation::cubic};
    for (int k = -1; k <= 721; ++k) {
      lift.time.push_back(k * std::numbers::pi / 360.0);
      lift.value.push_back(lift_at(lift.time.back()));
    }
    s.model.tables.push_back(lift);
  }
  if (type == JointType::point_on_curve) {
    s.joint.law = 0;
    s.model.curves.push_back(ring());
  }
  // that of a rope would make it a winch's
  if (type != JointType::rope)
    for (JointAxis& axis : s.joint.axis) axis.motor = MotorKind::velocity;
  for (Pose& frame : s.joint.frame) frame = {random.vector(0.5), random.rotation()};
  s.at.pose[0] = random.pose();
  for (Twist& twist : s.at.twist) twist = random.twist();
  s.at.twist[2] = {};
  const Pose frame_b = times(times(s.at.pose[0], s.joint.frame[0]), held(s.joint, x));
  s.at.pose[1] = times(frame_b, inverse(s.joint.frame[1]));
  return s;
}

JointPoses moved(JointPoses at, std::size_t j, int k, double t) {
  if (k < 3) {
    at.pose[j].p[k] += t;
  } else {
    at.pose[j].q = rotation_of(Vec3::Unit(k - 3), t) * at.pose[j].q;
  }
  return at;
}

double dot(const JointGeometry::Row& row, const Twist& twist) {
  return Vec3(row[0], row[1], row[2]).dot(twist.v) + Vec3(row[3], row[4], row[5]).dot(twist.w);
}

}  // namespace catena::test
