// A constraint problem as rows with bounds: what the pivoting solver works on.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "solvers/pivoting/bounded_lcp.hpp"

namespace catena {

/// N of a problem on one rank, entries in whole blocks (all rows of two blocks that share a body),
/// columns of a block side by side. Work and memory grow with the pairs of blocks at a body.
struct SparseOperator {
  SymmetricRows symmetric;  ///< (N + N^T)/2
  /// (N - N^T)/2 in the same places where an assembled operator is not symmetric; else empty.
  std::vector<double> skew;
};
SparseOperator sparse_operator(const ConstraintProblem& problem);

/// Rows of friction that are bounded together by a normal impulse.
struct FrictionDisc {
  Eigen::Index normal;  ///< row
  Eigen::Index first;   ///< row
  int rows;             ///< 2 (sliding, rolling) or 1 (spinning)
  double coefficient;   ///< mu, or m
  double cohesion;      ///< N s

  /// Radius of its impulses, for the normal impulse in `x`.
  double radius(const Eigen::VectorXd& x) const {
    const double pressure = x[normal] + cohesion;
    return pressure > 0.0 ? coefficient * pressure : 0.0;
  }
};

/// Bounds of all rows; those of discs are 0 and left to the solver.
struct RowBounds {
  Eigen::VectorXd lower, upper;
  std::vector<FrictionDisc> discs;
};
/// Under law frictionless the discs' coefficients are 0.
RowBounds row_bounds(const ConstraintProblem& problem);

/// Puts x on the bounds, each disc's rows in a ball (`box`: a box) of its radius.
void make_admissible(const RowBounds& bounds, bool box, Eigen::VectorXd& x);

}  // namespace catena
