// Numbers of eight bodies side by side. Vectors of the compiler: every lane is computed by the same
// operations whatever the instruction set, so results are the same bits on all of them.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#if defined(__GNUC__) && !defined(__clang__)
// all of it is inlined: no vector is passed to a function
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace catena::eight_lanes {

inline constexpr std::size_t kLanes = 8;

typedef double D __attribute__((vector_size(64)));
typedef std::int64_t Mask __attribute__((vector_size(64)));

/// One number of each of eight bodies, in memory.
struct alignas(64) Eight {
  std::array<double, kLanes> lane;
  [[gnu::always_inline]] D get() const {
    D d;
    std::memcpy(&d, lane.data(), sizeof(D));
    return d;
  }
  [[gnu::always_inline]] void put(const D& d) { std::memcpy(lane.data(), &d, sizeof(D)); }
};

[[gnu::always_inline]] inline D broadcast(double x) { return D{} + x; }

[[gnu::always_inline]] inline D root(const D& x) {
#ifdef __AVX512F__
  return reinterpret_cast<D>(_mm512_sqrt_pd(reinterpret_cast<__m512d>(x)));
#else
  D y;
  for (std::size_t i = 0; i < kLanes; ++i) y[i] = std::sqrt(x[i]);
  return y;
#endif
}

[[gnu::always_inline]] inline bool any(const Mask& mask) {
  std::int64_t bits = 0;
  for (std::size_t i = 0; i < kLanes; ++i) bits |= mask[i];
  return bits != 0;
}

[[gnu::always_inline]] inline D magnitude(const D& x) { return x < 0.0 ? -x : x; }

struct V {
  D x, y, z;
};
[[gnu::always_inline]] inline V operator+(const V& a, const V& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
[[gnu::always_inline]] inline V operator-(const V& a, const V& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
[[gnu::always_inline]] inline V operator*(const D& s, const V& a) {
  return {s * a.x, s * a.y, s * a.z};
}
[[gnu::always_inline]] inline V product(const V& a, const V& b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z};
}
[[gnu::always_inline]] inline V quotient(const V& a, const V& b) {
  return {a.x / b.x, a.y / b.y, a.z / b.z};
}
[[gnu::always_inline]] inline D dot(const V& a, const V& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
[[gnu::always_inline]] inline V cross(const V& a, const V& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
[[gnu::always_inline]] inline V select(const Mask& mask, const V& yes, const V& no) {
  return {mask ? yes.x : no.x, mask ? yes.y : no.y, mask ? yes.z : no.z};
}
template <class Three>
[[gnu::always_inline]] inline V get(const Three& three) {
  return {three[0].get(), three[1].get(), three[2].get()};
}
template <class Three>
[[gnu::always_inline]] inline void put(const V& v, Three& three) {
  three[0].put(v.x);
  three[1].put(v.y);
  three[2].put(v.z);
}

/// A rotation by its columns.
struct Rotation {
  V x, y, z;
  [[gnu::always_inline]] V times(const V& a) const { return a.x * x + a.y * y + a.z * z; }
  [[gnu::always_inline]] V transposed_times(const V& a) const {
    return {dot(x, a), dot(y, a), dot(z, a)};
  }
};

/// Of a unit quaternion, its vector part first.
struct Quaternion {
  D x, y, z, w;
};
template <class Four>
[[gnu::always_inline]] inline Quaternion get_quaternion(const Four& q) {
  return {q[0].get(), q[1].get(), q[2].get(), q[3].get()};
}
[[gnu::always_inline]] inline Rotation rotation_of(const Quaternion& q) {
  const D tx = 2.0 * q.x, ty = 2.0 * q.y, tz = 2.0 * q.z;
  const D twx = tx * q.w, twy = ty * q.w, twz = tz * q.w;
  const D txx = tx * q.x, txy = ty * q.x, txz = tz * q.x;
  const D tyy = ty * q.y, tyz = tz * q.y, tzz = tz * q.z;
  return {{1.0 - (tyy + tzz), txy + twz, txz - twy},
          {txy - twz, 1.0 - (txx + tzz), tyz + twx},
          {txz + twy, tyz - twx, 1.0 - (txx + tyy)}};
}

/// A symmetric matrix.
struct Symmetric {
  D xx, xy, xz, yy, yz, zz;
  [[gnu::always_inline]] V times(const V& a) const {
    return {xx * a.x + xy * a.y + xz * a.z, xy * a.x + yy * a.y + yz * a.z,
            xz * a.x + yz * a.y + zz * a.z};
  }
};
/// R A R^T.
[[gnu::always_inline]] inline Symmetric turned(const Rotation& r, const Symmetric& a) {
  // columns of R A, which are also its products with A's columns
  const V x = a.xx * r.x + a.xy * r.y + a.xz * r.z;
  const V y = a.xy * r.x + a.yy * r.y + a.yz * r.z;
  const V z = a.xz * r.x + a.yz * r.y + a.zz * r.z;
  return {x.x * r.x.x + y.x * r.y.x + z.x * r.z.x, x.x * r.x.y + y.x * r.y.y + z.x * r.z.y,
          x.x * r.x.z + y.x * r.y.z + z.x * r.z.z, x.y * r.x.y + y.y * r.y.y + z.y * r.z.y,
          x.y * r.x.z + y.y * r.y.z + z.y * r.z.z, x.z * r.x.z + y.z * r.y.z + z.z * r.z.z};
}
/// R^T A R.
[[gnu::always_inline]] inline Symmetric turned_back(const Rotation& r, const Symmetric& a) {
  const V x = a.times(r.x), y = a.times(r.y), z = a.times(r.z);
  return {dot(r.x, x), dot(r.x, y), dot(r.x, z), dot(r.y, y), dot(r.y, z), dot(r.z, z)};
}

}  // namespace catena::eight_lanes
