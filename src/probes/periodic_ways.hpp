// Images of a periodic box, and ways over its sides.
#pragma once

#include "catena/model/model.hpp"

namespace catena::probes {

/// Whether image `code` is one of the box: displaced along periodic directions only.
bool has_image(const PeriodicBox& box, int code);
/// Whole periods, with the offset of sheared ones, that are nearest to a way: what a body was put
/// back by that went little itself.
Vec3 nearest_shift(const PeriodicBox& box, const Vec3& way);

}  // namespace catena::probes
