// The sweeps of batches, written once for any number of lanes. Included by one source per
// instruction set, which defines a type D of `D::kWidth` doubles and the functions on it in its
// own unnamed namespace: nothing here may be shared between those sources.

#include "solvers/gauss_seidel/simd/batch_laws.hpp"

namespace catena {
namespace {

constexpr int kAhead = 6;  ///< batches between the prefetch of bodies and their use

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

/// Calls update(batch, lane) for all lanes of n batches, forward or backward.
template <class Batch, class Update>
inline void walk(Batch* first, std::size_t n, const BodyLine* bodies, bool forward,
                 Update&& update) {
  for (std::size_t step = 0; step < n; ++step) {
    const std::size_t i = forward ? step : n - 1 - step;
    if (step + kAhead < n) prefetch_bodies(first[forward ? i + kAhead : i - kAhead], bodies);
    for (int lane = 0; lane < kLanes; lane += D::kWidth) update(first[i], lane);
  }
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

template <BatchLaw kLaw, bool kRelax>
inline void sphere_update(SphereBatch& c, int lane, BodyLine* bodies, const D& omega,
                          LaneSums& sums) {
  Lines a, b;
  load_lines(bodies, c.a + lane, a);
  load_lines(bodies, c.b + lane, b);
  const V n = load_vector(c.n, lane), p = load_vector(c.p, lane);
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
inline void normal_update(SphereBatch& c, int lane, BodyLine* bodies, const D& omega,
                          LaneSums& sums) {
  Lines a, b;
  load_lines(bodies, c.a + lane, a);
  load_lines(bodies, c.b + lane, b);
  const V n = load_vector(c.n, lane);
  const D u_n = dot(n, velocity(b) - velocity(a));
  const D p_n = dot(n, load_vector(c.p, lane));
  const D step = omega * load(c.inverse_d_n + lane);
  const D sigma_n = load(c.sigma_n + lane);
  const D w_n = fma(sigma_n, p_n, u_n + load(c.bias + lane));
  const D z_n = max_keeping_nan(broadcast(0.0), fnma(step, w_n, p_n));
  const D d_n = z_n - p_n;
  store_vector(c.p, lane, z_n * n);
  const D m_a = a.x[kInverseMass], m_b = b.x[kInverseMass];
  const D d_a = m_a * d_n, d_b = m_b * d_n;
  set_velocity(a, subtract_scaled(velocity(a), d_a, n));
  set_velocity(b, add_scaled(velocity(b), d_b, n));
  store_lines(bodies, c.a + lane, a);
  store_lines(bodies, c.b + lane, b);
  const D r_n = fma(sigma_n, d_n, d_a + d_b);
  sums.add(lane, r_n * r_n);
}

template <bool kVectorSolve>
inline void arm_update(GeneralContactBatch& c, int lane, BodyLine* bodies,
                       const InertiaLine* inertia, const KernelOptions& rules, LaneSums& sums) {
  Lines a, b;
  load_lines(bodies, c.a + lane, a);
  load_lines(bodies, c.b + lane, b);
  const V n = load_vector(c.n, lane), t1 = load_vector(c.t, lane), t2 = cross(n, t1);
  const V r_a = load_vector(c.arm_a, lane), r_b = load_vector(c.arm_b, lane);
  const V u = (velocity(b) - velocity(a)) + (cross(spin(b), r_b) - cross(spin(a), r_a));
  const D sigma_n = load(c.sigma_n + lane), sigma_t = load(c.sigma_t + lane);
  D d[6];
  for (int j = 0; j < 6; ++j) d[j] = load(c.d[j] + lane);

  const V old = load_vector(c.lambda, lane), bias = load_vector(c.bias, lane);
  const V w = {fma(sigma_n, old.x, dot(n, u) + bias.x), fma(sigma_t, old.y, dot(t1, u) + bias.y),
               fma(sigma_t, old.z, dot(t2, u) + bias.z)};
  V z = old;
  if constexpr (kVectorSolve)
    z = coulomb_solution(rules, c, lane, d, w, old);
  else
    solve_lanes(rules, c, lane, w, all_lanes(), z);
  const V change = z - old;
  store_vector(c.lambda, lane, z);

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

double sphere_sweep(SphereBatch* first, std::size_t n, BodyLine* bodies, const KernelOptions& rules,
                    bool forward) {
  LaneSums sums;
  const D omega = broadcast(rules.omega);
  const bool relax = rules.omega != 1.0;
  const auto sweep = [&](auto update) { walk(first, n, bodies, forward, update); };
  if (rules.law == BatchLaw::frictionless)
    sweep([&](SphereBatch& c, int lane) { normal_update(c, lane, bodies, omega, sums); });
  else if (rules.law == BatchLaw::ccp && relax)
    sweep([&](SphereBatch& c, int lane) {
      sphere_update<BatchLaw::ccp, true>(c, lane, bodies, omega, sums);
    });
  else if (rules.law == BatchLaw::ccp)
    sweep([&](SphereBatch& c, int lane) {
      sphere_update<BatchLaw::ccp, false>(c, lane, bodies, omega, sums);
    });
  else if (relax)
    sweep([&](SphereBatch& c, int lane) {
      sphere_update<BatchLaw::coulomb, true>(c, lane, bodies, omega, sums);
    });
  else
    sweep([&](SphereBatch& c, int lane) {
      sphere_update<BatchLaw::coulomb, false>(c, lane, bodies, omega, sums);
    });
  return sums.total();
}

double arm_sweep(GeneralContactBatch* first, std::size_t n, BodyLine* bodies,
                 const InertiaLine* inertia, const KernelOptions& rules, bool forward) {
  LaneSums sums;
  if (rules.vector_solve)
    walk(first, n, bodies, forward, [&](GeneralContactBatch& c, int lane) {
      arm_update<true>(c, lane, bodies, inertia, rules, sums);
    });
  else
    walk(first, n, bodies, forward, [&](GeneralContactBatch& c, int lane) {
      arm_update<false>(c, lane, bodies, inertia, rules, sums);
    });
  return sums.total();
}

}  // namespace
}  // namespace catena
