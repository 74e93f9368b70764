// Contact points as the narrow phase makes them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catena/math/types.hpp"
#include "catena/model/geometry.hpp"
#include "catena/model/shape.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// One point of a pair (A, B), world frame, m.
struct ContactPoint {
  Vec3 point;            ///< midway between the two surfaces
  Vec3 normal;           ///< unit, from A to B
  double gap;            ///< distance along the normal; negative if penetrating
  std::int32_t feature;  ///< numbers the points of two convex parts, stable from step to step
  /// Item of A times the number of items of B plus item of B (Geometry::n_items; 1 for shapes
  /// of one part).
  std::int32_t part = 0;
};

/// A contact point between two bodies of a rank's local list.
struct Contact {
  ContactKey key;
  Index body_a = kNoIndex;  ///< local index of key.a
  Index body_b = kNoIndex;  ///< local index of key.b
  Vec3 point;
  Vec3 normal;  ///< from a to b
  double gap;
};

/// Appends to `out` the contact points of A and B whose gap is below `margin` (up to 4
/// for box pairs, 1 otherwise; box on plane up to 4 of its corners). A pure
/// function of the two poses: no caches. The normal points from A to B.
///
/// Degenerate configurations have a stated rule: coincident sphere centres get the
/// normal +z (from A to B); a sphere's centre inside a box is pushed out through the
/// nearest face, the lowest-numbered one on a tie.
void collide(const Shape& shape_a, const Pose& pose_a, const Shape& shape_b, const Pose& pose_b,
             double margin, std::vector<ContactPoint>& out,
             std::span<const Geometry> geometries = {});

}  // namespace catena
