// Boxes, cylinders and spheres in which probes measure.
#pragma once

#include <span>

#include "catena/model/geometry.hpp"
#include "catena/model/shape.hpp"
#include "catena/probes/probe_settings.hpp"

namespace catena::probes {

class Region {
 public:
  explicit Region(const RegionSettings& s) : s_(s) {}
  double volume() const { return volume_of(s_); }  ///< m^3
  /// Sides included.
  bool holds(const Vec3& p) const {
    if (s_.sphere || s_.cylinder) return holds_round(p);
    for (int k = 0; k < 3; ++k)
      if (!(p[k] >= s_.lower[k] && p[k] <= s_.upper[k])) return false;
    return true;
  }
  /// Whether a ball lies wholly inside, or wholly outside; where neither is known, neither.
  bool holds_ball(const Vec3& centre, double r) const;
  bool misses_ball(const Vec3& centre, double r) const;
  /// Volume of a ball inside, m^3: in closed form of boxes and spheres; of cylinders by 64 slices
  /// across, to about 1e-4 of the ball.
  double cut_ball(const Vec3& centre, double r) const;
  /// Volume of a shape of a dynamic body inside, m^3. Other shapes than spheres are cut by
  /// sampling: the part inside of those points of a lattice, kLattice^3 over the shape's box, that
  /// the shape holds.
  double cut(const Shape& shape, const Pose& pose, std::span<const Geometry> geometries) const;
  static constexpr int kLattice = 8;

 private:
  bool holds_round(const Vec3& p) const;
  /// Distance from the cylinder's axis, and along it from its first end.
  double from_axis(const Vec3& p, double& along) const;
  double cut_by_cylinder(const Vec3& centre, double r) const;

  RegionSettings s_;
};

/// Whether a shape holds a point of its body's frame; surfaces and planes hold none.
bool holds_point(const Shape& shape, const Vec3& p, std::span<const Geometry> geometries);

}  // namespace catena::probes
