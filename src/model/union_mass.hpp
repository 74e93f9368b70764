// What parts of a compound have twice.
#pragma once

#include <span>

#include "catena/model/geometry.hpp"

namespace catena {

/// Integrals of 1, x and x x^T over a region.
struct Moments {
  double volume = 0.0;
  Vec3 first = Vec3::Zero();
  Mat3 second = Mat3::Zero();

  void add(const Moments& other, double times = 1.0) {
    volume += times * other.volume;
    first += times * other.first;
    second += times * other.second;
  }
};

/// Integrals over the region in which parts overlap, counted once less than there are parts: what
/// the sum over parts has too much of their union. Nothing overlaps: exactly zero. Of spheres of
/// which no three overlap it is exact. Else by lines through the parts, along which it is exact, on
/// a grid across that is refined until the volume changes by less than 1e-5 of that of all parts;
/// what is left is some times less than that.
Moments excess_of_parts(std::span<const CompoundPart> parts, std::span<const Geometry> geometries);

}  // namespace catena
