// The laws of contact for one contact per lane. Part of sweep_kernels.hpp, which says who includes
// it.

#include "solvers/lanes/vectors.hpp"

namespace catena {
namespace {

/// The law's answer (normal, tangent) to the unconstrained solution y of length y_t, with
/// D = diag(d_n, d_t, d_t) given by the inverses. The tangent part keeps y's direction:
/// `scale` times it.
template <BatchLaw kLaw>
inline void answer(const D& y_n, const D& y_t2, const D& mu, const D& inverse_d_n,
                   const D& inverse_d_t, D& z_n, D& scale) {
  const D zero = broadcast(0.0), one = broadcast(1.0);
  if constexpr (kLaw == BatchLaw::coulomb) {
    z_n = max_keeping_nan(zero, y_n);
    const D limit = mu * z_n;
    const M slides = limit * limit < y_t2;
    scale = one;
    if (any(slides)) scale = select(slides, limit / sqrt(y_t2), one);
  } else {
    // min d_n (n - y_n)^2 + d_t (t - y_t)^2 on t = mu n where y is outside
    const D y_t = sqrt(y_t2);
    // without friction the last alone would take any sign of the normal impulse as inside
    const M inside = (zero <= y_n) & (y_t <= mu * y_n);
    const D on_cone =
        fma(mu * inverse_d_n, y_t, inverse_d_t * y_n) / fma(mu * mu, inverse_d_n, inverse_d_t);
    const D cut = select(on_cone <= zero, zero, on_cone);
    z_n = select(inside, y_n, cut);
    // y_t = 0 is inside, or below the cone's tip, where nothing is left
    scale = select(inside, one, select(zero < y_t, mu * cut / y_t, zero));
  }
}

/// Euclidean projection on |tangent| <= mu normal; z_t2 the tangent's square.
inline void project(const D& mu, D& z_n, const D& z_t2, D& scale) {
  const D zero = broadcast(0.0), one = broadcast(1.0);
  const D z_t = sqrt(z_t2);
  const M inside = (zero <= z_n) & (z_t <= mu * z_n);
  const M polar = mu * z_t <= -z_n;
  const D n = fma(mu, z_t, z_n) / fma(mu, mu, one);
  scale = select(inside, one, select(polar, zero, mu * n / z_t));
  z_n = select(inside, z_n, select(polar, zero, n));
}

/// The adjugate of D and what follows for one contact's sliding solution. With the normal impulse
/// eliminated, and all of it times D_nn (math/cone.cpp, Sliding, has the same by eigenvectors):
///   z_t(a) = -T(a)/X(a),  T = adj(S + a I) rho,  X = det(S + a I),  rho = D_nn q_t - D_tn q_n,
///   D_nn z_n(a) X = N(a) = -q_n X + D_nt . T,   S = D_nn D_tt - D_tn D_nt.
struct Adjugate {
  D m00, m01, m02, m11, m12, m22;
};

inline Adjugate adjugate(const D* d) {
  return {fnma(d[4], d[4], d[3] * d[5]), fnma(d[1], d[5], d[2] * d[4]),
          fnma(d[2], d[3], d[1] * d[4]), fnma(d[2], d[2], d[0] * d[5]),
          fnma(d[0], d[4], d[1] * d[2]), fnma(d[1], d[1], d[0] * d[3])};
}

/// The sliding solution: a > 0 where |z_t| = mu z_n, by Newton on psi(a) = mu z_n/|z_t| - 1 inside
/// a bracket, from `a`. `open_lanes`: lanes that slide; on return those that have not settled.
/// Neither divisions nor square roots but one of each per step: the quotients' denominators cancel.
inline V sliding_solution(const D* d, const Adjugate& m, const V& q, const D& mu, D a,
                          M& open_lanes) {
  constexpr int kMaxIterations = 8;
  const D zero = broadcast(0.0), half = broadcast(0.5);
  const D rho1 = fnma(d[1], q.x, d[0] * q.y), rho2 = fnma(d[2], q.x, d[0] * q.z);
  const D trace = m.m22 + m.m11;
  const D det = fnma(m.m12, m.m12, m.m22 * m.m11);  // of S
  // here the determinant has lost too many digits
  const M thin = det <= broadcast(1e-8) * (m.m22 * m.m11);
  open_lanes = and_not(open_lanes, thin);
  D low = zero, high = broadcast(1e300);
  for (int i = 0; i < kMaxIterations && any(open_lanes); ++i) {
    const D x1 = m.m22 + a, x2 = m.m11 + a;
    const D x = fma(a, trace + a, det);
    const D t1 = fma(m.m12, rho2, x2 * rho1), t2 = fma(m.m12, rho1, x1 * rho2);
    const D t_t = fma(t1, t1, t2 * t2);
    const D y1 = fma(m.m12, t2, x2 * t1), y2 = fma(m.m12, t1, x1 * t2);
    const D normal = fnma(q.x, x, fma(d[1], t1, d[2] * t2));
    const D excess = fnma(d[0], sqrt(t_t), mu * normal);  // has the sign of psi
    const D slope = mu * fnma(t_t, fma(d[1], y1, d[2] * y2), normal * fma(t1, y1, t2 * y2));
    const D newton = fnma(excess * x, t_t / slope, a);
    const M below = excess < zero;
    low = select(below & (low < a), a, low);
    high = select(below, high, a);
    // quadratic convergence: the error left is about the square of this step
    const M settled = abs(newton - a) * trace <= broadcast(1e-8) * fma(a, trace, det);
    const M inside = (low < newton) & (newton < high);
    const D next = select(settled | inside, newton, half * (low + high));
    a = select(open_lanes, next, a);
    open_lanes = and_not(open_lanes, settled);
  }
  const D t1 = fma(m.m12, rho2, (m.m11 + a) * rho1), t2 = fma(m.m12, rho1, (m.m22 + a) * rho2);
  const D t = sqrt(fma(t1, t1, t2 * t2));
  // From the direction alone w_n = 0 holds to round-off, unless the coupling nearly cancels the
  // normal stiffness (large mu): that is left to the scalar solve.
  const D stiffness = fnma(mu, fma(d[1], t1, d[2] * t2), d[0] * t);
  open_lanes = open_lanes | thin | (stiffness < broadcast(0.25) * (d[0] * t));
  const D scale = -(q.x / stiffness);
  const D along = -(mu * scale);
  return {scale * t, along * t1, along * t2};
}

/// One contact after the other through rules.solve, for the lanes in `lanes`; w = w(old).
template <class Batch>
inline void solve_lanes(const KernelOptions& rules, const Batch& c, int lane, const V& w,
                        const V& old, const M& lanes, V& z) {
  alignas(64) double w_of[3][kLanes], old_of[3][kLanes], z_of[3][kLanes];
  store_vector(w_of, 0, w);
  store_vector(old_of, 0, old);
  store_vector(z_of, 0, z);
  for (int i = 0; i < D::kWidth; ++i) {
    if (!test(lanes, i)) continue;
    const int k = lane + i;
    double d[6], wi[3], lambda[3], zi[3];
    bool rests = true;
    for (int j = 0; j < 3; ++j) {
      wi[j] = w_of[j][i];
      lambda[j] = old_of[j][i];
      rests = rests && wi[j] == 0.0 && lambda[j] == 0.0;
    }
    // a lane without a contact
    if (rests) continue;
    for (int j = 0; j < 6; ++j) d[j] = c.d[j][k];
    rules.solve(rules.context, d, wi, lambda, c.friction[k], zi);
    for (int j = 0; j < 3; ++j) z_of[j][i] = zi[j];
  }
  z = load_vector(z_of, 0);
}

/// The convex law's solution on the cone: z = z_n e with e = (1, mu cos t, mu sin t), where
/// (q . e)^2/(e . D e) is largest. Newton in t on the stationarity
///   (q . e') (e . D e) - (q . e) (e' . D e) = 0
/// from the direction (c, s). A stationary point with z_n > 0 and w_n >= 0 meets all conditions of
/// the convex problem, so there is no other. `open_lanes`: lanes that slide; on return those that
/// have not settled on it.
inline V convex_sliding_solution(const D* d, const V& q, const D& mu, D c, D s, M& open_lanes) {
  constexpr int kMaxIterations = 8;
  const D zero = broadcast(0.0), half = broadcast(0.5), one = broadcast(1.0);
  const M slides = open_lanes;
  M settled = slides & (one < zero);  // none yet
  D h_n, e_h, q_e;
  for (int i = 0;; ++i) {
    const D x = mu * c, y = mu * s;
    h_n = fma(d[2], y, fma(d[1], x, d[0]));  // h = D e
    const D h_x = fma(d[4], y, fma(d[3], x, d[1])), h_y = fma(d[5], y, fma(d[4], x, d[2]));
    const D along_h = fma(x, h_x, y * h_y), along_q = fma(x, q.y, y * q.z);
    e_h = h_n + along_h;
    q_e = q.x + along_q;
    if (i == kMaxIterations || !any(open_lanes)) break;
    const D turn_h = fnma(y, h_x, x * h_y), turn_q = fnma(y, q.y, x * q.z);       // e' . h, e' . q
    const D turn_turn = fma(y * y, d[3], fnma((x + x) * y, d[4], x * x * d[5]));  // e' . D e'
    const D g = fnma(q_e, turn_h, turn_q * e_h);
    const D slope = fma(turn_q, turn_h, fnma(q_e, turn_turn - along_h, -(along_q * e_h)));
    // half an angle; where the curve bends the other way, downhill
    const D most = broadcast(0.3);
    D step = select(zero < slope, -(half * g / slope), select(g < zero, most, -most));
    step = select(step < -most, -most, select(most < step, most, step));
    step = select(open_lanes, step, zero);
    const D scale = one / fma(step, step, one);
    const D cos_turn = fnma(step, step, one) * scale, sin_turn = (step + step) * scale;
    const D turned = fnma(s, sin_turn, c * cos_turn);
    s = fma(c, sin_turn, s * cos_turn);
    c = turned;
    // quadratic convergence: the error left is about the square of this step
    const M small = open_lanes & (abs(step) <= broadcast(1e-8));
    settled = settled | small;
    open_lanes = and_not(open_lanes, small);
  }
  const D normal = -(q_e / e_h);
  const M right = settled & (zero < normal) & (zero <= fma(h_n, normal, q.x));
  open_lanes = and_not(slides, right);
  const D tangent = mu * normal;
  return {normal, tangent * c, tangent * s};
}

/// (c, s): the direction of the tangent (x, y), or where that is 0 of the one behind.
inline void direction_of(const D& x, const D& y, D& c, D& s) {
  const D square = fma(x, x, y * y);
  const D by_length = broadcast(1.0) / sqrt(square);
  const M some = broadcast(0.0) < square;
  c = select(some, x * by_length, c);
  s = select(some, y * by_length, s);
}

/// Exact solution of the law for the contact alone: open, stuck or sliding.
template <BatchLaw kLaw, class Batch>
inline V exact_solution(const KernelOptions& rules, const Batch& c, int lane, const D* d,
                        const V& w, const V& old) {
  constexpr bool kConvex = kLaw == BatchLaw::ccp;
  const D zero = broadcast(0.0), one = broadcast(1.0);
  const D mu = load(c.friction + lane);
  const V q = w - multiply_symmetric(d, old);  // w at zero impulse
  M closed = q.x < zero;
  if constexpr (kConvex) closed = q.x < mu * sqrt(fma(q.y, q.y, q.z * q.z));
  // D^-1 w by the adjugate; D is shifted where it would be singular. The change from the present
  // impulse keeps the digits near a solution.
  const Adjugate m = adjugate(d);
  const D by_det = one / fma(d[0], m.m00, fma(d[1], m.m01, d[2] * m.m02));
  const D rows[6] = {m.m00, m.m01, m.m02, m.m11, m.m12, m.m22};
  const V stuck = subtract_scaled(old, by_det, multiply_symmetric(rows, w));
  const D limit = mu * stuck.x;
  const M sticks =
      closed & (zero < stuck.x) & (fma(stuck.y, stuck.y, stuck.z * stuck.z) <= limit * limit);
  V z = {select(sticks, stuck.x, zero), select(sticks, stuck.y, zero),
         select(sticks, stuck.z, zero)};
  // a NaN in q is neither open nor closed: it is carried on
  const D sum = kConvex ? q.x + (q.y + q.z) : q.x;
  z.x = select(sum != sum, sum, z.x);
  M slides = and_not(closed, sticks);
  if (!any(slides)) return z;
  const M smooth = slides & (mu <= zero);
  z.x = select(smooth, -(q.x / d[0]), z.x);
  slides = and_not(slides, smooth);
  M open_lanes = slides;
  V s;
  if constexpr (kConvex) {
    // what slid before slides in about the same direction
    D along_x = one, along_y = zero;
    direction_of(-q.y, -q.z, along_x, along_y);
    direction_of(old.y, old.z, along_x, along_y);
    s = convex_sliding_solution(d, q, mu, along_x, along_y, open_lanes);
  } else {
    // what slid before still slides about as fast: w_t = -a z_t
    const D old_t = fma(old.y, old.y, old.z * old.z);
    const D ratio = -(d[0] * fma(w.y, old.y, w.z * old.z)) / old_t;
    s = sliding_solution(d, m, q, mu, select(zero < ratio, ratio, zero), open_lanes);
  }
  z = {select(slides, s.x, z.x), select(slides, s.y, z.y), select(slides, s.z, z.z)};
  open_lanes = slides & open_lanes;
  if (any(open_lanes)) solve_lanes(rules, c, lane, w, old, open_lanes, z);
  return z;
}

/// The turn of a contact with a full block D.
enum class Turn : std::int8_t { scalar, coulomb, convex };

inline Turn turn_of(const KernelOptions& rules) {
  if (!rules.vector_solve) return Turn::scalar;
  return rules.law == BatchLaw::ccp ? Turn::convex : Turn::coulomb;
}

template <Turn kTurn, class Batch>
inline V new_impulse(const KernelOptions& rules, const Batch& c, int lane, const D* d, const V& w,
                     const V& old) {
  if constexpr (kTurn == Turn::coulomb)
    return exact_solution<BatchLaw::coulomb>(rules, c, lane, d, w, old);
  else if constexpr (kTurn == Turn::convex)
    return exact_solution<BatchLaw::ccp>(rules, c, lane, d, w, old);
  V z = old;
  solve_lanes(rules, c, lane, w, old, all_lanes(), z);
  return z;
}

}  // namespace
}  // namespace catena
