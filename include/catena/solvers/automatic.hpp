// Chooses among the solvers.
#pragma once

#include <memory>

#include "catena/solvers/method.hpp"

namespace catena {

/// Tries the cheapest method that may reach the tolerance and goes on to dearer ones as its
/// progress says (docs/theory.md, "Choosing"): Gauss-Seidel, proximal Newton or interior point.
/// The report's reason and the log say what was chosen and why.
std::unique_ptr<Solver> make_automatic(const MethodSettings& settings);

}  // namespace catena
