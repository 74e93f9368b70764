#include <algorithm>
#include <cmath>

#include "catena/collision/sphere_pair.hpp"
#include "collision/pairs.hpp"

namespace catena {

namespace {

/// Two points of cores with radii about them. Coincident points are parted along `fallback`.
void add_round(const Vec3& p, double radius_p, const Vec3& q, double radius_q, const Vec3& fallback,
               std::int32_t feature, double margin, ContactPoints& out) {
  const Vec3 d = q - p;
  const double distance = d.norm(), gap = distance - radius_p - radius_q;
  if (!(gap < margin)) return;
  const Vec3 n = distance > 0.0 ? Vec3(d / distance) : fallback;
  out.push_back({p + (radius_p + 0.5 * gap) * n, n, gap, feature});
}

struct Segment {
  Vec3 p, d;  ///< ends p - d and p + d
  Vec3 at(double s) const { return p + s * d; }
};

Segment core_of(const Shape& capsule, const Pose& pose) {
  return {pose.p, capsule.size.y() * (pose.q * Vec3::UnitZ())};
}

/// Parameter in [-1, 1] of the point nearest to x.
double nearest(const Segment& segment, const Vec3& x) {
  const double dd = segment.d.squaredNorm();
  return dd > 0.0 ? std::clamp(segment.d.dot(x - segment.p) / dd, -1.0, 1.0) : 0.0;
}

/// Parameters of the points of two segments that are closest (Ericson 2005, 5.1.9).
void closest(const Segment& a, const Segment& b, double& s, double& t) {
  const Vec3 r = b.p - a.p;
  const double aa = a.d.squaredNorm(), bb = b.d.squaredNorm(), ab = a.d.dot(b.d);
  const double det = a.d.cross(b.d).squaredNorm();
  s = det > 1e-24 * aa * bb ? std::clamp((r.dot(a.d) * bb - r.dot(b.d) * ab) / det, -1.0, 1.0)
                            : nearest(a, b.p);
  t = nearest(b, a.at(s));
  s = nearest(a, b.at(t));
  t = nearest(b, a.at(s));
}

/// Axes of capsules that differ by less (sine) touch along a line: contacts at both ends of it.
constexpr double kParallel = 0.05;

}  // namespace

void sphere_sphere(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                   const PairContext& context, ContactPoints& out) {
  const SphereGap g = sphere_gap(pose_a.p, a.size.x(), pose_b.p, b.size.x());
  if (!(g.gap < context.margin)) return;
  out.push_back({sphere_pair_point(pose_a.p, a.size.x(), g), g.normal, g.gap, 0});
}

/// Outside: towards the nearest point of the box. Inside: through the nearest face, faces
/// numbered +x, -x, +y, -y, +z, -z.
void sphere_box(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                const PairContext& context, ContactPoints& out) {
  const double radius = a.size.x();
  const Vec3& half = b.size;
  const Mat3 r = pose_b.q.toRotationMatrix();
  const Vec3 c = r.transpose() * (pose_a.p - pose_b.p);
  const Vec3 nearest = c.cwiseMax(-half).cwiseMin(half);
  const double distance = (c - nearest).norm();
  if (distance > 0.0) {
    const double gap = distance - radius;
    if (!(gap < context.margin)) return;
    const Vec3 outward = r * ((c - nearest) / distance);
    out.push_back({pose_b.p + r * nearest + 0.5 * gap * outward, -outward, gap, 0});
    return;
  }
  const Vec3 depth = half - c.cwiseAbs();
  int axis = 0;
  for (int k = 1; k < 3; ++k) {
    if (depth[k] < depth[axis]) axis = k;
  }
  const Vec3 outward = c[axis] < 0.0 ? Vec3(-r.col(axis)) : Vec3(r.col(axis));
  const double gap = -depth[axis] - radius;
  if (!(gap < context.margin)) return;
  out.push_back({pose_a.p + 0.5 * (depth[axis] - radius) * outward, -outward, gap, 0});
}

void sphere_capsule(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                    const PairContext& context, ContactPoints& out) {
  const Segment core = core_of(b, pose_b);
  const Vec3 q = core.at(nearest(core, pose_a.p));
  add_round(pose_a.p, a.size.x(), q, b.size.x(), pose_b.q * Vec3::UnitX(), 0, context.margin, out);
}

/// Towards the nearest point of the profile in (distance from the axis, z). A centre inside is
/// pushed out through the nearest of side, upper and lower end (in this order on a tie); on
/// the axis, along the cylinder's x axis.
void sphere_cylinder(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                     const PairContext& context, ContactPoints& out) {
  const double radius = a.size.x(), rim = b.size.x(), half = b.size.y();
  const Mat3 r = pose_b.q.toRotationMatrix();
  const Vec3 c = r.transpose() * (pose_a.p - pose_b.p);
  const double rho = std::hypot(c.x(), c.y());
  const Vec3 radial = rho > 0.0 ? Vec3(c.x() / rho, c.y() / rho, 0.0) : Vec3(Vec3::UnitX());
  const double dr = rho - rim, dz = std::abs(c.z()) - half;
  const Vec3 axial(0.0, 0.0, c.z() < 0.0 ? -1.0 : 1.0);
  double distance = std::max(dr, dz);
  Vec3 outward = dr >= dz ? radial : axial;
  if (dr > 0.0 && dz > 0.0) {
    distance = std::hypot(dr, dz);
    outward = (dr * radial + dz * axial) / distance;
  }
  const double gap = distance - radius;
  if (!(gap < context.margin)) return;
  const Vec3 n = r * outward;
  out.push_back({pose_a.p - (radius + 0.5 * gap) * n, -n, gap, 0});
}

void capsule_capsule(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                     const PairContext& context, ContactPoints& out) {
  const Segment core_a = core_of(a, pose_a), core_b = core_of(b, pose_b);
  const double radius_a = a.size.x(), radius_b = b.size.x();
  double s = 0.0, t = 0.0;
  closest(core_a, core_b, s, t);
  const Vec3 between = core_b.at(t) - core_a.at(s);
  const double gap = between.norm() - radius_a - radius_b;
  if (!(gap < context.margin)) return;
  const Vec3 cross = core_a.d.cross(core_b.d);
  const double aa = core_a.d.squaredNorm(), bb = core_b.d.squaredNorm();
  const Vec3 fallback = cross.squaredNorm() > 1e-24 * aa * bb ? Vec3(cross.normalized())
                                                              : Vec3(pose_a.q * Vec3::UnitX());
  const std::size_t first = out.size();
  double lowest = gap + 1.0;
  if (aa > 0.0 && bb > 0.0 && cross.squaredNorm() < kParallel * kParallel * aa * bb) {
    // the ends of the common length, each with the nearest point of the other axis
    const double same = core_a.d.dot(core_b.d) > 0.0 ? 1.0 : -1.0;
    for (const double end : {-1.0, 1.0}) {
      const double of_b = core_a.d.dot(core_b.at(same * end) - core_a.p) / aa;
      const double of_common = end < 0.0 ? std::max(-1.0, of_b) : std::min(1.0, of_b);
      if (std::abs(of_common) > 1.0) continue;
      const Vec3 p = core_a.at(of_common), q = core_b.at(nearest(core_b, p));
      add_round(p, radius_a, q, radius_b, fallback, end < 0.0 ? 1 : 2, context.margin, out);
      if ((q - p).norm() - radius_a - radius_b < lowest) {
        lowest = (q - p).norm() - radius_a - radius_b;
      }
    }
    if (out.size() == first + 2 &&
        (out[first + 1].point - out[first].point).norm() < 1e-3 * std::min(radius_a, radius_b)) {
      out.resize(first);
      lowest = gap + 1.0;
    }
  }
  if (gap < lowest - 1e-9 * std::min(radius_a, radius_b) || out.size() == first) {
    add_round(core_a.at(s), radius_a, core_b.at(t), radius_b, fallback, 0, context.margin, out);
  }
}

/// Side by side: two points at the ends of the common length. End on end: four points on the
/// smaller common rim are left to the general way.
bool parallel_cylinders(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                        const PairContext& context, ContactPoints& out) {
  const Vec3 u = pose_a.q * Vec3::UnitZ(), v = pose_b.q * Vec3::UnitZ();
  if (u.cross(v).squaredNorm() > 1e-18) return false;
  const Vec3 d = pose_b.p - pose_a.p;
  const double along = d.dot(u);
  const Vec3 across = d - along * u;
  const double distance = across.norm();
  const double side = distance - a.size.x() - b.size.x();
  const double end = std::abs(along) - a.size.y() - b.size.y();
  if (side >= context.margin || end >= context.margin) return true;
  // beside each other along the axis, or nearer to being parted along it
  if (end >= 0.0 || end > side) return false;
  const Vec3 n = distance > 0.0 ? Vec3(across / distance) : Vec3(pose_a.q * Vec3::UnitX());
  const double from = std::max(-a.size.y(), along - b.size.y());
  const double to = std::min(a.size.y(), along + b.size.y());
  const Vec3 middle = pose_a.p + (a.size.x() + 0.5 * side) * n;
  out.push_back({middle + from * u, n, side, 0});
  out.push_back({middle + to * u, n, side, 1});
  return true;
}

}  // namespace catena
