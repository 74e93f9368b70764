// The solver that tests of whole cases run, from the environment: one program, one entry per
// solver.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include "catena/solvers/solver_factory.hpp"

namespace catena::test {

/// CATENA_TEST_METHOD, a name of solver.method; gauss_seidel if not set.
inline SolverMethod method_under_test() {
  const char* name = std::getenv("CATENA_TEST_METHOD");
  if (name == nullptr) return SolverMethod::gauss_seidel;
  const auto at = std::find(kSolverNames.begin(), kSolverNames.end(), name);
  if (at == kSolverNames.end()) throw std::runtime_error(std::string("no solver ") + name);
  return static_cast<SolverMethod>(at - kSolverNames.begin());
}

/// The name, with a blank before it, for figures that tests print; none for the default.
inline std::string method_label() {
  const SolverMethod method = method_under_test();
  if (method == SolverMethod::gauss_seidel) return {};
  return " " + std::string(kSolverNames[static_cast<std::size_t>(method)]);
}

/// Whether the solver is for the law, and for so many ranks.
inline bool claims(SolverMethod method, ContactLaw law, int ranks) {
  if (method == SolverMethod::interior_point) return law != ContactLaw::box;
  if (method == SolverMethod::dantzig) return law != ContactLaw::ccp && ranks == 1;
  return true;
}

/// First-order methods' iterations are cheaper than sweeps, and there are more of them.
inline int iterations_for(SolverMethod method, int sweeps) {
  const int times = method == SolverMethod::jacobi || method == SolverMethod::apgd ? 10 : 1;
  return sweeps > 100000000 ? sweeps : times * sweeps;
}

inline std::unique_ptr<Solver> solver_under_test(const GaussSeidelSettings& settings) {
  MethodSettings all;
  all.method = method_under_test();
  all.gauss_seidel = settings;
  all.stop().max_iterations = iterations_for(all.method, settings.stop.max_iterations);
  return make_solver(all);
}

}  // namespace catena::test
