// The one place where a block's own part of N = G M^-1 G^T + Sigma is computed.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// Local. out = sum_b s_b G_b M_b^-1 G_b^T + Sigma of a block, rows x rows, row by row. `weight`:
/// s per local body; empty: ones, which is N_kk.
void block_diagonal(const ConstraintProblem& problem, Index block, std::span<double> out,
                    std::span<const double> weight = {});

/// Local. The diagonal of N_kk alone, to the same last bit.
void row_diagonals(const ConstraintProblem& problem, Index block, std::span<double> out);

/// G M^-1 G^T of a contact in its frame, with s of both bodies; of rigid ones
///   s_a (d_i . d_j / m_a + (r_a x d_i) . I_a^-1 (r_a x d_j)) + the same of b.
Mat3 mobility_matrix(const ProblemBodies& bodies, const RigidContact& c, double s_a = 1.0,
                     double s_b = 1.0);

/// Two numbers of that matrix for rigid or prescribed bodies (s = 1), 1/kg: the normal row's
/// diagonal, and the mean of both tangents'. A form of its own, as the trace of all three needs no
/// tangents and half of the products:
///   sum_d (r x d) . A (r x d) = |r|^2 tr A - r . A r.
/// Inline for loops over all contacts.
inline std::array<double, 2> contact_mobility(const ProblemBodies& bodies, const RigidContact& c) {
  // x . A x of a rigid body's inverse inertia
  const auto quadratic = [](const double* m, const Vec3& x) {
    return m[1] * x[0] * x[0] + m[4] * x[1] * x[1] + m[6] * x[2] * x[2] +
           2.0 * (m[2] * x[0] * x[1] + m[3] * x[0] * x[2] + m[5] * x[1] * x[2]);
  };
  double normal = 0.0, tangent = 0.0;
  const auto add = [&](Index b, const Vec3& r) {
    if (bodies.is_prescribed(b)) return;
    const double* m = bodies.inverse_mass.data() + bodies.mass_begin[b];
    const double turn_n = quadratic(m, r.cross(c.normal));
    const double turn_all = (m[1] + m[4] + m[6]) * r.squaredNorm() - quadratic(m, r);
    normal += m[0] + turn_n;
    tangent += m[0] + 0.5 * std::max(0.0, turn_all - turn_n);
  };
  add(c.body_a, c.arm_a);
  add(c.body_b, c.arm_b);
  return {normal, tangent};
}
/// Mean of these: a third of the trace of the contact's block of G M^-1 G^T.
inline double mean_mobility(const std::array<double, 2>& mobility) {
  return (mobility[0] + 2.0 * mobility[1]) / 3.0;
}

/// Local. The same of N_kk of rigid contact k, for bodies of any mass.
std::array<double, 2> cone_diagonal(const ConstraintProblem& problem, Index k);

/// Sigma of a block's rows; a problem with bodies.
inline double compliance_of_row(const ConstraintProblem& problem, Index block, Index row) {
  const auto n_contacts = to_index(problem.contacts.size());
  if (block < n_contacts) return compliance_of(problem.contacts[block])[row];
  return problem.blocks.compliance[problem.blocks.row_begin[block - n_contacts] + row];
}

}  // namespace catena
