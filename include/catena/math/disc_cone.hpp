// The cone of a contact with sliding, rolling and spinning friction, and its one-contact problem.
#pragma once

#include <array>

#include "catena/math/types.hpp"

namespace catena {

/// Rows of a contact in full: normal, two tangents, two rolling rows, spinning row.
using Vec6 = Eigen::Matrix<double, 6, 1>;
/// A matrix over all six rows of a contact.
using Mat6 = Eigen::Matrix<double, 6, 6>;

/// K = {(n, t, r, s): |t| <= mu n, |r| <= mu_r n, |s| <= mu_s n}, a disc per kind of friction,
/// with mu without unit and mu_r, mu_s in m. Rows that a contact does not have are those of
/// a disc with bound 0. Its dual: {w: w_n >= mu |w_t| + mu_r |w_r| + mu_s |w_s|}.
struct DiscCone {
  std::array<double, 3> bound{};  ///< mu, mu_r, mu_s

  /// mu |w_t| + mu_r |w_r| + mu_s |w_s|: by so much w_n is shifted in Coulomb's law.
  double shift(const Vec6& w) const;
};

/// First row and number of rows of each disc.
inline constexpr std::array<int, 3> kDiscBegin = {1, 3, 5};
/// Number of rows of each disc.
inline constexpr std::array<int, 3> kDiscRows = {2, 2, 1};

/// Length of disc i's rows of x.
double disc_length(const Vec6& x, std::size_t i);

/// Projection of x on K in the metric diag(d_n, a_t, a_t, a_r, a_r, a_s), weights = (d_n,
/// a_t, a_r, a_s) >= 0, d_n > 0; all ones: Euclidean. The normal z_n is the root of
///
///   d_n (z_n - x_n) = sum over discs of mu_i a_i max(0, |x_i| - mu_i z_n),
///
/// piecewise linear and increasing: the discs are taken up in the order of the z_n at
/// which they start to slide.
Vec6 project_disc_cone(const DiscCone& cone, const Vec6& x,
                       const std::array<double, 4>& weights = {1.0, 1.0, 1.0, 1.0});

/// z with every disc cut to its radius mu_i z_n, directions kept.
Vec6 cut_discs(const DiscCone& cone, Vec6 z);

/// z with z_n >= 0 and every row of a disc within +- mu_i z_n.
Vec6 clamp_rows(const DiscCone& cone, Vec6 z);

/// The one-contact problem: z with w = D z + r and
///
///   coulomb  0 <= w_n _|_ z_n >= 0 and maximum dissipation on each disc of radius mu_i z_n
///   convex   K* contains w _|_ z in K: the minimiser of 1/2 z^T D z + r^T z
///
/// for a symmetric positive definite D whose diagonal is of order one (the caller scales), to
/// round-off. Opening and sticking in closed form; sliding by Newton's method on the natural map
/// (coulomb: on Alart and Curnier's function, P. Alart, A. Curnier, *A mixed formulation
/// for frictional contact problems prone to Newton like solution methods*, 1991), from
/// `guess`, with fixed-point steps z <- P(z - w/a) wherever Newton does not reduce it; at
/// most 25 rounds of 15 Newton steps and 40 fixed-point steps, then the best z met.
/// Round bodies (find_round) by Coulomb's law: normal and spinning rows stand alone, and what
/// slides and rolls are two discs with one number between them, in closed form but for both at
/// their bounds (Newton on their two multipliers). `inverse` is D^-1 and `largest` >= the largest
/// eigenvalue of D.
struct DiscProblem {
  Mat6 d, inverse;
  double largest = 0.0;
  bool round = false;
  double coupling = 0.0;  ///< of round bodies: D(1, 4) = -D(2, 3)
};
/// Notes whether D is that of bodies that the contact sees as spheres: tangents coupled with the
/// rolling rows across them, nothing else, and each disc's rows alike.
void find_round(DiscProblem& problem);
/// Impulses z of one contact with sliding, rolling and spinning friction, N s and N m s, from `r`
/// and `guess`; `coulomb`: Coulomb's law on each disc, else the convex one.
Vec6 solve_disc_contact(const DiscProblem& problem, const Vec6& r, const DiscCone& cone,
                        bool coulomb, const Vec6& guess);

}  // namespace catena
