// Shapes of bodies and what follows from them: bounds and mass properties.
#pragma once

#include <cstdint>
#include <span>

#include "catena/math/types.hpp"

namespace catena {

struct Geometry;  // model/geometry.hpp

/// Axes of capsules, cylinders and hollow cylinders are the shape's z axis.
enum class ShapeType : std::uint8_t {
  none,      ///< no contacts
  sphere,    ///< size.x = radius
  plane,     ///< half space below the body's z axis through its position; unbounded, not dynamic
  box,       ///< size = half edges along the body's axes
  capsule,   ///< size = (radius, half length between the centres of the caps, -)
  cylinder,  ///< size = (radius, half length, -)
  hollow_cylinder,  ///< size = (inner radius, half inner length, thickness of wall and ends)
  hull,             ///< convex polyhedron, a geometry; size.x = scale
  mesh,             ///< triangle surface, a geometry; fixed and kinematic bodies only; size.x = 1
  heightfield,      ///< surface z(x, y), solid below, a geometry; not dynamic; size.x = 1
  compound,         ///< several bounded shapes, a geometry; size.x = scale
};

/// Whether it is a surface without a volume.
inline bool is_surface(ShapeType type) {
  return type == ShapeType::mesh || type == ShapeType::heightfield;
}

/// Which ends of a hollow cylinder are closed by a disc, as bits.
inline constexpr std::uint8_t kLowerEnd = 1;
/// The disc at +z.
inline constexpr std::uint8_t kUpperEnd = 2;

/// A shape in its body's frame. Plain data; lengths in m.
struct Shape {
  ShapeType type = ShapeType::none;
  Vec3 size = Vec3::Zero();
  std::int32_t geometry = -1;    ///< place in Model::geometries of what the numbers cannot hold
  double geometry_radius = 0.0;  ///< bounding radius of the geometry at scale 1, m
  std::uint8_t closed_ends = 0;  ///< hollow cylinder: kLowerEnd | kUpperEnd
};

/// `shape` with all lengths times `factor`; not for meshes and heightfields.
Shape scaled(const Shape& shape, double factor);

/// Bounding box in the world frame; a plane's is infinite, none's is empty. `geometries` are
/// the model's (only shapes with a geometry need them).
Aabb bounds_of(const Shape& shape, const Pose& pose, std::span<const Geometry> geometries = {});

/// Radius of a sphere about the body's origin that holds the shape, m; infinite for planes,
/// 0 for none.
double bounding_radius(const Shape& shape);

/// A measure of size, m: radius of a sphere, half the longest edge of a box, the bounding
/// radius of others; infinite for planes, 0 for none.
double half_extent(const Shape& shape);

/// Volume, m^3; 0 for none, infinite for a plane. Shapes with a geometry: its volume times
/// the cube of the scale; a surface has none.
double volume_of(const Shape& shape, std::span<const Geometry> geometries = {});

/// Radius of the sphere of equal volume, m; infinite for planes and surfaces.
double equivalent_radius(const Shape& shape, std::span<const Geometry> geometries = {});

/// Principal moments of inertia per unit mass about the centre of mass, m^2, for uniform
/// density, on the axes of the body's frame (which are principal for every shape: those
/// of a geometry are turned so).
Vec3 inertia_per_mass(const Shape& shape, std::span<const Geometry> geometries = {});

/// Centre of mass in the shape's frame for uniform density, m: on the axis of a hollow cylinder
/// with one closed end, else the origin. A dynamic body is placed by its centre of mass: there
/// that shape stands as the only part of a compound.
Vec3 centre_of_mass(const Shape& shape);

}  // namespace catena
