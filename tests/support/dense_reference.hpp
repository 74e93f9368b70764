// The plain, slow, obvious solver that all others are compared with.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena::test {

/// N = G M^-1 G^T + Sigma, r and what they are made of, dense. The Jacobians are columns of
/// slips of unit velocities, not Catena's own.
struct DenseProblem {
  Eigen::MatrixXd G;             ///< rows x dofs
  Eigen::MatrixXd inverse_mass;  ///< dofs x dofs
  Eigen::VectorXd free_velocity;
  Eigen::MatrixXd N;
  Eigen::VectorXd r;
};

/// One rank. With an assembled operator only N and r.
DenseProblem dense_problem(const ConstraintProblem& problem);

struct DenseSolution {
  std::vector<double> impulses;
  std::vector<double> velocities;  ///< V = V_free + M^-1 G^T lambda
  std::vector<double> slips;       ///< w
  double residual = 0.0;           ///< largest natural map of a row or contact over the largest |r|
  int sweeps = 0;
};

/// Block Gauss-Seidel on the dense problem until `residual` <= tolerance: all bilateral rows
/// as one block by least squares, other scalars by clamping, contacts by the exact
/// one-contact solutions of the problem's law, with rolling, spinning or cohesion by bisection
/// for the normal impulse. One rank. Redundant contacts converge to some of
/// the possible impulses: compare velocities.
DenseSolution solve_dense(const ConstraintProblem& problem, double tolerance = 1e-13,
                          int max_sweeps = 200000);

/// Exact solution by trying all active sets, for scalar rows only (bilateral, unilateral,
/// boxed, frictionless contacts), at most 12 inequality rows. One rank.
DenseSolution enumerate_active_sets(const ConstraintProblem& problem);

}  // namespace catena::test
