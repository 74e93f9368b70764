// Primal-dual interior point on PETSc.
#pragma once

#include <memory>

#include "catena/solvers/linear_settings.hpp"
#include "catena/solvers/solver.hpp"

namespace catena {

/// cone: second-order cones with Nesterov and Todd's scaling, predictor and corrector; the others
/// are [F14]'s: kkt, 5 Nc unknowns, direct; schur, 3 Nc, direct; schur_pcg, 3 Nc, conjugate
/// gradients.
enum class InteriorPointForm { cone, kkt, schur, schur_pcg };
/// [F14]'s preconditioners of schur_pcg: M - B^T C^-1 B, alone or with the diagonal of N.
enum class FangPreconditioner { barrier, diagonal };
/// [F14]'s stop criteria beside StopRule: none; no more change of the objective, or of the contact
/// force magnitude.
enum class FangStop { none, objective, force };

/// `solver.interior_point.fang:`
struct FangSettings {
  FangStop stop = FangStop::none;
  double tolerance = 1e-6;  ///< relative change that counts as none
};

/// `solver.interior_point:`
struct InteriorPointSettings {
  InteriorPointForm form = InteriorPointForm::cone;
  FangPreconditioner preconditioner = FangPreconditioner::diagonal;
  FangSettings fang;
  LinearSettings linear;
};
/// The keys of `solver:` for this method.
void describe(SettingsVisitor& visit, InteriorPointSettings& s);

/// Primal-dual interior point (docs/theory.md). Law ccp directly; law coulomb by an outer fixed
/// point on s = mu |w_t|, then by Newton's method with proximal steps. Starts from the impulses
/// given where they are of use. stop.max_iterations counts stages and Newton steps. Throws
/// Error(bad_input) on every rank for settings that do not fit the problem, Error(runtime_error)
/// where PETSc or MUMPS fails.
std::unique_ptr<Solver> make_interior_point(const StopRule& stop,
                                            const InteriorPointSettings& settings = {});

}  // namespace catena
