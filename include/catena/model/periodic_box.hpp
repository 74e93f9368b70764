// A box that repeats itself, at rest or deforming, and what drives its sides.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "catena/math/types.hpp"
#include "catena/model/table.hpp"

namespace catena {

/// A box that repeats itself along some of x, y and z: what leaves it at one side enters at the
/// other. Its images may move against it: the one displaced by s with the velocity L s, and so does
/// what crosses a side (docs/theory.md, "Periodic boxes"). L has the rates at which the sides
/// stretch on its diagonal, and a rate of shear (A. W. Lees, S. F. Edwards, The computer study of
/// transport processes under extreme conditions, 1972) in row `shear_along`, column `shear_across`.
/// Lengths change about the box's centre.
struct PeriodicBox {
  std::array<bool, 3> active = {false, false, false};  ///< along x, y, z
  std::array<double, 3> lo = {0.0, 0.0, 0.0}, hi = {0.0, 0.0, 0.0};
  double shear_rate = 0.0;  ///< d v_along/d x_across, 1/s; 0: none
  int shear_along = 0, shear_across = 2;
  /// Of the images beyond the upper side across, along: at most half a period, m.
  double offset = 0.0;
  std::array<double, 3> stretch_rate = {0.0, 0.0, 0.0};  ///< change of lengths over lengths, 1/s

  /// A displacement with the velocity that belongs to it.
  struct Move {
    Vec3 p, v;
  };
  Mat3 gradient() const;  ///< L, 1/s
  /// The box after a step of h s in which images move with L; its L gives them, where they are
  /// then, the velocity that they had in the step: L (I + h L)^-1.
  PeriodicBox after(double h) const;
  /// Whether image `code` is one of the box: displaced along periodic directions only.
  bool has_image(int code) const;
  /// Displacement of image `code` (0 .. 26): code = 9 (i_x + 1) + 3 (i_y + 1) + i_z + 1 of whole
  /// periods.
  Vec3 shift(int code) const;
  /// Velocity of that image against the body, m/s.
  Vec3 velocity(int code) const { return velocity_of(shift(code)); }
  /// Whole periods, with the offset of sheared ones, that are nearest to a way: what a body was put
  /// back by that went little itself.
  Vec3 nearest_shift(const Vec3& way) const;
  /// `p` brought into lo <= p <= hi by whole periods.
  Vec3 wrapped(const Vec3& p) const { return wrap(p).p; }
  /// That place, and what a body that comes there gains in velocity.
  Move wrap(const Vec3& p) const;
  double length(std::size_t axis) const { return hi[axis] - lo[axis]; }
  Vec3 centre() const;
  bool any() const { return active[0] || active[1] || active[2]; }
  bool sheared() const { return shear_rate != 0.0; }
  /// Whether images across are displaced along, also where the shear rests.
  bool slanted() const { return sheared() || offset != 0.0; }
  bool stretches() const;

 private:
  Vec3 velocity_of(const Vec3& shift) const;
};
/// Images of a body: itself and its neighbours, three along each axis.
inline constexpr int kImages = 27;
inline constexpr int kNoImage = 13;  ///< code of the body itself

/// What one pair of sides of a periodic box does over time.
struct CellDrive {
  enum class Kind : std::uint8_t {
    still,
    rate,   ///< the rate of strain is given
    stress  ///< it follows the cell's stress
  };
  Kind kind = Kind::still;
  double target = 0.0;        ///< 1/s, negative where it shrinks; or Pa, compression positive
  ValueTable table = {};      ///< factor on it over time; empty: none
  double largest_rate = 0.0;  ///< of `stress`, 1/s
  double gain = 0.1;          ///< of `stress`: part of the error that a step takes back
  std::string place = {};     ///< in the case, for errors

  /// Mean over [t, t + h].
  double mean_target(double t, double h) const;
};

}  // namespace catena
