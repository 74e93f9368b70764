// Triangles of a mesh or heightfield near a body.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/model/geometry.hpp"

namespace catena {

/// A triangle in the pair's frame (world axes, origin near the pair), seen from the side that may
/// be touched.
struct SurfaceTriangle {
  std::int32_t item;
  bool turned = false;                 ///< seen from the back: corners 1 and 2 are exchanged
  std::array<std::int32_t, 3> vertex;  ///< numbers of the corners
  std::array<Vec3, 3> v;
  Vec3 normal;

  void turn_over();
};

/// What lies across the edges of a triangle: edge k runs from corner k to corner k + 1.
struct Neighbourhood {
  std::array<Vec3, 3> outward;          ///< in the triangle's plane, across the edge
  std::array<std::int32_t, 3> item;     ///< or -1
  std::array<Vec3, 3> normal;           ///< of the neighbour
  std::array<Vec3, 3> outward_of_item;  ///< in the neighbour's plane, back across the edge
  std::array<bool, 3> convex;           ///< the surface falls away
};

/// A mesh or heightfield at its place. Cells of a heightfield are cut from their lowest to their
/// highest corner in (x, y): triangles 2 c and 2 c + 1 of cell c, the first one at lower y.
class PlacedSurface {
 public:
  PlacedSurface(const Geometry& geometry, const Pose& pose, const Vec3& origin);

  bool is_heightfield() const { return g_.type == ShapeType::heightfield; }
  bool two_sided() const { return g_.two_sided; }
  /// Appends the triangles whose boxes overlap `box` (surface's frame); those without an area are
  /// left out.
  void collect(const Aabb& box, std::vector<SurfaceTriangle>& out) const;
  SurfaceTriangle triangle(std::int32_t item) const;
  Neighbourhood around(const SurfaceTriangle& triangle) const;
  /// The triangle of a heightfield at a place of its frame, if that is below it; else -1.
  std::int32_t item_over(const Vec3& p) const;

 private:
  struct Corners {
    std::array<Vec3, 3> v;  ///< surface's frame
    std::array<std::int32_t, 3> vertex;
  };
  Corners corners(std::int32_t item) const;
  std::array<std::int32_t, 3> neighbours(std::int32_t item) const;
  void collect_cells(const Aabb& box, std::vector<SurfaceTriangle>& out) const;
  double height(std::int32_t i, std::int32_t j) const {
    return g_.heights[Offset{j} * Offset{g_.n_x} + i];
  }

  const Geometry& g_;
  Mat3 r_;
  Vec3 shift_;
};

}  // namespace catena
