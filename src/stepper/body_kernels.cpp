#include "stepper/body_kernels.hpp"

#include "catena/math/rotation.hpp"

namespace catena {
namespace {

using eight_lanes::broadcast;
using eight_lanes::D;
using eight_lanes::get;
using eight_lanes::Mask;
using eight_lanes::Quaternion;
using eight_lanes::Rotation;
using eight_lanes::Symmetric;
using eight_lanes::V;

/// Largest angle of the series below, rad.
constexpr double kSeriesAngle = 1.0;

/// Half of the sine and the cosine of half an angle up to kSeriesAngle, over that angle and alone,
/// from x = angle^2/4; what is dropped is below 1e-18.
[[gnu::always_inline]] inline void half_angle(const D& x, D& sine_over_angle, D& cosine) {
  constexpr double kSine[] = {
      1.0,           -1.0 / 6.0,        1.0 / 120.0,        -1.0 / 5040.0,
      1.0 / 362880., -1.0 / 39916800.0, 1.0 / 6227020800.0, -1.0 / 1307674368000.0};
  constexpr double kCosine[] = {1.0,
                                -1.0 / 2.0,
                                1.0 / 24.0,
                                -1.0 / 720.0,
                                1.0 / 40320.0,
                                -1.0 / 3628800.0,
                                1.0 / 479001600.0,
                                -1.0 / 87178291200.0,
                                1.0 / 20922789888000.0};
  D s = broadcast(kSine[7]);
  for (int k = 6; k >= 0; --k) s = s * x + kSine[k];
  D c = broadcast(kCosine[8]);
  for (int k = 7; k >= 0; --k) c = c * x + kCosine[k];
  sine_over_angle = 0.5 * s;
  cosine = c;
}

/// rotation_of(w, h) (math/rotation.hpp) of each lane.
[[gnu::always_inline]] inline Quaternion small_rotations(const V& w, double h) {
  const V turn = broadcast(h) * w;
  const D angle2 = dot(turn, turn);
  D factor, cosine;
  half_angle(0.25 * angle2, factor, cosine);
  Quaternion r = {factor * turn.x, factor * turn.y, factor * turn.z, cosine};
  const Mask large = !(angle2 <= kSeriesAngle * kSeriesAngle);
  if (!eight_lanes::any(large)) return r;
  for (std::size_t i = 0; i < eight_lanes::kLanes; ++i) {
    if (large[i] == 0) continue;
    const Quat q = catena::rotation_of(Vec3(w.x[i], w.y[i], w.z[i]), h);
    r.x[i] = q.x();
    r.y[i] = q.y();
    r.z[i] = q.z();
    r.w[i] = q.w();
  }
  return r;
}

[[gnu::always_inline]] inline Quaternion unit_product(const Quaternion& a, const Quaternion& b) {
  const Quaternion q = {
      a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y + a.y * b.w + a.z * b.x - a.x * b.z,
      a.w * b.z + a.z * b.w + a.x * b.y - a.y * b.x, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
  const D length = eight_lanes::root(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
  return {q.x / length, q.y / length, q.z / length, q.w / length};
}

[[gnu::always_inline]] inline void put_matrix(const Symmetric& a,
                                              std::array<EightBodies::Eight, 6>& to) {
  to[0].put(a.xx);
  to[1].put(a.xy);
  to[2].put(a.xz);
  to[3].put(a.yy);
  to[4].put(a.yz);
  to[5].put(a.zz);
}

/// The three roots of det(B - x) for a symmetric B: x^3 - sum x^2 + minors x - det. One that stands
/// apart from the others at an end, and the largest.
struct Roots {
  D apart, largest;
  Mask one;    ///< a single root is positive: `apart`
  Mask some;   ///< any is
  Mask minor;  ///< all are, or none: there is nothing to split off
};

/// Newton's method from Laguerre's bound, which falls towards the largest of real roots.
[[gnu::always_inline]] inline D largest_root(const D& sum, const D& minors, const D& det) {
  constexpr int kMost = 60;
  constexpr double kSettled = 4e-16;
  const D spread = sum * sum - 3.0 * minors;
  D x = (sum + 2.0 * eight_lanes::root(spread > 0.0 ? spread : D{})) / 3.0;
  Mask moves = x == x;
  for (int i = 0; i < kMost && eight_lanes::any(moves); ++i) {
    const D value = ((x - sum) * x + minors) * x - det;
    const D slope = (3.0 * x - 2.0 * sum) * x + minors;
    const D step = value / slope;
    moves = moves & (step > kSettled * eight_lanes::magnitude(x)) & (slope > 0.0);
    x = moves ? x - step : x;
  }
  return x;
}

[[gnu::always_inline]] inline Roots find_roots(const D& sum, const D& minors, const D& det) {
  Roots r;
  // signs of real roots by Descartes' rule
  const Mask same = (det > 0.0) ? (minors > 0.0) & (sum > 0.0) : (minors >= 0.0) & (sum <= 0.0);
  r.minor = same;
  r.one = (det > 0.0) & ~same;
  r.some = (det > 0.0) | ~same;
  // of roots of one sign the one apart is on the other side of the mean than the middle one
  const D mean = sum / 3.0;
  const D at_mean = ((mean - sum) * mean + minors) * mean - det;
  const Mask low = same ? at_mean > 0.0 : det <= 0.0;
  const D sign = low ? broadcast(-1.0) : broadcast(1.0);
  r.apart = sign * largest_root(sign * sum, minors, sign * det);
  // the other two from their sum and product
  const D half = 0.5 * (sum - r.apart), product = minors - 2.0 * half * r.apart;
  const D square = half * half - product;
  r.largest = low ? half + eight_lanes::root(square > 0.0 ? square : D{}) : r.apart;
  return r;
}

/// a - s v v^T.
[[gnu::always_inline]] inline Symmetric minus_square(const Symmetric& a, const D& s, const V& v) {
  const V sv = s * v;
  return {a.xx - sv.x * v.x, a.xy - sv.x * v.y, a.xz - sv.x * v.z,
          a.yy - sv.y * v.y, a.yz - sv.y * v.z, a.zz - sv.z * v.z};
}
[[gnu::always_inline]] inline Symmetric scaled(const D& s, const Symmetric& a) {
  return {s * a.xx, s * a.xy, s * a.xz, s * a.yy, s * a.yz, s * a.zz};
}
[[gnu::always_inline]] inline Symmetric choose(const Mask& mask, const Symmetric& a,
                                               const Symmetric& b) {
  return {mask ? a.xx : b.xx, mask ? a.xy : b.xy, mask ? a.xz : b.xz,
          mask ? a.yy : b.yy, mask ? a.yz : b.yz, mask ? a.zz : b.zz};
}
[[gnu::always_inline]] inline Symmetric adjugate(const Symmetric& a) {
  return {a.yy * a.zz - a.yz * a.yz, a.xz * a.yz - a.xy * a.zz, a.xy * a.yz - a.xz * a.yy,
          a.xx * a.zz - a.xz * a.xz, a.xy * a.xz - a.xx * a.yz, a.xx * a.yy - a.xy * a.xy};
}

/// I x / sqrt(x . I x) squared, of the x with (a - root I) x = 0: from the largest column of the
/// adjugate, as (a - root I) has rank two.
[[gnu::always_inline]] inline V mode_of(const Symmetric& a, const D& root, const V& inertia,
                                        D& norm2) {
  Symmetric c = a;
  c.xx -= root * inertia.x;
  c.yy -= root * inertia.y;
  c.zz -= root * inertia.z;
  const Symmetric m = adjugate(c);
  const D x = eight_lanes::magnitude(m.xx * inertia.x),
          y = eight_lanes::magnitude(m.yy * inertia.y),
          z = eight_lanes::magnitude(m.zz * inertia.z);
  const Mask of_x = (x >= y) & (x >= z);
  V mode = eight_lanes::select(y >= z, V{m.xy, m.yy, m.yz}, V{m.xz, m.yz, m.zz});
  mode = eight_lanes::select(of_x, V{m.xx, m.xy, m.xz}, mode);
  const V momentum = product(inertia, mode);
  norm2 = dot(mode, momentum);
  return momentum;
}

}  // namespace

void find_inverse_inertia(EightBodies& bodies) {
  const Rotation axes = eight_lanes::rotation_of(get_quaternion(bodies.q));
  const V inertia = get(bodies.inertia);
  const V own = axes.transposed_times(get(bodies.before));
  put(axes.times(quotient(cross(product(inertia, own), own), inertia)), bodies.after);
  const D zero = {};
  put_matrix(turned(axes, {1.0 / inertia.x, zero, zero, 1.0 / inertia.y, zero, 1.0 / inertia.z}),
             bodies.matrix);
}

void find_angular_momenta(EightBodies& bodies) {
  const Rotation axes = eight_lanes::rotation_of(get_quaternion(bodies.q));
  put(axes.times(product(get(bodies.inertia), axes.transposed_times(get(bodies.before)))),
      bodies.after);
}

void turn_bodies(double h, EightBodies& bodies) {
  const Quaternion q = get_quaternion(bodies.q);
  const Rotation axes = eight_lanes::rotation_of(q);
  const V inertia = get(bodies.inertia), w = get(bodies.after);
  // on the principal axes: L = L0 + (G^T lambda)_omega = L0 + I (omega - omega_free), where
  // I (omega_free - omega_0) = -h omega_0 x L0
  const V own = axes.transposed_times(get(bodies.before));
  const V torque = cross(product(inertia, own), own);
  const D step = broadcast(h);
  const V spin = axes.times(product(inertia, axes.transposed_times(w)) - step * torque);
  // The gyroscopic part of omega counts half: the midpoint rule for free rotation.
  const V half = axes.times(quotient(torque, inertia));
  const Quaternion turned = unit_product(small_rotations(w - (0.5 * step) * half, h), q);
  const Rotation now = eight_lanes::rotation_of(turned);
  put(now.times(quotient(now.transposed_times(spin), inertia)), bodies.after);
  bodies.q[0].put(turned.x);
  bodies.q[1].put(turned.y);
  bodies.q[2].put(turned.z);
  bodies.q[3].put(turned.w);
}

void raise_inertia(double followed, double raise, EightBodies& bodies, RaisedInertia& out) {
  const Rotation axes = eight_lanes::rotation_of(get_quaternion(bodies.q));
  const V inertia = get(bodies.inertia);
  const auto& m = bodies.matrix;
  // A = K - followed I on the principal axes, and B = I^-1/2 A I^-1/2 by its invariants alone
  Symmetric a =
      turned_back(axes, {m[0].get(), m[1].get(), m[2].get(), m[3].get(), m[4].get(), m[5].get()});
  a.xx -= followed * inertia.x;
  a.yy -= followed * inertia.y;
  a.zz -= followed * inertia.z;
  const V one = {1.0 / inertia.x, 1.0 / inertia.y, 1.0 / inertia.z};
  const Symmetric minors = adjugate(a);
  const D sum = a.xx * one.x + a.yy * one.y + a.zz * one.z;
  const D sum2 = minors.xx * one.y * one.z + minors.yy * one.x * one.z + minors.zz * one.x * one.y;
  const D det = (a.xx * minors.xx + a.xy * minors.xy + a.xz * minors.xz) * (one.x * one.y * one.z);
  const Roots roots = find_roots(sum, sum2, det);
  // A+: all of A, nothing, the one positive mode, or A without the one that is not
  D norm2;
  const V momentum = mode_of(a, roots.apart, inertia, norm2);
  const D share = norm2 > 0.0 ? roots.apart / norm2 : D{};
  const Symmetric none = {};
  const Symmetric split =
      choose(roots.one, minus_square(none, -share, momentum), minus_square(a, share, momentum));
  const Symmetric positive = choose(roots.minor, choose(roots.some, a, none), split);
  const Symmetric added = scaled(broadcast(raise), positive);
  Symmetric total = added;
  total.xx += inertia.x;
  total.yy += inertia.y;
  total.zz += inertia.z;
  const Symmetric cofactors = adjugate(total);
  const D inverse_det =
      1.0 / (total.xx * cofactors.xx + total.xy * cofactors.xy + total.xz * cofactors.xz);
  const Symmetric inverse = scaled(inverse_det, cofactors);
  const V before = get(bodies.before);
  const V change = axes.transposed_times(get(bodies.after) - before);
  put(before + axes.times(inverse.times(product(inertia, change))), bodies.after);
  put_matrix(turned(axes, inverse), bodies.matrix);
  put_matrix(turned(axes, added), out.added);
  out.largest.put(roots.some ? roots.largest + followed : broadcast(followed));
}

}  // namespace catena
