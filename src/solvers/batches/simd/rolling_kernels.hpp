// The sweep of RollingBatch. The end of sweep_kernels.hpp, which says who includes it.

#include "solvers/batches/simd/rolling_laws.hpp"

namespace catena {
namespace {

/// Impulse and couple in the world frame by kind, and back; the same for slip and spin.
inline Kinds by_kind(const V& n, const V& p, const V& m) {
  const D p_n = dot(n, p);
  return {p_n, subtract_scaled(p, p_n, n), cross(m, n), dot(n, m)};
}
inline V impulse_of(const V& n, const Kinds& k) { return add_scaled(k.t, k.n, n); }
inline V couple_of(const V& n, const Kinds& k) { return add_scaled(cross(n, k.r), k.s, n); }

template <BatchLaw kLaw, bool kRelax, class Mixes>
inline void rolling_update(RollingBatch& c, std::size_t batch, int lane, BodyLine* bodies,
                           const KernelOptions& rules, const D& omega, LaneSums& sums, Mixes& mix) {
  const D zero = broadcast(0.0);
  Lines a, b;
  load_lines(bodies, c.a + lane, a);
  load_lines(bodies, c.b + lane, b);
  const V n = load_vector(c.n, lane);
  const V p = mix.start(2 * batch, lane, load_vector(c.p, lane));
  const V m = mix.start(2 * batch + 1, lane, load_vector(c.m, lane));
  const D arm_a = load(c.arm_a + lane), arm_b = load(c.arm_b + lane);
  const D m_a = a.x[kInverseMass], m_b = b.x[kInverseMass];
  const D i_a = a.x[kInverseInertia], i_b = b.x[kInverseInertia];
  const D turned_a = arm_a * i_a, turned_b = arm_b * i_b;
  const D sigma_n = load(c.sigma_n + lane), sigma_t = load(c.sigma_t + lane);
  const D sigma_r = load(c.sigma_r + lane), sigma_s = load(c.sigma_s + lane);
  RoundBlock k;
  const D moved = m_a + m_b, turned = i_a + i_b;
  k.d_n = moved + sigma_n;
  k.d_t = fma(arm_b, turned_b, fma(arm_a, turned_a, moved)) + sigma_t;
  k.d_r = turned + sigma_r;
  k.d_s = turned + sigma_s;
  k.c = turned_a + turned_b;
  k.h_t = load(c.h_t + lane);
  k.h_r = load(c.h_r + lane);
  k.h_c = load(c.h_c + lane);
  k.mu = load(c.friction + lane);
  k.mu_r = load(c.rolling + lane);
  k.mu_s = load(c.spinning + lane);

  const V arms = subtract_scaled(arm_b * spin(b), arm_a, spin(a));
  const V slip = (velocity(b) - velocity(a)) + cross(arms, n);
  const V turn = (spin(b) - spin(a)) + load_vector(c.turn_bias, lane);
  const Kinds old = by_kind(n, p, m);
  Kinds w = by_kind(n, slip, turn);
  w.n = fma(sigma_n, old.n, w.n + load(c.bias + lane));
  w.t = add_scaled(w.t + load_vector(c.slip_bias, lane), sigma_t, old.t);
  w.r = add_scaled(w.r, sigma_r, old.r);
  w.s = fma(sigma_s, old.s, w.s);

  Kinds z;
  const D inverse_d_n = load(c.inverse_d_n + lane), inverse_d_s = load(c.inverse_d_s + lane);
  if constexpr (kLaw == BatchLaw::frictionless) {
    const V nothing = {zero, zero, zero};
    z = {max_keeping_nan(zero, fnma(omega * inverse_d_n, w.n, old.n)), nothing, nothing, zero};
  } else if constexpr (kLaw == BatchLaw::ccp) {
    z = rolling_answer_ccp(rules, k, inverse_d_n, inverse_d_s, n, w, old);
  } else {
    z = rolling_answer_coulomb(rules, k, inverse_d_n, inverse_d_s, n, w, old);
  }
  if constexpr (kRelax) {
    z = {fma(omega, z.n - old.n, old.n), add_scaled(old.t, omega, z.t - old.t),
         add_scaled(old.r, omega, z.r - old.r), fma(omega, z.s - old.s, old.s)};
    project(k, z);
  }
  const Kinds change = z - old;
  const V d_p = impulse_of(n, change), d_m = couple_of(n, change);
  store_vector(c.p, lane, impulse_of(n, z));
  store_vector(c.m, lane, couple_of(n, z));
  mix.note(2 * batch, lane, sigma_n, d_p);
  mix.note(2 * batch + 1, lane, sigma_r, d_m);

  const V lever = cross(n, change.t);
  set_velocity(a, subtract_scaled(velocity(a), m_a, d_p));
  set_spin(a, subtract_scaled(subtract_scaled(spin(a), turned_a, lever), i_a, d_m));
  set_velocity(b, add_scaled(velocity(b), m_b, d_p));
  set_spin(b, add_scaled(add_scaled(spin(b), turned_b, lever), i_b, d_m));
  store_lines(bodies, c.a + lane, a);
  store_lines(bodies, c.b + lane, b);
  const V r_t = add_scaled(k.d_t * change.t, k.c, change.r);
  const V r_r = add_scaled(k.d_r * change.r, k.c, change.t);
  const D r_n = k.d_n * change.n, r_s = k.d_s * change.s;
  const D rolled = load(c.has_rolling + lane) * length2(r_r);
  sums.add(lane, fma(r_n, r_n, fma(r_s, r_s, length2(r_t) + rolled)));
}

template <class Mixes>
double rolling_sweep_with(RollingBatch* first, std::size_t n, BodyLine* bodies,
                          const KernelOptions& rules, bool forward, Mixes& mix) {
  LaneSums sums;
  const D omega = broadcast(rules.omega);
  const bool relax = rules.omega != 1.0;
  const auto sweep = [&](auto update) {
    walk(first, n, bodies, forward, [&](std::size_t i, int lane) {
      update(first[i], i, lane, bodies, rules, omega, sums, mix);
    });
  };
  if (rules.law == BatchLaw::frictionless)
    sweep([](auto&&... x) { rolling_update<BatchLaw::frictionless, false>(x...); });
  else if (rules.law == BatchLaw::ccp && relax)
    sweep([](auto&&... x) { rolling_update<BatchLaw::ccp, true>(x...); });
  else if (rules.law == BatchLaw::ccp)
    sweep([](auto&&... x) { rolling_update<BatchLaw::ccp, false>(x...); });
  else if (relax)
    sweep([](auto&&... x) { rolling_update<BatchLaw::coulomb, true>(x...); });
  else
    sweep([](auto&&... x) { rolling_update<BatchLaw::coulomb, false>(x...); });
  mix.finish();
  return sums.total();
}

double rolling_sweep(RollingBatch* first, std::size_t n, BodyLine* bodies,
                     const KernelOptions& rules, bool forward, BatchMixing* mixing) {
  return with_mix(
      mixing, [&](auto& mix) { return rolling_sweep_with(first, n, bodies, rules, forward, mix); });
}

}  // namespace
}  // namespace catena

#include "solvers/batches/simd/error_kernels.hpp"
