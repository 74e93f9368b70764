// Bodies with dents as convex pieces.
#pragma once

#include <vector>

#include "catena/model/geometry.hpp"

namespace catena::scenarios {

/// The corners of convex pieces that hold all of a body and do not overlap: each is the hull of
/// what the body has in one of the cells into which planes part the space.
struct ConvexPieces {
  std::vector<std::vector<Vec3>> corners;
  double volume = 0.0;  ///< of all pieces, m^3; at least the body's
  double reach = 0.0;   ///< how far the pieces' faces reach beyond the body at most, m
};

/// Cuts the piece that reaches farthest beyond the body until none reaches farther than `tolerance`
/// (m) or there are `most`. Planes are those of faces at the body's concave edges and a fan about
/// the piece's principal axes; of them the one is taken that leaves the least volume beyond the
/// body, which is exact for bodies with few concave edges between flat faces. `mesh` is closed, and
/// complete as written. Equal input gives equal output. A torus of 11,520 triangles takes a second
/// for 16 pieces: of most planes the hulls of a few points tell that they are not the best ones.
///
/// (Of Bullet's two, HACD frees memory twice on an L of 400 triangles and says nothing of how far
/// its hulls reach, and ConvexDecomposition works in single precision.)
ConvexPieces convex_pieces(const Geometry& mesh, int most, double tolerance);

}  // namespace catena::scenarios
