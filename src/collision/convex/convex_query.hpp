// Distance or penetration of two convex bodies.
#pragma once

#include "collision/convex/convex.hpp"

namespace catena {

/// Where two bodies are closest, or the shortest way to part them.
struct ConvexGap {
  Vec3 normal = Vec3::UnitZ();  ///< unit, from A to B
  double gap = 0.0;             ///< of the bodies, with their radii; negative if they overlap
  Vec3 on_a = Vec3::Zero();     ///< points of the cores
  Vec3 on_b = Vec3::Zero();
  bool cores_overlap = false;
};

/// False as soon as a direction separates the bodies by `margin` or more.
///
/// Cores apart: GJK in double precision; the gap is between a lower and an upper bound that agree
/// to 1e-12 of the distance, or to round-off of the positions. Cores that overlap: polytopes by
/// the separating-axis test over face normals and the edge pairs that make faces of the
/// Minkowski difference (exact); with a cylinder by Bullet's EPA in double precision, whose
/// normal is accepted only if the separation along it, evaluated by the support functions, agrees
/// with the depth found to 1e-7 of the size, and else improved by a search from the best of
/// several starts. The gap is always the separation along the normal, to round-off.
bool query(const Convex& a, const Convex& b, double margin, ConvexGap& out);

/// The part of it for cores that overlap.
void query_overlap(const Convex& a, const Convex& b, ConvexGap& out);

}  // namespace catena
