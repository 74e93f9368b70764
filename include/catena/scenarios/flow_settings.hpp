// What a case says of bodies that come and go, and of the box that repeats itself.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "catena/base/settings.hpp"
#include "catena/math/types.hpp"
#include "catena/scenarios/joint_settings.hpp"
#include "catena/scenarios/shape_settings.hpp"
#include "catena/scenarios/size_settings.hpp"

namespace catena {

/// Bodies of one material and shape that come in over time: so many are due per second, by number
/// or by mass, from `start` to `end`.
/// Factor, place and orientation of attempt k at body number n follow from (seed, n, k) alone.
struct InsertionSettings {
  std::string name, material;
  ShapeSettings shape;
  SizeSettings sizes;
  /// Box that holds every new body whole, m.
  Vec3 lower = Vec3::Constant(kNone), upper = Vec3::Constant(kNone);
  double number_rate = kNone;  ///< 1/s; exactly one of the two rates is given
  double mass_rate = kNone;    ///< kg/s
  std::int64_t count = 0;      ///< most bodies; ids are reserved for them
  double start = 0.0;          ///< s
  double end = std::numeric_limits<double>::infinity();  ///< s
  Vec3 velocity = Vec3::Zero();                          ///< m/s
  Vec3 angular_velocity = Vec3::Zero();                  ///< rad/s, world frame
  bool random_orientation = false;                       ///< uniform over all orientations
  int attempts = 20;                                     ///< places drawn per body and step
  std::int64_t seed = -1;  ///< -1: follows from the case's seed and the generator's place
};

/// A box that dynamic bodies leave the scene by; sides may be infinite.
struct OutflowSettings {
  std::string name;
  Vec3 lower = Vec3::Constant(kNone), upper = Vec3::Constant(kNone);  ///< m
};

/// Shear of a periodic box at a constant rate (PeriodicBox).
struct ShearSettings {
  bool present = false;
  double rate = 0.0;          ///< 1/s
  int along = 0, across = 2;  ///< x, y, z
};

/// What drives two opposite sides of a periodic box (CellDrive): exactly one of rate and stress.
struct CellDriveSettings {
  bool present = false;
  double strain_rate = kNone;      ///< 1/s
  double stress = kNone;           ///< Pa, compression positive
  double max_strain_rate = kNone;  ///< 1/s; of a stress
  double gain = 0.1;               ///< of a stress
  FactorSettings table;
  std::string place;  ///< file, line, column and path, for errors
};

/// Lower and upper side along x, y and z; NaN: not periodic along it.
struct PeriodicSettings {
  bool present = false;
  std::array<double, 2> x = {kNone, kNone};
  std::array<double, 2> y = {kNone, kNone};
  std::array<double, 2> z = {kNone, kNone};
  ShearSettings shear;
  bool deforms = false;
  std::array<CellDriveSettings, 3> deform;  ///< along x, y and z
  bool along(int axis) const { return !std::isnan((axis == 0 ? x : axis == 1 ? y : z)[0]); }
};

/// Gravity over time; linear between the rows.
struct GravityTableSettings {
  bool present = false;
  std::string file;          ///< absolute after reading a case; or empty
  std::vector<double> rows;  ///< t (s), g_x, g_y, g_z (m/s^2); ascending in t
  std::string place;         ///< file, line, column and path, for errors
};

}  // namespace catena
