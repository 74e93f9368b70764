#include "catena/model/shape.hpp"

#include <limits>
#include <numbers>

namespace catena {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
}

Aabb bounds_of(const Shape& shape, const Pose& pose, std::span<const Geometry> /*geometries*/) {
  Aabb box;
  switch (shape.type) {
    default:
      break;
    case ShapeType::sphere:
      box.lo = pose.p.array() - shape.size.x();
      box.hi = pose.p.array() + shape.size.x();
      break;
    case ShapeType::plane:
      box.lo.setConstant(-kInfinity);
      box.hi.setConstant(kInfinity);
      break;
    case ShapeType::box: {
      // the extent along a world axis is the sum of the projected half edges
      const Vec3 extent = pose.q.toRotationMatrix().cwiseAbs() * shape.size;
      box.lo = pose.p - extent;
      box.hi = pose.p + extent;
      break;
    }
  }
  return box;
}

double half_extent(const Shape& shape) {
  switch (shape.type) {
    default:
      return 0.0;
    case ShapeType::sphere:
      return shape.size.x();
    case ShapeType::plane:
      return kInfinity;
    case ShapeType::box:
      return shape.size.maxCoeff();
  }
  return 0.0;
}

double bounding_radius(const Shape& shape) {
  switch (shape.type) {
    case ShapeType::sphere:
      return shape.size.x();
    case ShapeType::plane:
      return kInfinity;
    case ShapeType::box:
      return shape.size.norm();
    default:
      return 0.0;
  }
}

double volume_of(const Shape& shape, std::span<const Geometry> /*geometries*/) {
  switch (shape.type) {
    default:
      return 0.0;
    case ShapeType::sphere: {
      const double r = shape.size.x();
      return 4.0 / 3.0 * std::numbers::pi * r * r * r;
    }
    case ShapeType::plane:
      return kInfinity;
    case ShapeType::box:
      return 8.0 * shape.size.prod();
  }
  return 0.0;
}

Vec3 inertia_per_mass(const Shape& shape, std::span<const Geometry> /*geometries*/) {
  switch (shape.type) {
    default:
      return Vec3::Zero();
    case ShapeType::sphere:
      return Vec3::Constant(0.4 * shape.size.x() * shape.size.x());
    case ShapeType::box: {
      // (2h)^2 / 12 = h^2 / 3 for each of the two edges across the axis
      const Vec3 square = shape.size.cwiseAbs2() / 3.0;
      return {square.y() + square.z(), square.z() + square.x(), square.x() + square.y()};
    }
  }
  return Vec3::Zero();
}

}  // namespace catena
