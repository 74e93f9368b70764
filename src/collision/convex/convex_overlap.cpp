// The shortest way to part two convex cores that overlap.
#include <algorithm>
#include <cmath>
#include <limits>

#include "catena/base/index.hpp"
#include "collision/convex/bullet_epa.hpp"
#include "collision/convex/convex_query.hpp"

namespace catena {

namespace {

/// Edges whose directions differ by less (sine) are parallel: a face tells the same.
constexpr double kParallel = 1e-9;
/// An axis replaces another one only by a clear gain, part of the size: ties keep the first.
constexpr double kGain = 1e-12;

/// The axis of largest separation so far, and the edges that it lies across.
struct Best {
  double separation = -std::numeric_limits<double>::infinity();
  Vec3 normal = Vec3::UnitZ();
  std::int32_t edge_a = -1, edge_b = -1;
  bool of_b = false;  ///< else a face of A

  void offer(const Best& other, double gain) {
    if (other.separation > separation + gain) *this = other;
  }
};

/// Least height of the body's corners along n.
double lowest(const Polytope& body, const Vec3& n) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < body.vertices.size(); ++k) {
    least = std::min(least, n.dot(body.vertices[k]));
  }
  return least;
}

/// Faces of `body` with the other one above them; `sign` is -1 if the body is B. Faces that look
/// away from the other body cannot beat the best axis: both hold a ball.
void try_faces(const Polytope& body, const Polytope& other, double sign, double gain, Best& best) {
  const Vec3 d = other.centre - body.centre;
  const double balls = body.inner_radius + other.inner_radius;
  for (std::size_t f = 0; f < body.normals.size(); ++f) {
    const Vec3& n = body.normals[f];
    if (n.dot(d) - balls <= best.separation) continue;
    best.offer({lowest(other, n) - body.offsets[f], sign * n, -1, -1, sign < 0.0}, gain);
  }
}

struct EdgeView {
  Vec3 direction, left, right, on;
  std::int32_t number;
};

/// Edges with a normal that reaches at least `needed` along d.
void list_edges(const Polytope& body, const Vec3& d, double needed, SmallArray<EdgeView, 96>& out) {
  std::size_t n = 0;
  out.resize(body.edges.size());
  SmallArray<double, 64> along;
  along.resize(body.normals.size());
  for (std::size_t f = 0; f < body.normals.size(); ++f) along[f] = body.normals[f].dot(d);
  for (std::size_t e = 0; e < body.edges.size(); ++e) {
    const auto& [a, b, left, right] = body.edges[e];
    const Vec3& from = body.vertices[a];
    EdgeView view;
    view.direction = body.vertices[b] - from;
    view.on = from;
    view.number = narrow<std::int32_t>(e);
    if (!body.thin) {
      const double left_d = along[left], right_d = along[right];
      view.left = body.normals[left];
      view.right = body.normals[right];
      if (std::max(left_d, right_d) < needed) {
        // the arc may bulge towards d between its ends
        if (left_d + right_d <= 0.0) continue;
        const double cosine = view.left.dot(view.right);
        if (cosine * left_d > right_d || cosine * right_d > left_d) continue;
        const double along_edge = d.dot(view.direction);
        const double across2 =
            d.squaredNorm() - along_edge * along_edge / view.direction.squaredNorm();
        if (needed > 0.0 && across2 < needed * needed) continue;
      }
    }
    out[n++] = view;
  }
  out.resize(n);
}

/// True if the arcs of normals of two edges cross, that of B turned round (Gregorius 2013): then
/// the two edges make a face of the Minkowski difference.
bool make_face(const EdgeView& a, const EdgeView& b) {
  const double cba = -b.left.dot(a.direction), dba = -b.right.dot(a.direction);
  if (cba * dba >= 0.0) return false;
  const double adc = a.left.dot(b.direction), bdc = a.right.dot(b.direction);
  return adc * bdc < 0.0 && cba * bdc > 0.0;
}

