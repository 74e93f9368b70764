#include "scenarios/pieces/candidates.hpp"

#include <algorithm>
#include <cmath>

namespace catena::scenarios {

namespace {

/// What of an edge lies in the cell of a part, m.
double length_in_cell(const ConcaveEdge& edge, const Solid& part, double rounding) {
  double from = 0.0, to = 1.0;
  for (const CutPlane& plane : part.planes) {
    const double a = plane.height(edge.from) - rounding, b = plane.height(edge.to) - rounding;
    if (a > 0.0 && b > 0.0) return 0.0;
    if (a > 0.0) from = std::max(from, a / (a - b));
    if (b > 0.0) to = std::min(to, a / (a - b));
  }
  return std::max(0.0, to - from) * (edge.to - edge.from).norm();
}

bool same_plane(const CutPlane& a, const CutPlane& b, double rounding) {
  constexpr double kParallel = 1e-6;
  const double along = a.normal.dot(b.normal);
  return std::abs(along) > 1.0 - kParallel * kParallel &&
         std::abs(a.offset - std::copysign(1.0, along) * b.offset) <= rounding;
}

struct Weighed {
  CutPlane plane;
  double weight;
};

/// Planes of faces at concave edges, with the lengths and bends of all edges that lie in them.
std::vector<Weighed> planes_at_edges(const Solid& part, const std::vector<ConcaveEdge>& edges,
                                     double rounding) {
  constexpr std::size_t kMostEdges = 64;
  struct Heavy {
    double weight;
    std::size_t edge;
  };
  std::vector<Heavy> heavy;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const double weight = edges[i].bend * length_in_cell(edges[i], part, rounding);
    if (weight > 0.0) heavy.push_back({weight, i});
  }
  std::ranges::stable_sort(heavy,
                           [](const Heavy& a, const Heavy& b) { return a.weight > b.weight; });
  if (heavy.size() > kMostEdges) heavy.resize(kMostEdges);
  std::vector<Weighed> planes;
  for (const Heavy& h : heavy) {
    for (const CutPlane& face : edges[h.edge].faces) {
      const auto known = std::ranges::find_if(
          planes, [&](const Weighed& w) { return same_plane(w.plane, face, rounding); });
      if (known == planes.end())
        planes.push_back({face, h.weight});
      else
        known->weight += h.weight;
    }
  }
  std::ranges::stable_sort(planes,
                           [](const Weighed& a, const Weighed& b) { return a.weight > b.weight; });
  return planes;
}

}  // namespace

std::vector<ConcaveEdge> concave_edges(const Geometry& mesh) {
  constexpr double kLeastBend = 1e-3;
  std::vector<ConcaveEdge> edges;
  const auto plane_of = [&](const std::array<std::int32_t, 3>& t) {
    const Vec3 &a = mesh.vertices[t[0]], &b = mesh.vertices[t[1]], &c = mesh.vertices[t[2]];
    const Vec3 normal = (b - a).cross(c - a).stableNormalized();
    return CutPlane{normal, normal.dot(a)};
  };
  for (std::int32_t t = 0; t < std::ssize(mesh.triangles); ++t) {
    const CutPlane here = plane_of(mesh.triangles[t]);
    for (std::size_t k = 0; k < 3; ++k) {
      const std::int32_t beyond = mesh.neighbours[t][k];
      if (beyond < t) continue;  // each edge once
      const CutPlane there = plane_of(mesh.triangles[beyond]);
      const Vec3& a = mesh.vertices[mesh.triangles[t][k]];
      const Vec3& b = mesh.vertices[mesh.triangles[t][(k + 1) % 3]];
      const double sine = here.normal.cross(there.normal).dot((b - a).stableNormalized());
      const double bend = std::atan2(-sine, here.normal.dot(there.normal));
      if (bend > kLeastBend) edges.push_back({a, b, {here, there}, bend});
    }
  }
  return edges;
}

std::vector<CutPlane> candidate_planes(const Solid& part, const std::vector<ConcaveEdge>& edges,
                                       const Geometry& hull, double rounding) {
  constexpr std::size_t kMostAtEdges = 24;
  constexpr int kAcross = 7;  // planes across each direction
  std::vector<CutPlane> planes;
  for (const Weighed& w : planes_at_edges(part, edges, rounding)) {
    if (planes.size() == kMostAtEdges) break;
    planes.push_back(w.plane);
  }
  for (int code = 14; code < 27; ++code) {  // half of the directions to neighbours in a grid
    const int x = code / 9 - 1, y = code / 3 % 3 - 1, z = code % 3 - 1;
    const Vec3 way = Vec3(x, y, z).normalized();
    const Vec3 normal = hull.written.q.conjugate() * way;
    double low = 0.0, high = 0.0;
    for (std::size_t i = 0; i < hull.vertices.size(); ++i) {
      // the hull's own frame has its origin in the centre and the principal axes
      const double along = way.dot(hull.vertices[i] - hull.written.p);
      low = i == 0 ? along : std::min(low, along);
      high = i == 0 ? along : std::max(high, along);
    }
    for (int k = 1; k <= kAcross; ++k)
      planes.push_back({normal, low + (high - low) * k / (kAcross + 1)});
  }
  return planes;
}

}  // namespace catena::scenarios
