#include "catena/solvers/linear_algebra_version.hpp"

#include <petscversion.h>

namespace catena {

std::string petsc_version() {
  return std::to_string(PETSC_VERSION_MAJOR) + "." + std::to_string(PETSC_VERSION_MINOR) + "." +
         std::to_string(PETSC_VERSION_SUBMINOR);
}

}  // namespace catena
