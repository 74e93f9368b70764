#include "catena/solvers/linear_algebra_version.hpp"

#include <petscversion.h>

#include "solvers/linear/petsc_runtime.hpp"

namespace catena {

std::string petsc_version() {
  return std::to_string(PETSC_VERSION_MAJOR) + "." + std::to_string(PETSC_VERSION_MINOR) + "." +
         std::to_string(PETSC_VERSION_SUBMINOR);
}

void end_linear_algebra() { petsc::end(); }

}  // namespace catena
