// How first-order methods scale rows.
#pragma once

#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena::first_order {

/// Neighbours. `by_scale` becomes 1/s of the problem's rows; 0 where nothing moves a row, and of
/// joints that are solved on their own. With D_k = diag(N_nn, a_t, a_t) (a mean for each disc of a
/// contact, N_ii for other rows),
///
///   s_k^2 = c_k^splitting D_k,   N <= blockdiag(c_k D_k)
///
/// c_k from the number n_b of blocks that touch a body: the largest eigenvalue (or its bound by row
/// sums, but for three rows) of D_k^-1/2
/// (sum_b n_b G_kb M_b^-1 G_kb^T + Sigma_k) D_k^-1/2; of an assembled operator the sum of the norms
/// of its blocks D_k^-1/2 N_kj D_j^-1/2 (docs/theory.md, "First-order methods").
void scale_rows(const ConstraintProblem& problem, bool with_joints, double splitting,
                std::vector<double>& by_scale);

}  // namespace catena::first_order
