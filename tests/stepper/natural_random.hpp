// Random vectors and rotations for tests of natural coordinates; the same in every run.
#pragma once

#include <cstdint>

#include "catena/base/random.hpp"
#include "catena/math/types.hpp"

namespace catena::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}
  /// In (-1, 1).
  double number() { return uniform_pm1(seed_, count_++, 0); }
  Vec3 vector() {
    const double x = number(), y = number(), z = number();
    return {x, y, z};
  }
  Mat3 matrix() {
    Mat3 m;
    for (int k = 0; k < 3; ++k) m.col(k) = vector();
    return m;
  }
  Quat rotation() {
    const Vec3 v = vector();
    return Quat(1.2 * number(), v.x(), v.y(), v.z()).normalized();
  }

 private:
  std::uint64_t seed_, count_ = 0;
};

}  // namespace catena::test
