// Eight lanes in AVX-512 registers.
#include "solvers/joints/dissection/simd/front_kernels.hpp"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include "solvers/lanes/avx512.hpp"

namespace catena {
namespace {
constexpr int kColumns = 8;
constexpr int kMostTiles = 2;
}  // namespace
}  // namespace catena

#include "solvers/joints/dissection/simd/factor_front.hpp"

namespace catena {
FrontKernels avx512_front_kernels() { return front_kernels_named("avx512"); }
}  // namespace catena
#else
namespace catena {
FrontKernels avx512_front_kernels() { return {}; }
}  // namespace catena
#endif
