// One lane at a time.
#include "solvers/lanes/plain.hpp"

namespace catena {
namespace {
constexpr int kColumns = 4;
constexpr int kMostTiles = 1;
}  // namespace
}  // namespace catena

#include "solvers/joints/dissection/simd/factor_front.hpp"

namespace catena {
FrontKernels plain_front_kernels() { return front_kernels_named("plain"); }
}  // namespace catena
