// How the linear systems of second-order solvers are solved, and by which library.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "catena/base/settings.hpp"
#include "catena/comm/communicator.hpp"

namespace catena {

/// automatic: direct as long as the factor fits, then conjugate gradients; direct: dense or sparse
/// factor (MUMPS); cg: conjugate gradients with `preconditioner`.
enum class LinearMethod { automatic, direct, cg };
/// What cg is preconditioned by: algebraic multigrid, blocks of ranks, incomplete Cholesky.
enum class LinearPreconditioner { gamg, block_jacobi, icc };

/// Keys `linear_system` and `linear_preconditioner` of `solver.interior_point:`.
struct LinearSettings {
  LinearMethod method = LinearMethod::automatic;
  LinearPreconditioner preconditioner = LinearPreconditioner::gamg;
};
/// The keys, with words and help.
void describe(SettingsVisitor& visit, LinearSettings& s);

/// `solver.petsc:` names and values without the prefix's dash, such as {"contact_ksp_type", "cg"};
/// and what stands after -- on the command line, verbatim.
struct PetscOptions {
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::string> verbatim;
};
/// The key `petsc`.
void describe(SettingsVisitor& visit, PetscOptions& s);
/// All of them as PETSc takes them, "-catena_contact_ksp_type cg -log_view": for provenance.
std::string to_string(const PetscOptions& options);

/// Collective, before the first solve: hands options to PETSc's database (the only way in:
/// ~/.petscrc and PETSC_OPTIONS are not read), which the whole program shares. Initialises PETSc if
/// there are any. Throws Error(bad_input) for words after -- that are no options.
void set_petsc_options(const Communicator& comm, const PetscOptions& options);
/// Collective. Those of the options given that no rank has asked for, as given; after the first
/// solve they are errors.
std::vector<std::string> unused_petsc_options(const Communicator& comm,
                                              const PetscOptions& options);

/// PETSc's version as "3.18.5", for --version and provenance.
std::string petsc_version();

/// Collective over the ranks that use PETSc together: finalises it, if it runs. No solver may be
/// left. Otherwise PETSc ends within MPI_Finalize.
void end_linear_algebra();

}  // namespace catena
