// Chooses among the solvers.
#pragma once

#include <memory>

#include "catena/solvers/solver_factory.hpp"

namespace catena {

/// Tries the cheapest method that may reach the tolerance and goes on to dearer ones as its
/// progress says (docs/theory.md, "Choosing"): Gauss-Seidel, apgd, proximal Newton, interior point.
/// Iterations, of the stop rule, the report and its history, are the work of a Gauss-Seidel sweep
/// over the same problem, counted, not timed: a product of apgd as a quarter, a step of a method
/// that factors as many as work_estimate.hpp says. A method gets what is left, and is not begun
/// where that is too little for it.
/// The report's reason and the log say what was chosen and why.
std::unique_ptr<Solver> make_automatic(const SolverSettings& settings);

}  // namespace catena
