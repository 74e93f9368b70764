// Which linear algebra library the solvers were built with.
#pragma once

#include <string>

namespace catena {

/// PETSc's version as "3.18.5", for --version and provenance.
std::string petsc_version();

}  // namespace catena
