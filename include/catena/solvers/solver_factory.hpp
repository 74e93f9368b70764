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

/// All methods.
enum class SolverMethod { gauss_seidel, jacobi, apgd, interior_point, dantzig, automatic };
/// Names of methods in cases and on the command line, in the order of SolverMethod.
inline constexpr std::array<std::string_view, 6> kSolverNames = {
    "gauss_seidel", "jacobi", "apgd", "interior_point", "dantzig", "auto"};

/// `max_iterations: auto`: what the stop rule of SolverSettings holds for it, and what it stands
/// for.
inline constexpr int kUsualIterations = 0;
inline constexpr int kUsualSweeps = 1000;      ///< of methods that sweep
inline constexpr int kUsualAutomatic = 10000;  ///< of `auto`

/// A method, what all methods share, and what each has of its own: the keys of the stop rule and of
/// Gauss-Seidel stand beside `method`, those of the others in sections of their names.
struct SolverSettings {
  SolverMethod method = SolverMethod::gauss_seidel;
  StopRule stop{.max_iterations = kUsualIterations};
  JointSolverSettings joints = {};
  GaussSeidelSettings gauss_seidel = {};
  JacobiSettings jacobi = {};
  ApgdSettings apgd = {};
  InteriorPointSettings interior_point = {};
  DantzigSettings dantzig = {};
  PetscOptions petsc = {};

  /// `stop` with the method's number in the place of kUsualIterations.
  StopRule stop_rule() const;
};
/// All keys but `method` and `joints`.
void describe(SettingsVisitor& visit, SolverSettings& s);

/// The solver that the settings name.
std::unique_ptr<Solver> make_solver(const SolverSettings& settings);

}  // namespace catena
