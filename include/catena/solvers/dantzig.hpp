// Direct pivoting for the bounded linear complementarity problem.
#pragma once

#include <memory>

#include "catena/solvers/solver.hpp"

namespace catena {

/// `solver.dantzig:`
struct DantzigSettings {
  StopRule stop;  ///< max_iterations counts passes that renew the friction bounds
  /// Added to the diagonal, as a part of its largest entry, where the rows hang on each other.
  double regularisation = 1e-12;
};
void describe(SettingsVisitor& visit, DantzigSettings& s);

/// Dantzig's algorithm for the bounded LCP [ODE], one rank: N is formed, the clamped rows kept as
/// an LDL^T factor that is updated and downdated. Friction by bounds from the normal impulses
/// (docs/theory.md). Throws Error(bad_input) on every rank where it runs on several.
std::unique_ptr<Solver> make_dantzig(const DantzigSettings& settings);

}  // namespace catena
