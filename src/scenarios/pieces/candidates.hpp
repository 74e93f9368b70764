// Planes that may part a body well.
#pragma once

#include <vector>

#include "scenarios/pieces/solid.hpp"

namespace catena::scenarios {

/// An edge at which a body is concave, and the planes of the faces that meet there.
struct ConcaveEdge {
  Vec3 from, to;
  std::array<CutPlane, 2> faces;
  double bend = 0.0;  ///< between the normals, rad
};

/// Of a closed mesh with neighbours; bends below 1e-3 rad are rounding.
std::vector<ConcaveEdge> concave_edges(const Geometry& mesh);

/// Planes to try on a part: those of faces at concave edges in its cell, the longest and sharpest
/// first, then planes across thirteen directions on the principal axes of `hull`, which is the
/// part's.
std::vector<CutPlane> candidate_planes(const Solid& part, const std::vector<ConcaveEdge>& edges,
                                       const Geometry& hull, double rounding);

}  // namespace catena::scenarios
