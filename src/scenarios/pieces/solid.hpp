// Parts of a closed body between planes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "scenarios/pack/closed_surface.hpp"

namespace catena::scenarios {

/// The points with normal . x <= offset lie below it; the normal has unit length.
struct CutPlane {
  Vec3 normal = Vec3::UnitZ();
  double offset = 0.0;
  double height(const Vec3& x) const { return normal.dot(x) - offset; }
};

using Facet = std::array<Vec3, 3>;

/// What a closed body has in a convex cell, the room below some planes.
///
/// `surface` is the body's own surface there, triangles of `points`. `caps` close it where planes
/// cut: fans of triangles over the edges of the cuts, of which those turned the other way count
/// negative, so that integrals over both are exact whatever the outline of a cut. `corners` are
/// those of the cell that lie inside the body: with the surface's they span the convex hull of the
/// part.
struct Solid {
  std::vector<Vec3> points;
  std::vector<std::array<std::int32_t, 3>> surface;
  std::vector<Facet> caps;
  std::vector<Vec3> corners;
  std::vector<CutPlane> planes;
  double volume = 0.0;  ///< m^3

  Facet facet(const std::array<std::int32_t, 3>& t) const {
    return {points[t[0]], points[t[1]], points[t[2]]};
  }
};

/// What a plane makes of a part: below it and above it.
struct Halves {
  Solid below, above;
};

/// Cuts a part in two; what lies within `rounding` of the plane counts as on it. `body` is the
/// whole one.
Halves cut(const Solid& part, const CutPlane& plane, const ClosedSurface& body, double rounding);

/// Volumes of the halves, and the points that span their hulls (some may stand twice), without
/// making them.
struct HalvesSpan {
  std::vector<Vec3> below, above;
  double volume_below = 0.0, volume_above = 0.0;
};
HalvesSpan span_of_halves(const Solid& part, const CutPlane& plane, const ClosedSurface& body,
                          double rounding);

/// The points that span the convex hull of a part.
std::vector<Vec3> span_of(const Solid& part);

}  // namespace catena::scenarios
