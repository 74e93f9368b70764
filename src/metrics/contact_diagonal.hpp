// The diagonal of N and the size of a row's terms without building Jacobians.
#pragma once

#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/constraints/delassus.hpp"

namespace catena {

/// N_nn, N_11, N_22 of rigid contact k. For rigid bodies, with A = I^-1,
///   N_dd = 1/m + (r x d) . A (r x d) summed over both.
Vec3 contact_diagonal(const ConstraintProblem& problem, const DelassusOperator& op, Index k);

/// sum_j |G_ij V_free_j| + |q_i| of a contact's rows.
Vec3 row_scales(const ConstraintProblem& problem, const RigidContact& contact);
/// The same of general block k.
void row_scales(const ConstraintProblem& problem, Index k, std::vector<double>& scale);

}  // namespace catena
