// The solve of one constraint block while all others are held fixed.
#pragma once

#include "catena/constraints/constraint_problem.hpp"
#include "catena/math/types.hpp"
#include "catena/solvers/gauss_seidel.hpp"

namespace catena {

/// What every block's solve depends on besides its own data.
struct LocalSolveOptions {
  ContactLaw law = ContactLaw::coulomb;
  LocalSolve local = LocalSolve::exact;
  double omega = 1.0;  ///< relaxation, (0, 2)
};

/// Throws Error(bad_input) if the local solve does not fit the law: `cone` is for ccp
/// only, `project`, `sliding` and `scalar` solve Coulomb's law and would not settle on
/// ccp's solution.
void check_local_rules(const LocalSolveOptions& rules);

/// Diagonal block of a contact and what its solve needs of it.
struct ContactBlock {
  Mat3 d;  ///< D = N_kk, order n, t1, t2; shifted if it was singular
  Mat3 d_inverse;
  double largest;  ///< eigenvalue of D; 0: nothing moves
};

/// D is shifted by 1e-10 of its trace if it is singular to round-off (a safe
/// overestimate); a zero D stays zero and marks a contact between immovable bodies.
ContactBlock make_contact_block(const Mat3& d);

/// New impulse z of a contact from its present lambda and w = w(lambda), others fixed:
///
///   exact    w + D (z - lambda) and z satisfy the law (coulomb or ccp)
///   cone     z = P_K(lambda - omega w/a), a = largest eigenvalue of D        (ccp)
///   project  [L11] (18)-(19): z = lambda - D^-1 w, tangents cut to mu z_1
///   sliding  [L11] (20)-(21): the tangents' direction from (18), z_1 solved again
///   scalar   [L11] (22): rows one after the other, then the tangents cut to mu z_1
///
/// Laws box and frictionless are rows one after the other. Relaxation: rows one after
/// the other take omega on their step, the others z <- P_K(lambda + omega (z - lambda)).
Vec3 solve_contact(const LocalSolveOptions& rules, const ContactBlock& block, const Vec3& w,
                   const Vec3& lambda, double friction);

/// Nearest admissible impulse: what a first guess is made of.
Vec3 admissible_contact(ContactLaw law, const Vec3& lambda, double friction);

/// Rows one after the other: lambda_i <- clamp(lambda_i - omega w_i/D_ii, lo_i, hi_i)
/// with w carried through D (rows x rows, row by row). In place in `lambda` and `w`.
/// Rows with D_ii = 0 stay.
void solve_rows(std::span<const double> d, double omega, std::span<const double> lower,
                std::span<const double> upper, std::span<double> w, std::span<double> lambda);

}  // namespace catena
