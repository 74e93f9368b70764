#include "probes/regions/region.hpp"

#include <algorithm>
#include <cmath>

#include "probes/regions/ball_in_box.hpp"

namespace catena::probes {

double Region::from_axis(const Vec3& p, double& along) const {
  const Vec3 axis = (s_.to - s_.from).normalized();
  along = axis.dot(p - s_.from);
  return (p - s_.from - along * axis).norm();
}

bool Region::holds_round(const Vec3& p) const {
  if (s_.sphere) return (p - s_.centre).squaredNorm() <= s_.radius * s_.radius;
  double along = 0.0;
  const double apart = from_axis(p, along);
  return apart <= s_.radius && along >= 0.0 && along <= (s_.to - s_.from).norm();
}

bool Region::holds_ball(const Vec3& centre, double r) const {
  if (s_.sphere) return (centre - s_.centre).norm() + r <= s_.radius;
  if (!s_.cylinder)
    return (centre.array() - r >= s_.lower.array()).all() &&
           (centre.array() + r <= s_.upper.array()).all();
  double along = 0.0;
  const double apart = from_axis(centre, along);
  return apart + r <= s_.radius && along >= r && along + r <= (s_.to - s_.from).norm();
}

bool Region::misses_ball(const Vec3& centre, double r) const {
  if (s_.sphere) return (centre - s_.centre).norm() >= s_.radius + r;
  if (!s_.cylinder)
    return (centre.array() + r <= s_.lower.array()).any() ||
           (centre.array() - r >= s_.upper.array()).any();
  double along = 0.0;
  const double apart = from_axis(centre, along);
  return apart >= s_.radius + r || along <= -r || along >= (s_.to - s_.from).norm() + r;
}

double Region::cut_by_cylinder(const Vec3& centre, double r) const {
  constexpr int kSlices = 64;
  double along = 0.0;
  const double apart = from_axis(centre, along);
  // slices at r sin(t) from the centre: they get thin where the ball's sides are steep
  const auto at = [&](double z) { return std::asin(std::clamp(z / r, -1.0, 1.0)); };
  const double first = at(-along), last = at((s_.to - s_.from).norm() - along);
  const double dt = (last - first) / kSlices;
  double volume = 0.0;
  for (int k = 0; k < kSlices; ++k) {
    const double slice = r * std::cos(first + (k + 0.5) * dt);
    volume += disc_in_disc(slice, s_.radius, apart) * slice * dt;
  }
  return volume;
}

double Region::cut_ball(const Vec3& centre, double r) const {
  if (s_.sphere) return ball_in_ball(r, s_.radius, (centre - s_.centre).norm());
  if (s_.cylinder) return cut_by_cylinder(centre, r);
  return ball_in_box(centre, r, s_.lower, s_.upper);
}

double Region::cut(const Shape& shape, const Pose& pose,
                   std::span<const Geometry> geometries) const {
  const double r = bounding_radius(shape);
  if (misses_ball(pose.p, r)) return 0.0;
  if (holds_ball(pose.p, r)) return volume_of(shape, geometries);
  if (shape.type == ShapeType::sphere) return cut_ball(pose.p, r);
  const Aabb box = bounds_of(shape, {}, geometries);
  const Vec3 cell = (box.hi - box.lo) / kLattice;
  int held = 0, inside = 0;
  for (int i = 0; i < kLattice; ++i) {
    for (int j = 0; j < kLattice; ++j) {
      for (int k = 0; k < kLattice; ++k) {
        const Vec3 p = box.lo + cell.cwiseProduct(Vec3(i + 0.5, j + 0.5, k + 0.5));
        if (!holds_point(shape, p, geometries)) continue;
        ++held;
        if (holds(pose.p + pose.q * p)) ++inside;
      }
    }
  }
  return held > 0 ? volume_of(shape, geometries) * inside / held : 0.0;
}

bool holds_point(const Shape& shape, const Vec3& p, std::span<const Geometry> geometries) {
  const double across = std::hypot(p.x(), p.y()), along = std::abs(p.z());
  switch (shape.type) {
    case ShapeType::sphere:
      return p.norm() <= shape.size.x();
    case ShapeType::box:
      return (p.array().abs() <= shape.size.array()).all();
    case ShapeType::capsule:
      return std::hypot(across, std::max(0.0, along - shape.size.y())) <= shape.size.x();
    case ShapeType::cylinder:
      return across <= shape.size.x() && along <= shape.size.y();
    case ShapeType::hollow_cylinder: {
      const double inner = shape.size.x(), half = shape.size.y(), wall = shape.size.z();
      if (across > inner + wall) return false;
      if (along <= half) return across >= inner;
      const bool closed = (shape.closed_ends & (p.z() > 0.0 ? kUpperEnd : kLowerEnd)) != 0;
      return closed && along <= half + wall;
    }
    case ShapeType::hull: {
      const Geometry& hull = geometries[static_cast<std::size_t>(shape.geometry)];
      for (std::size_t k = 0; k < hull.face_normals.size(); ++k)
        if (hull.face_normals[k].dot(p) > shape.size.x() * hull.face_offsets[k]) return false;
      return true;
    }
    case ShapeType::compound: {
      const double scale = shape.size.x();
      for (const CompoundPart& part : geometries[static_cast<std::size_t>(shape.geometry)].parts)
        if (holds_point(part.shape, part.pose.q.conjugate() * (p / scale - part.pose.p),
                        geometries))
          return true;
      return false;
    }
    case ShapeType::none:
    case ShapeType::plane:
    case ShapeType::mesh:
    case ShapeType::heightfield:
      break;
  }
  return false;
}

}  // namespace catena::probes
