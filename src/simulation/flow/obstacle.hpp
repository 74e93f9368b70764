// Whether a body that is to come has room.
#pragma once

#include <cstdint>
#include <vector>

#include "catena/collision/contact.hpp"
#include "catena/model/model.hpp"

namespace catena {

/// A body, or an image of one, with what shows quickly that it is apart from another.
struct Obstacle {
  BodyConstants constants;
  Pose pose;
  Aabb box;
  double radius = 0.0;
  std::int64_t owned = -1;  ///< local index of a dynamic body of this rank
};

inline Obstacle obstacle_of(const Model& model, const BodyConstants& body, const Pose& pose) {
  return {body, pose, bounds_of(body.shape, pose, model.geometries), bounding_radius(body.shape),
          -1};
}

/// Calls visit(pose) for the pose and its images in the periodic box.
template <class Visit>
void for_each_image(const PeriodicBox& box, const Pose& pose, const Visit& visit) {
  for (int code = 0; code < kImages; ++code) {
    if (!box.has_image(code)) continue;
    Pose image = pose;
    if (code != kNoImage) image.p += box.shift(code);
    visit(image);
  }
}

/// Points in which two bodies overlap, as the narrow phase sees them; the list is `scratch`.
inline const std::vector<ContactPoint>& overlap_points(const Model& model, const Obstacle& a,
                                                       const Obstacle& b,
                                                       std::vector<ContactPoint>& scratch) {
  scratch.clear();
  if (!may_collide(model, a.constants, b.constants)) return scratch;
  if (!a.box.overlaps(b.box)) return scratch;
  const double reach = a.radius + b.radius;  // infinite for planes
  if ((a.pose.p - b.pose.p).squaredNorm() >= reach * reach) return scratch;
  collide(a.constants.shape, a.pose, b.constants.shape, b.pose, 0.0, scratch, model.geometries);
  return scratch;
}

inline bool overlap(const Model& model, const Obstacle& a, const Obstacle& b,
                    std::vector<ContactPoint>& scratch) {
  return !overlap_points(model, a, b, scratch).empty();
}

}  // namespace catena
