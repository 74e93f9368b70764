// Where the bodies of a pack may be.
#pragma once

#include <optional>

#include "catena/model/model.hpp"
#include "catena/scenarios/pack_settings.hpp"
#include "scenarios/pack/closed_surface.hpp"

namespace catena::scenarios {

/// The region of a pack. A box that spans a periodic direction whole has no sides across it.
class PackRegion {
 public:
  /// `surface`: of a mesh, which must outlive it; else nullptr.
  PackRegion(const PackRegionSettings& s, const PeriodicBox& periodic, const Geometry* surface);

  double volume() const;  ///< m^3
  Aabb bounds() const;
  /// Whether a point lies inside.
  bool holds(const Vec3& p) const;
  /// The way that brings a ball inside whole; zero where it is. Centres of balls of a mesh must
  /// be inside, or less than the radius away.
  Vec3 way_in(const Vec3& centre, double radius) const;
  /// Radius of the largest ball that fits; infinite where that is not known (meshes).
  double largest_radius() const;
  /// The periodic box with the directions in which bodies go on beyond the region's sides.
  const PeriodicBox& images() const { return images_; }

 private:
  Vec3 way_into_cylinder(const Vec3& centre, double radius) const;
  Vec3 way_into_surface(const Vec3& centre, double radius) const;

  PackRegionSettings s_;
  PeriodicBox images_;
  std::optional<ClosedSurface> surface_;
};

}  // namespace catena::scenarios
