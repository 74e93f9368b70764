// The sweeps of batches, written once for any number of lanes. Included by one source per
// instruction set, which defines a type D of `D::kWidth` doubles and the functions on it in its
// own unnamed namespace: nothing here may be shared between those sources.

#include "solvers/batches/simd/batch_laws.hpp"

namespace catena {
namespace {

inline V velocity(const Lines& body) { return {body.x[0], body.x[1], body.x[2]}; }
inline V spin(const Lines& body) { return {body.x[3], body.x[4], body.x[5]}; }
inline void set_velocity(Lines& body, const V& v) {
  body.x[0] = v.x;
  body.x[1] = v.y;
  body.x[2] = v.z;
}
inline void set_spin(Lines& body, const V& w) {
  body.x[3] = w.x;
  body.x[4] = w.y;
  body.x[5] = w.z;
}

template <class Batch>
inline void prefetch_bodies(const Batch& c, const BodyLine* bodies) {
  for (int i = 0; i < kLanes; ++i) {
    __builtin_prefetch(bodies + c.a[i], 1);
    __builtin_prefetch(bodies + c.b[i], 1);
  }
}

/// Calls update(number of the batch, lane) for all lanes of n batches, forward or backward.
template <class Batch, class Update>
inline void walk(Batch* first, std::size_t n, const BodyLine* bodies, bool forward,
                 Update&& update) {
  for (std::size_t step = 0; step < n; ++step) {
    const std::size_t i = forward ? step : n - 1 - step;
    // the bodies' numbers first, so that asking for the bodies does not wait for memory itself
    if (step + 2 * kAhead < n)
      __builtin_prefetch(first[forward ? i + 2 * kAhead : i - 2 * kAhead].a);
    if (step + kAhead < n) prefetch_bodies(first[forward ? i + kAhead : i - kAhead], bodies);
    for (int lane = 0; lane < kLanes; lane += D::kWidth) update(i, lane);
  }
}

/// A mix without its memory, for plain sweeps, and with it.
struct NoMix {
  V start(std::size_t, int, const V& p) const { return p; }
  void note(std::size_t, int, const D&, const V&) const {}
  void finish() const {}
};
struct Mix {
  explicit Mix(BatchMixing& state) : mixing(state), gamma(broadcast(state.gamma)) {}
  /// Where the update of the contacts with impulses p starts.
  V start(std::size_t batch, int lane, const V& p) {
    BatchHistory& h = mixing.history[batch];
    const V before = load_vector(h.before, lane);
    store_vector(h.before, lane, p);
    return subtract_scaled(p, gamma, p - before);
  }
  void note(std::size_t batch, int lane, const D& weight, const V& change) {
    BatchHistory& h = mixing.history[batch];
    const V d = change - load_vector(h.change, lane);
    store_vector(h.change, lane, change);
    const V weighted = weight * change;
    ff.add(lane, dot(weighted, change));
    fd.add(lane, dot(weighted, d));
    dd.add(lane, weight * dot(d, d));
  }
  void finish() {
    mixing.ff += ff.total();
    mixing.fd += fd.total();
    mixing.dd += dd.total();
  }
  BatchMixing& mixing;
  D gamma;
  LaneSums ff, fd, dd;
};

template <BatchLaw kLaw, bool kRelax, class Mixes>
inline void sphere_update(SphereBatch& c, std::size_t batch, int lane, BodyLine* bodies,
                          const D& omega, LaneSums& sums, Mixes& mix) {
  Lines a, b;
  load_lines(bodies, c.a + lane, a);
  load_lines(bodies, c.b + lane, b);
  const V n = load_vector(c.n, lane), p = mix.start(batch, lane, load_vector(c.p, lane));
  const D arm_a = load(c.arm_a + lane), arm_b = load(c.arm_b + lane);
  const D inverse_d_n = load(c.inverse_d_n + lane), inverse_d_t = load(c.inverse_d_t + lane);
  const D mu = load(c.friction + lane);
  const V arms = subtract_scaled(arm_b * spin(b), arm_a, spin(a));
  const V u = (velocity(b) - velocity(a)) + cross(arms, n);
  const D u_n = dot(n, u);
  const V u_t = subtract_scaled(u, u_n, n);
  const D p_n = dot(n, p);
  const V p_t = subtract_scaled(p, p_n, n);

  const D sigma_n = load(c.sigma_n + lane), sigma_t = load(c.sigma_t + lane);
  const V w_t = add_scaled(u_t + load_vector(c.slip_bias, lane), sigma_t, p_t);
  const V y_t = subtract_scaled(p_t, inverse_d_t, w_t);
  const D y_n = fnma(inverse_d_n, fma(sigma_n, p_n, u_n + load(c.bias + lane)), p_n);
  D z_n, scale;
  answer<kLaw>(y_n, dot(y_t, y_t), mu, inverse_d_n, inverse_d_t, z_n, scale);
  V z_t = scale * y_t;
  if constexpr (kRelax) {
    z_n = fma(omega, z_n - p_n, p_n);
    z_t = add_scaled(p_t, omega, z_t - p_t);
    project(mu, z_n, dot(z_t, z_t), scale);
    z_t = scale * z_t;
  }
  const D d_n = z_n - p_n;
  const V d_t = z_t - p_t;
  const V d = add_scaled(d_t, d_n, n);
  store_vector(c.p, lane, add_scaled(z_t, z_n, n));
  mix.note(batch, lane, sigma_n, d);

  const D m_a = a.x[kInverseMass], m_b = b.x[kInverseMass];
  const D i_a = arm_a * a.x[kInverseInertia], i_b = arm_b * b.x[kInverseInertia];
  const V turn = cross(n, d_t);
  set_velocity(a, subtract_scaled(velocity(a), m_a, d));
  set_spin(a, subtract_scaled(spin(a), i_a, turn));
  set_velocity(b, add_scaled(velocity(b), m_b, d));
  set_spin(b, add_scaled(spin(b), i_b, turn));
  store_lines(bodies, c.a + lane, a);
  store_lines(bodies, c.b + lane, b);
  const D stiff_n = m_a + m_b;
  const D stiff_t = fma(arm_b, i_b, fma(arm_a, i_a, stiff_n)) + sigma_t;
  const D r_n = (stiff_n + sigma_n) * d_n;
  sums.add(lane, fma(stiff_t * stiff_t, dot(d_t, d_t), r_n * r_n));
}

/// Frictionless: the arms are along the normal, so the spins do not matter.
template <class Mixes>
inline void normal_update(SphereBatch& c, std::size_t batch, int lane, BodyLine* bodies,
                          const D& omega, LaneSums& sums, Mixes& mix) {
  Lines a, b;
  load_lines(bodies, c.a + lane, a);
  load_lines(bodies, c.b + lane, b);
  const V n = load_vector(c.n, lane);
  const D u_n = dot(n, velocity(b) - velocity(a));
  const D p_n = dot(n, mix.start(batch, lane, load_vector(c.p, lane)));
  const D step = omega * load(c.inverse_d_n + lane);
  const D sigma_n = load(c.sigma_n + lane);
  const D w_n = fma(sigma_n, p_n, u_n + load(c.bias + lane));
  const D z_n = max_keeping_nan(broadcast(0.0), fnma(step, w_n, p_n));
  const D d_n = z_n - p_n;
  store_vector(c.p, lane, z_n * n);
  mix.note(batch, lane, sigma_n, d_n * n);
  const D m_a = a.x[kInverseMass], m_b = b.x[kInverseMass];
  const D d_a = m_a * d_n, d_b = m_b * d_n;
  set_velocity(a, subtract_scaled(velocity(a), d_a, n));
  set_velocity(b, add_scaled(velocity(b), d_b, n));
  store_lines(bodies, c.a + lane, a);
  store_lines(bodies, c.b + lane, b);
  const D r_n = fma(sigma_n, d_n, d_a + d_b);
  sums.add(lane, r_n * r_n);
}

template <Turn kTurn, class Mixes>
inline void arm_update(GeneralContactBatch& c, std::size_t batch, int lane, BodyLine* bodies,
                       const InertiaLine* inertia, const KernelOptions& rules, LaneSums& sums,
                       Mixes& mix) {
  Lines a, b;
  load_lines(bodies, c.a + lane, a);
  load_lines(bodies, c.b + lane, b);
  const V n = load_vector(c.n, lane), t1 = load_vector(c.t, lane), t2 = cross(n, t1);
  const V r_a = load_vector(c.arm_a, lane), r_b = load_vector(c.arm_b, lane);
  const V u = (velocity(b) - velocity(a)) + (cross(spin(b), r_b) - cross(spin(a), r_a));
  const D sigma_n = load(c.sigma_n + lane), sigma_t = load(c.sigma_t + lane);
  D d[6];
  for (int j = 0; j < 6; ++j) d[j] = load(c.d[j] + lane);

  const V old = mix.start(batch, lane, load_vector(c.lambda, lane)),
          bias = load_vector(c.bias, lane);
  const V w = {fma(sigma_n, old.x, dot(n, u) + bias.x), fma(sigma_t, old.y, dot(t1, u) + bias.y),
               fma(sigma_t, old.z, dot(t2, u) + bias.z)};
  const V z = new_impulse<kTurn>(rules, c, lane, d, w, old);
  const V change = z - old;
  store_vector(c.lambda, lane, z);
  mix.note(batch, lane, sigma_n, change);

  const V p = add_scaled(add_scaled(change.x * n, change.y, t1), change.z, t2);
  Lines i_a, i_b;
  load_lines(reinterpret_cast<const BodyLine*>(inertia), c.a + lane, i_a);
  load_lines(reinterpret_cast<const BodyLine*>(inertia), c.b + lane, i_b);
  const V turn_a = multiply_symmetric(i_a.x, cross(r_a, p));
  const V turn_b = multiply_symmetric(i_b.x, cross(r_b, p));
  const D m_a = a.x[kInverseMass], m_b = b.x[kInverseMass];
  set_velocity(a, subtract_scaled(velocity(a), m_a, p));
  set_spin(a, spin(a) - turn_a);
  set_velocity(b, add_scaled(velocity(b), m_b, p));
  set_spin(b, spin(b) + turn_b);
  store_lines(bodies, c.a + lane, a);
  store_lines(bodies, c.b + lane, b);
  const V r = multiply_symmetric(d, change);
  sums.add(lane, dot(r, r));
}

template <class Mixes>
double sphere_sweep_with(SphereBatch* first, std::size_t n, BodyLine* bodies,
                         const KernelOptions& rules, bool forward, Mixes& mix) {
  LaneSums sums;
  const D omega = broadcast(rules.omega);
  const bool relax = rules.omega != 1.0;
  const auto sweep = [&](auto update) {
    walk(first, n, bodies, forward,
         [&](std::size_t i, int lane) { update(first[i], i, lane, bodies, omega, sums, mix); });
  };
  if (rules.law == BatchLaw::frictionless)
    sweep([](auto&&... x) { normal_update(x...); });
  else if (rules.law == BatchLaw::ccp && relax)
    sweep([](auto&&... x) { sphere_update<BatchLaw::ccp, true>(x...); });
  else if (rules.law == BatchLaw::ccp)
    sweep([](auto&&... x) { sphere_update<BatchLaw::ccp, false>(x...); });
  else if (relax)
    sweep([](auto&&... x) { sphere_update<BatchLaw::coulomb, true>(x...); });
  else
    sweep([](auto&&... x) { sphere_update<BatchLaw::coulomb, false>(x...); });
  mix.finish();
  return sums.total();
}

template <class Mixes>
double arm_sweep_with(GeneralContactBatch* first, std::size_t n, BodyLine* bodies,
                      const InertiaLine* inertia, const KernelOptions& rules, bool forward,
                      Mixes& mix) {
  LaneSums sums;
  const auto sweep = [&](auto update) {
    walk(first, n, bodies, forward, [&](std::size_t i, int lane) {
      update(first[i], i, lane, bodies, inertia, rules, sums, mix);
    });
  };
  switch (turn_of(rules)) {
    case Turn::scalar:
      sweep([](auto&&... x) { arm_update<Turn::scalar>(x...); });
      break;
    case Turn::coulomb:
      sweep([](auto&&... x) { arm_update<Turn::coulomb>(x...); });
      break;
    case Turn::convex:
      sweep([](auto&&... x) { arm_update<Turn::convex>(x...); });
      break;
  }
  mix.finish();
  return sums.total();
}

/// Calls sweep(mix) with what `mixing` asks for.
template <class Sweep>
double with_mix(BatchMixing* mixing, Sweep&& sweep) {
  if (mixing == nullptr) {
    NoMix none;
    return sweep(none);
  }
  Mix mix(*mixing);
  return sweep(mix);
}

double sphere_sweep(SphereBatch* first, std::size_t n, BodyLine* bodies, const KernelOptions& rules,
                    bool forward, BatchMixing* mixing) {
  return with_mix(
      mixing, [&](auto& mix) { return sphere_sweep_with(first, n, bodies, rules, forward, mix); });
}

double arm_sweep(GeneralContactBatch* first, std::size_t n, BodyLine* bodies,
                 const InertiaLine* inertia, const KernelOptions& rules, bool forward,
                 BatchMixing* mixing) {
  return with_mix(mixing, [&](auto& mix) {
    return arm_sweep_with(first, n, bodies, inertia, rules, forward, mix);
  });
}

}  // namespace
}  // namespace catena

#include "solvers/batches/simd/explicit_kernels.hpp"
#include "solvers/batches/simd/rolling_kernels.hpp"
