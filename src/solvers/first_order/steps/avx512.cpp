// Eight lanes in AVX-512 registers.
#include "solvers/first_order/steps/step_groups.hpp"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include "solvers/lanes/avx512.hpp"

static_assert(catena::D::kWidth == 8);

#include "solvers/first_order/steps/step_kernels.hpp"

namespace catena::first_order {
StepKernels avx512_step_kernels() { return {"avx512", sphere_steps, contact_steps, row_steps}; }
}  // namespace catena::first_order
#else
namespace catena::first_order {
StepKernels avx512_step_kernels() { return {nullptr, nullptr, nullptr, nullptr}; }
}  // namespace catena::first_order
#endif
