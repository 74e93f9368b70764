// Gauss-Seidel that carries something else than velocities from block to block, with the same
// iterates: what other codes do, beside what this one does.
#pragma once

#include <memory>
#include <span>

#include "solvers/gauss_seidel/sweep_engine.hpp"

namespace catena {

/// Collective. [L11] Algorithm 2.1: keeps the residuals of all rows up to date through
/// lists of the blocks at each body. Throws Error(bad_input) on more than one subdomain.
std::unique_ptr<SweepEngine> make_residual_engine(const ConstraintProblem& problem,
                                                  DelassusOperator& op,
                                                  const LocalSolveOptions& rules,
                                                  std::span<const double> impulses);

/// [ODE] quickstep: the hybrid over subdomains with a_c = M^-1 G^T lambda in place of V and
/// q - G V_free in place of q.
SweepOptions acceleration_options(const LocalSolveOptions& rules);

}  // namespace catena
