// A problem's rows as first-order methods order and scale them.
#pragma once

#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "solvers/first_order/steps/step_groups.hpp"

namespace catena::first_order {

/// Where a block's rows stand: first, first + stride, ...
struct Place {
  Index block = 0;  ///< of the problem
  std::size_t first = 0, stride = 1;
  std::size_t rows = 0;

  bool grouped() const { return stride == kLanes; }
  std::size_t group() const { return first / kGroupRows; }
  int lane() const { return static_cast<int>(first % kGroupRows); }
};

/// Contacts of three rows in groups: of spheres, other rigid ones, those with explicit Jacobians
/// for two bodies of six velocities; kGroupRows places a group. Then all other blocks, row by row.
/// Blocks of joints solved on their own are left out.
struct RowLayout {
  std::size_t sphere_groups = 0, contact_groups = 0, row_groups = 0;
  std::size_t size = 0;
  std::vector<Place> places;     ///< of contacts in groups, then of the other blocks
  std::vector<double> by_scale;  ///< 1/s per row; 0: no block's, or nothing moves it

  /// The first row outside of groups.
  std::size_t first_flat() const {
    return (sphere_groups + contact_groups + row_groups) * kGroupRows;
  }
};
RowLayout lay_out(const ConstraintProblem& problem, bool with_joints);

/// Neighbours. Fills by_scale. With D_k = diag(N_nn, a_t, a_t) (a mean for each disc of a contact,
/// N_ii for other rows),
///
///   s_k^2 = c_k^splitting D_k,   N <= blockdiag(c_k D_k)
///
/// c_k from the number n_b of blocks that touch a body: the largest eigenvalue (or its bound by row
/// sums, but for three rows) of D_k^-1/2
/// (sum_b n_b G_kb M_b^-1 G_kb^T + Sigma_k) D_k^-1/2; of an assembled operator the sum of the norms
/// of its blocks D_k^-1/2 N_kj D_j^-1/2 (docs/theory.md, "First-order methods").
void scale_rows(const ConstraintProblem& problem, double splitting, RowLayout& layout);

}  // namespace catena::first_order
