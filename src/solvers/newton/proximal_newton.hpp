// Nonsmooth Newton with proximal steps, for the laws coulomb, ccp and frictionless.
#pragma once

#include <memory>

#include "catena/solvers/linear_settings.hpp"
#include "catena/solvers/solver.hpp"

namespace catena {

/// Proximal point iterations whose problems, N + alpha D in place of N, are solved by Newton's
/// method on Alart and Curnier's function (docs/theory.md). Starts from the impulses given. A
/// part of interior_point and auto for law coulomb. stop.max_iterations counts Newton steps.
std::unique_ptr<Solver> make_proximal_newton(const StopRule& stop,
                                             const LinearSettings& linear = {});

}  // namespace catena
