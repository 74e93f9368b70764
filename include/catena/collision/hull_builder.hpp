// The convex hull of points.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "catena/math/types.hpp"

namespace catena {

/// Corners that a face of a hull has at most where it is to touch others: contacts are named by
/// them.
inline constexpr int kMostFaceCorners = 511;

/// Corners, faces and planes of a convex hull, as Geometry holds them: face k has the corners
/// face_corners[face_begin[k] .. face_begin[k + 1]), counter-clockwise seen from outside, and
/// lies in the plane face_normals[k] . x = face_offsets[k] (no corner is above it).
struct HullFaces {
  std::vector<Vec3> vertices;
  std::vector<std::int32_t> face_begin = {0}, face_corners;
  std::vector<Vec3> face_normals;
  std::vector<double> face_offsets;
  std::int64_t n_inside = 0;  ///< points that are no corners: inside, on a face or edge, or twice
};

/// Quickhull in double precision. Points nearer to a face than 1e-12 of the size do not count
/// as outside it; triangles whose corners lie within 1e-6 of the size of one plane are one face,
/// so that what was rounded to single precision in a file keeps its flat faces. (Bullet's
/// btConvexHullComputer rounds all coordinates to 1e-4 of the size: too coarse here.)
///
/// Corners keep the order of `points`; equal input gives equal output. Throws Error(bad_input) for
/// fewer than 4 points, numbers that are not finite, or points within 1e-9 of the size of a plane.
HullFaces build_hull(std::span<const Vec3> points);

/// Volume of that hull, m^3, several times faster than with its faces; nothing where build_hull
/// throws for want of points or of thickness. The points are finite.
std::optional<double> hull_volume(std::span<const Vec3> points);

}  // namespace catena
