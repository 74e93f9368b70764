#include "model/union_mass.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

namespace catena {

namespace {

using Interval = std::pair<double, double>;
constexpr double kPi = std::numbers::pi;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Interval kNothing = {1.0, 0.0};

/// Moments of what is cut off a sphere about the origin at n . x = z0.
Moments cap(double radius, double z0, const Vec3& n) {
  const auto powers = [&](double z) {
    const double r2 = radius * radius, z2 = z * z;
    return std::array<double, 4>{kPi * z * (r2 - z2 / 3.0), kPi * z2 * (r2 / 2.0 - z2 / 4.0),
                                 kPi * z * z2 * (r2 / 3.0 - z2 / 5.0),
                                 kPi / 4.0 * z * (r2 * r2 - 2.0 / 3.0 * r2 * z2 + z2 * z2 / 5.0)};
  };
  const auto to = powers(radius), from = powers(z0);
  const Mat3 along = n * n.transpose();
  return {to[0] - from[0], (to[1] - from[1]) * n,
          (to[2] - from[2]) * along + (to[3] - from[3]) * (Mat3::Identity() - along)};
}

Moments moved(const Moments& m, const Vec3& by) {
  const Mat3 mixed = m.first * by.transpose();
  return {m.volume, m.first + m.volume * by,
          m.second + mixed + mixed.transpose() + m.volume * by * by.transpose()};
}

/// Moments of what two overlapping spheres share.
Moments lens(const CompoundPart& a, const CompoundPart& b) {
  const double ra = a.shape.size[0], rb = b.shape.size[0];
  const Vec3 way = b.pose.p - a.pose.p;
  const double d = way.norm();
  if (d <= std::abs(ra - rb)) {  // the smaller one lies inside
    const CompoundPart& inner = ra < rb ? a : b;
    const double r = inner.shape.size[0];
    return moved(cap(r, -r, Vec3::UnitZ()), inner.pose.p);
  }
  const Vec3 n = way / d;
  const double cut = (d * d + ra * ra - rb * rb) / (2.0 * d);
  Moments both = moved(cap(ra, cut, n), a.pose.p);
  both.add(moved(cap(rb, d - cut, -n), b.pose.p));
  return both;
}

Interval common(const Interval& a, const Interval& b) {
  return {std::max(a.first, b.first), std::min(a.second, b.second)};
}

/// Where o + t e lies in |x . axis| <= half.
Interval in_slab(double o, double e, double half) {
  if (e == 0.0) return std::abs(o) <= half ? Interval{-kInfinity, kInfinity} : kNothing;
  const double t0 = (-half - o) / e, t1 = (half - o) / e;
  return {std::min(t0, t1), std::max(t0, t1)};
}

/// Where a t^2 + 2 b t + c <= 0.
Interval in_quadric(double a, double b, double c) {
  if (a == 0.0) return c <= 0.0 ? Interval{-kInfinity, kInfinity} : kNothing;
  const double square = b * b - a * c;
  if (!(square > 0.0)) return kNothing;
  const double root = std::sqrt(square);
  return {(-b - root) / a, (-b + root) / a};
}

Interval in_sphere(const Vec3& o, const Vec3& e, double radius) {
  return in_quadric(e.squaredNorm(), o.dot(e), o.squaredNorm() - radius * radius);
}

/// Of infinite length, about z.
Interval in_tube(const Vec3& o, const Vec3& e, double radius) {
  return in_quadric(e.head<2>().squaredNorm(), o.head<2>().dot(e.head<2>()),
                    o.head<2>().squaredNorm() - radius * radius);
}

Interval in_capsule(const Vec3& o, const Vec3& e, double radius, double half) {
  const Vec3 up = half * Vec3::UnitZ();
  Interval hull = {kInfinity, -kInfinity};
  for (const Interval& part : {common(in_tube(o, e, radius), in_slab(o[2], e[2], half)),
                               in_sphere(o - up, e, radius), in_sphere(o + up, e, radius)}) {
    if (part.first > part.second) continue;
    hull = {std::min(hull.first, part.first), std::max(hull.second, part.second)};
  }
  return hull;
}

Interval in_hull(const Vec3& o, const Vec3& e, const Geometry& hull, double scale) {
  Interval in = {-kInfinity, kInfinity};
  for (std::size_t f = 0; f < hull.face_normals.size(); ++f) {
    const double rate = hull.face_normals[f].dot(e);
    const double room = scale * hull.face_offsets[f] - hull.face_normals[f].dot(o);
    if (rate == 0.0 && room < 0.0) return kNothing;
    if (rate > 0.0) in.second = std::min(in.second, room / rate);
    if (rate < 0.0) in.first = std::max(in.first, room / rate);
  }
  return in;
}

/// Adds where the line o + t e, in the shape's frame, lies in the shape.
void add_intervals(const Shape& shape, const Vec3& o, const Vec3& e,
                   std::span<const Geometry> geometries, std::vector<Interval>& out) {
  const auto add = [&](const Interval& in) {
    if (in.first < in.second) out.push_back(in);
  };
  const Vec3& s = shape.size;
  switch (shape.type) {
    case ShapeType::sphere:
      return add(in_sphere(o, e, s[0]));
    case ShapeType::box:
      return add(common(common(in_slab(o[0], e[0], s[0]), in_slab(o[1], e[1], s[1])),
                        in_slab(o[2], e[2], s[2])));
    case ShapeType::capsule:
      return add(in_capsule(o, e, s[0], s[1]));
    case ShapeType::cylinder:
      return add(common(in_tube(o, e, s[0]), in_slab(o[2], e[2], s[1])));
    case ShapeType::hollow_cylinder: {
      const double lower = s[1] + ((shape.closed_ends & kLowerEnd) != 0 ? s[2] : 0.0);
      const double upper = s[1] + ((shape.closed_ends & kUpperEnd) != 0 ? s[2] : 0.0);
      const Interval all = common(in_tube(o, e, s[0] + s[2]), in_slab(o[2] - 0.5 * (upper - lower),
                                                                      e[2], 0.5 * (lower + upper)));
      const Interval bore = common(in_tube(o, e, s[0]), in_slab(o[2], e[2], s[1]));
      if (bore.first >= bore.second) return add(all);
      add({all.first, std::min(all.second, bore.first)});
      return add({std::max(all.first, bore.second), all.second});
    }
    case ShapeType::hull:
      return add(in_hull(o, e, geometries[shape.geometry], s[0]));
    default:  // surfaces have no volume
      return;
  }
}

/// The union of the boxes in which two parts may overlap; empty if there is none.
Aabb box_of_overlaps(std::span<const CompoundPart> parts, std::span<const Geometry> geometries) {
  constexpr double kTouch = 1e-9;  // of a part's size: faces that only touch
  Aabb all;
  std::vector<Aabb> boxes;
  for (const CompoundPart& part : parts)
    boxes.push_back(bounds_of(part.shape, part.pose, geometries));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const Aabb both{boxes[i].lo.cwiseMax(boxes[k].lo), boxes[i].hi.cwiseMin(boxes[k].hi)};
      const double size = (boxes[i].hi - boxes[i].lo).norm();
      if (((both.hi - both.lo).array() > kTouch * size).all()) all.merge(both);
    }
  }
  return all;
}

