// Block projected Gauss-Seidel/SOR on velocities; over subdomains the
// block-Jacobi/Gauss-Seidel hybrid with mass splitting.
#pragma once

#include <memory>

#include "catena/solvers/solver.hpp"

namespace catena {

enum class LocalSolve { exact, cone, project, sliding, scalar };
enum class Formulation { velocity, residual, acceleration };
enum class SweepOrder { forward, backward, symmetric };

struct GaussSeidelSettings {
  StopRule stop;
  LocalSolve local = LocalSolve::exact;
  Formulation formulation = Formulation::velocity;
  SweepOrder order = SweepOrder::forward;
  double relaxation = 1.0;  ///< omega in (0, 2)
  /// A body in contact with at least this many others, over several subdomains, is a hub:
  /// its rows are swept by its owner after the exchange. 0: never.
  int hub_contacts = 256;
};
void describe(SettingsVisitor& visit, GaussSeidelSettings& s);

/// [L11] Algorithms 2.1, 2.2, 3.1 and [ODE]'s SOR form (docs/theory.md).
std::unique_ptr<Solver> make_gauss_seidel(const GaussSeidelSettings& settings);

}  // namespace catena
