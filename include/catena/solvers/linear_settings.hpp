// How the linear systems of second-order solvers are solved.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "catena/base/settings.hpp"

namespace catena {

/// automatic: direct as long as the factor fits, then conjugate gradients; direct: dense or sparse
/// factor (MUMPS); cg: conjugate gradients with `preconditioner`.
enum class LinearMethod { automatic, direct, cg };
enum class LinearPreconditioner { gamg, block_jacobi, icc };

/// Keys `linear_system` and `linear_preconditioner` of `solver.interior_point:`.
struct LinearSettings {
  LinearMethod method = LinearMethod::automatic;
  LinearPreconditioner preconditioner = LinearPreconditioner::gamg;
};
void describe(SettingsVisitor& visit, LinearSettings& s);

/// `solver.petsc:` names and values without the prefix's dash, such as {"contact_ksp_type", "cg"};
/// and what stands after -- on the command line, verbatim.
struct PetscOptions {
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::string> verbatim;
};

/// Not collective, before the first solve: hands options to PETSc's database (the only way in:
/// ~/.petscrc and PETSC_OPTIONS are not read).
void set_petsc_options(const PetscOptions& options);
/// Options given that no solver has asked for, as given; after the first solve they are errors.
std::vector<std::string> unused_petsc_options();

}  // namespace catena
