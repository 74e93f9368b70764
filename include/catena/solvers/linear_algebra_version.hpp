// Which linear algebra library the solvers were built with.
#pragma once

#include <string>

namespace catena {

/// PETSc's version as "3.18.5", for --version and provenance.
std::string petsc_version();

/// Collective over the ranks that use PETSc together: finalises it, if it runs. No solver may be
/// left. Otherwise PETSc ends within MPI_Finalize.
void end_linear_algebra();

}  // namespace catena
