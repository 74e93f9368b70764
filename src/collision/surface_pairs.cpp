#include <algorithm>
#include <cmath>

#include "collision/convex/box_box.hpp"
#include "collision/convex/convex_query.hpp"
#include "collision/convex/manifold.hpp"
#include "collision/pairs.hpp"
#include "collision/placed_surface.hpp"

namespace catena {

namespace {

/// Sine of a lean over an edge that does not count.
constexpr double kLean = 1e-6;
/// Cosine above which two normals are those of one plane, or of one contact.
constexpr double kSamePlane = 1.0 - 1e-10, kSameContact = 0.9986;
/// A face whose gap is larger than an edge's by no more than this part tells what the edge does.
constexpr double kSlack = 0.02;
/// Points nearer to each other than this part of the body's size are one.
constexpr double kSamePoint = 1e-6;

/// A point with the triangle that gave it.
struct Touch {
  ContactPoint point;
  std::size_t triangle;
  bool face;
};

struct Touches {
  const PlacedSurface& surface;
  const std::vector<SurfaceTriangle>& triangles;
  double margin, size;
  std::vector<Touch> found;
};

/// Nearest point of the triangle; bit k of `corners` is set if corner k takes part.
Vec3 nearest_in_triangle(const SurfaceTriangle& t, const Vec3& c, unsigned& corners) {
  const Vec3 ab = t.v[1] - t.v[0], ac = t.v[2] - t.v[0], ap = c - t.v[0];
  const double d1 = ab.dot(ap), d2 = ac.dot(ap);
  if (d1 <= 0.0 && d2 <= 0.0) return corners = 1, t.v[0];
  const Vec3 bp = c - t.v[1];
  const double d3 = ab.dot(bp), d4 = ac.dot(bp);
  if (d3 >= 0.0 && d4 <= d3) return corners = 2, t.v[1];
  const Vec3 cp = c - t.v[2];
  const double d5 = ab.dot(cp), d6 = ac.dot(cp);
  if (d6 >= 0.0 && d5 <= d6) return corners = 4, t.v[2];
  const double vc = d1 * d4 - d3 * d2;
  if (vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0) return corners = 3, t.v[0] + d1 / (d1 - d3) * ab;
  const double vb = d5 * d2 - d1 * d6;
  if (vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0) return corners = 5, t.v[0] + d2 / (d2 - d6) * ac;
  const double va = d3 * d6 - d5 * d4;
  if (va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0) {
    const double s = (d4 - d3) / ((d4 - d3) + (d5 - d6));
    return corners = 6, t.v[1] + s * (t.v[2] - t.v[1]);
  }
  corners = 7;
  return c - t.normal.dot(ap) * t.normal;
}

/// True if the direction m from the surface belongs to edge k: it leans out of both triangles.
bool belongs_to_edge(const Neighbourhood& around, std::size_t k, const Vec3& m) {
  if (m.dot(around.outward[k]) < -kLean) return false;
  return around.item[k] < 0 || m.dot(around.outward_of_item[k]) >= -kLean;
}

/// The same for a corner: no edge that leaves it comes nearer.
bool belongs_to_corner(const std::vector<SurfaceTriangle>& triangles, std::int32_t corner,
                       const Vec3& m) {
  for (const SurfaceTriangle& t : triangles) {
    for (std::size_t k = 0; k < 3; ++k) {
      if (t.vertex[k] != corner) continue;
      for (const std::size_t other : {(k + 1) % 3, (k + 2) % 3}) {
        const Vec3 d = t.v[other] - t.v[k];
        if (m.dot(d) > kLean * d.norm()) return false;
      }
    }
  }
  return true;
}

/// Sphere about the origin. Faces push along their normal, also a centre that is up to one radius
/// behind; edges and corners only in directions that no face is nearer in.
void sphere_triangle(double radius, std::size_t index, Touches& out) {
  const SurfaceTriangle& t = out.triangles[index];
  unsigned corners = 0;
  const Vec3 q = nearest_in_triangle(t, Vec3::Zero(), corners);
  const double distance = q.norm();
  if (!(distance - radius < out.margin)) return;
  const double height = -t.normal.dot(t.v[0]);
  const auto add = [&](const Vec3& n, double gap, std::int32_t feature, bool face) {
    out.found.push_back({{q - 0.5 * gap * n, n, gap, feature, t.item}, index, face});
  };
  const Vec3 m = distance > 0.0 ? Vec3(-q / distance) : t.normal;
  if (corners == 7 || std::abs(m.dot(t.normal)) > 1.0 - 0.5 * kLean * kLean) {
    if (height < -radius) return;
    return add(-t.normal, height - radius, 0, true);
  }
  const bool behind = m.dot(t.normal) < 0.0, two_sided = out.surface.two_sided();
  if (behind && distance > radius) return;
  for (std::size_t k = 0; k < 3; ++k) {
    const unsigned edge = (1U << k) | (1U << ((k + 1) % 3));
    if (corners == edge) {
      const Neighbourhood around = out.surface.around(t);
      if (!belongs_to_edge(around, k, m)) return;
      if (around.item[k] >= 0 && !two_sided && (around.normal[k].dot(m) < 0.0) != behind) return;
    }
    if (corners == 1U << k && !belongs_to_corner(out.triangles, t.vertex[k], m)) return;
  }
  const auto feature = narrow<std::int32_t>(corners);
  behind && !two_sided ? add(m, -distance - radius, feature, false)
                       : add(-m, distance - radius, feature, false);
}

/// Points of the body over the triangle, along its normal, as add_face_points gave them.
void add_face_touches(std::size_t index, Touches& out, std::vector<ContactPoint>& points) {
  for (ContactPoint& point : points) {
    point.normal = -point.normal;
    point.part = out.triangles[index].item;
    out.found.push_back({point, index, true});
  }
}

/// Points of the body over the triangle, along its normal.
void face_touches(const Convex& body, const Convex& triangle, std::size_t index, Touches& out,
                  std::vector<ContactPoint>& points) {
  points.clear();
  add_face_points(triangle, 0, body, out.margin, points);
  add_face_touches(index, out, points);
}

bool share_corner(const SurfaceTriangle& a, const SurfaceTriangle& b) {
  return std::ranges::any_of(
      a.vertex, [&](std::int32_t i) { return std::ranges::find(b.vertex, i) != b.vertex.end(); });
}

/// True if the body is parted more easily from a neighbour that falls away from this triangle:
/// a body on top of a block is not pushed aside by the block's walls.
bool neighbour_is_nearer(const Convex& body, const SurfaceTriangle& t, double above,
                         const Touches& out) {
  const double level = 1e-9 * out.size;
  return std::ranges::any_of(out.triangles, [&](const SurfaceTriangle& other) {
    if (other.item == t.item || !share_corner(t, other)) return false;
    const Vec3 middle = (t.v[0] + t.v[1] + t.v[2]) / 3.0;
    if (other.normal.dot(middle - other.v[0]) > level) return false;
    return other.normal.dot(support(body, -other.normal) - other.v[0]) > above + level;
  });
}

/// Any other convex body. The normal must lie between those of the faces that meet in the
/// touched edge or corner; else the triangle's face tells, unless a neighbour's is nearer.
void convex_triangle(const Convex& body, std::size_t index, Touches& out,
                     std::vector<ContactPoint>& points) {
  const SurfaceTriangle& t = out.triangles[index];
  const Convex triangle = convex_of(t.v);
  ConvexGap gap;
  if (!query(body, triangle, out.margin, gap)) return;
  const Vec3 m = -gap.normal;
  const double front = m.dot(t.normal);
  if (front > 1.0 - 0.5 * kLean * kLean) return face_touches(body, triangle, index, out, points);
  if (front <= 0.0 && gap.gap > 0.0) return;
  // a face flat on the triangle: whether it or an edge parts them best is up to the least tilt
  if (front > kFlat && lies_flat(body, t.normal)) {
    points.clear();
    const double least = add_face_points(triangle, 0, body, out.margin, points);
    if (tells_gap(least, gap, body, triangle)) return add_face_touches(index, out, points);
  }
  const Neighbourhood around = out.surface.around(t);
  bool leans_over_convex = false, leans_over_other = false;
  for (std::size_t k = 0; k < 3; ++k) {
    if (around.item[k] < 0 || m.dot(around.outward[k]) <= kLean) continue;
    if (!around.convex[k]) {
      leans_over_other = true;
    } else if (m.dot(around.outward_of_item[k]) < -kLean) {
      leans_over_convex = true;
    }
  }
  if (front > 0.0 && !leans_over_convex && !leans_over_other) {
    points.clear();
    add_manifold(body, triangle, gap, out.margin, points);
    for (ContactPoint& point : points) {
      point.part = t.item;
      out.found.push_back({point, index, -point.normal.dot(t.normal) > kSamePlane});
    }
    return;
  }
  if (!gap.cores_overlap && gap.gap > 0.0 && leans_over_convex) return;
  const double above = separation(triangle, body, t.normal);
  if (neighbour_is_nearer(body, t, above, out)) return;
  face_touches(body, triangle, index, out, points);
}

/// Drops faces of the far side of a wall thinner than the body: of two faces that turn their backs
/// on each other the body is parted from the one that it is less deep behind.
void drop_far_sides(const Convex& body, Touches& touches) {
  constexpr double kOpposed = -0.5;  // cosine of two normals
  const auto height = [](const SurfaceTriangle& t, const Vec3& p) {
    return t.normal.dot(p - t.v[0]);
  };
  const auto behind = [&](const SurfaceTriangle& t, const SurfaceTriangle& other) {
    return std::ranges::all_of(other.v, [&](const Vec3& p) { return height(t, p) <= 0.0; });
  };
  const auto depth = [&](const SurfaceTriangle& t) { return height(t, support(body, -t.normal)); };
  const auto is_far = [&](const Touch& touch) {
    const SurfaceTriangle& t = touches.triangles[touch.triangle];
    return touch.face && std::ranges::any_of(touches.found, [&](const Touch& other) {
             const SurfaceTriangle& o = touches.triangles[other.triangle];
             return other.face && t.normal.dot(o.normal) < kOpposed && behind(t, o) &&
                    behind(o, t) && depth(t) < depth(o);
           });
  };
  std::vector<bool> far;
  for (const Touch& touch : touches.found) far.push_back(is_far(touch));
  std::size_t k = 0;
  std::erase_if(touches.found, [&](const Touch&) { return far[k++]; });
}

/// Drops what a neighbouring face tells already, and all but the deepest of points that coincide.
void drop_repeated(Touches& touches) {
  std::vector<Touch>& all = touches.found;
  const double near = kSamePoint * touches.size;
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool drop = false;
    for (std::size_t j = 0; j < all.size() && !drop; ++j) {
      if (i == j) continue;
      const bool same_normal = all[i].point.normal.dot(all[j].point.normal) > kSameContact;
      if (!same_normal) continue;
      const double slack = kSlack * (std::abs(all[i].point.gap) + 1e-3 * touches.size);
      const bool covered =
          !all[i].face && all[j].face && all[j].point.gap <= all[i].point.gap + slack &&
          share_corner(touches.triangles[all[i].triangle], touches.triangles[all[j].triangle]);
      const bool coincide =
          (all[i].point.point - all[j].point.point).squaredNorm() < near * near &&
          (all[j].point.gap < all[i].point.gap || (all[j].point.gap == all[i].point.gap && j < i));
      drop = covered || coincide;
    }
    // marked only: later ones compare with all
    if (drop) all[i].point.part = -1;
  }
  std::erase_if(all, [](const Touch& touch) { return touch.point.part < 0; });
}

/// Up to four points for each plane that is touched.
void keep_four_per_plane(const Convex& body, const Touches& touches, ContactPoints& out) {
  std::vector<bool> done(touches.found.size(), false);
  for (std::size_t i = 0; i < touches.found.size(); ++i) {
    if (done[i]) continue;
    const std::size_t first = out.size();
    for (std::size_t j = i; j < touches.found.size(); ++j) {
      if (done[j] || (j > i && touches.found[i].point.normal.dot(touches.found[j].point.normal) <=
                                   kSamePlane)) {
        continue;
      }
      done[j] = true;
      out.push_back(touches.found[j].point);
    }
    keep_few(out, first, touches.size, lies_flat(body, -touches.found[i].point.normal), true);
  }
}

/// A body wholly below a heightfield is pushed up through the triangle over its centre.
void push_up(const Convex& body, const PlacedSurface& surface, const Vec3& centre, Touches& out,
             std::vector<SurfaceTriangle>& triangles) {
  const std::int32_t item = surface.item_over(centre);
  if (item < 0) return;
  triangles.push_back(surface.triangle(item));
  const SurfaceTriangle& t = triangles.back();
  const Vec3 deepest = support(body, -t.normal) - body.radius * t.normal;
  const double gap = t.normal.dot(deepest - t.v[0]);
  if (t.normal.dot(body.p - t.v[0]) >= 0.0 || !(gap < out.margin)) return;
  out.found.push_back(
      {{deepest - 0.5 * gap * t.normal, -t.normal, gap, 0, item}, triangles.size() - 1, true});
}

}  // namespace

