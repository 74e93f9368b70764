// Small fixed-size linear algebra: Eigen's types under Catena's names.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <limits>

namespace catena {

/// Infinity.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A vector in space.
using Vec3 = Eigen::Vector3d;
/// A matrix over space.
using Mat3 = Eigen::Matrix3d;
/// Unit quaternion (w, x, y, z), body to world.
using Quat = Eigen::Quaterniond;

/// Velocity of a rigid body: of its centre of mass (m/s) and angular (rad/s), world frame.
struct Twist {
  Vec3 v = Vec3::Zero();
  Vec3 w = Vec3::Zero();
};

/// What a motion has in the x-z plane: the rest is left out.
inline Twist in_plane(const Twist& t) {
  return {Vec3(t.v.x(), 0.0, t.v.z()), Vec3(0.0, t.w.y(), 0.0)};
}

/// Position of the centre of mass (m, world) and orientation of the principal axes.
struct Pose {
  Vec3 p = Vec3::Zero();
  Quat q = Quat::Identity();
};

/// Axis-aligned box, world frame, m. Empty if lo > hi.
struct Aabb {
  Vec3 lo = Vec3::Constant(1e300);
  Vec3 hi = Vec3::Constant(-1e300);

  bool overlaps(const Aabb& o) const {
    return (lo.array() <= o.hi.array()).all() && (o.lo.array() <= hi.array()).all();
  }
  void merge(const Aabb& o) {
    lo = lo.cwiseMin(o.lo);
    hi = hi.cwiseMax(o.hi);
  }
  void inflate(double margin) {
    lo.array() -= margin;
    hi.array() += margin;
  }
};

}  // namespace catena
