// Vectors of lanes. Included by sources of kernels after the header of their instruction set, whose
// type D has `D::kWidth` doubles: nothing here may be shared between those sources.
#pragma once

#include "solvers/lanes/lanes.hpp"

namespace catena {
namespace {

constexpr int kAhead = 6;  ///< batches between the prefetch of bodies and their use

struct V {
  D x, y, z;
};
inline V operator+(const V& a, const V& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline V operator-(const V& a, const V& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline V operator-(const V& a) { return {-a.x, -a.y, -a.z}; }
inline V operator*(const D& s, const V& a) { return {s * a.x, s * a.y, s * a.z}; }
/// a + s b
inline V add_scaled(const V& a, const D& s, const V& b) {
  return {fma(s, b.x, a.x), fma(s, b.y, a.y), fma(s, b.z, a.z)};
}
/// a - s b
inline V subtract_scaled(const V& a, const D& s, const V& b) {
  return {fnma(s, b.x, a.x), fnma(s, b.y, a.y), fnma(s, b.z, a.z)};
}
inline D dot(const V& a, const V& b) { return fma(a.x, b.x, fma(a.y, b.y, a.z * b.z)); }
inline V cross(const V& a, const V& b) {
  return {fnma(a.z, b.y, a.y * b.z), fnma(a.x, b.z, a.z * b.x), fnma(a.y, b.x, a.x * b.y)};
}
/// Symmetric matrix as xx, xy, xz, yy, yz, zz.
inline V multiply_symmetric(const D* m, const V& a) {
  return {fma(m[0], a.x, fma(m[1], a.y, m[2] * a.z)), fma(m[1], a.x, fma(m[3], a.y, m[4] * a.z)),
          fma(m[2], a.x, fma(m[4], a.y, m[5] * a.z))};
}
inline V load_vector(const double (&p)[3][kLanes], int lane) {
  return {load(p[0] + lane), load(p[1] + lane), load(p[2] + lane)};
}
inline void store_vector(double (&p)[3][kLanes], int lane, const V& a) {
  store(p[0] + lane, a.x);
  store(p[1] + lane, a.y);
  store(p[2] + lane, a.z);
}

/// Sums of every lane on its own, so that the total does not depend on the path.
struct LaneSums {
  alignas(64) double s[kLanes] = {};
  void add(int lane, const D& x) { store(s + lane, load(s + lane) + x); }
  double total() const {
    double sum = 0.0;
    for (const double x : s) sum += x;
    return sum;
  }
};

}  // namespace
}  // namespace catena
