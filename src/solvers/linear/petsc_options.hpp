// PETSc's database of options as the solvers of this module see it.
#pragma once

#include <string_view>

namespace catena {

/// Not collective. Some option in the database begins with `prefix`.
bool petsc_options_given(std::string_view prefix);

}  // namespace catena
