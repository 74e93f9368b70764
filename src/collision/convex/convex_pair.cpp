#include "collision/convex/convex_query.hpp"
#include "collision/convex/manifold.hpp"
#include "collision/pairs.hpp"

namespace catena {

void convex_convex(const Shape& a, const Pose& pose_a, const Shape& b, const Pose& pose_b,
                   const PairContext& context, ContactPoints& out) {
  const Vec3 origin = pose_a.p;
  const Convex body_a = convex_of(a, pose_a, origin, context.geometries);
  const Convex body_b = convex_of(b, pose_b, origin, context.geometries);
  ConvexGap gap;
  if (!query(body_a, body_b, context.margin, gap)) return;
  const std::size_t first = out.size();
  add_manifold(body_a, body_b, gap, context.margin, out);
  for (std::size_t k = first; k < out.size(); ++k) out[k].point += origin;
}

}  // namespace catena