/// The integrals on n x n lines across `box`, all along its longest edge.
Moments on_lines(std::span<const CompoundPart> parts, std::span<const Geometry> geometries,
                 const Aabb& box, int n) {
  const Vec3 edge = box.hi - box.lo;
  Eigen::Index along = 0;
  edge.maxCoeff(&along);
  const Eigen::Index u = (along + 1) % 3, v = (along + 2) % 3;
  const Vec3 e = Vec3::Unit(along);
  const double area = edge[u] / n * edge[v] / n;
  Moments sum;
  std::vector<Interval> in;
  std::vector<std::pair<double, int>> ends;
  for (int line = 0; line < n * n; ++line) {
    const int column = line % n, row = line / n;
    Vec3 o = Vec3::Zero();
    o[u] = box.lo[u] + (column + 0.5) * edge[u] / n;
    o[v] = box.lo[v] + (row + 0.5) * edge[v] / n;
    in.clear();
    for (const CompoundPart& part : parts) {
      const Quat back = part.pose.q.conjugate();
      add_intervals(part.shape, back * (o - part.pose.p), back * e, geometries, in);
    }
    if (in.size() < 2) continue;
    ends.clear();
    for (const Interval& i : in) ends.insert(ends.end(), {{i.first, 1}, {i.second, -1}});
    std::ranges::sort(ends);
    int depth = 0;
    for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
      depth += ends[k].second;
      if (depth < 2) continue;
      const double a = ends[k].first, b = ends[k + 1].first, times = (depth - 1) * area;
      const double zero = b - a, one = 0.5 * (b * b - a * a), two = (b * b * b - a * a * a) / 3.0;
      sum.volume += times * zero;
      sum.first += times * (zero * o + one * e);
      const Mat3 mixed = one * o * e.transpose();
      sum.second +=
          times * (zero * o * o.transpose() + mixed + mixed.transpose() + two * e * e.transpose());
    }
  }
  return sum;
}

/// Whether all that overlaps are spheres, no three of them together; adds what pairs share.
bool add_lenses(std::span<const CompoundPart> parts, std::span<const Geometry> geometries,
                Moments& sum) {
  const auto meet = [&](std::size_t i, std::size_t k) {
    const Vec3 way = parts[i].pose.p - parts[k].pose.p;
    return way.norm() < parts[i].shape.size[0] + parts[k].shape.size[0];
  };
  const auto round = [&](std::size_t i) { return parts[i].shape.type == ShapeType::sphere; };
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (round(i) && round(k)) {
        if (meet(i, k)) pairs.emplace_back(i, k);
        continue;
      }
      const std::array<CompoundPart, 2> both = {parts[i], parts[k]};
      const Aabb box = box_of_overlaps(both, geometries);
      if ((box.lo.array() < box.hi.array()).all()) return false;
    }
  }
  for (const auto& [i, k] : pairs)
    for (std::size_t j = 0; j < k; ++j)
      if (round(j) && meet(i, j) && meet(k, j)) return false;
  for (const auto& [i, k] : pairs) sum.add(lens(parts[i], parts[k]));
  return true;
}

}  // namespace

Moments excess_of_parts(std::span<const CompoundPart> parts, std::span<const Geometry> geometries) {
  constexpr int kCoarsest = 32, kFinest = 1024;
  constexpr double kChange = 1e-5;
  Moments sum;
  if (parts.size() < 2 || add_lenses(parts, geometries, sum)) return sum;
  double whole = 0.0;
  for (const CompoundPart& part : parts) whole += volume_of(part.shape, geometries);
  const Aabb box = box_of_overlaps(parts, geometries);
  sum = on_lines(parts, geometries, box, kCoarsest);
  for (int n = 2 * kCoarsest; n <= kFinest; n *= 2) {
    const Moments finer = on_lines(parts, geometries, box, n);
    const double change = std::abs(finer.volume - sum.volume);
    sum = finer;
    if (change < kChange * whole) break;
  }
  return sum;
}

}  // namespace catena
