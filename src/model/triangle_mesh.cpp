#include "catena/model/triangle_mesh.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "catena/base/index.hpp"

namespace catena {

namespace {

bool before(const Vec3& a, const Vec3& b) {
  return std::tie(a[0], a[1], a[2]) < std::tie(b[0], b[1], b[2]);
}

/// A triangle's side; low < high are its vertices.
struct Side {
  std::int32_t low, high, triangle;
  std::int8_t number;  ///< of the side in its triangle
  bool upward;         ///< the triangle runs from low to high
};

std::vector<Side> sides_of(const TriangleMesh& surface) {
  std::vector<Side> sides;
  sides.reserve(3 * surface.triangles.size());
  for (std::size_t t = 0; t < surface.triangles.size(); ++t) {
    for (std::size_t k = 0; k < 3; ++k) {
      const std::int32_t a = surface.triangles[t][k], b = surface.triangles[t][(k + 1) % 3];
      sides.push_back({std::min(a, b), std::max(a, b), narrow<std::int32_t>(t),
                       static_cast<std::int8_t>(k), a < b});
    }
  }
  std::sort(sides.begin(), sides.end(), [](const Side& a, const Side& b) {
    return std::tie(a.low, a.high, a.triangle) < std::tie(b.low, b.high, b.triangle);
  });
  return sides;
}

void count(EdgeFaults& faults, const Side& side) {
  if (faults.count++ == 0) faults.first = {side.low, side.high};
}

}  // namespace

void weld(TriangleMesh& surface) {
  const std::size_t n = surface.vertices.size();
  std::vector<std::int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](std::int32_t i) -> Vec3& { return surface.vertices[i]; };
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    if (before(at(a), at(b))) return true;
    return !before(at(b), at(a)) && a < b;
  });
  std::vector<std::int32_t> first(n);  // of the equal ones
  for (std::size_t i = 0; i < n; ++i) {
    const bool same = i > 0 && at(order[i]) == at(order[i - 1]);
    first[order[i]] = same ? first[order[i - 1]] : order[i];
  }
  std::vector<std::int32_t> number(n, -1);
  std::vector<Vec3> kept;
  for (auto& triangle : surface.triangles) {
    for (std::int32_t& corner : triangle) {
      const std::size_t v = first[corner];
      if (number[v] < 0) {
        number[v] = narrow<std::int32_t>(kept.size());
        kept.push_back(surface.vertices[v]);
      }
      corner = number[v];
    }
  }
  surface.vertices = std::move(kept);
}

std::int64_t drop_flat_triangles(TriangleMesh& surface) {
  constexpr double kFlat = 1e-12;
  const auto flat = [&](const std::array<std::int32_t, 3>& t) {
    const Vec3& a = surface.vertices[t[0]];
    const Vec3& b = surface.vertices[t[1]];
    const Vec3& c = surface.vertices[t[2]];
    const double longest =
        std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()});
    return !((b - a).cross(c - a).norm() > kFlat * longest);
  };
  return std::erase_if(surface.triangles, flat);
}

SurfaceEdges edges_of(const TriangleMesh& surface) {
  SurfaceEdges edges;
  edges.neighbours.assign(surface.triangles.size(), {-1, -1, -1});
  const std::vector<Side> sides = sides_of(surface);
  for (std::size_t begin = 0, end = 0; begin < sides.size(); begin = end) {
    while (end < sides.size() && sides[end].low == sides[begin].low &&
           sides[end].high == sides[begin].high)
      ++end;
    const Side& a = sides[begin];
    if (end - begin == 1) count(edges.open, a);
    if (end - begin > 2) count(edges.crowded, a);
    if (end - begin != 2) continue;
    const Side& b = sides[begin + 1];
    if (a.upward == b.upward) count(edges.disagreed, a);
    const auto link = [&](const Side& from, const Side& to) {
      edges.neighbours[from.triangle][from.number] = to.triangle;
    };
    link(a, b);
    link(b, a);
  }
  return edges;
}

}  // namespace catena
