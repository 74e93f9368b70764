// Direct pivoting for the bounded linear complementarity problem.
#pragma once

#include <memory>

#include "catena/solvers/solver.hpp"

namespace catena {

/// `solver.dantzig:`
struct DantzigSettings {
  /// epsilon in N_ii (1 + epsilon), which rows that depend on each other need; refinement takes it
  /// out again.
  double regularisation = 1e-12;
};
/// The keys of `solver:` for this method.
void describe(SettingsVisitor& visit, DantzigSettings& s);

/// Dantzig's algorithm for the bounded LCP [ODE], one rank: N is formed, the free rows kept as an
/// L D L^T factor that is updated and downdated (docs/theory.md, "Pivoting"). Connected components
/// (blocks that share bodies which have an inverse mass) are solved apart, each with a stop rule of
/// its own, so that the impulses of one do not depend on what else the problem holds. Friction by
/// bounds from the normal impulses, in passes, each of which is solved to round-off:
///
/// - From zero impulses the first bounds are mu times the normal impulses without friction, so
///   that one pass is ODE's step; from a guess they are the guess's. Laws frictionless, and
///   problems without contacts, are solved by one pass.
/// - Law box: the bounds of the next pass are those of the last one's normal impulses, until they
///   settle.
/// - Law coulomb: the same in axes along the friction of a sliding contact, which carries the
///   stiffness of turning it, |w_t| / (mu lambda_n), so that the boxes converge to the discs.
///
/// Whether passes settle depends on friction. Where they do not, or pivots are stuck, what is left
/// of max_iterations goes to the methods of `auto` within the component, a pass as 50 sweeps, and
/// the report says so and names it (SolveReport::apart, choice). A component that fails keeps its
/// best impulses; the others' are not touched. Iterations are those of the component that takes the
/// most. Impulses of an unfinished solve are cut back to their law's bounds. A slightly unsymmetric
/// assembled operator is split: the skew half acts on the last pass's impulses.
///
/// stop.max_iterations counts passes that renew the friction bounds.
///
/// Throws Error(bad_input) on every rank: several ranks, law ccp, a component of more than
/// kMaxDantzigRows.
std::unique_ptr<Solver> make_dantzig(const StopRule& stop, const DantzigSettings& settings = {});

/// Rows of a component: a factor of so many free rows takes 2 GB.
inline constexpr Index kMaxDantzigRows = 16000;

}  // namespace catena
