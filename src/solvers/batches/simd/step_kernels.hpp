// Steps of first-order methods over batches, in one pass: momentum, slip, projection, sums and
// forces. The end of sweep_kernels.hpp, which says who includes it.

namespace catena {
namespace {

struct StepTotals {
  LaneSums moved{}, along{}, size{}, curved{};
  StepSums sums() const { return {moved.total(), along.total(), size.total(), curved.total()}; }
};

/// s^2 of the normal and of the tangents, 1/h of rows that move and 0 of others, by one division;
/// tangents move with the normal or not at all.
struct SquaredScales {
  D n, t;
};
inline SquaredScales scales_of(const D& h_n, const D& h_t) {
  const D zero = broadcast(0.0), one = broadcast(1.0);
  const M slides = zero < h_t;
  const D factor = select(slides, h_t, one), product = h_n * factor;
  const M moves = zero < product;
  const D by = select(moves, one / select(moves, product, one), zero);
  return {factor * by, select(slides, h_n * by, zero)};
}

/// Projection on |x_t| <= mu x_n in the metric diag(1/h_n, 1/h_t, 1/h_t), x_t of any frame: the
/// normal part, and what x_t is multiplied by.
inline void project_on_disc(const D& mu, const D& h_n, const D& h_t, const D& t2, D& n, D& scale) {
  const D zero = broadcast(0.0), one = broadcast(1.0);
  const D limit = mu * n;
  // a NaN is not inside, and is carried on
  const M inside = (zero <= n) & (t2 <= limit * limit);
  scale = one;
  if (!any(and_not(all_lanes(), inside))) return;
  const D t = sqrt(t2);
  const D pull = fma(mu * h_n, t, h_t * n);
  const D on_cone = select(pull <= zero, zero, pull / fma(mu * mu, h_n, h_t));
  scale = select(inside, one, select(zero < t, mu * on_cone / t, zero));
  n = select(inside, n, on_cone);
}

inline D clamp_to(const D& x, const D& bound) {
  return select(x < -bound, -bound, select(bound < x, bound, x));
}

inline D friction_of(const double (&friction)[kLanes], int lane, const StepPass& pass) {
  return pass.rough ? load(friction + lane) : broadcast(0.0);
}

inline D shift_of(StepBatch& s, int lane, bool renew, const D& mu, const D& t2) {
  if (!renew) return load(s.shift + lane);
  const D shift = mu * sqrt(t2);
  store(s.shift + lane, shift);
  return shift;
}

inline V momentum_point(const StepBatch& s, int lane, const StepPass& pass, const V& now) {
  const MomentumPoint& y = pass.weights.y;
  return add_scaled(broadcast(y.take) * load_vector(s.x[pass.slots.before], lane),
                    broadcast(y.keep), now);
}

inline Lines wrench(const V& force, const V& couple) {
  const D zero = broadcast(0.0);
  return {{force.x, force.y, force.z, couple.x, couple.y, couple.z, zero, zero}};
}

[[gnu::always_inline]] inline void sphere_step(const SphereBatch& c, StepBatch& s, int lane,
                                               const StepPass& pass, StepTotals& totals) {
  Lines a, b;
  load_lines(pass.velocities, c.a + lane, a);
  load_lines(pass.velocities, c.b + lane, b);
  const V n = load_vector(c.n, lane);
  const D arm_a = load(c.arm_a + lane), arm_b = load(c.arm_b + lane);
  const D sigma_n = load(c.sigma_n + lane), sigma_t = load(c.sigma_t + lane);
  const D h_n = load(s.h_n + lane), h_t = load(s.h_t + lane);
  const D mu = friction_of(c.friction, lane, pass), by_l = broadcast(pass.weights.inverse_l);
  const V now = load_vector(s.x[pass.slots.now], lane);
  const V y = momentum_point(s, lane, pass, now);
  const D y_n = dot(n, y);
  const V y_t = subtract_scaled(y, y_n, n);

  const V arms = subtract_scaled(arm_b * spin(b), arm_a, spin(a));
  const V u = (velocity(b) - velocity(a)) + cross(arms, n);
  const D u_n = dot(n, u);
  const V w_t =
      add_scaled(subtract_scaled(u, u_n, n) + load_vector(c.slip_bias, lane), sigma_t, y_t);
  const D w_n = fma(sigma_n, y_n, u_n + load(c.bias + lane)) +
                shift_of(s, lane, pass.weights.renew, mu, dot(w_t, w_t));

  D z_n = fnma(by_l * h_n, w_n, y_n), scale;
  const V trial = subtract_scaled(y_t, by_l * h_t, w_t);
  project_on_disc(mu, h_n, h_t, dot(trial, trial), z_n, scale);
  const V z_t = scale * trial;
  const V next = add_scaled(z_t, z_n, n);
  store_vector(s.x[pass.slots.next], lane, next);

  const SquaredScales s2 = scales_of(h_n, h_t);
  const D d_n = z_n - y_n;
  const V d_t = z_t - y_t, e = next - now;
  const D d_tt = dot(d_t, d_t), d_nn = d_n * d_n;
  totals.moved.add(lane, fma(s2.n, d_nn, s2.t * d_tt));
  totals.along.add(lane, fma(w_n, dot(n, e), dot(w_t, e)));
  totals.size.add(lane, fma(s2.n, z_n * z_n, s2.t * dot(z_t, z_t)));
  totals.curved.add(lane, fma(sigma_n, d_nn, sigma_t * d_tt));

  const V turn = cross(n, z_t);
  add_lines(pass.forces, c.a + lane, wrench(-next, -(arm_a * turn)));
  add_lines(pass.forces, c.b + lane, wrench(next, arm_b * turn));
}

/// A step of rows (normal, first tangent, second tangent) from y, given w(y) without the shift;
/// returns x_k+1.
template <bool kBox>
inline V row_step(StepBatch& s, int lane, const StepPass& pass, const D& mu, const V& sigma,
                  const V& now, const V& y, const V& w, StepTotals& totals) {
  const D h_n = load(s.h_n + lane), h_t = load(s.h_t + lane);
  const D by_l = broadcast(pass.weights.inverse_l);
  const D tangents = fma(w.y, w.y, w.z * w.z);
  const V g = {w.x + shift_of(s, lane, pass.weights.renew, mu, tangents), w.y, w.z};
  const D step_t = by_l * h_t;
  V z = {fnma(by_l * h_n, g.x, y.x), fnma(step_t, g.y, y.y), fnma(step_t, g.z, y.z)};
  if constexpr (kBox) {
    const D zero = broadcast(0.0);
    z.x = select(z.x <= zero, zero, z.x);
    const D bound = mu * z.x;
    z.y = clamp_to(z.y, bound);
    z.z = clamp_to(z.z, bound);
  } else {
    D scale;
    project_on_disc(mu, h_n, h_t, fma(z.y, z.y, z.z * z.z), z.x, scale);
    z.y = scale * z.y;
    z.z = scale * z.z;
  }
  store_vector(s.x[pass.slots.next], lane, z);
  const SquaredScales s2 = scales_of(h_n, h_t);
  const V d = z - y, d2 = {d.x * d.x, d.y * d.y, d.z * d.z};
  totals.moved.add(lane, fma(s2.n, d2.x, s2.t * (d2.y + d2.z)));
  totals.along.add(lane, dot(g, z - now));
  totals.size.add(lane, fma(s2.n, z.x * z.x, s2.t * fma(z.y, z.y, z.z * z.z)));
  totals.curved.add(lane, dot(sigma, d2));
  return z;
}

template <bool kBox>
[[gnu::always_inline]] inline void arm_step(const GeneralContactBatch& c, StepBatch& s, int lane,
                                            const StepPass& pass, StepTotals& totals) {
  Lines a, b;
  load_lines(pass.velocities, c.a + lane, a);
  load_lines(pass.velocities, c.b + lane, b);
  const V n = load_vector(c.n, lane), t1 = load_vector(c.t, lane), t2 = cross(n, t1);
  const V r_a = load_vector(c.arm_a, lane), r_b = load_vector(c.arm_b, lane);
  const D sigma_t = load(c.sigma_t + lane);
  const V sigma = {load(c.sigma_n + lane), sigma_t, sigma_t};
  const V now = load_vector(s.x[pass.slots.now], lane), y = momentum_point(s, lane, pass, now);
  const V u = (velocity(b) - velocity(a)) + (cross(spin(b), r_b) - cross(spin(a), r_a));
  const V bias = load_vector(c.bias, lane);
  const V w = {fma(sigma.x, y.x, dot(n, u) + bias.x), fma(sigma_t, y.y, dot(t1, u) + bias.y),
               fma(sigma_t, y.z, dot(t2, u) + bias.z)};
  const V z =
      row_step<kBox>(s, lane, pass, friction_of(c.friction, lane, pass), sigma, now, y, w, totals);
  const V p = add_scaled(add_scaled(z.x * n, z.y, t1), z.z, t2);
  add_lines(pass.forces, c.a + lane, wrench(-p, cross(p, r_a)));
  add_lines(pass.forces, c.b + lane, wrench(p, cross(r_b, p)));
}

template <bool kBox>
[[gnu::always_inline]] inline void explicit_step(const ExplicitContactBatch& c, StepBatch& s,
                                                 int lane, const StepPass& pass,
                                                 StepTotals& totals) {
  const std::int32_t* const body[2] = {c.a + lane, c.b + lane};
  const V sigma = load_vector(c.sigma, lane), bias = load_vector(c.bias, lane);
  const V now = load_vector(s.x[pass.slots.now], lane), y = momentum_point(s, lane, pass, now);
  V w = {fma(sigma.x, y.x, bias.x), fma(sigma.y, y.y, bias.y), fma(sigma.z, y.z, bias.z)};
  for (int side = 0; side < 2; ++side) {
    Lines v;
    load_lines(pass.velocities, body[side], v);
    w = add_velocities(w, c.g[side], lane, v);
  }
  const V z =
      row_step<kBox>(s, lane, pass, friction_of(c.friction, lane, pass), sigma, now, y, w, totals);
  for (int side = 0; side < 2; ++side) {
    D f[6];
    for (int i = 0; i < 6; ++i) f[i] = dot(load_vector(c.g[side][i], lane), z);
    add_lines(pass.forces, body[side], wrench({f[0], f[1], f[2]}, {f[3], f[4], f[5]}));
  }
}

/// Calls step(batch, its iterates, lane, pass, totals) for all lanes of n batches.
template <class Batch, class Step>
inline StepSums all_steps(const Batch* first, StepBatch* iterates, std::size_t n, StepPass pass,
                          Step&& step) {
  StepTotals totals;
  for (std::size_t k = 0; k < n; ++k) {
    if (k + 2 * kAhead < n) __builtin_prefetch(first[k + 2 * kAhead].a);
    if (k + kAhead < n) {
      const Batch& ahead = first[k + kAhead];
      for (int i = 0; i < kLanes; ++i) {
        __builtin_prefetch(pass.velocities + ahead.a[i]);
        __builtin_prefetch(pass.velocities + ahead.b[i]);
        __builtin_prefetch(pass.forces + ahead.a[i], 1);
        __builtin_prefetch(pass.forces + ahead.b[i], 1);
      }
    }
    for (int lane = 0; lane < kLanes; lane += D::kWidth)
      step(first[k], iterates[k], lane, pass, totals);
  }
  return totals.sums();
}

StepSums sphere_steps(const SphereBatch* first, StepBatch* iterates, std::size_t n,
                      const StepPass& pass) {
  return all_steps(first, iterates, n, pass, [](auto&&... x) { sphere_step(x...); });
}

StepSums arm_steps(const GeneralContactBatch* first, StepBatch* iterates, std::size_t n,
                   const StepPass& pass) {
  if (pass.box)
    return all_steps(first, iterates, n, pass, [](auto&&... x) { arm_step<true>(x...); });
  return all_steps(first, iterates, n, pass, [](auto&&... x) { arm_step<false>(x...); });
}

StepSums explicit_steps(const ExplicitContactBatch* first, StepBatch* iterates, std::size_t n,
                        const StepPass& pass) {
  if (pass.box)
    return all_steps(first, iterates, n, pass, [](auto&&... x) { explicit_step<true>(x...); });
  return all_steps(first, iterates, n, pass, [](auto&&... x) { explicit_step<false>(x...); });
}

}  // namespace
}  // namespace catena
