#include "solvers/gauss_seidel/simd/dispatch.hpp"

#include "catena/base/error.hpp"

namespace catena {
namespace {

bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

bool has_avx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0;
#else
  return false;
#endif
}

}  // namespace

bool is_available(KernelPath path) {
  switch (path) {
    case KernelPath::avx2:
      return has_avx2() && avx2_kernels().name != nullptr;
    case KernelPath::avx512:
      return has_avx512() && avx512_kernels().name != nullptr;
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
