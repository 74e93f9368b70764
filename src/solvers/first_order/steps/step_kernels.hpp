// The passes over groups, written once for any number of lanes. Included by one source per
// instruction set, after its header in solvers/lanes: nothing here may be shared between them.

#include "solvers/first_order/steps/step_groups.hpp"
#include "solvers/lanes/vectors.hpp"

namespace catena {
namespace {

using first_order::ContactGroup;
using first_order::RowGroup;
using first_order::SphereGroup;
using first_order::StepPass;
using first_order::StepSums;

struct Six {
  D x[6];
};

/// Forces on the bodies of a whole group. They are added for all bodies a, then for all b, so that
/// sums do not depend on how many lanes are taken at once.
struct GroupForces {
  alignas(64) double f[2][6][kLanes];

  void put(int side, int lane, const Six& force) {
    for (int i = 0; i < 6; ++i) store(f[side][i] + lane, force.x[i]);
  }
  void add_to(double* forces, const std::int32_t* const (&body)[2]) const {
    for (int side = 0; side < 2; ++side)
      for (int lane = 0; lane < kLanes; lane += D::kWidth) {
        Six force;
        for (int i = 0; i < 6; ++i) force.x[i] = load(f[side][i] + lane);
        add_six(forces, body[side] + lane, force.x);
      }
  }
};

struct StepTotals {
  LaneSums moved, along, size, curved;
  StepSums sums() const { return {moved.total(), along.total(), size.total(), curved.total()}; }
};

/// Projection on |x_t| <= mu x_n, x_t of any frame: the normal part, and what x_t is multiplied by.
inline void project_on_disc(const D& mu, const D& t2, D& n, D& scale) {
  const D zero = broadcast(0.0), one = broadcast(1.0);
  const D limit = mu * n;
  // a NaN is not inside, and is carried on
  const M inside = (zero <= n) & (t2 <= limit * limit);
  scale = one;
  if (!any(and_not(all_lanes(), inside))) return;
  const D t = sqrt(t2);
  const D pull = fma(mu, t, n);
  const D on_cone = select(pull <= zero, zero, pull / fma(mu, mu, one));
  scale = select(inside, one, select(zero < t, mu * on_cone / t, zero));
  n = select(inside, n, on_cone);
}

inline D clamp_to(const D& x, const D& bound) {
  return select(x < -bound, -bound, select(bound < x, bound, x));
}

template <class Group>
inline D shift_of(Group& c, int lane, bool renew, const D& t2) {
  if (!renew) return load(c.shift + lane);
  const D shift = load(c.mu + lane) * sqrt(t2);
  store(c.shift + lane, shift);
  return shift;
}

/// u = v_b - v_a of the contact's points, arms by body.
inline V slip(const Six& a, const Six& b, const V& r_a, const V& r_b) {
  const V v_a = {a.x[0], a.x[1], a.x[2]}, w_a = {a.x[3], a.x[4], a.x[5]};
  const V v_b = {b.x[0], b.x[1], b.x[2]}, w_b = {b.x[3], b.x[4], b.x[5]};
  return (v_b - v_a) + (cross(w_b, r_b) - cross(w_a, r_a));
}

inline Six wrench(const V& force, const V& couple) {
  return {{force.x, force.y, force.z, couple.x, couple.y, couple.z}};
}

inline void sphere_step(SphereGroup& c, int lane, const StepPass& pass, StepTotals& totals,
                        GroupForces& forces) {
  Six a, b;
  load_six(pass.velocities, c.a + lane, a.x);
  load_six(pass.velocities, c.b + lane, b.x);
  const V n = load_vector(c.n, lane);
  const D arm_a = load(c.arm_a + lane), arm_b = load(c.arm_b + lane);
  const D by_n = load(c.by_normal + lane), by_t = load(c.by_tangent + lane);
  const D sigma_n = load(c.sigma_n + lane), sigma_t = load(c.sigma_t + lane);
  const D keep = broadcast(pass.weights.keep), take = broadcast(pass.weights.take);
  const D step = broadcast(pass.weights.inverse_l);
  const V now = load_vector(c.x[pass.slots.now], lane);
  const V y = add_scaled(take * load_vector(c.x[pass.slots.before], lane), keep, now);
  const D y_n = dot(n, y);
  const V y_t = subtract_scaled(y, y_n, n);

  const V v_a = {a.x[0], a.x[1], a.x[2]}, w_a = {a.x[3], a.x[4], a.x[5]};
  const V v_b = {b.x[0], b.x[1], b.x[2]}, w_b = {b.x[3], b.x[4], b.x[5]};
  const V u = (v_b - v_a) + cross(subtract_scaled(arm_b * w_b, arm_a, w_a), n);
  const D u_n = dot(n, u);
  const V u_t = subtract_scaled(u, u_n, n);
  const V g_t = add_scaled(add_scaled(load_vector(c.offset_t, lane), by_t, u_t), sigma_t, y_t);
  const D w_n = fma(sigma_n, y_n, fma(by_n, u_n, load(c.offset_n + lane)));
  const D g_n = w_n + shift_of(c, lane, pass.weights.renew, dot(g_t, g_t));

  D z_n = fnma(step, g_n, y_n), scale;
  const V trial = subtract_scaled(y_t, step, g_t);
  project_on_disc(load(c.mu + lane), dot(trial, trial), z_n, scale);
  const V z_t = scale * trial;
  const V next = add_scaled(z_t, z_n, n);
  store_vector(c.x[pass.slots.next], lane, next);

  const D d_n = z_n - y_n;
  const V d_t = z_t - y_t, e = next - now;
  const D d_tt = dot(d_t, d_t), d_nn = d_n * d_n;
  totals.moved.add(lane, d_nn + d_tt);
  totals.along.add(lane, fma(g_n, dot(n, e), dot(g_t, e)));
  totals.size.add(lane, dot(next, next));
  totals.curved.add(lane, fma(sigma_n, d_nn, sigma_t * d_tt));

  const V p_t = by_t * z_t;
  const V p = add_scaled(p_t, by_n * z_n, n), turn = cross(n, p_t);
  forces.put(0, lane, wrench(-p, -(arm_a * turn)));
  forces.put(1, lane, wrench(p, arm_b * turn));
}

/// A step of rows (normal, first tangent, second tangent) given g(y) without the shift; returns
/// x_k+1.
template <bool kBox, class Group>
inline V row_step(Group& c, int lane, const StepPass& pass, const V& sigma, const V& y, const V& w,
                  StepTotals& totals) {
  const D step = broadcast(pass.weights.inverse_l), mu = load(c.mu + lane);
  const D tangents = fma(w.y, w.y, w.z * w.z);
  const V g = {w.x + shift_of(c, lane, pass.weights.renew, tangents), w.y, w.z};
  V z = subtract_scaled(y, step, g);
  if constexpr (kBox) {
    const D zero = broadcast(0.0);
    z.x = select(z.x <= zero, zero, z.x);
    const D bound = mu * z.x;
    z.y = clamp_to(z.y, bound);
    z.z = clamp_to(z.z, bound);
  } else {
    D scale;
    project_on_disc(mu, fma(z.y, z.y, z.z * z.z), z.x, scale);
    z.y = scale * z.y;
    z.z = scale * z.z;
  }
  const V d = z - y, now = load_vector(c.x[pass.slots.now], lane);
  store_vector(c.x[pass.slots.next], lane, z);
  totals.moved.add(lane, dot(d, d));
  totals.along.add(lane, dot(g, z - now));
  totals.size.add(lane, dot(z, z));
  totals.curved.add(lane, dot(sigma, V{d.x * d.x, d.y * d.y, d.z * d.z}));
  return z;
}

template <class Group>
inline V momentum_point(const Group& c, int lane, const StepPass& pass) {
  return add_scaled(broadcast(pass.weights.take) * load_vector(c.x[pass.slots.before], lane),
                    broadcast(pass.weights.keep), load_vector(c.x[pass.slots.now], lane));
}

template <bool kBox>
inline void contact_step(ContactGroup& c, int lane, const StepPass& pass, StepTotals& totals,
                         GroupForces& forces) {
  Six a, b;
  load_six(pass.velocities, c.a + lane, a.x);
  load_six(pass.velocities, c.b + lane, b.x);
  const V n = load_vector(c.n, lane), t1 = load_vector(c.t, lane), t2 = cross(n, t1);
  const V r_a = load_vector(c.arm_a, lane), r_b = load_vector(c.arm_b, lane);
  const D by_n = load(c.by_normal + lane), by_t = load(c.by_tangent + lane);
  const D sigma_t = load(c.sigma_t + lane);
  const V sigma = {load(c.sigma_n + lane), sigma_t, sigma_t};
  const V y = momentum_point(c, lane, pass), u = slip(a, b, r_a, r_b);
  const V offset = load_vector(c.offset, lane);
  const V w = {fma(sigma.x, y.x, fma(by_n, dot(n, u), offset.x)),
               fma(sigma_t, y.y, fma(by_t, dot(t1, u), offset.y)),
               fma(sigma_t, y.z, fma(by_t, dot(t2, u), offset.z))};
  const V z = row_step<kBox>(c, lane, pass, sigma, y, w, totals);
  const V p = add_scaled(add_scaled((by_n * z.x) * n, by_t * z.y, t1), by_t * z.z, t2);
  forces.put(0, lane, wrench(-p, cross(p, r_a)));
  forces.put(1, lane, wrench(p, cross(r_b, p)));
}

template <bool kBox>
inline void stored_step(RowGroup& c, int lane, const StepPass& pass, StepTotals& totals,
                        GroupForces& forces) {
  const std::int32_t* const body[2] = {c.a + lane, c.b + lane};
  const V sigma = load_vector(c.sigma, lane), y = momentum_point(c, lane, pass);
  const V offset = load_vector(c.offset, lane);
  V w = {fma(sigma.x, y.x, offset.x), fma(sigma.y, y.y, offset.y), fma(sigma.z, y.z, offset.z)};
  for (int side = 0; side < 2; ++side) {
    Six v;
    load_six(pass.velocities, body[side], v.x);
    for (int i = 0; i < 6; ++i) w = add_scaled(w, v.x[i], load_vector(c.g[side][i], lane));
  }
  const V z = row_step<kBox>(c, lane, pass, sigma, y, w, totals);
  for (int side = 0; side < 2; ++side) {
    Six f;
    for (int i = 0; i < 6; ++i) f.x[i] = dot(load_vector(c.g[side][i], lane), z);
    forces.put(side, lane, f);
  }
}

/// Calls step(group, lane, pass, totals, forces) for all lanes of n groups.
template <class Group, class Step>
inline StepSums walk_groups(Group* first, std::size_t n, const StepPass& pass, Step&& step) {
  StepTotals totals;
  GroupForces forces;
  for (std::size_t k = 0; k < n; ++k) {
    if (k + kAhead < n) {
      const Group& ahead = first[k + kAhead];
      for (int i = 0; i < kLanes; ++i) {
        __builtin_prefetch(pass.velocities + ahead.a[i]);
        __builtin_prefetch(pass.velocities + ahead.b[i]);
        __builtin_prefetch(pass.forces + ahead.a[i], 1);
        __builtin_prefetch(pass.forces + ahead.b[i], 1);
      }
    }
    for (int lane = 0; lane < kLanes; lane += D::kWidth) step(first[k], lane, pass, totals, forces);
    forces.add_to(pass.forces, {first[k].a, first[k].b});
  }
  return totals.sums();
}

StepSums sphere_steps(SphereGroup* first, std::size_t n, const StepPass& pass) {
  return walk_groups(first, n, pass, [](auto&&... x) { sphere_step(x...); });
}

StepSums contact_steps(ContactGroup* first, std::size_t n, const StepPass& pass) {
  return pass.box ? walk_groups(first, n, pass, [](auto&&... x) { contact_step<true>(x...); })
                  : walk_groups(first, n, pass, [](auto&&... x) { contact_step<false>(x...); });
}

StepSums row_steps(RowGroup* first, std::size_t n, const StepPass& pass) {
  return pass.box ? walk_groups(first, n, pass, [](auto&&... x) { stored_step<true>(x...); })
                  : walk_groups(first, n, pass, [](auto&&... x) { stored_step<false>(x...); });
}

}  // namespace
}  // namespace catena
