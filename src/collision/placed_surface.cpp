#include "collision/placed_surface.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace catena {

namespace {

/// Height of the neighbour's far corner over the triangle's plane, as a part of its distance, that
/// counts as flat.
constexpr double kFlat = 1e-6;

Vec3 normal_of(const std::array<Vec3, 3>& v) {
  const Vec3 cross = (v[1] - v[0]).cross(v[2] - v[0]);
  const double length2 = cross.squaredNorm();
  return length2 > 1e-200 ? Vec3(cross / std::sqrt(length2)) : Vec3(cross.stableNormalized());
}

}  // namespace

void SurfaceTriangle::turn_over() {
  std::swap(v[1], v[2]);
  std::swap(vertex[1], vertex[2]);
  normal = -normal;
  turned = !turned;
}

PlacedSurface::PlacedSurface(const Geometry& geometry, const Pose& pose, const Vec3& origin)
    : g_(geometry), r_(pose.q.toRotationMatrix()), shift_(pose.p - origin) {}

PlacedSurface::Corners PlacedSurface::corners(std::int32_t item) const {
  Corners out;
  if (!is_heightfield()) {
    out.vertex = g_.triangles[item];
    for (std::size_t k = 0; k < 3; ++k) out.v[k] = g_.vertices[out.vertex[k]];
    return out;
  }
  const std::int32_t cell = item / 2, i = cell % (g_.n_x - 1), j = cell / (g_.n_x - 1);
  const auto set = [&](std::size_t k, std::int32_t x, std::int32_t y) {
    out.vertex[k] = y * g_.n_x + x;
    out.v[k] = Vec3(g_.origin.x() + x * g_.dx, g_.origin.y() + y * g_.dy, height(x, y));
  };
  set(0, i, j);
  if (item % 2 == 0) {
    set(1, i + 1, j);
    set(2, i + 1, j + 1);
  } else {
    set(1, i + 1, j + 1);
    set(2, i, j + 1);
  }
  return out;
}

std::array<std::int32_t, 3> PlacedSurface::neighbours(std::int32_t item) const {
  if (!is_heightfield()) {
    return item < std::ssize(g_.neighbours) ? g_.neighbours[item]
                                            : std::array<std::int32_t, 3>{-1, -1, -1};
  }
  const std::int32_t cell = item / 2, n = g_.n_x - 1, i = cell % n, j = cell / n;
  if (item % 2 == 0) {
    return {j > 0 ? 2 * (cell - n) + 1 : -1, i + 1 < n ? 2 * (cell + 1) + 1 : -1, item + 1};
  }
  return {item - 1, j + 2 < g_.n_y ? 2 * (cell + n) : -1, i > 0 ? 2 * (cell - 1) : -1};
}

SurfaceTriangle PlacedSurface::triangle(std::int32_t item) const {
  SurfaceTriangle t;
  const Corners own = corners(item);
  t.item = item;
  t.vertex = own.vertex;
  for (std::size_t k = 0; k < 3; ++k) t.v[k] = shift_ + r_ * own.v[k];
  t.normal = r_ * normal_of(own.v);
  return t;
}

Neighbourhood PlacedSurface::around(const SurfaceTriangle& t) const {
  Neighbourhood out;
  const Corners own = corners(t.item);
  const std::array<std::int32_t, 3> items = neighbours(t.item);
  const double side = t.turned ? -1.0 : 1.0;
  const Vec3 normal = side * normal_of(own.v);
  for (std::size_t k = 0; k < 3; ++k) {
    // edges 0, 1, 2 seen from the back are 2, 1, 0, run through the other way
    const std::size_t from = t.turned ? 2 - k : k;
    const Vec3 edge = side * (own.v[(from + 1) % 3] - own.v[from]).stableNormalized();
    const Vec3 outward = edge.cross(normal);
    const Vec3 other = items[from] < 0 ? normal : Vec3(side * normal_of(corners(items[from]).v));
    out.item[k] = items[from];
    out.outward[k] = r_ * outward;
    out.normal[k] = r_ * other;
    out.outward_of_item[k] = r_ * other.cross(edge);
    // the neighbour's normal leans outwards where the surface falls away
    out.convex[k] = items[from] >= 0 && other.dot(outward) > kFlat;
  }
  return out;
}

void PlacedSurface::collect(const Aabb& box, std::vector<SurfaceTriangle>& out) const {
  const auto add = [&](std::int32_t item) {
    SurfaceTriangle t = triangle(item);
    if (!t.normal.isZero(0.0)) out.push_back(t);
  };
  if (!is_heightfield()) {
    for_each_overlap(g_.tree, g_.item_boxes, box, add);
    return;
  }
  collect_cells(box, out);
}

void PlacedSurface::collect_cells(const Aabb& box, std::vector<SurfaceTriangle>& out) const {
  const auto cell_of = [](double x, double dx, std::int32_t n) {
    return static_cast<std::int32_t>(std::clamp(std::floor(x / dx), -1.0, static_cast<double>(n)));
  };
  const std::int32_t last_i = g_.n_x - 2, last_j = g_.n_y - 2;
  const std::int32_t i0 = std::max(0, cell_of(box.lo.x() - g_.origin.x(), g_.dx, last_i + 1));
  const std::int32_t i1 = std::min(last_i, cell_of(box.hi.x() - g_.origin.x(), g_.dx, last_i + 1));
  const std::int32_t j0 = std::max(0, cell_of(box.lo.y() - g_.origin.y(), g_.dy, last_j + 1));
  const std::int32_t j1 = std::min(last_j, cell_of(box.hi.y() - g_.origin.y(), g_.dy, last_j + 1));
  for (std::int32_t j = j0; j <= j1; ++j) {
    for (std::int32_t i = i0; i <= i1; ++i) {
      const std::int32_t cell = j * (g_.n_x - 1) + i;
      for (std::int32_t item = 2 * cell; item < 2 * cell + 2; ++item) {
        const Corners c = corners(item);
        const double top = std::max({c.v[0].z(), c.v[1].z(), c.v[2].z()});
        const double bottom = std::min({c.v[0].z(), c.v[1].z(), c.v[2].z()});
        if (top >= box.lo.z() && bottom <= box.hi.z()) out.push_back(triangle(item));
      }
    }
  }
}

std::int32_t PlacedSurface::item_over(const Vec3& p) const {
  const double x = (p.x() - g_.origin.x()) / g_.dx, y = (p.y() - g_.origin.y()) / g_.dy;
  if (!(x >= 0.0 && y >= 0.0 && x < g_.n_x - 1 && y < g_.n_y - 1)) return -1;
  const auto i = static_cast<std::int32_t>(x), j = static_cast<std::int32_t>(y);
  const std::int32_t item = 2 * (j * (g_.n_x - 1) + i) + (y - j > x - i ? 1 : 0);
  const Corners c = corners(item);
  const Vec3 normal = (c.v[1] - c.v[0]).cross(c.v[2] - c.v[0]);
  return normal.dot(p - c.v[0]) < 0.0 ? item : -1;
}

}  // namespace catena
