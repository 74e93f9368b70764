// The laws of contacts that roll and spin between bodies they see as spheres, one contact per lane.
// Part of sweep_kernels.hpp, which says who includes it.

namespace catena {
namespace {

/// Impulses (or velocities) of a contact by kind: along the normal, sliding, rolling and spinning.
/// Rolling is turned by a right angle about the normal, (couple) x n: it lies along the sliding
/// that it is coupled with.
struct Kinds {
  D n;
  V t, r;
  D s;
};

inline Kinds operator-(const Kinds& a, const Kinds& b) {
  return {a.n - b.n, a.t - b.t, a.r - b.r, a.s - b.s};
}
inline V select(const M& m, const V& yes, const V& no) {
  return {select(m, yes.x, no.x), select(m, yes.y, no.y), select(m, yes.z, no.z)};
}

/// D of the contact and the bounds of its discs: D = d_n and d_s on the normal and spinning rows,
/// (d_t c; c d_r) times the unit matrix on sliding and rolling, with the inverse (h_t -h_c; -h_c
/// h_r). A disc without bound (mu = 0) is left out of the inverse: its row and column are zero.
struct RoundBlock {
  D d_n, d_t, d_r, d_s, c;
  D h_t, h_r, h_c;
  D mu, mu_r, mu_s;
};

inline D length2(const V& a) { return dot(a, a); }

/// x within +- limit; x itself where it is not a number.
inline D clamp(const D& x, const D& limit) {
  const D low = -limit;
  return select(limit < x, limit, select(x < low, low, x));
}

/// Where both discs are at their bounds: multipliers x and y with
///
///   (d_t + x) t + c r = p,   c t + (d_r + y) r = q,   |t| = mu z_n,   |r| = mu_r z_n
///
/// by Newton's method on 1/|t| and 1/|r|, nearly linear in x and y; by Coulomb's law for a given
/// z_n, by the convex one with
///
///   d_n z_n - f_n = mu^2 x z_n + mu_r^2 y z_n + mu_s max(0, d_s (|y_s| - mu_s z_n))
///
/// for z_n as a third unknown. `open_lanes`: lanes to solve; on return those that have not settled.
/// x, y and z.n: the start.
template <BatchLaw kLaw>
inline void both_at_bounds(const RoundBlock& k, const V& p, const V& q, const D& f_n, const D& y_s,
                           D x, D y, M& open_lanes, Kinds& z) {
  constexpr int kMaxIterations = 12;
  constexpr bool kConvex = kLaw == BatchLaw::ccp;
  const D zero = broadcast(0.0), one = broadcast(1.0), small = broadcast(1e-8);
  const D by_mu = one / k.mu, by_mu_r = one / k.mu_r;
  D n = z.n;
  D by_n = one / n;
  for (int i = 0; i < kMaxIterations && any(open_lanes); ++i) {
    const D e = k.d_t + x, f = k.d_r + y;
    const D det = fnma(k.c, k.c, e * f);
    const V a = subtract_scaled(f * p, k.c, q), b = subtract_scaled(e * q, k.c, p);
    const D aa = length2(a), bb = length2(b), g = k.c * dot(a, b);
    const D radius_a = sqrt(aa) * by_mu * by_n, radius_b = sqrt(bb) * by_mu_r * by_n;
    const D miss_a = radius_a - det, miss_b = radius_b - det;
    // (f, -g/aa; -g/bb, e) (dx, dy) = misses, all times aa bb
    const D ab = aa * bb, e_ab = e * ab, f_ab = f * ab, g_a = g * aa, g_b = g * bb;
    const D by_slope = one / fnma(g, g, e * f_ab);
    D dx = by_slope * fma(e_ab, miss_a, g_b * miss_b);
    D dy = by_slope * fma(f_ab, miss_b, g_a * miss_a);
    D share = zero;  // of z_n that it changes by
    M held = one < zero;
    if constexpr (kConvex) {
      const D by_change = by_slope * fma(e_ab, radius_a, g_b * radius_b);
      const D by_change_r = by_slope * fma(f_ab, radius_b, g_a * radius_a);
      const D mu2 = k.mu * k.mu, mu2_r = k.mu_r * k.mu_r;
      const D beyond = fnma(k.mu_s, n, abs(y_s));
      const M spins = zero < beyond;
      const D pull_s = select(spins, k.mu_s * k.d_s * beyond, zero);
      const D own = k.d_n - fma(mu2, x, mu2_r * y);
      const D excess = own - by_n * (f_n + pull_s);  // over z_n
      const D slope = own + select(spins, k.mu_s * k.mu_s * k.d_s, zero) +
                      fma(mu2, by_change, mu2_r * by_change_r);
      // which is d_n at least: far off it may show less, and z_n then waits for x and y
      held = slope < broadcast(0.5) * k.d_n;
      share = select(held, zero, (fma(mu2, dx, mu2_r * dy) - excess) / slope);
      dx = fnma(share, by_change, dx);
      dy = fnma(share, by_change_r, dy);
    }
    // quadratic convergence: the error left is about the square of this step
    const M settled = (abs(dx) <= small * e) & (abs(dy) <= small * f) & (abs(share) <= small);
    x = select(open_lanes, max_keeping_nan(zero, x + dx), x);
    y = select(open_lanes, max_keeping_nan(zero, y + dy), y);
    if constexpr (kConvex) {
      const D next = n * max_keeping_nan(broadcast(0.1), one + share);
      n = select(open_lanes, next, n);
      by_n = one / n;
    }
    open_lanes = and_not(open_lanes, and_not(settled, held));
  }
  const D e = k.d_t + x, f = k.d_r + y;
  const V a = subtract_scaled(f * p, k.c, q), b = subtract_scaled(e * q, k.c, p);
  z.n = n;
  z.t = (k.mu * n / sqrt(length2(a))) * a;
  z.r = (k.mu_r * n / sqrt(length2(b))) * b;
}

inline void store_kinds(double (&p)[8][kLanes], const Kinds& k) {
  const D numbers[8] = {k.n, k.t.x, k.t.y, k.t.z, k.r.x, k.r.y, k.r.z, k.s};
  for (int j = 0; j < 8; ++j) store(p[j], numbers[j]);
}

/// One contact after the other through rules.solve_rolling, for the lanes in `lanes`.
inline void solve_rolling_lanes(const KernelOptions& rules, const RoundBlock& k, const V& normal,
                                const Kinds& w, const Kinds& old, const M& lanes, Kinds& z) {
  alignas(64) double n_of[3][kLanes], d_of[8][kLanes], w_of[8][kLanes], old_of[8][kLanes],
      z_of[8][kLanes];
  store_vector(n_of, 0, normal);
  store_kinds(d_of, {k.d_n, {k.d_t, k.d_r, k.d_s}, {k.mu, k.mu_r, k.mu_s}, k.c});
  store_kinds(w_of, w);
  store_kinds(old_of, old);
  store_kinds(z_of, z);
  for (int i = 0; i < D::kWidth; ++i) {
    if (!test(lanes, i)) continue;
    RollingTurn turn;
    for (int j = 0; j < 3; ++j) turn.normal[j] = n_of[j][i];
    for (int j = 0; j < 4; ++j) turn.d[j] = d_of[j][i];
    for (int j = 0; j < 3; ++j) turn.bound[j] = d_of[j + 4][i];
    turn.coupling = d_of[7][i];
    for (int j = 0; j < 8; ++j) {
      turn.w[j] = w_of[j][i];
      turn.lambda[j] = old_of[j][i];
    }
    double out[8];
    rules.solve_rolling(rules.context, turn, out);
    for (int j = 0; j < 8; ++j) z_of[j][i] = out[j];
  }
  z = {load(z_of[0]),
       {load(z_of[1]), load(z_of[2]), load(z_of[3])},
       {load(z_of[4]), load(z_of[5]), load(z_of[6])},
       load(z_of[7])};
}

/// Multipliers to start both_at_bounds from, x and y on entry those of who knows nothing: what slid
/// and rolled before (in `lanes`) still does so about as fast. Returns where that is taken.
[[gnu::always_inline]] inline M keep_multipliers(const Kinds& w, const Kinds& old, const M& lanes,
                                                 D& x, D& y) {
  const D zero = broadcast(0.0);
  const D tt = length2(old.t), rr = length2(old.r);
  const D slid = -dot(w.t, old.t), rolled = -dot(w.r, old.r);
  const M warm = lanes & (zero < slid) & (zero < rolled) & (zero < tt) & (zero < rr);
  x = select(warm, slid / tt, max_keeping_nan(zero, x));
  y = select(warm, rolled / rr, max_keeping_nan(zero, y));
  return warm;
}

/// Exact solution of Coulomb's law for the contact alone. w: at the impulses `old`.
[[gnu::always_inline]] inline Kinds rolling_answer_coulomb(const KernelOptions& rules,
                                                           const RoundBlock& k,
                                                           const D& inverse_d_n,
                                                           const D& inverse_d_s, const V& normal,
                                                           const Kinds& w, const Kinds& old) {
  const D zero = broadcast(0.0), one = broadcast(1.0);
  Kinds z;
  z.n = max_keeping_nan(zero, fnma(inverse_d_n, w.n, old.n));
  z.s = clamp(fnma(inverse_d_s, w.s, old.s), k.mu_s * z.n);
  // as if both held; the change from the present impulses keeps the digits near a solution
  z.t = old.t - subtract_scaled(k.h_t * w.t, k.h_c, w.r);
  z.r = old.r - subtract_scaled(k.h_r * w.r, k.h_c, w.t);
  const D most = k.mu * z.n, most_r = k.mu_r * z.n;
  const D most2 = most * most, most2_r = most_r * most_r;
  const D tt = length2(z.t), rr = length2(z.r);
  // what is not a number counts as held and is carried on
  const M out = most2 < tt, out_r = most2_r < rr;
  if (!any(out | out_r)) return z;
  const V free_t = z.t, free_r = z.r;
  const D cut = select(out, most / sqrt(tt), one), cut_r = select(out_r, most_r / sqrt(rr), one);
  const V cut_t = cut * free_t, cut_to_r = cut_r * free_r;
  // the other disc takes up what is cut
  const V held_r = add_scaled(free_r, k.h_c / k.h_t, free_t - cut_t);
  const V held_t = add_scaled(free_t, k.h_c / k.h_r, free_r - cut_to_r);
  const M slides = out & (length2(held_r) <= most2_r);
  const M rolls = and_not(out_r & (length2(held_t) <= most2), slides);
  z.t = select(slides, cut_t, select(rolls, held_t, free_t));
  z.r = select(slides, held_r, select(rolls, cut_to_r, free_r));
  // nothing holds an open contact
  const M is_open = z.n <= zero;
  const V nothing = {zero, zero, zero};
  z.t = select(is_open, nothing, z.t);
  z.r = select(is_open, nothing, z.r);
  const M both = and_not(and_not(and_not(out | out_r, slides), rolls), is_open);
  if (!any(both)) return z;
  // where sliding and rolling hardly know of each other each disc alone has the answer
  const M coupled = broadcast(1e-4) * (k.d_t * k.d_r) < k.c * k.c;
  D x = (one / cut - one) / k.h_t, y = (one / cut_r - one) / k.h_r;
  keep_multipliers(w, old, coupled, x, y);
  const V p = add_scaled(k.d_t * free_t, k.c, free_r), q = add_scaled(k.d_r * free_r, k.c, free_t);
  M open_lanes = both;
  Kinds at_bounds = z;
  both_at_bounds<BatchLaw::coulomb>(k, p, q, zero, zero, x, y, open_lanes, at_bounds);
  z.t = select(both, at_bounds.t, z.t);
  z.r = select(both, at_bounds.r, z.r);
  if (any(open_lanes)) solve_rolling_lanes(rules, k, normal, w, old, open_lanes, z);
  return z;
}

/// The same by the convex law: the normal impulse is where d_n z_n - f_n = mu |w_t| + mu_r |w_r| +
/// mu_s |w_s|, which grows with z_n; in closed form but for both discs at their bounds.
[[gnu::always_inline]] inline Kinds rolling_answer_ccp(const KernelOptions& rules,
                                                       const RoundBlock& k, const D& inverse_d_n,
                                                       const D& inverse_d_s, const V& normal,
                                                       const Kinds& w, const Kinds& old) {
  const D zero = broadcast(0.0), one = broadcast(1.0);
  const V nothing = {zero, zero, zero};
  const D y_n = fnma(inverse_d_n, w.n, old.n), y_s = fnma(inverse_d_s, w.s, old.s);
  const V free_t = old.t - subtract_scaled(k.h_t * w.t, k.h_c, w.r);
  const V free_r = old.r - subtract_scaled(k.h_r * w.r, k.h_c, w.t);
  const D len = sqrt(length2(free_t)), len_r = sqrt(length2(free_r)), len_s = abs(y_s);
  const D f_n = k.d_n * y_n;
  const D pull_s = k.mu_s * k.d_s * len_s, stiff_s = k.mu_s * k.mu_s * k.d_s;
  // z_n from (top, bottom) of the others: spinning at its bound, or held
  const auto normal_of = [&](const D& top, const D& bottom) {
    const D with = (top + pull_s) / (bottom + stiff_s);
    return select(len_s <= k.mu_s * with, top / bottom, with);
  };
  Kinds z;
  z.n = normal_of(f_n, k.d_n);
  z.t = free_t;
  z.r = free_r;
  const D sum = y_n + (len + (len_r + len_s));
  const M not_number = sum != sum;
  const M holds = (zero <= z.n) & (len <= k.mu * z.n) & (len_r <= k.mu_r * z.n);
  // at the tip: w at no impulse lies in the dual cone
  const D coupled_c = select((zero < k.mu) & (zero < k.mu_r), k.c, zero);
  const V p = add_scaled(k.d_t * free_t, coupled_c, free_r);
  const V q = add_scaled(k.d_r * free_r, coupled_c, free_t);
  const D len_p = sqrt(length2(p)), len_q = sqrt(length2(q));
  const D pull = fma(k.mu, len_p, fma(k.mu_r, len_q, f_n + pull_s));
  const M tip = pull <= zero;
  M rest = and_not(and_not(and_not(all_lanes(), holds), tip), not_number);
  z.n = select(tip, zero, z.n);
  z.t = select(tip, nothing, z.t);
  z.r = select(tip, nothing, z.r);
  if (any(rest)) {
    const D alone = one / k.h_t, alone_r = one / k.h_r;  // stiffness while the other holds
    const D n_t = normal_of(fma(k.mu * alone, len, f_n), fma(k.mu * alone, k.mu, k.d_n));
    const D n_r =
        normal_of(fma(k.mu_r * alone_r, len_r, f_n), fma(k.mu_r * alone_r, k.mu_r, k.d_n));
    const V cut_t = (k.mu * n_t / len) * free_t, cut_to_r = (k.mu_r * n_r / len_r) * free_r;
    const V held_r = add_scaled(free_r, k.h_c * alone, free_t - cut_t);
    const V held_t = add_scaled(free_t, k.h_c * alone_r, free_r - cut_to_r);
    const D most_r = k.mu_r * n_t, most = k.mu * n_r;
    const M slides =
        rest & (zero < n_t) & (k.mu * n_t < len) & (length2(held_r) <= most_r * most_r);
    const M rolls = and_not(
        rest & (zero < n_r) & (k.mu_r * n_r < len_r) & (length2(held_t) <= most * most), slides);
    z.n = select(slides, n_t, select(rolls, n_r, z.n));
    z.t = select(slides, cut_t, select(rolls, held_t, z.t));
    z.r = select(slides, held_r, select(rolls, cut_to_r, z.r));
    rest = and_not(and_not(rest, slides), rolls);
  }
  M open_lanes = rest;
  if (any(rest)) {
    // from the step that Newton's method takes from the tip, which is not too far
    const D bottom = fma(k.mu * k.mu, k.d_t, fma(k.mu_r * k.mu_r, k.d_r, k.d_n));
    const D first = normal_of(pull - pull_s, bottom);
    Kinds at_bounds = z;
    D x = len_p / (k.mu * first) - k.d_t, y = len_q / (k.mu_r * first) - k.d_r;
    at_bounds.n = select(keep_multipliers(w, old, zero < old.n, x, y), old.n, first);
    both_at_bounds<BatchLaw::ccp>(k, p, q, f_n, y_s, x, y, open_lanes, at_bounds);
    z.n = select(rest, at_bounds.n, z.n);
    z.t = select(rest, at_bounds.t, z.t);
    z.r = select(rest, at_bounds.r, z.r);
  }
  z.s = clamp(y_s, k.mu_s * z.n);
  if (any(open_lanes)) solve_rolling_lanes(rules, k, normal, w, old, open_lanes, z);
  z.n = select(not_number, sum, z.n);
  return z;
}

/// Projection on the cone in the metric of D's diagonal (math/disc_cone.hpp, project_disc_cone):
/// the root of an increasing, concave, piecewise linear function from below.
inline void project(const RoundBlock& k, Kinds& z) {
  constexpr int kPieces = 4;
  const D zero = broadcast(0.0), one = broadcast(1.0);
  const D len = sqrt(length2(z.t)), len_r = sqrt(length2(z.r)), len_s = abs(z.s);
  const D pull = k.mu * k.d_t, pull_r = k.mu_r * k.d_r, pull_s = k.mu_s * k.d_s;
  const D top = k.d_n * z.n;
  const D all = fma(pull, len, fma(pull_r, len_r, fma(pull_s, len_s, top)));
  D n = all / fma(pull, k.mu, fma(pull_r, k.mu_r, fma(pull_s, k.mu_s, k.d_n)));
  for (int i = 1; i < kPieces; ++i) {
    const D by = select(k.mu * n < len, pull, zero),
            by_r = select(k.mu_r * n < len_r, pull_r, zero);
    const D by_s = select(k.mu_s * n < len_s, pull_s, zero);
    n = fma(by, len, fma(by_r, len_r, fma(by_s, len_s, top))) /
        fma(by, k.mu, fma(by_r, k.mu_r, fma(by_s, k.mu_s, k.d_n)));
  }
  n = select(all <= zero, zero, n);
  z.n = n;
  const D most = k.mu * n, most_r = k.mu_r * n;
  z.t = select(most < len, most / len, one) * z.t;
  z.r = select(most_r < len_r, most_r / len_r, one) * z.r;
  z.s = clamp(z.s, k.mu_s * n);
}

}  // namespace
}  // namespace catena
