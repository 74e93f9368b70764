// Shapes of bodies and what follows from them: bounds and mass properties.
#pragma once

#include <cstdint>

#include "catena/math/types.hpp"

namespace catena {

enum class ShapeType : std::uint8_t {
  none,    ///< no contacts
  sphere,  ///< size.x = radius
  plane,   ///< half space below the body's z axis through its position; unbounded, not dynamic
  box,     ///< size = half edges along the body's axes
};

/// A shape centred on its body's frame. Plain data; lengths in m.
struct Shape {
  ShapeType type = ShapeType::none;
  Vec3 size = Vec3::Zero();
};

/// Bounding box in the world frame; a plane's is infinite, none's is empty.
Aabb bounds_of(const Shape& shape, const Pose& pose);

/// Half the largest extent of the shape, m: radius of a sphere, half the longest edge of
/// a box, infinite for planes, 0 for none.
double half_extent(const Shape& shape);

/// Volume, m^3; 0 for none, infinite for a plane.
double volume_of(const Shape& shape);

/// Principal moments of inertia per unit mass, m^2, for uniform density.
Vec3 inertia_per_mass(const Shape& shape);

}  // namespace catena
