// How a dumped step is solved again by itself.
#pragma once

#include <string>

#include "catena/solvers/solver_factory.hpp"

namespace catena {

/// The command that solves the problem file `path` as a run with these settings did. Settings of
/// `solver.joints`, which `catena solve` does not have, are left out.
std::string solve_again(const std::string& path, const SolverSettings& settings);

}  // namespace catena
