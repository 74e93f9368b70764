// A few contacts that are solved at once, by Coulomb's law, while all others are held.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/math/types.hpp"

namespace catena {

/// Contacts of three rows (normal, two tangents) with the others' impulses given. In rows times the
/// root of D, so that squares are energies, J, and with impulses shifted by cohesion:
///
///   y = D^(1/2) (lambda + c n),   D^(-1/2) w = N y + r,   x = y - D^(-1/2) w = A y - r,
///
/// D = s diag(N_nn, a_t, a_t) of each contact, a_t the tangents' mean and s the least that makes D
/// an upper bound of its block by row sums: 1 of spheres.
struct ContactPatch {
  Eigen::MatrixXd a;         ///< A = 1 - N
  Eigen::VectorXd r;         ///< w of zero impulses of these contacts
  Eigen::VectorXd y;         ///< impulses: the guess, then the solution
  Eigen::VectorXd friction;  ///< per contact: mu in these rows
  Eigen::VectorXd root;      ///< per row: D^(1/2)
};

/// Local. The patch of `contacts` (ascending) of the problem's rigid ones, none of which shares a
/// moving body with another rank. `w`: of the impulses, in the problem's rows.
ContactPatch make_patch(const ConstraintProblem& problem, std::span<const Index> contacts,
                        std::span<const double> impulses, std::span<const double> w);

/// Local. Writes the patch's impulses, cut to their cones, to their place.
void store_patch(const ConstraintProblem& problem, std::span<const Index> contacts,
                 const ContactPatch& patch, std::span<double> impulses);

/// What Coulomb's law makes of a contact's x; each piece is smooth.
enum class ContactPiece { open, sticks, slips };

/// The piece of x for a coefficient `friction`.
ContactPiece piece_at(const Vec3& x, double friction);

/// y by the law at x on one piece, and its derivatives by x and by the coefficient.
struct PieceValue {
  Vec3 y = Vec3::Zero();
  Mat3 by_x = Mat3::Zero();
  Vec3 by_friction = Vec3::Zero();
};
PieceValue value_on(ContactPiece piece, const Vec3& x, double friction);

/// F = y - value(x) of all contacts, zero exactly where y solves the patch, for a part of their
/// friction; returns |F|^2. `jacobian`, if not null, becomes dF/dy.
double law_of_patch(const ContactPatch& patch, double part, const Eigen::VectorXd& y,
                    Eigen::VectorXd& f, Eigen::MatrixXd* jacobian);

/// What the solution of a patch took.
struct PatchWork {
  bool solved = false;
  double factors = 0.0;  ///< of matrices of the patch's rows
};

/// Local. Newton's method on F with steps halved while |F| does not fall; `y` stays as it was
/// where |F|^2 does not come down to `tolerance`.
PatchWork newton_on_patch(const ContactPatch& patch, double part, double tolerance,
                          Eigen::VectorXd& y);

/// Local. Newton's method from the guess, and where that fails the path of friction
/// (solvers/patches/friction_path.hpp). The guess stays where both do.
PatchWork solve_patch(ContactPatch& patch);

}  // namespace catena
