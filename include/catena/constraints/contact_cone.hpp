// What a law of friction asks of a contact: the one place that solvers and metrics ask.
#pragma once

#include <array>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/math/disc_cone.hpp"

namespace catena {

/// What a law says of all contacts alike, with p = lambda_n + c, c a contact's cohesion:
///
///   cone law      p and the friction of each disc in a cone (|lambda_t| <= mu p); `shifted`
///                 (Coulomb): w_n + sum of mu |w_t| instead of w_n is complementary to p, so that
///                 sliding does not open the contact; else (ccp) w itself lies in the dual cone
///   box           every row of friction within its own bounds +- mu p
///   frictionless  no impulse but the normal one
struct LawForm {
  bool shifted = false, box = false, frictionless = false;
  bool is_cone() const { return !box && !frictionless; }
  /// A cone law that is not shifted: a convex problem.
  bool is_associated() const { return is_cone() && !shifted; }
};
/// What each law is, for all who ask.
constexpr LawForm law_form(ContactLaw law) {
  return {.shifted = law == ContactLaw::coulomb,
          .box = law == ContactLaw::box,
          .frictionless = law == ContactLaw::frictionless};
}

/// A contact's cone: p >= 0 and |axis lambda_i| <= bound_i p for every disc i (sliding, rolling,
/// spinning), axis row by row.
struct ContactCone {
  std::array<int, 6> row;    ///< of each row in full among the contact's own; -1: it has none
  DiscCone discs;            ///< mu, mu_r, mu_s (m); 0 where the law has no friction
  Vec6 axis = Vec6::Ones();  ///< of the rows in full; 1 on the normal and each disc's first row
  double cohesion = 0.0;     ///< c, N s

  bool has(std::size_t disc) const { return row[kDiscBegin[disc]] >= 0; }
};

/// The cone of a contact by one of the listed laws.
ContactCone contact_cone(ContactLaw law, const BlockView& contact);
/// Local. The cone of contact `block` by the problem's law.
ContactCone contact_cone(const ConstraintProblem& problem, Index block);

/// mu, mu_r, mu_s of a contact whatever its law; 0 for rows that it has not.
DiscCone friction_coefficients(const BlockView& contact);

/// A law of friction that is not in ContactLaw. Solvers with kernels of their own for its laws
/// (batches of Gauss-Seidel, groups of first-order methods) leave its contacts to the general path;
/// dantzig, [F14]'s forms and assembled operators do not know it.
class FrictionLaw {
 public:
  virtual ~FrictionLaw() = default;
  /// Changes the discs' bounds and the axes of a cone that law coulomb or ccp gives; it is as much
  /// shifted as under these.
  virtual void change(const ConstraintProblem& problem, Index block, ContactCone& cone) const = 0;
};

/// Whether ContactLaw lists the problem's law, so that kernels know it.
inline bool has_kernels(const ConstraintProblem& problem) {
  return problem.friction_law == nullptr;
}

/// Throws Error(bad_input) where the problem's law has no kernel; `who` does not know others.
void require_kernels(const ConstraintProblem& problem, const char* who);

/// Mean of disc i's rows of a diagonal in full.
inline double disc_mean(const Vec6& diagonal, std::size_t i) {
  const int first = kDiscBegin[i];
  return 0.5 * (diagonal[first] + diagonal[first + kDiscRows[i] - 1]);
}

}  // namespace catena
