// What a case says of shapes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "catena/base/settings.hpp"
#include "catena/math/types.hpp"
#include "catena/model/shape.hpp"

namespace catena {

struct PartSettings;

/// A surface with dents as convex pieces: at most `pieces`, as many as it takes for them to reach
/// nowhere farther than `tolerance` beyond the surface.
struct DecomposeSettings {
  bool present = false;
  int pieces = 16;
  double tolerance = kNone;  ///< m; kNone: a hundredth of the longest edge of the surface's box
};

/// `shape: {sphere: {radius: 0.1}}`, or `shapes: [...]`: then `parts`, and the type is compound. So
/// it is for `shape: {clump: {file: ...}}`, whose spheres come from the file.
/// Lengths in m, but coordinates in a file are times `unit` and `scale`.
struct ShapeSettings {
  ShapeType type = ShapeType::none;
  std::string place;                  ///< file, line, column and path, for errors
  Vec3 normal = Vec3::UnitZ();        ///< plane: out of the half space, any length but zero
  double radius = kNone;              ///< sphere, capsule, cylinder
  Vec3 size = Vec3::Constant(kNone);  ///< box: full edges
  double length = kNone;  ///< capsule: between the centres of the caps; cylinder; hollow: inner
  double inner_radius = kNone;   ///< hollow cylinder
  double thickness = kNone;      ///< hollow cylinder: of wall and ends
  std::uint8_t ends = 0;         ///< hollow cylinder: kLowerEnd | kUpperEnd are closed
  std::vector<double> vertices;  ///< hull: x, y, z of each
  double tip_length = kNone;     ///< hull: a rod of `length` and `radius` with pointed ends
  int sides = 16;                ///< of that rod
  std::string file;              ///< hull, mesh, heightfield, clump; absolute after reading a case
  std::string unit;              ///< of the file's numbers
  double scale = 1.0;            ///< hull, mesh and clump from a file
  DecomposeSettings decompose;   ///< hull from a file: its pieces, a compound
  int spheres = 0;               ///< clump from a surface: that fill it; 0: of a list in a file
  bool open = false;             ///< mesh: may have edges with one face
  std::vector<double> heights;   ///< heightfield: row by row along y, x fastest
  std::size_t columns = 0;       ///< heightfield: heights per row
  std::array<double, 2> spacing = {kNone, kNone};  ///< heightfield: along x and y
  std::vector<PartSettings> parts;
};

/// Axis and angle, or a quaternion (w, x, y, z) in their place; body to world.
struct OrientationSettings {
  Vec3 axis = Vec3::UnitZ();
  double angle = 0.0;  ///< rad
  std::array<double, 4> quaternion = {kNone, kNone, kNone, kNone};
  Quat value() const;  ///< unit length
};

/// One of several shapes of a body, at its place in the frame of the shapes.
struct PartSettings {
  ShapeSettings shape;
  Vec3 at = Vec3::Zero();  ///< m
  OrientationSettings orientation;
};

}  // namespace catena
