// What bodies look like: spheres by centre and radius, all else as triangles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "catena/model/model.hpp"

namespace catena::vtk {

/// Triangles, counter-clockwise from outside.
struct Surface {
  std::vector<Vec3> points;
  std::vector<std::array<std::int64_t, 3>> triangles;
};

/// A surface scaled, turned and moved: that of a body, or of a part of one.
struct PlacedSurface {
  std::size_t row = 0;  ///< of the body
  const Surface* surface = nullptr;
  Pose pose;
  Vec3 scale = Vec3::Ones();
};

/// A sphere, a part that is one, or a cap of a capsule.
struct PlacedSphere {
  std::size_t row = 0;
  Vec3 centre = Vec3::Zero();
  double radius = 0.0;
};

struct Appearance {
  std::vector<PlacedSurface> surfaces;
  std::vector<PlacedSphere> spheres;
};

/// Makes surfaces once for all bodies that are copies of them. Round ones have 16 sides, as those
/// of `catena vtk`, hollow cylinders 72.
class SurfaceMaker {
 public:
  /// Adds what body `row` looks like; planes and bodies without shape look like nothing. What it
  /// adds points into this object.
  void add(const Model& model, const Shape& shape, const Pose& pose, std::size_t row,
           Appearance& all);

 private:
  /// Shape type; geometry; closed ends; size: what a surface is made from.
  using Key = std::tuple<ShapeType, std::int32_t, std::uint8_t, std::array<double, 3>>;

  template <class Make>
  const Surface& made(const Key& key, Make make);

  std::map<Key, Surface> made_;
};

}  // namespace catena::vtk
