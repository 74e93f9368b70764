// Contact points between two convex bodies from the features that face each other.
#pragma once

#include <vector>

#include "catena/collision/contact.hpp"
#include "collision/convex/convex.hpp"
#include "collision/convex/convex_query.hpp"

namespace catena {

/// Appends up to 8 points of A and B that are closest along `gap`; see collide for the rules.
void add_manifold(const Convex& a, const Convex& b, const ConvexGap& gap, double margin,
                  std::vector<ContactPoint>& out);

/// Appends up to 8 points between face `face` of A (0: the front of a triangle; others as numbered
/// by face_towards) and what of B is turned against it, with the normal of the face. Returns the
/// least gap, of those that are left out, too; infinite if there are no points.
double add_face_points(const Convex& a, int face, const Convex& b, double margin,
                       std::vector<ContactPoint>& out);

/// Whether a face of the body, no cylinder, lies flat on a plane with this normal.
bool lies_flat(const Convex& body, const Vec3& normal);

/// Whether points whose least gap this is say what the best direction does.
bool tells_gap(double least, const ConvexGap& gap, const Convex& a, const Convex& b);

/// Unit outward normal of a face.
Vec3 face_normal(const Convex& body, int face);

/// The face that is turned most towards `direction`; -1 for a body without flat faces.
int face_towards(const Convex& body, const Vec3& direction);

/// Keeps of the points from `first` on with one normal the deepest (`flat`, of faces flat on each
/// other: half as deep and deeper count as equal, within 0.2 % of `size`) and up to three others
/// with which it spans as large an area as any; of points in a line the ends. Of equal choices that
/// of the lowest part and feature. Where `flat`, also the others that span more, those that touch
/// first, eight at most; four if `of_surface`, whose triangles cut corners off.
void keep_few(std::vector<ContactPoint>& points, std::size_t first, double size, bool flat,
              bool of_surface);

}  // namespace catena
