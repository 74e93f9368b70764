// Shapes and bodies in a line each.
#pragma once

#include "catena/math/types.hpp"
#include "catena/model/shape.hpp"

namespace catena::test {

inline Shape sphere_shape(double radius) { return {ShapeType::sphere, {radius, 0, 0}}; }
inline Shape box_shape(const Vec3& half) { return {ShapeType::box, half}; }
inline Shape capsule_shape(double radius, double half) {
  return {ShapeType::capsule, {radius, half, 0}};
}
inline Shape cylinder_shape(double radius, double half) {
  return {ShapeType::cylinder, {radius, half, 0}};
}
inline Shape hollow_shape(double inner, double half, double wall, int ends) {
  Shape shape{ShapeType::hollow_cylinder, {inner, half, wall}};
  shape.closed_ends = static_cast<std::uint8_t>(ends);
  return shape;
}

inline Pose pose_at(double x, double y, double z) { return {{x, y, z}, Quat::Identity()}; }
inline Pose turned(const Vec3& p, double angle, const Vec3& axis) {
  return {p, Quat(Eigen::AngleAxisd(angle, axis.normalized()))};
}

}  // namespace catena::test
