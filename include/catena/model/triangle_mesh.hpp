// Surfaces of triangles as files give them, and what may be wrong with them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "catena/math/types.hpp"

namespace catena {

/// A surface of triangles, m.
struct TriangleMesh {
  std::vector<Vec3> vertices;
  std::vector<std::array<std::int32_t, 3>> triangles;  ///< counter-clockwise seen from outside
};

/// Makes vertices with equal coordinates one, in the order of their first use; leaves out those
/// that no triangle uses.
void weld(TriangleMesh& surface);

/// Removes triangles without area: two equal corners, or a height below 1e-12 of the longest
/// edge. Returns how many.
std::int64_t drop_flat_triangles(TriangleMesh& surface);

/// An edge that is not shared by exactly two faces that agree about outside.
struct EdgeFaults {
  std::int64_t count = 0;
  std::array<std::int32_t, 2> first = {-1, -1};  ///< vertices of the first one by number
};

/// How the triangles of a welded surface are connected.
struct SurfaceEdges {
  EdgeFaults open;       ///< edges with one face
  EdgeFaults crowded;    ///< with more than two
  EdgeFaults disagreed;  ///< with two that run along it the same way: one of them is inverted
  /// Across edge k (from corner k to k + 1) of each triangle; -1 where there is not exactly one.
  std::vector<std::array<std::int32_t, 3>> neighbours;
};
/// Edges of a surface, and which triangles meet in them.
SurfaceEdges edges_of(const TriangleMesh& surface);

}  // namespace catena
