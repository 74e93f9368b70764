// Four lanes in AVX2 registers.
#include "solvers/joints/dissection/simd/front_kernels.hpp"

#if defined(__AVX2__) && defined(__FMA__)
#include "solvers/lanes/avx2.hpp"

namespace catena {
namespace {
constexpr int kColumns = 4;
constexpr int kMostTiles = 2;
}  // namespace
}  // namespace catena

#include "solvers/joints/dissection/simd/factor_front.hpp"

namespace catena {
FrontKernels avx2_front_kernels() { return front_kernels_named("avx2"); }
}  // namespace catena
#else
namespace catena {
FrontKernels avx2_front_kernels() { return {}; }
}  // namespace catena
#endif
