// The second-order cone of three dimensions: its Jordan algebra, the way to its boundary, and
// Nesterov and Todd's scaling.
#pragma once

#include "catena/math/types.hpp"

/// Q = {(x_0, x_t): |x_t| <= x_0}, self-dual. A number x >= 0 is (x, 0, 0), and (x_0, x_1, 0) with
/// |x_1| <= x_0 stays in its plane: all functions leave components alone that are 0 in all their
/// arguments, so cones of one and two dimensions are cones of three. Every x has the eigenvalues
/// x_0 - |x_t| and x_0 + |x_t|; written so, they keep their digits at the boundary.
namespace catena::second_order_cone {

/// Product of the eigenvalues.
double determinant(const Vec3& x);

/// x strictly inside; false for NaN.
bool inside(const Vec3& x);

/// a o b = (a . b, a_0 b_t + b_0 a_t).
Vec3 product(const Vec3& a, const Vec3& b);

/// x with a o x = b, for a inside.
Vec3 quotient(const Vec3& a, const Vec3& b);

/// The largest t >= 0 with x + t d in Q, for x inside; infinite if there is no largest.
double step_to_boundary(const Vec3& x, const Vec3& d);

/// What has to be added to x that its eigenvalues come into [low, high], but no eigenvalue of it
/// is beyond +-high: Gondzio's correction of products that are far too small or too large.
Vec3 correction_into(const Vec3& x, double low, double high);

/// s and z inside with s - z = v and s o z = mu (1, 0, 0), mu > 0: the point of the central path
/// next to a complementary pair whose difference is v.
struct Pair {
  Vec3 s, z;
};
Pair central_pair(const Vec3& v, double mu);

/// Nesterov and Todd's W = Q f Q^T, symmetric, W^-1 s = W z, of s and z inside, by its
/// eigenvectors
///
///   (1, e)/sqrt(2),  (1, -e)/sqrt(2),  (0, e turned by a right angle)
///
/// and eigenvalues f: nothing is lost where s and z lie at the boundary and f spans many orders.
/// Y. Nesterov, M. Todd, *Self-scaled barriers and interior-point methods for convex programming*,
/// 1997; L. Vandenberghe, *The CVXOPT linear and quadratic cone program solvers*, 2010, section 4.
struct Scaling {
  Scaling(const Vec3& s, const Vec3& z);

  Vec3 to_axes(const Vec3& x) const;    ///< Q^T x
  Vec3 from_axes(const Vec3& x) const;  ///< Q x

  double e_1 = 1.0, e_2 = 0.0;
  Vec3 f;
};

}  // namespace catena::second_order_cone