void convex_surface(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                    const PairContext& context, ContactPoints& out) {
  Shape shape = a;
  Pose pose = pose_a;
  if (a.type == ShapeType::hollow_cylinder) shape = outer_cylinder(a, pose_a, pose);
  const Vec3 origin = pose.p;
  const PlacedSurface surface(context.geometries[b.geometry], pose_b, origin);
  Pose seen;  // the body in the surface's frame
  seen.q = pose_b.q.conjugate() * pose.q;
  seen.p = pose_b.q.conjugate() * (pose.p - pose_b.p);
  Aabb box = bounds_of(shape, seen, context.geometries);
  box.inflate(context.margin);
  std::vector<SurfaceTriangle> triangles;
  triangles.reserve(32);
  surface.collect(box, triangles);
  if (triangles.empty() && !surface.is_heightfield()) return;
  const Convex body = convex_of(shape, pose, origin, context.geometries);
  if (surface.two_sided()) {
    for (SurfaceTriangle& t : triangles) {
      if (t.normal.dot(body.p - t.v[0]) < 0.0) t.turn_over();
    }
  }
  Touches touches{surface, triangles, context.margin, body.size, {}};
  std::vector<ContactPoint> points;
  for (std::size_t k = 0; k < triangles.size(); ++k) {
    if (shape.type == ShapeType::sphere) {
      sphere_triangle(body.radius, k, touches);
    } else {
      convex_triangle(body, k, touches, points);
    }
  }
  if (touches.found.empty() && surface.is_heightfield()) {
    push_up(body, surface, seen.p, touches, triangles);
  }
  const std::size_t first = out.size();
  if (touches.found.size() > 1) drop_far_sides(body, touches);
  if (touches.found.size() == 1) {
    out.push_back(touches.found[0].point);
  } else {
    drop_repeated(touches);
    keep_four_per_plane(body, touches, out);
  }
  for (std::size_t k = first; k < out.size(); ++k) out[k].point += origin;
}

}  // namespace catena
