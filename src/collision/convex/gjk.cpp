// Distance of two convex cores (Gilbert, Johnson and Keerthi 1988; regions as in Ericson 2005).
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "collision/convex/convex_query.hpp"

namespace catena {

namespace {

constexpr int kMaxIterations = 100;
/// Upper and lower bound of the squared distance agree to this part.
constexpr double kAgree = 1e-13;
/// Cores nearer than this part of the pair's extent overlap: the direction between them is noise.
constexpr double kTouch = 1e-11;

/// Height of a tetrahedron, as a part of an edge, below which it is flat.
constexpr double kFlat = 1e-10;

/// Points of the Minkowski difference B - A and where they come from.
struct Simplex {
  std::array<Vec3, 4> w, a, b;
  std::array<double, 4> weight{};
  int n = 0;

  void keep(std::initializer_list<int> which, std::initializer_list<double> weights) {
    Simplex next;
    const double* given = weights.begin();
    for (const int k : which) {
      const std::size_t from = k, to = next.n++;
      next.w[to] = w[from], next.a[to] = a[from], next.b[to] = b[from];
      next.weight[to] = *given++;
    }
    *this = next;
  }
  Vec3 point() const { return combine(w); }
  Vec3 combine(const std::array<Vec3, 4>& x) const {
    Vec3 sum = Vec3::Zero();
    for (int k = 0; k < n; ++k) {
      sum += weight[k] * x[k];
    }
    return sum;
  }
};

/// Weights of the point of the triangle (i, j, k) that is nearest to the origin, zero where a
/// corner takes no part.
std::array<double, 3> nearest_weights(const Vec3& p, const Vec3& q, const Vec3& r) {
  const Vec3 pq = q - p, pr = r - p;
  const double d1 = -pq.dot(p), d2 = -pr.dot(p);
  if (d1 <= 0.0 && d2 <= 0.0) return {1.0, 0.0, 0.0};
  const double d3 = -pq.dot(q), d4 = -pr.dot(q);
  if (d3 >= 0.0 && d4 <= d3) return {0.0, 1.0, 0.0};
  const double d5 = -pq.dot(r), d6 = -pr.dot(r);
  if (d6 >= 0.0 && d5 <= d6) return {0.0, 0.0, 1.0};
  const Vec3 normal = pq.cross(pr);
  // areas seen from the origin: products of the d cancel badly for thin triangles
  const double area_r = normal.dot(p.cross(q)), area_p = normal.dot(q.cross(r)),
               area_q = normal.dot(r.cross(p));
  if (area_r <= 0.0 && d1 >= 0.0 && d3 <= 0.0) {
    const double t = d1 / (d1 - d3);
    return {1.0 - t, t, 0.0};
  }
  if (area_q <= 0.0 && d2 >= 0.0 && d6 <= 0.0) {
    const double t = d2 / (d2 - d6);
    return {1.0 - t, 0.0, t};
  }
  const double qr1 = d4 - d3, qr2 = d5 - d6;
  if (area_p <= 0.0 && qr1 >= 0.0 && qr2 >= 0.0) {
    const double t = qr1 / (qr1 + qr2);
    return {0.0, 1.0 - t, t};
  }
  const double sum = area_p + area_q + area_r;
  if (!(sum > 0.0)) return {1.0, 0.0, 0.0};
  return {area_p / sum, area_q / sum, area_r / sum};
}

void keep_nearest_of_triangle(Simplex& s, int i, int j, int k) {
  const auto at = [&](int m) -> const Vec3& { return s.w[m]; };
  const auto [p, q, r] = nearest_weights(at(i), at(j), at(k));
  if (q == 0.0 && r == 0.0) return s.keep({i}, {1.0});
  if (p == 0.0 && r == 0.0) return s.keep({j}, {1.0});
  if (p == 0.0 && q == 0.0) return s.keep({k}, {1.0});
  if (r == 0.0) return s.keep({i, j}, {p, q});
  if (q == 0.0) return s.keep({i, k}, {p, r});
  if (p == 0.0) return s.keep({j, k}, {q, r});
  s.keep({i, j, k}, {p, q, r});
}

/// Reduces the simplex to the corners whose span holds its point nearest to the origin. False if
/// the origin is inside.
bool keep_nearest(Simplex& s) {
  if (s.n == 1) {
    s.weight[0] = 1.0;
  } else if (s.n == 2) {
    const Vec3 d = s.w[1] - s.w[0];
    const double t = -d.dot(s.w[0]), dd = d.squaredNorm();
    if (!(t > 0.0)) {
      s.keep({0}, {1.0});
    } else if (t >= dd) {
      s.keep({1}, {1.0});
    } else {
      s.weight = {1.0 - t / dd, t / dd, 0.0, 0.0};
    }
  } else if (s.n == 3) {
    keep_nearest_of_triangle(s, 0, 1, 2);
  } else {
    constexpr int kFaces[4][4] = {{0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1}, {1, 3, 2, 0}};
    Simplex best;
    double least = std::numeric_limits<double>::infinity();
    bool outside = false;
    for (const auto& face : kFaces) {
      const auto at = [&](int m) -> const Vec3& { return s.w[face[m]]; };
      const Vec3 normal = (at(1) - at(0)).cross(at(2) - at(0));
      const double origin_side = -normal.dot(at(0)), other_side = normal.dot(at(3) - at(0));
      // a flat tetrahedron has no inside, and its volume no sign
      const bool flat = std::abs(other_side) <= kFlat * normal.norm() * (at(3) - at(0)).norm();
      if (!flat && origin_side * other_side > 0.0) continue;
      outside = true;
      Simplex candidate = s;
      keep_nearest_of_triangle(candidate, face[0], face[1], face[2]);
      const double d2 = candidate.point().squaredNorm();
      if (d2 < least) least = d2, best = candidate;
    }
    if (!outside) return false;
    s = best;
  }
  return true;
}

}  // namespace

bool query(const Convex& a, const Convex& b, double margin, ConvexGap& out) {
  const double radii = a.radius + b.radius, reach = margin + radii;
  Vec3 v = b.p - a.p;
  if (!(v.squaredNorm() > 0.0)) v = Vec3::UnitZ();
  Simplex simplex;
  double extent2 = 0.0, last = std::numeric_limits<double>::infinity();
  out.cores_overlap = false;
  for (int k = 0; k < kMaxIterations; ++k) {
    const Vec3 on_a = support(a, v), on_b = support(b, -v);
    const Vec3 w = on_b - on_a;
    const double vw = v.dot(w), vv = v.squaredNorm();
    // the plane through w across v bounds the distance from below
    if (vw > 0.0 && vw * vw >= reach * reach * vv && reach >= 0.0) return false;
    if (k > 0 && vv - vw <= kAgree * vv) break;
    bool known = false;
    for (int i = 0; i < simplex.n; ++i) known = known || simplex.w[i] == w;
    if (known) break;
    const std::size_t next = simplex.n++;
    simplex.w[next] = w, simplex.a[next] = on_a, simplex.b[next] = on_b;
    extent2 = std::max(extent2, w.squaredNorm());
    if (!keep_nearest(simplex)) {
      out.cores_overlap = vw <= 0.0;  // else a plane parts them, and the simplex is noise
      break;
    }
    const Vec3 nearer = simplex.point();
    const double now = nearer.squaredNorm();
    if (now <= kTouch * kTouch * extent2) {
      out.cores_overlap = true;
      break;
    }
    if (now >= last) break;  // rounding: no nearer than before
    last = now;
    v = nearer;
    out.on_a = simplex.combine(simplex.a);
    out.on_b = simplex.combine(simplex.b);
  }
  if (out.cores_overlap) {
    out.normal = v.normalized();
    query_overlap(a, b, out);
  } else {
    const double distance = v.norm();
    out.normal = v / distance;
    out.gap = distance - radii;
  }
  return out.gap < margin;
}

}  // namespace catena
