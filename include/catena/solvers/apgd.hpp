// Accelerated projected gradient descent.
#pragma once

#include <memory>

#include "catena/solvers/joint_settings.hpp"
#include "catena/solvers/solver.hpp"

namespace catena {

/// `solver.apgd:`
struct ApgdSettings {
  StopRule stop;  ///< max_iterations counts products with N; not among the keys of `apgd:`
  JointSettings joints;
};
void describe(SettingsVisitor& visit, ApgdSettings& s);

/// Accelerated projected gradient [F14] on the cone problem scaled by the inverse of its block
/// diagonal: Nesterov's momentum, backtracking, adaptive restart (docs/theory.md). Law coulomb
/// by w_n shifted with s = mu |w_t|, renewed as it goes. The same iterates on any number
/// of ranks, to round-off. Throws Error(bad_input) on every rank for settings that do not fit the
/// problem.
std::unique_ptr<Solver> make_apgd(const ApgdSettings& settings);

}  // namespace catena