/// Edge pairs. `thin`: arcs say nothing, the axis is measured over all vertices.
void try_edges(const Polytope& a, const Polytope& b, double gain, Best& best) {
  const Vec3 d = b.centre - a.centre;
  const double needed = best.separation + a.inner_radius + b.inner_radius;
  const bool thin = a.thin || b.thin;
  const double level = 1e3 * gain;
  SmallArray<EdgeView, 96> edges_a, edges_b;
  list_edges(a, d, needed, edges_a);
  list_edges(b, -d, needed, edges_b);
  for (std::size_t i = 0; i < edges_a.size(); ++i) {
    for (std::size_t j = 0; j < edges_b.size(); ++j) {
      const EdgeView &ea = edges_a[i], &eb = edges_b[j];
      if (!thin && !make_face(ea, eb)) continue;
      const Vec3 cross = ea.direction.cross(eb.direction);
      const double sine2 = cross.squaredNorm(),
                   scale2 = ea.direction.squaredNorm() * eb.direction.squaredNorm();
      if (sine2 <= kParallel * kParallel * scale2) continue;
      Vec3 n = cross / std::sqrt(sine2);
      if (thin) {
        for (const double side : {1.0, -1.0}) {
          const Vec3 m = side * n;
          // no more than the balls inside leave
          if (m.dot(d) - a.inner_radius - b.inner_radius <= best.separation) continue;
          const double low_b = lowest(b, m), high_a = -lowest(a, -m);
          // only edges that hold the outermost corners: others of their direction do not touch
          const bool outermost = m.dot(eb.on) <= low_b + level && m.dot(ea.on) >= high_a - level;
          if (outermost) best.offer({low_b - high_a, m, ea.number, eb.number}, gain);
        }
      } else {
        if (n.dot(ea.left + ea.right) < 0.0) n = -n;
        best.offer({n.dot(eb.on - ea.on), n, ea.number, eb.number}, gain);
      }
    }
  }
}

/// Points of two edges that are closest, the edges not parallel.
void closest_of_edges(const Polytope& a, const Polytope& b, const Best& best, ConvexGap& out) {
  const auto& ea = a.edges[best.edge_a];
  const auto& eb = b.edges[best.edge_b];
  const Vec3 &p = a.vertices[ea[0]], &q = b.vertices[eb[0]];
  const Vec3 u = a.vertices[ea[1]] - p, v = b.vertices[eb[1]] - q;
  const double uu = u.squaredNorm(), vv = v.squaredNorm(), uv = u.dot(v);
  const double du = u.dot(q - p), dv = v.dot(q - p), det = uu * vv - uv * uv;
  out.on_a = p + std::clamp((du * vv - dv * uv) / det, 0.0, 1.0) * u;
  out.on_b = q + std::clamp((du * uv - dv * uu) / det, 0.0, 1.0) * v;
}

void overlap_of_polytopes(const Convex& a, const Convex& b, ConvexGap& out) {
  Polytope pa, pb;
  make_polytope(a, pa);
  make_polytope(b, pb);
  const double gain = kGain * std::max(a.size, b.size);
  Best best;
  try_faces(pa, pb, 1.0, gain, best);
  try_faces(pb, pa, -1.0, gain, best);
  try_edges(pa, pb, gain, best);
  if (best.separation == -std::numeric_limits<double>::infinity()) {
    // points and parallel or crossing lines: any way across both will do
    Vec3 n = a.core == Convex::Core::segment ? a.axis() : b.axis();
    n = n.unitOrthogonal();
    if (a.core == Convex::Core::point && b.core == Convex::Core::point) n = Vec3::UnitZ();
    best.offer({separation(a, b, n), n}, 0.0);
  }
  out.normal = best.normal;
  out.gap = best.separation - a.radius - b.radius;
  if (best.edge_a >= 0) {
    closest_of_edges(pa, pb, best, out);
    return;
  }
  // a face: the deepest corner of the other body, and the point of the face above it
  if (best.of_b) {
    out.on_a = support(a, out.normal);
    out.on_b = out.on_a + best.separation * out.normal;
  } else {
    out.on_b = support(b, -out.normal);
    out.on_a = out.on_b - best.separation * out.normal;
  }
}

}  // namespace

void query_overlap(const Convex& a, const Convex& b, ConvexGap& out) {
  if (a.is_polytope() && b.is_polytope()) {
    overlap_of_polytopes(a, b, out);
  } else {
    overlap_by_epa(a, b, out);
  }
}

}  // namespace catena
