#include "scenarios/pack/closed_surface.hpp"

#include <algorithm>
#include <cmath>

namespace catena::scenarios {

namespace {

constexpr int kEdges = 3, kFace = 6;  // features of a triangle after its corners

struct OnTriangle {
  Vec3 p;
  int feature;
};

/// The point of a triangle that is nearest to p (C. Ericson, Real-time collision detection, 5.1.5).
OnTriangle nearest_on(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& p) {
  const Vec3 ab = b - a, ac = c - a, ap = p - a, bp = p - b, cp = p - c;
  const double d1 = ab.dot(ap), d2 = ac.dot(ap), d3 = ab.dot(bp), d4 = ac.dot(bp);
  const double d5 = ab.dot(cp), d6 = ac.dot(cp);
  if (d1 <= 0.0 && d2 <= 0.0) return {a, 0};
  if (d3 >= 0.0 && d4 <= d3) return {b, 1};
  if (d6 >= 0.0 && d5 <= d6) return {c, 2};
  const double vc = d1 * d4 - d3 * d2, vb = d5 * d2 - d1 * d6, va = d3 * d6 - d5 * d4;
  if (vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0) return {a + d1 / (d1 - d3) * ab, kEdges};
  if (va <= 0.0 && d4 >= d3 && d5 >= d6)
    return {b + (d4 - d3) / ((d4 - d3) + (d5 - d6)) * (c - b), kEdges + 1};
  if (vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0) return {a + d2 / (d2 - d6) * ac, kEdges + 2};
  const double sum = va + vb + vc;
  return {a + vb / sum * ab + vc / sum * ac, kFace};
}

}  // namespace

ClosedSurface::ClosedSurface(const Geometry& mesh, const Pose& pose)
    : mesh_(mesh),
      pose_(pose),
      volume_(mass_properties(mesh.vertices, mesh.triangles).volume),
      vertex_normals_(mesh.vertices.size(), Vec3::Zero()) {
  for (const auto& t : mesh.triangles) {
    const std::array<Vec3, 3> v = {mesh.vertices[t[0]], mesh.vertices[t[1]], mesh.vertices[t[2]]};
    const Vec3 normal = (v[1] - v[0]).cross(v[2] - v[0]).stableNormalized();
    face_normals_.push_back(normal);
    for (std::size_t k = 0; k < 3; ++k) {
      const Vec3 u = v[(k + 1) % 3] - v[k], w = v[(k + 2) % 3] - v[k];
      vertex_normals_[t[k]] += std::atan2(u.cross(w).norm(), u.dot(w)) * normal;
    }
  }
}

Aabb ClosedSurface::bounds() const {
  Aabb box;
  for (const Vec3& v : mesh_.vertices) {
    const Vec3 x = pose_.p + pose_.q * v;
    box.merge({x, x});
  }
  return box;
}

Vec3 ClosedSurface::normal_at(std::int32_t t, int feature) const {
  if (feature < kEdges) return vertex_normals_[mesh_.triangles[t][feature]];
  Vec3 normal = face_normals_[t];
  if (feature < kFace) normal += face_normals_[mesh_.neighbours[t][feature - kEdges]];
  return normal;
}

void ClosedSurface::Candidate::take(const Geometry& mesh, std::int32_t item, const Vec3& p) {
  const auto& t = mesh.triangles[item];
  const OnTriangle here =
      nearest_on(mesh.vertices[t[0]], mesh.vertices[t[1]], mesh.vertices[t[2]], p);
  const double distance = (p - here.p).squaredNorm();
  if (distance >= square) return;
  square = distance;
  triangle = item;
  at = here.p;
  feature = here.feature;
}

ClosedSurface::Nearest ClosedSurface::told(const Candidate& best, const Vec3& p) const {
  if (best.triangle < 0) return {};
  const Vec3 normal = normal_at(best.triangle, best.feature), way = p - best.at;
  const double distance = std::sqrt(best.square);
  if (!(distance > 0.0)) return {true, 0.0, -(pose_.q * normal.stableNormalized()), best.triangle};
  const bool inside = way.dot(normal) < 0.0;
  const double sign = inside ? 1.0 : -1.0;
  return {true, sign * distance, pose_.q * Vec3(sign / distance * way), best.triangle};
}

ClosedSurface::Nearest ClosedSurface::nearest(const Vec3& p, double reach) const {
  const Vec3 x = pose_.q.conjugate() * (p - pose_.p);
  Candidate best;
  for_each_overlap(mesh_.tree, mesh_.item_boxes, {x.array() - reach, x.array() + reach},
                   [&](std::int32_t item) { best.take(mesh_, item, x); });
  return told(best, x);
}

bool ClosedSurface::holds(const Vec3& p) const {
  const Vec3 x = pose_.q.conjugate() * (p - pose_.p);
  const Aabb& box = mesh_.bounds;
  if ((x.array() < box.lo.array()).any() || (x.array() > box.hi.array()).any()) return false;
  return depth(p) > 0.0;
}

/// Into the nearer one of two boxes first, and into none that is farther than what was found.
ClosedSurface::Nearest ClosedSurface::nearest(const Vec3& p) const {
  const Vec3 x = pose_.q.conjugate() * (p - pose_.p);
  const BoxTree& tree = mesh_.tree;
  struct Visit {
    std::int32_t node;
    double square;  // of the distance
  };
  const auto visit = [&](std::int32_t node) {
    const Aabb& box = tree.nodes[node].box;
    return Visit{node, (box.lo - x).cwiseMax(x - box.hi).cwiseMax(0.0).squaredNorm()};
  };
  Candidate best;
  std::array<Visit, 64> stack;
  std::size_t depth = 0;
  stack[depth++] = visit(0);
  while (depth > 0) {
    const Visit here = stack[--depth];
    if (here.square > best.square) continue;
    const BoxTree::Node& node = tree.nodes[here.node];
    if (node.child >= 0) {
      const Visit one = visit(node.child), other = visit(node.child + 1);
      stack[depth++] = one.square < other.square ? other : one;
      stack[depth++] = one.square < other.square ? one : other;
      continue;
    }
    for (std::int32_t k = node.first; k < node.first + node.count; ++k)
      best.take(mesh_, tree.order[k], x);
  }
  return told(best, x);
}

double ClosedSurface::distance_from(std::int32_t triangle, const Vec3& p) const {
  const Vec3 x = pose_.q.conjugate() * (p - pose_.p);
  const auto& t = mesh_.triangles[triangle];
  return (x - nearest_on(mesh_.vertices[t[0]], mesh_.vertices[t[1]], mesh_.vertices[t[2]], x).p)
      .norm();
}

}  // namespace catena::scenarios
