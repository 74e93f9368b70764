#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "catena/math/rotation.hpp"
#include "collision/convex/manifold.hpp"
#include "collision/pairs.hpp"

namespace catena {

namespace {

/// Names of contacts with the ends and of cut edges; corners have their numbers.
constexpr std::int32_t kLowerFeature = 1 << 24, kUpperFeature = 2 << 24, kCutFeature = 3 << 24;

/// A hollow cylinder in its own frame.
struct Hollow {
  Mat3 r;
  Vec3 p;
  double inner, outer, half, thickness;  ///< radii, half inner length, wall
  bool lower, upper;                     ///< closed ends
  double bottom, top;                    ///< outer faces

  Hollow(const Shape& shape, const Pose& pose)
      : r(pose.q.toRotationMatrix()),
        p(pose.p),
        inner(shape.size.x()),
        outer(shape.size.x() + shape.size.z()),
        half(shape.size.y()),
        thickness(shape.size.z()),
        lower((shape.closed_ends & kLowerEnd) != 0),
        upper((shape.closed_ends & kUpperEnd) != 0),
        bottom(-half - (lower ? thickness : 0.0)),
        top(half + (upper ? thickness : 0.0)) {}

  Vec3 local(const Vec3& x) const { return r.transpose() * (x - p); }
  Vec3 world(const Vec3& x) const { return p + r * x; }
};

/// Signed distance from a rectangle of the profile and the direction out of it, in (rho, z).
struct Distance {
  double d = kInfinity;
  double rho = 0.0, z = 0.0;
};

/// Rectangle [rho_lo, rho_hi] x [z_lo, z_hi]; sides through which a point inside may not leave
/// (they lie within other parts) have `open` false: inner, outer, lower, upper.
Distance from_rectangle(double rho, double z, double rho_lo, double rho_hi, double z_lo,
                        double z_hi, const std::array<bool, 4>& open) {
  const double dr = rho < rho_lo ? rho - rho_lo : std::max(rho - rho_hi, 0.0);
  const double dz = z < z_lo ? z - z_lo : std::max(z - z_hi, 0.0);
  if (dr != 0.0 || dz != 0.0) {
    const double d = std::hypot(dr, dz);
    return {d, dr / d, dz / d};
  }
  Distance best{-kInfinity, 0.0, 0.0};
  const std::array<Distance, 4> exits = {
      Distance{rho_lo - rho, -1.0, 0.0}, Distance{rho - rho_hi, 1.0, 0.0},
      Distance{z_lo - z, 0.0, -1.0}, Distance{z - z_hi, 0.0, 1.0}};
  for (std::size_t k = 0; k < 4; ++k) {
    if (open[k] && exits[k].d > best.d) best = exits[k];
  }
  return best;
}

Vec3 radial_of(const Vec3& c) {
  const double rho = std::hypot(c.x(), c.y());
  return rho > 0.0 ? Vec3(c.x() / rho, c.y() / rho, 0.0) : Vec3(Vec3::UnitX());
}

/// Wall, lower and upper end as seen from a point of the frame.
std::array<Distance, 3> distances(const Hollow& h, const Vec3& c) {
  const double rho = std::hypot(c.x(), c.y()), z = c.z();
  const bool beside_bore = (z <= h.half || !h.upper) && (z >= -h.half || !h.lower);
  std::array<Distance, 3> all;
  all[0] =
      from_rectangle(rho, z, h.inner, h.outer, h.bottom, h.top, {beside_bore, true, true, true});
  const bool over_bore = rho <= h.inner;
  if (h.lower) {
    all[1] =
        from_rectangle(rho, z, -1.0, h.outer, h.bottom, -h.half, {false, true, true, over_bore});
  }
  if (h.upper) {
    all[2] = from_rectangle(rho, z, -1.0, h.outer, h.half, h.top, {false, true, over_bore, true});
  }
  return all;
}

/// Corners, cut edges and rim points of a body that may touch the wall from inside.
struct Probe {
  Vec3 p;  ///< frame of the hollow cylinder
  double radius;
  std::int32_t feature;
};

/// Points of the circle that are farthest from the axis: local maxima of the distance, by
/// Newton's method from a scan.
void add_rim_probes(const Vec3& centre, const Vec3& e1, const Vec3& e2, std::int32_t feature,
                    std::vector<Probe>& probes) {
  constexpr int kScan = 32;
  const auto at = [&](double t) -> Vec3 { return centre + std::cos(t) * e1 + std::sin(t) * e2; };
  const auto rho2 = [&](double t) { return at(t).head<2>().squaredNorm(); };
  std::array<double, kScan> value;
  constexpr double kStep = 2.0 * std::numbers::pi / kScan;
  for (int k = 0; k < kScan; ++k) value[k] = rho2(k * kStep);
  std::int32_t found = 0;
  for (int k = 0; k < kScan; ++k) {
    const double here = value[k];
    if (here < value[(k + kScan - 1) % kScan] || here <= value[(k + 1) % kScan]) {
      continue;
    }
    double t = k * kStep;
    for (int i = 0; i < 8; ++i) {
      const Vec3 x = at(t), dx = -std::sin(t) * e1 + std::cos(t) * e2, ddx = centre - x;
      const double slope = x.head<2>().dot(dx.head<2>());
      const double bend = dx.head<2>().squaredNorm() + x.head<2>().dot(ddx.head<2>());
      if (!(bend < 0.0)) break;
      t = std::clamp(t - slope / bend, (k - 1) * kStep, (k + 1) * kStep);
    }
    probes.push_back({at(t), 0.0, feature + found++});
  }
  // a rim about the axis: all points are as far
  if (found == 0) {
    for (int k = 0; k < 4; ++k)
      probes.push_back({at(0.5 * std::numbers::pi * k), 0.0, feature + k});
  }
}

/// Where an edge leaves the bore through an open end.
void add_cut(const Hollow& h, const Vec3& p, const Vec3& q, double radius, std::int32_t feature,
             std::vector<Probe>& probes) {
  for (const double end : {-h.half, h.half}) {
    if ((end < 0.0 && h.lower) || (end > 0.0 && h.upper)) continue;
    if ((p.z() < end) == (q.z() < end)) continue;
    Vec3 x = p + (end - p.z()) / (q.z() - p.z()) * (q - p);
    x.z() = end;
    probes.push_back({x, radius, kCutFeature + 2 * feature + (end > 0.0 ? 1 : 0)});
  }
}

void list_probes(const Hollow& h, const Convex& body, std::vector<Probe>& probes) {
  // body and hollow cylinder are seen from the same origin
  if (body.core == Convex::Core::cylinder) {
    const Mat3 turn = h.r.transpose() * body.r;
    const Vec3 e1 = body.half.x() * turn.col(0), e2 = body.half.x() * turn.col(1);
    const Vec3 centre = h.local(body.p), axis = body.half.z() * turn.col(2);
    add_rim_probes(centre - axis, e1, e2, 0, probes);
    const auto lower = probes.size();
    add_rim_probes(centre + axis, e1, e2, 8, probes);
    for (std::size_t k = 0; k < lower; ++k) {
      const Vec3 across = probes[k].p - (centre - axis);
      add_cut(h, probes[k].p, centre + axis + across, 0.0, narrow<std::int32_t>(k), probes);
    }
    return;
  }
  Polytope polytope;
  make_polytope(body, polytope);
  for (std::size_t k = 0; k < polytope.vertices.size(); ++k) {
    probes.push_back({h.local(polytope.vertices[k]), body.radius, narrow<std::int32_t>(k)});
  }
  if (h.lower && h.upper) return;
  for (std::size_t e = 0; e < polytope.edges.size(); ++e) {
    const auto& edge = polytope.edges[e];
    add_cut(h, h.local(polytope.vertices[edge[0]]), h.local(polytope.vertices[edge[1]]),
            body.radius, narrow<std::int32_t>(e), probes);
  }
}

/// Keeps of more than four points the deepest and those farthest from all chosen before.
void keep_far_apart(ContactPoints& points, std::size_t first) {
  for (std::size_t n = 0; n < 4 && first + n < points.size(); ++n) {
    std::size_t best = first + n;
    double most = std::numeric_limits<double>::lowest();
    for (std::size_t k = first + n; k < points.size(); ++k) {
      double value = n == 0 ? -points[k].gap : kInfinity;
      for (std::size_t j = first; n > 0 && j < first + n; ++j) {
        value = std::min(value, (points[k].point - points[j].point).squaredNorm());
      }
      // a clear gain only: equal choices must not alternate from step to step
      if (value - most > 1e-9 * std::abs(value)) most = value, best = k;
    }
    std::swap(points[first + n], points[best]);
  }
  if (points.size() > first + 4) points.resize(first + 4);
}

/// Points of a body in the bore with the wall.
void wall_points(const Hollow& h, const Convex& body, double margin, ContactPoints& out) {
  const std::size_t first = out.size();
  std::vector<Probe> probes;
  list_probes(h, body, probes);
  for (const Probe& probe : probes) {
    const double z = probe.p.z();
    // what stands on a closed end overlaps it a little and is still beside the wall
    const double to_mouth =
        std::min(h.lower ? kInfinity : z + h.half, h.upper ? kInfinity : h.half - z);
    const bool in_bore = to_mouth >= 0.0;
    if (!in_bore && probe.radius == 0.0) continue;
    const double rho = std::hypot(probe.p.x(), probe.p.y());
    Distance d{h.inner - rho, -1.0, 0.0};
    if (!in_bore || (rho > h.inner && to_mouth < rho - h.inner)) {
      d = distances(h, probe.p)[0];  // at the mouth
    }
    const double gap = d.d - probe.radius;
    if (!(gap < margin)) continue;
    const Vec3 n = h.r * (-d.rho * radial_of(probe.p) - Vec3(0.0, 0.0, d.z));
    out.push_back({h.world(probe.p) + (probe.radius + 0.5 * gap) * n, n, gap, probe.feature});
  }
  keep_far_apart(out, first);
}

/// Points of a body in the bore with a closed end, a plane bounded by the bore.
void end_points(const Hollow& h, const Shape& a, const Pose& pose_a, bool upper,
                const PairContext& context, ContactPoints& out) {
  Pose plane;
  const double side = upper ? 1.0 : -1.0;
  plane.p = h.world(Vec3(0.0, 0.0, side * h.half));
  plane.q = Quat(h.r) * (upper ? Quat(0.0, 1.0, 0.0, 0.0) : Quat::Identity());
  const std::size_t first = out.size();
  plane_convex({ShapeType::plane, Vec3::Zero()}, plane, a, pose_a, context, out);
  std::size_t kept = first;
  for (std::size_t k = first; k < out.size(); ++k) {
    const Vec3 x = h.local(out[k].point);
    if (std::hypot(x.x(), x.y()) > h.inner + 0.5 * h.thickness) continue;
    out[k].normal = -out[k].normal;
    out[k].feature += upper ? kUpperFeature : kLowerFeature;
    out[kept++] = out[k];
  }
  out.resize(kept);
}

/// As if the hollow cylinder were solid, without what would touch the lid over an open end.
void outer_points(const Hollow& h, const Shape& a, const Pose& pose_a, const Shape& b,
                  const Pose& pose_b, const PairContext& context, ContactPoints& out) {
  Pose middle;
  const Shape solid = outer_cylinder(b, pose_b, middle);
  const std::size_t first = out.size();
  convex_convex(a, pose_a, solid, middle, context, out);
  std::size_t kept = first;
  for (std::size_t k = first; k < out.size(); ++k) {
    const Vec3 x = h.local(out[k].point), n = h.r.transpose() * out[k].normal;
    const bool on_lid =
        (n.z() < 0.0 && !h.upper && x.z() > 0.0) || (n.z() > 0.0 && !h.lower && x.z() < 0.0);
    if (on_lid && std::hypot(x.x(), x.y()) < h.inner) continue;
    out[kept++] = out[k];
  }
  out.resize(kept);
}

double lowest_along(const Convex& body, const Vec3& n) {
  return n.dot(support(body, -n)) - body.radius;
}

}  // namespace

Shape outer_cylinder(const Shape& hollow, const Pose& pose, Pose& middle) {
  const Hollow h(hollow, pose);
  middle.q = pose.q;
  middle.p = h.world(Vec3(0.0, 0.0, 0.5 * (h.bottom + h.top)));
  return {ShapeType::cylinder, {h.outer, 0.5 * (h.top - h.bottom), 0.0}};
}

void sphere_hollow(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                   const PairContext& context, ContactPoints& out) {
  const Hollow h(b, pose_b);
  const double radius = a.size.x();
  const Vec3 c = h.local(pose_a.p);
  const double rho = std::hypot(c.x(), c.y());
  const auto all = distances(h, c);
  const bool in_bore =
      rho < h.inner && (c.z() < h.half || !h.upper) && (c.z() > -h.half || !h.lower);
  const auto add = [&](std::size_t k) {
    const double gap = all[k].d - radius;
    if (!(gap < context.margin)) return;
    const Vec3 n = h.r * (-all[k].rho * radial_of(c) - Vec3(0.0, 0.0, all[k].z));
    out.push_back({pose_a.p + (radius + 0.5 * gap) * n, n, gap, narrow<std::int32_t>(k)});
  };
  if (in_bore) {
    for (std::size_t k = 0; k < 3; ++k) add(k);
    return;
  }
  // outside: the nearest part; within the material: out of all parts
  std::size_t chosen = 0;
  for (std::size_t k = 1; k < 3; ++k) {
    if (all[k].d < all[chosen].d) chosen = k;
  }
  add(chosen);
}

void convex_hollow(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                   const PairContext& context, ContactPoints& out) {
  Shape inner = a;
  Pose pose = pose_a;
  if (a.type == ShapeType::hollow_cylinder) {
    if (b.size.x() + b.size.z() <= a.size.x()) {  // A is around B
      const std::size_t first = out.size();
      convex_hollow(b, pose_b, a, pose_a, context, out);
      for (std::size_t k = first; k < out.size(); ++k) out[k].normal = -out[k].normal;
      return;
    }
    inner = outer_cylinder(a, pose_a, pose);
  }
  const Hollow h(b, pose_b);
  const Convex body = convex_of(inner, pose, Vec3::Zero(), context.geometries);
  const Vec3 c = h.local(body.p);
  const bool within = std::hypot(c.x(), c.y()) < h.inner + 0.5 * h.thickness &&
                      (!h.upper || c.z() < h.half + 0.5 * h.thickness) &&
                      (!h.lower || c.z() > -h.half - 0.5 * h.thickness);
  const Vec3 axis = h.r.col(2);
  const double reach = h.half - std::min(0.5 * h.thickness, h.half);
  const bool above = lowest_along(body, axis) - axis.dot(h.p) >= reach;
  const bool below = lowest_along(body, -axis) + axis.dot(h.p) >= reach;
  if (!within || above || below) {
    outer_points(h, inner, pose, b, pose_b, context, out);
    return;
  }
  wall_points(h, body, context.margin, out);
  if (h.lower) end_points(h, inner, pose, false, context, out);
  if (h.upper) end_points(h, inner, pose, true, context, out);
}

}  // namespace catena
