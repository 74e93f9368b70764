#include "solvers/joints/dissection/simd/front_kernels.hpp"
#include "solvers/lanes/lanes.hpp"

namespace catena {

FrontKernels front_kernels() {
  if (const FrontKernels kernels = avx512_front_kernels(); kernels.name && cpu_has_avx512())
    return kernels;
  if (const FrontKernels kernels = avx2_front_kernels(); kernels.name && cpu_has_avx2())
    return kernels;
  return plain_front_kernels();
}

}  // namespace catena
