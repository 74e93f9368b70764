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
  std::int32_t feature;  ///< numbers the points of two parts, stable from step to step
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

/// Appends to `out` the contact points of A and B whose gap is below `margin`. A pure function of
/// the two poses: no caches. The normal points from A to B. Every pair of shapes but planes, meshes
/// and heightfields among themselves; `geometries` are the model's.
///
/// Number of points: spheres 1 with every convex part; other convex shapes up to 4 with each
/// other, with a plane, and with the wall and each end of a hollow cylinder: the deepest, and
/// others that span as large an area as any. Faces that lie flat on each other or on a plane have
/// all their corners, up to 8 (rims of cylinders 4). Points lie between the features that face
/// each other: a face of one and what of the other is above it; two parallel lines; or one point
/// between the closest (or deepest) points. A compound has the points of each pair of parts. A
/// mesh or heightfield has those of its triangles, up to 4 for each plane that is touched.
///
/// Gap: the distance along the normal, exact to round-off (for overlapping pairs with a cylinder
/// other than on planes, spheres and parallel cylinders: the separation along a normal that is
/// optimal to about 5e-9 of the size). A face is preferred to edges that tell nearly the same (5 %
/// of the gap and 1e-5 of the size, or 2 mrad), and A's face to B's, so that the points keep
/// their numbers from step to step; the gap is then along the face's normal. So are faces that lie
/// flat on each other (to 0.05 rad) as long as they tell the gap to 0.2 %, however small the tilt
/// that makes an edge or B's face the better one, and a face this near to the direction between two
/// edges, of which one lies along it (to 2e-4 of the size). Where some of more points of such faces
/// are kept, those half as deep as the deepest count as deep (within 0.2 % of the size) unless they
/// overlap by more than 2 % of the size.
///
/// Hollow cylinders: a sphere touches wall, ends and rims of the profile. Another body whose
/// centre is within the bore (or before an open end and reaching into it) touches the wall with
/// its corners, rims and the points where its edges cross the mouth, and closed ends as planes
/// as wide as the bore; anywhere else the hollow cylinder is a solid one to it, without the lid
/// over an open end. A hollow cylinder is a solid one to what is around it and to surfaces.
///
/// Meshes are touched on their fronts (both sides if Geometry::two_sided): a body that meets a
/// triangle is pushed along a direction between the normals of the faces that meet in the
/// touched feature, so that edges inside flat and hollow regions do nothing. Each triangle is
/// judged alone: where a body overlaps a sharp edge by more than a small part of its size, the
/// depth may be that of another face than for the solid. A body wholly below a heightfield is
/// pushed up through the triangle over its centre. Of a thin wall's sides the nearer one pushes.
///
/// Degenerate configurations: coincident sphere centres get the normal +z (from A to B); a centre
/// inside a box or cylinder is pushed out through the nearest face, on a tie the lowest-numbered
/// one (the side before the ends); on a cylinder's or capsule's axis along the x axis of that
/// body; crossing axes of capsules along their cross product. Normals are unit vectors always.
void collide(const Shape& shape_a, const Pose& pose_a, const Shape& shape_b, const Pose& pose_b,
             double margin, std::vector<ContactPoint>& out,
             std::span<const Geometry> geometries = {});

}  // namespace catena
