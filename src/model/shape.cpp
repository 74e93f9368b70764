#include "catena/model/shape.hpp"

#include <cmath>
#include <numbers>

#include "catena/model/geometry.hpp"

namespace catena {

namespace {

constexpr double kPi = std::numbers::pi;

/// A body of revolution about z, centred on `z`.
struct Round {
  double volume, z;
  double across, about;  ///< moments per mass about an axis across and about z, m^2
};

Round disc_ring(double inner, double outer, double length, double z) {
  const double square = inner * inner + outer * outer;
  return {kPi * (outer - inner) * (outer + inner) * length, z,
          square / 4.0 + length * length / 12.0, square / 2.0};
}

/// Volume, height of the centre of mass and moments about it of the sum of `parts`.
Round sum_of(std::span<const Round> parts) {
  Round sum{0.0, 0.0, 0.0, 0.0};
  for (const Round& p : parts) {
    sum.volume += p.volume;
    sum.z += p.volume * p.z;
  }
  sum.z /= sum.volume;
  for (const Round& p : parts) {
    const double share = p.volume / sum.volume;
    sum.across += share * (p.across + (p.z - sum.z) * (p.z - sum.z));
    sum.about += share * p.about;
  }
  return sum;
}

Round hollow_cylinder(const Shape& shape) {
  const double inner = shape.size.x(), half = shape.size.y(), thickness = shape.size.z();
  const double outer = inner + thickness;
  Round parts[3] = {disc_ring(inner, outer, 2.0 * half, 0.0)};
  std::size_t n = 1;
  const double z = half + 0.5 * thickness;
  if ((shape.closed_ends & kLowerEnd) != 0) parts[n++] = disc_ring(0.0, outer, thickness, -z);
  if ((shape.closed_ends & kUpperEnd) != 0) parts[n++] = disc_ring(0.0, outer, thickness, z);
  return sum_of({parts, n});
}

/// The cylinder and the sphere that the two caps make; a cap's centre of mass lies 3/8 r
/// beyond its flat side.
Round capsule(const Shape& shape) {
  const double r = shape.size.x(), half = shape.size.y();
  const double caps = 0.4 * r * r;
  const Round parts[2] = {
      disc_ring(0.0, r, 2.0 * half, 0.0),
      {4.0 / 3.0 * kPi * r * r * r, 0.0, caps + half * half + 0.75 * half * r, caps}};
  return sum_of(parts);
}

/// The profile of a shape that is a body of revolution about z.
Round round_of(const Shape& shape) {
  if (shape.type == ShapeType::capsule) return capsule(shape);
  if (shape.type == ShapeType::hollow_cylinder) return hollow_cylinder(shape);
  return disc_ring(0.0, shape.size.x(), 2.0 * shape.size.y(), 0.0);
}

Aabb around(const Vec3& centre, const Vec3& extent) { return {centre - extent, centre + extent}; }

/// Extent of a solid cylinder along the world's axes: of its axis and of its rim.
Vec3 cylinder_extent(const Vec3& axis, double radius, double half) {
  const Vec3 rim = (Vec3::Ones() - axis.cwiseAbs2()).cwiseMax(0.0).cwiseSqrt();
  return half * axis.cwiseAbs() + radius * rim;
}

Aabb turned(const Aabb& box, const Pose& pose) {
  const Mat3 rotation = pose.q.toRotationMatrix();
  return around(pose.p + rotation * (0.5 * (box.lo + box.hi)),
                rotation.cwiseAbs() * (0.5 * (box.hi - box.lo)));
}

Aabb hull_bounds(const Geometry& hull, double scale, const Pose& pose) {
  const Mat3 rotation = scale * pose.q.toRotationMatrix();
  Aabb box;
  for (const Vec3& vertex : hull.vertices) {
    const Vec3 x = rotation * vertex;
    box.lo = box.lo.cwiseMin(x);
    box.hi = box.hi.cwiseMax(x);
  }
  box.lo += pose.p;
  box.hi += pose.p;
  return box;
}

Aabb compound_bounds(const Geometry& compound, double scale, const Pose& pose,
                     std::span<const Geometry> geometries) {
  Aabb box;
  for (const CompoundPart& part : compound.parts) {
    const Pose place{pose.p + pose.q * (scale * part.pose.p), pose.q * part.pose.q};
    box.merge(bounds_of(scaled(part.shape, scale), place, geometries));
  }
  return box;
}

const Geometry& geometry_of(const Shape& shape, std::span<const Geometry> geometries) {
  return geometries[shape.geometry];
}

}  // namespace

Shape scaled(const Shape& shape, double factor) {
  Shape result = shape;
  if (shape.type == ShapeType::hull || shape.type == ShapeType::compound) {
    result.size.x() *= factor;
  } else if (shape.type != ShapeType::mesh && shape.type != ShapeType::heightfield) {
    result.size *= factor;
  }
  return result;
}

Aabb bounds_of(const Shape& shape, const Pose& pose, std::span<const Geometry> geometries) {
  const Vec3& s = shape.size;
  switch (shape.type) {
    case ShapeType::none:
      break;
    case ShapeType::sphere:
      return {pose.p.array() - s.x(), pose.p.array() + s.x()};
    case ShapeType::plane:
      return {Vec3::Constant(-kInfinity), Vec3::Constant(kInfinity)};
    case ShapeType::box:
      // the extent along a world axis is the sum of the projected half edges
      return around(pose.p, pose.q.toRotationMatrix().cwiseAbs() * s);
    case ShapeType::capsule: {
      const Vec3 axis = pose.q * Vec3::UnitZ();
      return around(pose.p, (s.y() * axis.cwiseAbs()).array() + s.x());
    }
    case ShapeType::cylinder:
      return around(pose.p, cylinder_extent(pose.q * Vec3::UnitZ(), s.x(), s.y()));
    case ShapeType::hollow_cylinder: {
      const double lower = (shape.closed_ends & kLowerEnd) != 0 ? s.z() : 0.0;
      const double upper = (shape.closed_ends & kUpperEnd) != 0 ? s.z() : 0.0;
      const Vec3 axis = pose.q * Vec3::UnitZ();
      return around(pose.p + 0.5 * (upper - lower) * axis,
                    cylinder_extent(axis, s.x() + s.z(), s.y() + 0.5 * (upper + lower)));
    }
    case ShapeType::hull:
      return hull_bounds(geometry_of(shape, geometries), s.x(), pose);
    case ShapeType::mesh:
    case ShapeType::heightfield:
      return turned(geometry_of(shape, geometries).bounds, pose);
    case ShapeType::compound:
      return compound_bounds(geometry_of(shape, geometries), s.x(), pose, geometries);
  }
  return {};
}

double half_extent(const Shape& shape) {
  return shape.type == ShapeType::box ? shape.size.maxCoeff() : bounding_radius(shape);
}

double bounding_radius(const Shape& shape) {
  const Vec3& s = shape.size;
  switch (shape.type) {
    case ShapeType::none:
      break;
    case ShapeType::sphere:
      return s.x();
    case ShapeType::plane:
      return kInfinity;
    case ShapeType::box:
      return s.norm();
    case ShapeType::capsule:
      return s.x() + s.y();
    case ShapeType::cylinder:
      return std::hypot(s.x(), s.y());
    case ShapeType::hollow_cylinder:
      return std::hypot(s.x() + s.z(), s.y() + (shape.closed_ends != 0 ? s.z() : 0.0));
    case ShapeType::hull:
    case ShapeType::mesh:
    case ShapeType::heightfield:
    case ShapeType::compound:
      return s.x() * shape.geometry_radius;
  }
  return 0.0;
}

double volume_of(const Shape& shape, std::span<const Geometry> geometries) {
  const double x = shape.size.x();
  switch (shape.type) {
    case ShapeType::none:
    case ShapeType::mesh:
    case ShapeType::heightfield:
      break;
    case ShapeType::sphere:
      return 4.0 / 3.0 * kPi * x * x * x;
    case ShapeType::plane:
      return kInfinity;
    case ShapeType::box:
      return 8.0 * shape.size.prod();
    case ShapeType::capsule:
    case ShapeType::cylinder:
    case ShapeType::hollow_cylinder:
      return round_of(shape).volume;
    case ShapeType::hull:
    case ShapeType::compound:
      return x * x * x * geometry_of(shape, geometries).volume;
  }
  return 0.0;
}

double equivalent_radius(const Shape& shape, std::span<const Geometry> geometries) {
  if (shape.type == ShapeType::sphere) return shape.size.x();
  const double volume = volume_of(shape, geometries);
  return volume > 0.0 ? std::cbrt(volume * 3.0 / (4.0 * kPi)) : kInfinity;
}

Vec3 inertia_per_mass(const Shape& shape, std::span<const Geometry> geometries) {
  const double x = shape.size.x();
  switch (shape.type) {
    case ShapeType::none:
    case ShapeType::plane:
    case ShapeType::mesh:
    case ShapeType::heightfield:
      break;
    case ShapeType::sphere:
      return Vec3::Constant(0.4 * x * x);
    case ShapeType::box: {
      // (2h)^2 / 12 = h^2 / 3 for each of the two edges across the axis
      const Vec3 square = shape.size.cwiseAbs2() / 3.0;
      return {square.y() + square.z(), square.z() + square.x(), square.x() + square.y()};
    }
    case ShapeType::capsule:
    case ShapeType::cylinder:
    case ShapeType::hollow_cylinder: {
      const Round round = round_of(shape);
      return {round.across, round.across, round.about};
    }
    case ShapeType::hull:
    case ShapeType::compound:
      return x * x * geometry_of(shape, geometries).inertia_per_mass;
  }
  return Vec3::Zero();
}

Vec3 centre_of_mass(const Shape& shape) {
  if (shape.type != ShapeType::hollow_cylinder) return Vec3::Zero();
  return {0.0, 0.0, round_of(shape).z};
}

}  // namespace catena
