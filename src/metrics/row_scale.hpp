// The size of a row's terms.
#pragma once

#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// A bound of sum_j |G_ij V_free_j| + |q_i| for each row of a contact: |v_a| + |v_b| + |r_a| |w_a|
/// + |r_b| |w_b| + |b|.
double row_scale(const ConstraintProblem& problem, const RigidContact& contact);
/// sum_j |G_ij V_free_j| + |q_i| of general block k's rows.
void row_scales(const ConstraintProblem& problem, Index k, std::vector<double>& scale);

}  // namespace catena
