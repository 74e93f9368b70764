// All contact solvers by name: `solver.method` of a case, `--solver` of `catena solve`.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "catena/solvers/apgd.hpp"
#include "catena/solvers/dantzig.hpp"
#include "catena/solvers/gauss_seidel.hpp"
#include "catena/solvers/interior_point.hpp"
#include "catena/solvers/jacobi.hpp"

namespace catena {

/// `max_iterations: auto` of the stop rule of MethodSettings: what make_solver takes for it.
inline constexpr int kUsualIterations = 0;
inline constexpr int kUsualSweeps = 200, kUsualAutomatic = 10000;

enum class SolverMethod { gauss_seidel, jacobi, apgd, interior_point, dantzig, automatic };
inline constexpr std::array<std::string_view, 6> kSolverNames = {
    "gauss_seidel", "jacobi", "apgd", "interior_point", "dantzig", "auto"};

/// A method and the settings of all: the keys of Gauss-Seidel and of the stop rule stand beside
/// `method`, those of the others in sections of their names. `stop` and `joints` are those of
/// `gauss_seidel`, whatever the method: make_solver hands them on.
struct MethodSettings {
  MethodSettings() { stop().max_iterations = kUsualIterations; }

  SolverMethod method = SolverMethod::gauss_seidel;
  GaussSeidelSettings gauss_seidel;
  JacobiSettings jacobi;
  ApgdSettings apgd;
  InteriorPointSettings interior_point;
  DantzigSettings dantzig;
  PetscOptions petsc;

  StopRule& stop() { return gauss_seidel.stop; }
  const StopRule& stop() const { return gauss_seidel.stop; }
};
/// All keys but `method` and `joints`.
void describe(SettingsVisitor& visit, MethodSettings& s);

std::unique_ptr<Solver> make_solver(const MethodSettings& settings);

}  // namespace catena
