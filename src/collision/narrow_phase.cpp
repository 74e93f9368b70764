#include <algorithm>
#include <array>
#include <cmath>

#include "box_box.hpp"
#include "catena/collision/contact.hpp"
#include "catena/collision/sphere_pair.hpp"

namespace catena {

namespace {

/// Axis and offset of the half space below the z axis of a pose.
Vec3 plane_normal(const Pose& plane) { return plane.q.toRotationMatrix().col(2); }

void sphere_sphere(double radius_a, const Vec3& p_a, double radius_b, const Vec3& p_b,
                   double margin, std::vector<ContactPoint>& out) {
  const SphereGap g = sphere_gap(p_a, radius_a, p_b, radius_b);
  if (!(g.gap < margin)) return;
  out.push_back({sphere_pair_point(p_a, radius_a, g), g.normal, g.gap, 0});
}

/// A: sphere, B: plane.
void sphere_plane(double radius, const Vec3& p, const Pose& plane, double margin,
                  std::vector<ContactPoint>& out) {
  const Vec3 up = plane_normal(plane);
  const double gap = up.dot(p - plane.p) - radius;
  if (!(gap < margin)) return;
  out.push_back({p - (radius + 0.5 * gap) * up, -up, gap, 0});
}

/// A: sphere, B: box. Outside: towards the nearest point of the box. Inside: through the
/// nearest face, faces numbered +x, -x, +y, -y, +z, -z.
void sphere_box(double radius, const Vec3& p, const Vec3& half, const Pose& box, double margin,
                std::vector<ContactPoint>& out) {
  const Mat3 r = box.q.toRotationMatrix();
  const Vec3 c = r.transpose() * (p - box.p);
  const Vec3 nearest = c.cwiseMax(-half).cwiseMin(half);
  const double distance = (c - nearest).norm();
  if (distance > 0.0) {
    const double gap = distance - radius;
    if (!(gap < margin)) return;
    const Vec3 outward = r * ((c - nearest) / distance);
    out.push_back({box.p + r * nearest + 0.5 * gap * outward, -outward, gap, 0});
    return;
  }
  const Vec3 depth = half - c.cwiseAbs();
  int axis = 0;
  for (int k = 1; k < 3; ++k) {
    if (depth[k] < depth[axis]) axis = k;
  }
  const Vec3 outward = c[axis] < 0.0 ? Vec3(-r.col(axis)) : Vec3(r.col(axis));
  const double gap = -depth[axis] - radius;
  if (!(gap < margin)) return;
  out.push_back({p + 0.5 * (depth[axis] - radius) * outward, -outward, gap, 0});
}

/// A: box, B: plane. Corners below the margin; if more than four of them are (a thin
/// plate), those of the face most turned towards the plane, which hold the deepest and
/// lie as far apart as any.
void box_plane(const Vec3& half, const Pose& box, const Pose& plane, double margin,
               std::vector<ContactPoint>& out) {
  const Mat3 r = box.q.toRotationMatrix();
  const Vec3 up = plane_normal(plane);
  const Vec3 up_in_box = r.transpose() * up;
  const double height = up.dot(box.p - plane.p);
  std::array<double, 8> gap;
  int n_below = 0;
  for (int k = 0; k < 8; ++k) {
    const Vec3 corner = box_corner(half, k);
    gap[static_cast<std::size_t>(k)] = height + up_in_box.dot(corner);
    n_below += gap[static_cast<std::size_t>(k)] < margin ? 1 : 0;
  }
  int axis = 0;
  for (int k = 1; k < 3; ++k) {
    if (std::abs(up_in_box[k]) > std::abs(up_in_box[axis])) axis = k;
  }
  const int side = up_in_box[axis] < 0.0 ? 1 : 0;  // of the axis, where the lower face is
  for (int k = 0; k < 8; ++k) {
    const double g = gap[static_cast<std::size_t>(k)];
    if (!(g < margin) || (n_below > 4 && ((k >> axis) & 1) != side)) continue;
    out.push_back({box.p + r * box_corner(half, k) - 0.5 * g * up, -up, g, k});
  }
}

/// Pairs with type A before type B in the order sphere, plane, box.
void collide_ordered(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                     double margin, std::vector<ContactPoint>& out) {
  using enum ShapeType;
  if (a.type == sphere && b.type == sphere) {
    sphere_sphere(a.size.x(), pose_a.p, b.size.x(), pose_b.p, margin, out);
  } else if (a.type == sphere && b.type == plane) {
    sphere_plane(a.size.x(), pose_a.p, pose_b, margin, out);
  } else if (a.type == sphere && b.type == box) {
    sphere_box(a.size.x(), pose_a.p, b.size, pose_b, margin, out);
  } else if (a.type == box && b.type == box) {
    collide_boxes(a.size, pose_a, b.size, pose_b, margin, out);
  } else if (a.type == plane && b.type == box) {
    const std::size_t first = out.size();
    box_plane(b.size, pose_b, pose_a, margin, out);
    for (std::size_t k = first; k < out.size(); ++k) out[k].normal = -out[k].normal;
  }
}

}  // namespace

void collide(const Shape& shape_a, const Pose& pose_a, const Shape& shape_b, const Pose& pose_b,
             double margin, std::vector<ContactPoint>& out,
             std::span<const Geometry> /*geometries*/) {
  if (shape_a.type <= shape_b.type) {
    collide_ordered(shape_a, pose_a, shape_b, pose_b, margin, out);
    return;
  }
  const std::size_t first = out.size();
  collide_ordered(shape_b, pose_b, shape_a, pose_a, margin, out);
  for (std::size_t k = first; k < out.size(); ++k) out[k].normal = -out[k].normal;
}

}  // namespace catena
