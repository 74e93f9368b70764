// Which instruction set sweeps the batches.
#pragma once

#include "catena/solvers/gauss_seidel.hpp"
#include "solvers/batches/simd/contact_batches.hpp"

namespace catena {

/// Whether the build has the kernels and this CPU can run them.
bool is_available(KernelPath path);

/// The kernels of a path; `automatic`: the widest that this CPU has. Throws Error(bad_input) for
/// those it has not.
BatchKernels choose_kernels(KernelPath path);

}  // namespace catena
