// The one place where a block's own part of N = G M^-1 G^T + Sigma is computed.
#pragma once

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
std::array<double, 2> contact_mobility(const ProblemBodies& bodies, const RigidContact& c);
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
