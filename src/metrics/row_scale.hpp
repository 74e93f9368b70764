// The diagonal of N and the size of a row's terms without building Jacobians.
#pragma once

#include <array>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/constraints/delassus.hpp"

namespace catena {

/// N_nn, N_11, N_22 of rigid contact k. For rigid bodies, with A = I^-1,
///   N_dd = 1/m + (r x d) . A (r x d) summed over both.
Vec3 contact_diagonal(const ConstraintProblem& problem, const DelassusOperator& op, Index k);

/// N_nn and a_t = (N_11 + N_22)/2, from the trace of all three:
///   sum_d (r x d) . A (r x d) = |r|^2 tr A - r . A r.
std::array<double, 2> cone_diagonal(const ConstraintProblem& problem, const DelassusOperator& op,
                                    Index k);

/// A bound of sum_j |G_ij V_free_j| + |q_i| for each row of a contact: |v_a| + |v_b| + |r_a| |w_a|
/// + |r_b| |w_b| + |b|.
double row_scale(const ConstraintProblem& problem, const RigidContact& contact);
/// sum_j |G_ij V_free_j| + |q_i| of general block k's rows.
void row_scales(const ConstraintProblem& problem, Index k, std::vector<double>& scale);

}  // namespace catena
