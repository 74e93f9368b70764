// A joint's frames in the world, and angles of rotations: shared by the parts of joint_rows.hpp.
#pragma once

#include <array>
#include <cmath>
#include <numbers>

#include "catena/constraints/joint_rows.hpp"

namespace catena {

/// Origins of a joint's frames and centres of mass; b in the image in which p_B is nearest to p_A.
/// In planar motion all of them have y = 0.
struct PlacedJoint {
  Vec3 x_a, x_b;  ///< centres of mass, m, world
  Vec3 p_a, p_b;
  Vec3 d;  ///< p_B - p_A
};

inline PlacedJoint place_joint(const JointConstants& joint, const JointPoses& at,
                               const Model& model) {
  PlacedJoint placed;
  placed.x_a = at.pose[0].p;
  placed.x_b = at.pose[1].p;
  placed.p_a = placed.x_a + at.pose[0].q * joint.frame[0].p;
  placed.p_b = placed.x_b + at.pose[1].q * joint.frame[1].p;
  if (model.periodic.any()) {
    for (std::size_t k = 0; k < 3; ++k) {
      if (!model.periodic.active[k]) continue;
      const double period = model.periodic.hi[k] - model.periodic.lo[k];
      const Eigen::Index axis = k;
      const double shift = -period * std::round((placed.p_b[axis] - placed.p_a[axis]) / period);
      placed.p_b[axis] += shift;
      placed.x_b[axis] += shift;
    }
  }
  if (model.planar)
    for (Vec3* p : {&placed.x_a, &placed.x_b, &placed.p_a, &placed.p_b}) p->y() = 0.0;
  placed.d = placed.p_b - placed.p_a;
  return placed;
}

/// Orientation of frame A (0) or B (1) in the world.
inline Quat frame_rotation(const JointConstants& joint, const JointPoses& at, std::size_t frame) {
  return at.pose[frame].q * joint.frame[frame].q;
}

inline double row_speed(const JointGeometry::Row& row, const Twist& twist) {
  return row[0] * twist.v.x() + row[1] * twist.v.y() + row[2] * twist.v.z() + row[3] * twist.w.x() +
         row[4] * twist.w.y() + row[5] * twist.w.z();
}

/// Lift of a cam that has turned by `angle` against its follower, and its slope by the angle: the
/// table is of one turn, with a row beyond it on each side.
inline TablePoint cam_lift(const JointConstants& joint, const Model& model, double angle) {
  constexpr double kTurn = 2.0 * std::numbers::pi;
  const double in_turn = angle - kTurn * std::floor(angle / kTurn);
  return evaluate(model.tables[joint.law].rows(), in_turn, in_turn);
}

/// angle/sin(angle) of 0 <= angle <= pi, from sin^2 and cos; pi/sin is infinite, then 0.
/// Small angles, which joints have, need no arc tangent: what the series drops is below 5e-17.
inline double angle_over_sine(double sine2, double cosine) {
  if (cosine > 0.0 && sine2 < 1e-5) return 1.0 + sine2 * (1.0 / 6.0 + sine2 * (3.0 / 40.0));
  const double sine = std::sqrt(sine2);
  return sine > 0.0 ? std::atan2(sine, cosine) / sine : 0.0;
}

/// Rotation vector of q, shorter than pi.
inline Vec3 rotation_vector(const Quat& q) {
  const double sign = q.w() < 0.0 ? -2.0 : 2.0;
  return sign * angle_over_sine(q.vec().squaredNorm(), std::abs(q.w())) * q.vec();
}

/// By how much z_B stands off z_A: on x_A and y_A the rotation vector that leads from z_A to z_B.
struct AxesApart {
  std::array<Vec3, 2> across;  ///< x_A, y_A
  std::array<double, 2> misfit;
};
inline AxesApart axes_apart(const Mat3& a, const Vec3& z_b) {
  const double on_x = -a.col(1).dot(z_b), on_y = a.col(0).dot(z_b);
  const double cosine = a.col(2).dot(z_b);
  const double sine2 = on_x * on_x + on_y * on_y;
  const bool opposite = sine2 == 0.0 && cosine < 0.0;
  const double factor = angle_over_sine(sine2, cosine);
  return {{a.col(0), a.col(1)}, {opposite ? std::numbers::pi : factor * on_x, factor * on_y}};
}

}  // namespace catena
