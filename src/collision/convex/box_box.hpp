// Contact points of two boxes.
#pragma once

#include <vector>

#include "catena/collision/contact.hpp"

namespace catena {

/// Cosine of the angle (0.05 rad) between normals below which two faces lie flat on each other.
inline constexpr double kFlat = 0.99875;
/// The gap along the normal of one of them is the gap to this part: 1 - kFlat and a little.
inline constexpr double kFlatTells = 2e-3;

/// Corner k of a box in its frame: bit i of k set is the positive side of axis i.
inline Vec3 box_corner(const Vec3& half, int k) {
  return {(k & 1) != 0 ? half.x() : -half.x(), (k & 2) != 0 ? half.y() : -half.y(),
          (k & 4) != 0 ? half.z() : -half.z()};
}

/// Appends up to 8 points of two boxes (half edges and poses) whose gap is below `margin`;
/// normals from A to B.
///
/// The separating-axis test over 15 axes gives the axis of least penetration (or of
/// largest separation). A face axis: the other box's face most turned against it is
/// clipped by the reference face's sides; of what is left below the margin, up to 4
/// points are kept that hold the deepest and span the largest area, of faces flat on each other
/// all, 8 at most. An edge axis: one point midway between the two edges. Boxes apart that no axis
/// brings to a point: one point midway between their closest points.
///
/// Faces are preferred over edges, and A's over B's, by a small tolerance, and where two faces
/// lie flat on each other (to 0.05 rad) by any amount as long as their points tell the least
/// depth, so that points keep their numbers from step to step. Where four of more are kept, areas
/// equal to 0.2 % count as equal. The feature is made of the reference face, the incident face, and
/// the two edges that meet in the point.
void collide_boxes(const Vec3& half_a, const Pose& pose_a, const Vec3& half_b, const Pose& pose_b,
                   double margin, std::vector<ContactPoint>& out);

}  // namespace catena
