// Accelerated projected gradient descent.
#pragma once

#include <functional>
#include <memory>

#include "catena/solvers/joint_solver_settings.hpp"
#include "catena/solvers/solver.hpp"

namespace catena {

class Subdomain;
/// Asks who has packed a problem.
using PackedBy = std::function<Subdomain*(const ConstraintProblem&)>;

/// `solver.apgd:`
struct ApgdSettings {
  bool restart = true;      ///< of the momentum, where it points uphill
  int shift_interval = 10;  ///< law coulomb: steps between renewals of s
};
/// The keys of `solver:` for this method.
void describe(SettingsVisitor& visit, ApgdSettings& s);

/// Accelerated projected gradient [F14] in rows scaled by their block diagonal: Nesterov's momentum
/// with restart by the gradient (O'Donoghue and Candes 2012), a step that follows the largest
/// curvature met on the way (docs/theory.md, "First-order methods"). Law coulomb by w_n shifted
/// with s = mu |w_t|, renewed every shift_interval steps. Joints are solved exactly in every
/// product, unless `joints.method: iterative`. The same iterates on any number of ranks, to
/// round-off. stop.max_iterations counts products with N. Throws Error(bad_input) on every rank for
/// settings that do not fit the problem.
///
/// `packed`: what another method has packed of the problem, null where there is nothing; its
/// impulses are overwritten. Empty: nobody packs but this one.
std::unique_ptr<Solver> make_apgd(const StopRule& stop, const JointSolverSettings& joints,
                                  const ApgdSettings& settings, const PackedBy& packed = {});

}  // namespace catena
