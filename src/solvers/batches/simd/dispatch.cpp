#include "solvers/batches/simd/dispatch.hpp"

#include "catena/base/error.hpp"

namespace catena {
bool is_available(KernelPath path) {
  switch (path) {
    case KernelPath::avx2:
      return cpu_has_avx2() && avx2_kernels().name != nullptr;
    case KernelPath::avx512:
      return cpu_has_avx512() && avx512_kernels().name != nullptr;
    case KernelPath::automatic:
    case KernelPath::plain:
      break;
  }
  return true;
}

BatchKernels choose_kernels(KernelPath path) {
  if (!is_available(path))
    throw Error("this CPU or build has no such kernels", "solver.kernels", "use kernels: auto");
  const bool any = path == KernelPath::automatic;
  if (path == KernelPath::avx512 || (any && is_available(KernelPath::avx512)))
    return avx512_kernels();
  if (path == KernelPath::avx2 || (any && is_available(KernelPath::avx2))) return avx2_kernels();
  return plain_kernels();
}

}  // namespace catena
