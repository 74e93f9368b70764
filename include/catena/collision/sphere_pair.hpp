// Two spheres: the pair that most scenes are made of, inline for the pair loop.
#pragma once

#include "catena/math/types.hpp"

namespace catena {

/// Gap and normal (unit, from A to B; +z if the centres coincide) of two spheres, m.
struct SphereGap {
  Vec3 normal;
  double gap;
};

/// Of spheres about p_a and p_b, m.
inline SphereGap sphere_gap(const Vec3& p_a, double radius_a, const Vec3& p_b, double radius_b) {
  const Vec3 d = p_b - p_a;
  const double distance = d.norm();
  return {distance > 0.0 ? Vec3(d / distance) : Vec3(0.0, 0.0, 1.0),
          distance - (radius_a + radius_b)};
}

/// Midway between the two surfaces.
inline Vec3 sphere_pair_point(const Vec3& p_a, double radius_a, const SphereGap& g) {
  return p_a + (radius_a + 0.5 * g.gap) * g.normal;
}

}  // namespace catena
