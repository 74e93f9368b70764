#include <algorithm>
#include <array>
#include <cmath>

#include "collision/convex/box_box.hpp"
#include "collision/convex/manifold.hpp"
#include "collision/pairs.hpp"

namespace catena {

namespace {

struct Plane {
  Vec3 up, p;
  double margin;

  double height(const Vec3& x) const { return up.dot(x - p); }
  void add(const Vec3& x, double gap, std::int32_t feature, ContactPoints& out) const {
    if (gap < margin) out.push_back({x - (height(x) - 0.5 * gap) * up, up, gap, feature});
  }
};

/// Corners below the margin; if more than four of them are (a thin plate), those of the face
/// most turned towards the plane, which hold the deepest and lie as far apart as any.
void box(const Vec3& half, const Pose& pose, const Plane& plane, ContactPoints& out) {
  const Mat3 r = pose.q.toRotationMatrix();
  const Vec3 up_in_box = r.transpose() * plane.up;
  const double height = plane.height(pose.p);
  std::array<double, 8> gap;
  int n_below = 0;
  for (int k = 0; k < 8; ++k) {
    gap[k] = height + up_in_box.dot(box_corner(half, k));
    n_below += gap[k] < plane.margin ? 1 : 0;
  }
  int axis = 0;
  for (int k = 1; k < 3; ++k) {
    if (std::abs(up_in_box[k]) > std::abs(up_in_box[axis])) axis = k;
  }
  const int side = up_in_box[axis] < 0.0 ? 1 : 0;  // of the axis, where the lower face is
  for (int k = 0; k < 8; ++k) {
    const double g = gap[k];
    if (!(g < plane.margin) || (n_below > 4 && ((k >> axis) & 1) != side)) continue;
    out.push_back({pose.p + r * box_corner(half, k) - 0.5 * g * plane.up, plane.up, g, k});
  }
}

/// The lowest point of the lower rim and the three a quarter of a turn on, and the lowest point of
/// the upper rim. Standing cylinders keep the four of the lower rim; lying ones the lowest of
/// both rims and the two beside. The four have fixed places on the rim, but the one
/// nearest to the deepest point moves there: an upright cylinder's points stay where they are.
void cylinder(const Shape& shape, const Pose& pose, const Plane& plane, ContactPoints& out) {
  const Mat3 r = pose.q.toRotationMatrix();
  const Vec3 d = -(r.transpose() * plane.up);  // downwards
  const double radius = shape.size.x(), side = d.z() < 0.0 ? -1.0 : 1.0;
  const double across = std::hypot(d.x(), d.y());
  const double height = plane.height(pose.p);
  const Vec3 deepest = across > 0.0 ? Vec3(radius / across * d.x(), radius / across * d.y(), 0.0)
                                    : Vec3(radius, 0, 0);
  const auto quarter =
      (static_cast<int>(std::lround(std::atan2(deepest.y(), deepest.x()) / (0.5 * EIGEN_PI))) + 4) %
      4;
  const bool lies = std::abs(d.z()) < across;
  const std::array<Vec3, 4> fixed = {Vec3(radius, 0, 0), Vec3(0, radius, 0), Vec3(-radius, 0, 0),
                                     Vec3(0, -radius, 0)};
  const auto offer = [&](Vec3 x, double z, std::int32_t feature) {
    x.z() = z * shape.size.y();
    const double gap = height - d.dot(x);
    if (gap < plane.margin) {
      out.push_back({pose.p + r * x - 0.5 * gap * plane.up, plane.up, gap, feature});
    }
  };
  for (int k = 0; k < 4; ++k) {
    if (lies && (k - quarter + 4) % 4 == 2) continue;
    const std::int32_t end = side < 0.0 ? 4 : 0;
    offer(k == quarter ? deepest : fixed[k], side, lies && k == quarter ? 8 + end : end + k);
  }
  if (lies) offer(deepest, -side, side < 0.0 ? 8 : 12);
}

void hull(const Shape& shape, const Pose& pose, const Plane& plane,
          std::span<const Geometry> geometries, ContactPoints& out) {
  const Geometry& g = geometries[shape.geometry];
  const Mat3 r = shape.size.x() * pose.q.toRotationMatrix();
  const Vec3 up = r.transpose() * plane.up;
  const double height = plane.height(pose.p);
  const std::size_t first = out.size();
  for (std::size_t k = 0; k < g.vertices.size(); ++k) {
    const double gap = height + up.dot(g.vertices[k]);
    if (!(gap < plane.margin)) continue;
    out.push_back({pose.p + r * g.vertices[k] - 0.5 * gap * plane.up, plane.up, gap,
                   narrow<std::int32_t>(k)});
  }
  const bool flat = std::ranges::any_of(
      g.face_normals, [&](const Vec3& n) { return -up.dot(n) > kFlat * shape.size.x(); });
  keep_few(out, first, shape.geometry_radius * shape.size.x(), flat, false);
}

}  // namespace

void plane_convex(const Shape& /*a*/, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                  const PairContext& context, ContactPoints& out) {
  const Plane plane{pose_a.q.toRotationMatrix().col(2), pose_a.p, context.margin};
  switch (b.type) {
    default:
      break;
    case ShapeType::sphere:
      plane.add(pose_b.p, plane.height(pose_b.p) - b.size.x(), 0, out);
      break;
    case ShapeType::capsule: {
      const Vec3 half = b.size.y() * (pose_b.q * Vec3::UnitZ());
      std::int32_t feature = 0;
      for (const Vec3& end : {Vec3(pose_b.p - half), Vec3(pose_b.p + half)}) {
        plane.add(end, plane.height(end) - b.size.x(), feature++, out);
      }
      break;
    }
    case ShapeType::box:
      box(b.size, pose_b, plane, out);
      break;
    case ShapeType::cylinder:
      cylinder(b, pose_b, plane, out);
      break;
    case ShapeType::hollow_cylinder: {
      Pose middle;
      const Shape outer = outer_cylinder(b, pose_b, middle);
      cylinder(outer, middle, plane, out);
      break;
    }
    case ShapeType::hull:
      hull(b, pose_b, plane, context.geometries, out);
      break;
  }
}

}  // namespace catena
