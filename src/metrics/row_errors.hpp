// Errors of single rows and contacts (docs/theory.md, "Errors"): pure functions, no state.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "catena/math/cone.hpp"
#include "catena/metrics/errors.hpp"

namespace catena::row_errors {

/// sqrt(x^2 + y^2); std::hypot guards ranges that impulses never see, and is slower.
inline double length_of(double x, double y) { return std::sqrt(x * x + y * y); }

/// Fischer-Burmeister function x + y - sqrt(x^2 + y^2), without the cancellation where
/// both are positive; phi(inf, y) = y.
inline double fischer_burmeister(double x, double y) {
  if (std::isinf(x) && x > 0.0) return y;
  const double length = length_of(x, y);
  return x + y > 0.0 ? 2.0 * x * y / (x + y + length) : x + y - length;
}

/// x + y - (x^2 + y^2)^(1/2) in the Jordan algebra of the second-order cone
/// {(n, t): |t| <= n}, with (x o x) = (|x|^2, 2 x_n x_t).
///
/// The square's eigenvalues are |x|^2 + |y|^2 +- 2|a + b|, a = x_n x_t, b = y_n y_t. The
/// lower one is formed as a sum of squares, since near a solution it vanishes and its
/// root would otherwise keep half of the digits only.
inline Vec3 fischer_burmeister_cone(const Vec3& x, const Vec3& y) {
  const double a1 = x[0] * x[1], a2 = x[0] * x[2];
  const double b1 = y[0] * y[1], b2 = y[0] * y[2];
  const double x_t = length_of(x[1], x[2]), y_t = length_of(y[1], y[2]);
  const double a = std::abs(x[0]) * x_t, b = std::abs(y[0]) * y_t;
  const double s1 = a1 + b1, s2 = a2 + b2;
  const double s = length_of(s1, s2);
  // |a||b| - a.b, by the cross product where the two point the same way
  const double dot = a1 * b1 + a2 * b2;
  const double cross = a1 * b2 - a2 * b1;
  const double slack = dot > 0.0 ? cross * cross / (a * b + dot) : a * b - dot;
  const double gap_x = std::abs(x[0]) - x_t, gap_y = std::abs(y[0]) - y_t;
  const double low =
      gap_x * gap_x + gap_y * gap_y + (slack > 0.0 ? 4.0 * slack / (a + b + s) : 0.0);
  const double high = x.squaredNorm() + y.squaredNorm() + 2.0 * s;
  const double root_low = std::sqrt(low), root_high = std::sqrt(high);
  Vec3 phi = x + y;
  phi[0] -= 0.5 * (root_high + root_low);
  if (s > 0.0) {
    const double scale = 0.5 * (root_high - root_low) / s;
    phi[1] -= scale * s1;
    phi[2] -= scale * s2;
  }
  return phi;
}

/// What a block adds to the sums. `scalar_row` and `cone_contact` fill what their set asks for.
struct Part {
  double energy_normal = 0.0;    ///< J; of a scalar row: its energy
  double energy_friction = 0.0;  ///< J
  double natural = 0.0;          ///< |a (lambda - P(lambda - w/a))|, m/s or rad/s
  double natural_angular = 0.0;  ///< rad/s, of a contact's rolling and spinning rows
  double unscaled = 0.0;         ///< |lambda - P(lambda - w)|^2, Siconos' mixed units
  double scaled = 0.0;           ///< |lambda - P(lambda - w/a)|^2
  double slip = 0.0;             ///< |w/a|^2
  double fischer = 0.0;          ///< |phi|^2, J
  double work = 0.0;             ///< complementarity product, J
};

/// A scalar row lo <= lambda <= hi with diagonal a [E]: energy 1/2 a (lambda - P(lambda - w/a))^2.
/// A row with a = 0 can be changed by no impulse: it counts in `unscaled` and `work` only.
template <ErrorSet kSet>
Part scalar_row(double lambda, double w, double lo, double hi, double a) {
  const auto clamp = [&](double x) { return std::min(std::max(x, lo), hi); };
  Part part;
  if constexpr (kSet == ErrorSet::all) {
    const double u = lambda - clamp(lambda - w);
    part.unscaled = u * u;
    // with a finite bound the product is the distance to it times the slip away from it
    if (w > 0.0) part.work = (std::isinf(lo) ? lambda : lambda - lo) * w;
    if (w < 0.0) part.work = (std::isinf(hi) ? lambda : lambda - hi) * w;
  }
  if (a <= 0.0) return part;
  const double e = lambda - clamp(lambda - w / a);
  part.energy_normal = 0.5 * a * e * e;
  if constexpr (kSet != ErrorSet::energy) part.natural = std::abs(a * e);
  if constexpr (kSet == ErrorSet::all) {
    part.scaled = e * e;
    part.slip = (w / a) * (w / a);
    const double root = std::sqrt(a);
    const double phi = fischer_burmeister(root * (lambda - lo),
                                          -fischer_burmeister(root * (hi - lambda), -w / root));
    part.fischer = phi * phi;
  }
  return part;
}

/// |phi|^2 of a contact after the energy scaling, J; w as in cone_contact, mu > 0, d > 0.
inline double fischer_of_contact(const Vec3& lambda, const Vec3& w, double d_n, double a_t,
                                 double mu) {
  const double root_n = std::sqrt(d_n), root_t = std::sqrt(a_t);
  const double mu_scaled = mu * root_t / root_n;
  return fischer_burmeister_cone(
             Vec3(mu_scaled * root_n * lambda[0], root_t * lambda[1], root_t * lambda[2]),
             Vec3(w[0] / (root_n * mu_scaled), w[1] / root_t, w[2] / root_t))
      .squaredNorm();
}

/// A contact on its cone: `w` is what (coulomb: shifted by mu |w_t|), d_n and a_t the normal's
/// diagonal of N_kk and the mean of the tangents'. With the energy scaling undone, the energy is
/// that of e = lambda - P(lambda - D^-1 w), P the projection in the metric of D = diag(d_n, a_t,
/// a_t): about 40 flops, 4 divisions, one square root.
template <ErrorSet kSet>
Part cone_contact(const Vec3& lambda, const Vec3& w, double d_n, double a_t, double mu) {
  Part part;
  if constexpr (kSet == ErrorSet::all) {
    part.unscaled = (lambda - project_cone(lambda - w, mu)).squaredNorm();
    part.work = lambda.dot(w);
  }
  if constexpr (kSet != ErrorSet::energy) {
    const double a = (d_n + 2.0 * a_t) / 3.0;
    if (a <= 0.0) return part;
    part.scaled = (lambda - project_cone(lambda - w / a, mu)).squaredNorm();
    part.natural = a * std::sqrt(part.scaled);
    part.slip = w.squaredNorm() / (a * a);
  }
  if (d_n <= 0.0) return part;
  if (mu == 0.0 || a_t <= 0.0) {
    const double inf = std::numeric_limits<double>::infinity();
    const Part normal = scalar_row<kSet>(lambda[0], w[0], 0.0, inf, d_n);
    const double tangential = a_t * (lambda[1] * lambda[1] + lambda[2] * lambda[2]);
    part.energy_normal = normal.energy_normal;
    part.energy_friction = 0.5 * tangential;
    part.fischer = normal.fischer + tangential;
    return part;
  }
  const double by_t = 1.0 / a_t;
  double n = lambda[0] - w[0] / d_n;
  double t1 = lambda[1] - w[1] * by_t, t2 = lambda[2] - w[2] * by_t;
  const double t = length_of(t1, t2);
  if (!(n >= 0.0 && t <= mu * n)) {
    const double pull = d_n * n + mu * a_t * t;
    n = pull <= 0.0 ? 0.0 : pull / (d_n + mu * mu * a_t);
    const double cut = pull <= 0.0 ? 0.0 : mu * n * (1.0 / t);
    t1 *= cut;
    t2 *= cut;
  }
  const double e_n = lambda[0] - n, e_1 = lambda[1] - t1, e_2 = lambda[2] - t2;
  part.energy_normal = 0.5 * d_n * e_n * e_n;
  part.energy_friction = 0.5 * a_t * (e_1 * e_1 + e_2 * e_2);
  if constexpr (kSet == ErrorSet::all) part.fischer = fischer_of_contact(lambda, w, d_n, a_t, mu);
  return part;
}

}  // namespace catena::row_errors
