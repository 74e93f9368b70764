// Sweeps whose cycles are broken: by mixing, and by solving the contacts that circle at once.
#pragma once

#include <memory>

#include "catena/solvers/gauss_seidel.hpp"
#include "catena/solvers/solver.hpp"

namespace catena {

/// Collective. Whether patched sweeps take the problem: law coulomb with kernels, rigid bodies'
/// contacts with friction that give, no bilateral blocks, and no order of blocks to be kept to.
bool may_patch(const ConstraintProblem& problem);

/// Rounds of sweeps for steps in which Gauss-Seidel circles (docs/theory.md, "Patches"):
///
///   1. sweeps mixed by Anderson's method with a long memory (DeepMixing)
///   2. plain sweeps, which show the contacts that do not come to rest (RestlessContacts)
///   3. groups of these solved at once, the others held (solve_patch)
///
/// Any number of ranks; patches lie within one each. The same input and rank count give the same
/// bits. stop.max_iterations counts the work of sweeps, a patch that is begun being finished; the
/// solve also ends after rounds without success. For problems that may_patch().
/// `engine`, which outlives the solver, goes on with what it holds, or packs the problem.
std::unique_ptr<Solver> make_patched_sweeps(const StopRule& stop,
                                            const GaussSeidelSettings& settings,
                                            HybridEngine& engine);

}  // namespace catena
