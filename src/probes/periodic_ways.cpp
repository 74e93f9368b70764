#include "probes/periodic_ways.hpp"

#include <array>
#include <cmath>

namespace catena::probes {

bool has_image(const PeriodicBox& box, int code) {
  const std::array<int, 3> whole = {code / 9 - 1, code / 3 % 3 - 1, code % 3 - 1};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (whole[axis] != 0 && !box.active[axis]) return false;
  return true;
}

Vec3 nearest_shift(const PeriodicBox& box, const Vec3& way) {
  Vec3 shift = Vec3::Zero();
  const auto add = [&](int axis) {
    const auto k = static_cast<std::size_t>(axis);
    if (!box.active[k]) return 0.0;
    const double period = box.hi[k] - box.lo[k];
    const double whole = std::round((way[axis] - shift[axis]) / period);
    shift[axis] += whole * period;
    return whole;
  };
  // across the shear first, since that displaces along another direction, also where it rests
  const bool slanted = box.sheared() || box.offset != 0.0;
  if (slanted) shift[box.shear_along] += add(box.shear_across) * box.offset;
  for (int axis = 0; axis < 3; ++axis)
    if (!slanted || axis != box.shear_across) add(axis);
  return shift;
}

}  // namespace catena::probes
