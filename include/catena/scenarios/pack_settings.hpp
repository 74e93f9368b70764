// What a case says of bodies that are packed at random into a region.
#pragma once

#include <cstdint>
#include <string>

#include "catena/base/settings.hpp"
#include "catena/math/types.hpp"
#include "catena/scenarios/region_settings.hpp"
#include "catena/scenarios/shape_settings.hpp"
#include "catena/scenarios/size_settings.hpp"

namespace catena {

/// One of the others, or what a closed surface encloses.
struct PackRegionSettings : RegionSettings {
  ShapeSettings mesh;      ///< closed surface; of type none where the region is another one
  Vec3 at = Vec3::Zero();  ///< mesh: its place, m
  OrientationSettings orientation;  ///< mesh
};

/// Bodies of one material and shape at random places in a region, of which they fill a part. Their
/// number follows from that part; sizes are the quantiles of their distribution, dealt at random.
struct PackSettings {
  std::string name, material;
  ShapeSettings shape;
  SizeSettings sizes;
  PackRegionSettings region;
  double solid_fraction = kNone;    ///< volume of the bodies over that of the region
  bool random_orientation = false;  ///< uniform over all rotations
  Vec3 velocity = Vec3::Zero();     ///< m/s
  std::int64_t seed = -1;           ///< -1: follows from the case's seed and the generator's place
};

}  // namespace catena
