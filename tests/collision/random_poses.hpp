// Random numbers for collision tests, the same on every machine.
#pragma once

#include <cmath>
#include <cstdint>

#include "catena/base/random.hpp"
#include "catena/math/types.hpp"

namespace catena::test {

/// A sequence of uniform numbers.
class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}
  double in(double lo, double hi) { return lo + (hi - lo) * uniform01(seed_, n_++, 0); }
  double log_in(double lo, double hi) { return std::exp(in(std::log(lo), std::log(hi))); }
  Vec3 vector(double lo, double hi) {
    const double x = in(lo, hi), y = in(lo, hi), z = in(lo, hi);
    return {x, y, z};
  }
  Quat rotation() {
    Quat q;
    do {
      q = Quat(in(-1, 1), in(-1, 1), in(-1, 1), in(-1, 1));
    } while (q.squaredNorm() > 1.0 || q.squaredNorm() < 0.01);
    return q.normalized();
  }
  Vec3 direction() { return rotation() * Vec3::UnitX(); }

 private:
  std::uint64_t seed_, n_ = 0;
};

}  // namespace catena::test
