// Energy errors of batches, and what their impulses do to bodies. The end of sweep_kernels.hpp,
// which says who includes it.

namespace catena {
namespace {

template <BatchLaw kLaw>
struct Constant {
  static constexpr BatchLaw value = kLaw;
};

/// Sums of one kind of batches, at its impulses or at zero ones.
struct ErrorSums {
  bool at_zero;
  LaneSums normal{}, friction{}, scale{};
  BatchErrors total() const { return {normal.total(), friction.total(), scale.total()}; }
  /// Impulses as their errors are taken.
  V impulse(const double (&p)[3][kLanes], int lane) const {
    const D zero = broadcast(0.0);
    return at_zero ? V{zero, zero, zero} : load_vector(p, lane);
  }
};

inline D length_of(const V& a) { return sqrt(dot(a, a)); }

/// Adds s^2 (1/d_n + 2/d_t), s = |v_a| + |v_b| + |r_a| |w_a| + |r_b| |w_b| + |b|, of lanes with
/// d_n > 0.
inline void add_scale(const Lines& a, const Lines& b, const D& arm_a, const D& arm_b,
                      const D& bias_n, const V& bias_t, const D& d_n, const D& d_t, int lane,
                      ErrorSums& sums) {
  const D zero = broadcast(0.0), one = broadcast(1.0);
  const D s = length_of(velocity(a)) + length_of(velocity(b)) + abs(arm_a) * length_of(spin(a)) +
              abs(arm_b) * length_of(spin(b)) + sqrt(fma(bias_n, bias_n, dot(bias_t, bias_t)));
  const D by_n = select(zero < d_n, one / d_n, zero);
  const D by_t = select(zero < d_t, one / d_t, zero);
  sums.scale.add(lane, s * s * (by_n + by_t + by_t));
}

/// D_kk of a contact as its errors see it: its own where no mass is split, else the given one.
inline D diagonal_of(const BatchDiagonal* given, int row, int lane, const D& own) {
  return given == nullptr ? own : load(given->d[row] + lane);
}

/// 1/2 |e|^2 in the metric of D = diag(d_n, d_t, d_t), e = p - P(p - D^-1 what) with P the
/// projection on the cone in that metric, what = w + mu |w_t| n under Coulomb's law
/// (docs/theory.md, "Errors"): row_errors::cone_contact in lanes. Lanes with d_n = 0 hold no
/// contact.
template <BatchLaw kLaw>
inline void add_cone_error(const D& p_n, const V& p_t, D w_n, const V& w_t, const D& d_n,
                           const D& d_t, const D& mu, int lane, ErrorSums& sums) {
  const D zero = broadcast(0.0), half = broadcast(0.5), one = broadcast(1.0);
  const M none = d_n <= zero;
  const D by_n = one / select(none, one, d_n);
  if constexpr (kLaw == BatchLaw::frictionless) {
    const D e = p_n - max_keeping_nan(zero, fnma(by_n, w_n, p_n));
    sums.normal.add(lane, select(none, zero, half * d_n * e * e));
    return;
  }
  if constexpr (kLaw == BatchLaw::coulomb) w_n = fma(mu, sqrt(dot(w_t, w_t)), w_n);
  const D by_t = one / select(d_t <= zero, one, d_t);
  const D y_n = fnma(by_n, w_n, p_n);
  const V y_t = subtract_scaled(p_t, by_t, w_t);
  const D t = sqrt(dot(y_t, y_t));
  const D pull = fma(mu * d_t, t, d_n * y_n);
  const D on_cone = pull / fma(mu * mu, d_t, select(none, one, d_n));
  const M inside = (zero <= y_n) & (t <= mu * y_n);
  const D z_n = select(inside, y_n, select(pull <= zero, zero, on_cone));
  const D cut = select(inside, one, select(zero < t, mu * z_n / t, zero));
  const D e_n = p_n - z_n;
  const V e_t = subtract_scaled(p_t, cut, y_t);
  sums.normal.add(lane, select(none, zero, half * d_n * e_n * e_n));
  sums.friction.add(lane, select(none, zero, half * d_t * dot(e_t, e_t)));
}

template <BatchLaw kLaw>
inline void sphere_error(const SphereBatch& c, const BatchDiagonal* diagonal, int lane,
                         const BodyLine* bodies, ErrorSums& sums) {
  Lines a, b;
  load_lines(bodies, c.a + lane, a);
  load_lines(bodies, c.b + lane, b);
  const V n = load_vector(c.n, lane), p = sums.impulse(c.p, lane);
  const D arm_a = load(c.arm_a + lane), arm_b = load(c.arm_b + lane);
  const D sigma_n = load(c.sigma_n + lane), sigma_t = load(c.sigma_t + lane);
  const V arms = subtract_scaled(arm_b * spin(b), arm_a, spin(a));
  const V u = (velocity(b) - velocity(a)) + cross(arms, n);
  const D u_n = dot(n, u), p_n = dot(n, p);
  const V p_t = subtract_scaled(p, p_n, n);
  const D bias = load(c.bias + lane);
  const V slip_bias = load_vector(c.slip_bias, lane);
  const D w_n = fma(sigma_n, p_n, u_n + bias);
  const V w_t = add_scaled(subtract_scaled(u, u_n, n) + slip_bias, sigma_t, p_t);
  const D moved = a.x[kInverseMass] + b.x[kInverseMass];
  const D turned = fma(arm_a * arm_a, a.x[kInverseInertia], arm_b * arm_b * b.x[kInverseInertia]);
  const M none = moved <= broadcast(0.0);
  const D d_n = diagonal_of(diagonal, 0, lane, select(none, moved, moved + sigma_n));
  const D d_t = diagonal_of(diagonal, 1, lane, moved + turned + sigma_t);
  add_cone_error<kLaw>(p_n, p_t, w_n, w_t, d_n, d_t, load(c.friction + lane), lane, sums);
  if (sums.at_zero) add_scale(a, b, arm_a, arm_b, bias, slip_bias, d_n, d_t, lane, sums);
}

template <BatchLaw kLaw>
inline void arm_error(const GeneralContactBatch& c, const BatchDiagonal* diagonal, int lane,
                      const BodyLine* bodies, ErrorSums& sums) {
  const D zero = broadcast(0.0), half = broadcast(0.5);
  Lines a, b;
  load_lines(bodies, c.a + lane, a);
  load_lines(bodies, c.b + lane, b);
  const V n = load_vector(c.n, lane), t1 = load_vector(c.t, lane), t2 = cross(n, t1);
  const V arm_a = load_vector(c.arm_a, lane), arm_b = load_vector(c.arm_b, lane);
  const V u = (velocity(b) - velocity(a)) + (cross(spin(b), arm_b) - cross(spin(a), arm_a));
  const D sigma_n = load(c.sigma_n + lane), sigma_t = load(c.sigma_t + lane);
  const V p = sums.impulse(c.lambda, lane), bias = load_vector(c.bias, lane);
  const D w_n = fma(sigma_n, p.x, dot(n, u) + bias.x);
  const V w_t = {fma(sigma_t, p.y, dot(t1, u) + bias.y), fma(sigma_t, p.z, dot(t2, u) + bias.z),
                 zero};
  const D d_n = diagonal_of(diagonal, 0, lane, load(c.d[0] + lane));
  const D d_t = diagonal_of(diagonal, 1, lane, half * (load(c.d[3] + lane) + load(c.d[5] + lane)));
  add_cone_error<kLaw>(p.x, {p.y, p.z, zero}, w_n, w_t, d_n, d_t, load(c.friction + lane), lane,
                       sums);
  if (sums.at_zero)
    add_scale(a, b, length_of(arm_a), length_of(arm_b), bias.x, {bias.y, bias.z, zero}, d_n, d_t,
              lane, sums);
}

/// The same with a rolling and a spinning disc beside the tangents' (metrics/disc_errors.hpp). The
/// projection's normal part is the root of
///
///   d_n (z_n - y_n) = sum_i d_i mu_i max(0, |y_i| - mu_i z_n),
///
/// which Newton's method reaches from below in as many steps as there are discs, and one.
template <BatchLaw kLaw>
inline void rolling_error(const RollingBatch& c, const BatchDiagonal* diagonal, int lane,
                          const BodyLine* bodies, ErrorSums& sums) {
  constexpr int kDiscs = 3;
  const D zero = broadcast(0.0), half = broadcast(0.5), one = broadcast(1.0);
  Lines a, b;
  load_lines(bodies, c.a + lane, a);
  load_lines(bodies, c.b + lane, b);
  const V n = load_vector(c.n, lane);
  const D arm_a = load(c.arm_a + lane), arm_b = load(c.arm_b + lane);
  const D sigma_n = load(c.sigma_n + lane), sigma_t = load(c.sigma_t + lane);
  const V arms = subtract_scaled(arm_b * spin(b), arm_a, spin(a));
  const Kinds p = by_kind(n, sums.impulse(c.p, lane), sums.impulse(c.m, lane));
  const D bias = load(c.bias + lane);
  const V slip_bias = load_vector(c.slip_bias, lane), turn_bias = load_vector(c.turn_bias, lane);
  Kinds w =
      by_kind(n, (velocity(b) - velocity(a)) + cross(arms, n), (spin(b) - spin(a)) + turn_bias);
  w.n = fma(sigma_n, p.n, w.n + bias);
  w.t = add_scaled(w.t + slip_bias, sigma_t, p.t);
  const D moved = a.x[kInverseMass] + b.x[kInverseMass];
  const D i_a = a.x[kInverseInertia], i_b = b.x[kInverseInertia], turned = i_a + i_b;
  const M none = moved <= zero;
  const D d_n = diagonal_of(diagonal, 0, lane, select(none, moved, moved + sigma_n));
  const D d_t = diagonal_of(diagonal, 1, lane,
                            fma(arm_a * arm_a, i_a, arm_b * arm_b * i_b) + moved + sigma_t);
  if (sums.at_zero) add_scale(a, b, arm_a, arm_b, bias, slip_bias, d_n, d_t, lane, sums);
  if constexpr (kLaw == BatchLaw::frictionless) {
    add_cone_error<kLaw>(p.n, p.t, w.n, w.t, d_n, d_t, zero, lane, sums);
    return;
  }
  const D sigma_r = load(c.sigma_r + lane), sigma_s = load(c.sigma_s + lane);
  w.r = add_scaled(w.r, sigma_r, p.r);
  w.s = fma(sigma_s, p.s, w.s);
  const D d[kDiscs] = {d_t, diagonal_of(diagonal, 2, lane, turned + sigma_r),
                       diagonal_of(diagonal, 3, lane, turned + sigma_s)};
  const D mu[kDiscs] = {load(c.friction + lane), load(c.rolling + lane), load(c.spinning + lane)};
  if constexpr (kLaw == BatchLaw::coulomb)
    w.n = fma(mu[0], sqrt(length2(w.t)), fma(mu[1], sqrt(length2(w.r)), fma(mu[2], abs(w.s), w.n)));
  const auto inverse = [&](const D& x) { return one / select(x <= zero, one, x); };
  const D y_n = fnma(inverse(d_n), w.n, p.n);
  const V y_t = subtract_scaled(p.t, inverse(d[0]), w.t);
  const V y_r = subtract_scaled(p.r, inverse(d[1]), w.r);
  const D y_s = fnma(inverse(d[2]), w.s, p.s);
  const D length[kDiscs] = {sqrt(length2(y_t)), sqrt(length2(y_r)), abs(y_s)};
  D z_n = max_keeping_nan(zero, y_n);
  // from z_n = 0 up where a disc pulls; inside of all of them nothing does
  D outside = zero;
  for (int i = 0; i < kDiscs; ++i)
    outside = outside + max_keeping_nan(zero, fnma(mu[i], z_n, length[i])) * mu[i];
  if (any(zero < outside)) {
    D n_i = zero;
    for (int step = 0; step <= kDiscs; ++step) {
      D pull = d_n * y_n, slope = select(none, one, d_n);
      for (int i = 0; i < kDiscs; ++i) {
        const M pulls = mu[i] * n_i < length[i];
        const D weight = select(pulls, d[i] * mu[i], zero);
        pull = fma(weight, length[i], pull);
        slope = fma(weight, mu[i], slope);
      }
      n_i = max_keeping_nan(zero, pull / slope);
    }
    z_n = select(zero < outside, n_i, z_n);
  }
  const auto cut = [&](int i) {
    const D bound = mu[i] * z_n;
    return select(bound < length[i], bound / select(zero < length[i], length[i], one), one);
  };
  const D e_n = p.n - z_n;
  const V e_t = subtract_scaled(p.t, cut(0), y_t), e_r = subtract_scaled(p.r, cut(1), y_r);
  const D e_s = fnma(cut(2), y_s, p.s);
  const D friction = fma(d[0], length2(e_t), fma(d[1], length2(e_r), d[2] * (e_s * e_s)));
  sums.normal.add(lane, select(none, zero, half * d_n * e_n * e_n));
  sums.friction.add(lane, select(none, zero, half * friction));
}

/// Calls error(batch, its diagonal, lane, bodies, sums) for all lanes, with the law as a constant.
template <class Batch, class Error>
inline BatchErrors errors_of(const Batch* first, std::size_t n, const BodyLine* bodies,
                             BatchLaw law, const BatchDiagonal* diagonal, bool at_zero,
                             Error&& error) {
  ErrorSums sums{at_zero};
  const auto all = [&](auto of_law) {
    walk(first, n, bodies, true, [&](std::size_t i, int lane) {
      error(of_law, first[i], diagonal == nullptr ? nullptr : diagonal + i, lane, bodies, sums);
    });
  };
  if (law == BatchLaw::frictionless)
    all(Constant<BatchLaw::frictionless>());
  else if (law == BatchLaw::ccp)
    all(Constant<BatchLaw::ccp>());
  else
    all(Constant<BatchLaw::coulomb>());
  return sums.total();
}

BatchErrors sphere_errors(const SphereBatch* first, std::size_t n, const BodyLine* bodies,
                          BatchLaw law, const BatchDiagonal* diagonal, bool at_zero) {
  return errors_of(first, n, bodies, law, diagonal, at_zero,
                   [](auto of_law, auto&&... x) { sphere_error<decltype(of_law)::value>(x...); });
}

BatchErrors arm_errors(const GeneralContactBatch* first, std::size_t n, const BodyLine* bodies,
                       BatchLaw law, const BatchDiagonal* diagonal, bool at_zero) {
  return errors_of(first, n, bodies, law, diagonal, at_zero,
                   [](auto of_law, auto&&... x) { arm_error<decltype(of_law)::value>(x...); });
}

BatchErrors rolling_errors(const RollingBatch* first, std::size_t n, const BodyLine* bodies,
                           BatchLaw law, const BatchDiagonal* diagonal, bool at_zero) {
  return errors_of(first, n, bodies, law, diagonal, at_zero,
                   [](auto of_law, auto&&... x) { rolling_error<decltype(of_law)::value>(x...); });
}

/// Adds M^-1 times a force and torques to both bodies of the lanes: -f, turn_a and f, turn_b.
inline void push(const std::int32_t* a_line, const std::int32_t* b_line, BodyLine* bodies, Lines& a,
                 Lines& b, const V& f, const V& turn_a, const V& turn_b) {
  set_velocity(a, subtract_scaled(velocity(a), a.x[kInverseMass], f));
  set_spin(a, spin(a) + turn_a);
  set_velocity(b, add_scaled(velocity(b), b.x[kInverseMass], f));
  set_spin(b, spin(b) + turn_b);
  store_lines(bodies, a_line, a);
  store_lines(bodies, b_line, b);
}

/// Calls apply(batch, lane, lines of its bodies) for all lanes.
template <class Batch, class Apply>
inline void apply_all(const Batch* first, std::size_t n, BodyLine* bodies, Apply&& apply) {
  walk(first, n, bodies, true, [&](std::size_t i, int lane) {
    Lines a, b;
    load_lines(bodies, first[i].a + lane, a);
    load_lines(bodies, first[i].b + lane, b);
    apply(first[i], lane, a, b);
  });
}

void sphere_apply(const SphereBatch* first, std::size_t n, BodyLine* bodies) {
  apply_all(first, n, bodies, [bodies](const SphereBatch& c, int lane, Lines& a, Lines& b) {
    const V p = load_vector(c.p, lane), lever = cross(load_vector(c.n, lane), p);
    const D i_a = load(c.arm_a + lane) * a.x[kInverseInertia];
    const D i_b = load(c.arm_b + lane) * b.x[kInverseInertia];
    push(c.a + lane, c.b + lane, bodies, a, b, p, -i_a * lever, i_b * lever);
  });
}

void arm_apply(const GeneralContactBatch* first, std::size_t n, BodyLine* bodies,
               const InertiaLine* inertia) {
  apply_all(first, n, bodies, [=](const GeneralContactBatch& c, int lane, Lines& a, Lines& b) {
    const V normal = load_vector(c.n, lane), t1 = load_vector(c.t, lane);
    const V lambda = load_vector(c.lambda, lane);
    const V p =
        add_scaled(add_scaled(lambda.x * normal, lambda.y, t1), lambda.z, cross(normal, t1));
    Lines i_a, i_b;
    load_lines(reinterpret_cast<const BodyLine*>(inertia), c.a + lane, i_a);
    load_lines(reinterpret_cast<const BodyLine*>(inertia), c.b + lane, i_b);
    push(c.a + lane, c.b + lane, bodies, a, b, p,
         multiply_symmetric(i_a.x, cross(p, load_vector(c.arm_a, lane))),
         multiply_symmetric(i_b.x, cross(load_vector(c.arm_b, lane), p)));
  });
}

void rolling_apply(const RollingBatch* first, std::size_t n, BodyLine* bodies) {
  apply_all(first, n, bodies, [bodies](const RollingBatch& c, int lane, Lines& a, Lines& b) {
    const V p = load_vector(c.p, lane), m = load_vector(c.m, lane);
    const V lever = cross(load_vector(c.n, lane), p);
    const D i_a = a.x[kInverseInertia], i_b = b.x[kInverseInertia];
    push(c.a + lane, c.b + lane, bodies, a, b, p, -i_a * add_scaled(m, load(c.arm_a + lane), lever),
         i_b * add_scaled(m, load(c.arm_b + lane), lever));
  });
}

/// All of them.
BatchKernels kernels_named(const char* name) {
  return {.name = name,
          .sphere = sphere_sweep,
          .arm = arm_sweep,
          .rolling = rolling_sweep,
          .explicit_contact = explicit_sweep,
          .sphere_errors = sphere_errors,
          .arm_errors = arm_errors,
          .rolling_errors = rolling_errors,
          .sphere_apply = sphere_apply,
          .arm_apply = arm_apply,
          .rolling_apply = rolling_apply,
          .sphere_steps = sphere_steps,
          .arm_steps = arm_steps,
          .explicit_steps = explicit_steps};
}

}  // namespace
}  // namespace catena
