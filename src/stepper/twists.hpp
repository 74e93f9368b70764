// Velocities of bodies in a solve.
#pragma once

#include <cstddef>
#include <span>

#include "catena/math/types.hpp"

namespace catena {

/// Twist of a body, from 6 numbers each.
inline Twist get_twist(std::span<const double> twists, std::size_t body) {
  const double* t = twists.data() + 6 * body;
  return {Vec3(t[0], t[1], t[2]), Vec3(t[3], t[4], t[5])};
}

}  // namespace catena
