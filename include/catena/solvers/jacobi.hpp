// Projected block Jacobi.
#pragma once

#include <memory>

#include "catena/solvers/joint_solver_settings.hpp"
#include "catena/solvers/solver.hpp"

namespace catena {

/// `solver.jacobi:`
struct JacobiSettings {
  /// Part of the safe step; above 1 nothing guarantees descent.
  double relaxation = 1.0;
};
/// The keys of `solver:` for this method.
void describe(SettingsVisitor& visit, JacobiSettings& s);

/// Projected block Jacobi [F14]: lambda_k <- P_K(lambda_k - omega w_k / a_k) for all blocks at
/// once, a_k = c_k (N_nn, a_t, a_t) with blockdiag(a_k) >= N (docs/theory.md, "First-order
/// methods"): for law ccp and frictionless the objective falls in every sweep up to omega = 1. Law
/// coulomb with w_n shifted by s = mu |w_t| of the present w. Joints are solved exactly in every
/// sweep, unless `joints.method: iterative`; then their rows are iterated like the others. The same
/// iterates on any number of ranks, to round-off. stop.max_iterations counts sweeps. Throws
/// Error(bad_input) on every rank for settings that do not fit the problem.
std::unique_ptr<Solver> make_jacobi(const StopRule& stop, const JointSolverSettings& joints,
                                    const JacobiSettings& settings);

}  // namespace catena
