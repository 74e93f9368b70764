// The friction cone K_mu = {(n, t): |t| <= mu n} and the one-contact problems on it.
#pragma once

#include <cmath>

#include "catena/math/types.hpp"

namespace catena {

/// Euclidean projection of x = (normal, tangent 1, tangent 2) on K_mu; mu = 0: the half-line.
Vec3 project_cone(const Vec3& x, double mu);

/// Exact solution to round-off of the one-contact Coulomb problem: z with
///   w = D z + r,  0 <= w_n _|_ z_n >= 0,  |z_t| <= mu z_n,  maximum dissipation,
/// for symmetric positive definite D (3x3, order n, t1, t2). Where several solutions
/// exist (strong coupling, large mu), one of them.
/// Source: the sliding case is a scalar equation in the ratio of sliding speed to
/// tangential impulse, solved by safeguarded Newton (docs/theory.md).
Vec3 solve_one_contact_coulomb(const Mat3& d, const Vec3& r, double mu);

/// The same for D = diag(d_n, d_t, d_t), as between spheres: closed form, inline for
/// inner loops.
inline Vec3 solve_one_contact_isotropic(double d_n, double d_t, const Vec3& r, double mu) {
  if (r[0] >= 0.0) return Vec3::Zero();  // takes off
  const double normal = -r[0] / d_n;
  const double limit = mu * normal;
  const double t1 = -r[1] / d_t;
  const double t2 = -r[2] / d_t;
  const double squared = t1 * t1 + t2 * t2;
  if (squared <= limit * limit) return {normal, t1, t2};
  const double scale = limit / std::sqrt(squared);
  return {normal, scale * t1, scale * t2};
}

/// Exact minimiser of 1/2 z^T D z + r^T z over K_mu: the one-contact problem of the
/// convex law (ccp).
Vec3 solve_one_contact_convex(const Mat3& d, const Vec3& r, double mu);

/// Largest eigenvalue of a symmetric 3x3 matrix.
double largest_eigenvalue(const Mat3& d);

}  // namespace catena
