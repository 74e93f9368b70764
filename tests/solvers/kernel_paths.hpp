// The instruction sets that tests of kernels run through.
#pragma once

#include <vector>

#include "solvers/batches/simd/dispatch.hpp"

namespace catena::test {

/// Largest difference between results of two instruction sets.
#ifdef __FMA__
inline constexpr double kPathTolerance = 0.0;  ///< all paths round alike
#else
inline constexpr double kPathTolerance = 1e-9;
#endif

/// Those that this CPU and build have.
inline std::vector<KernelPath> kernel_paths() {
  std::vector<KernelPath> available;
  for (const KernelPath path : {KernelPath::plain, KernelPath::avx2, KernelPath::avx512})
    if (is_available(path)) available.push_back(path);
  return available;
}

}  // namespace catena::test
