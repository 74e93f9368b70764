// Penetration of curved bodies by Bullet's expanding polytope algorithm.
#pragma once

#include "collision/convex/convex_query.hpp"

namespace catena {

/// As query_overlap, for any two cores whose Minkowski difference has a volume.
void overlap_by_epa(const Convex& a, const Convex& b, ConvexGap& out);

}  // namespace catena
