// Four lanes in AVX2 registers, twice per group.
#include "solvers/first_order/steps/step_groups.hpp"

#if defined(__AVX2__) && defined(__FMA__)
#include "solvers/lanes/avx2.hpp"

static_assert(catena::D::kWidth == 4);

#include "solvers/first_order/steps/step_kernels.hpp"

namespace catena::first_order {
StepKernels avx2_step_kernels() { return {"avx2", sphere_steps, contact_steps, row_steps}; }
}  // namespace catena::first_order
#else
namespace catena::first_order {
StepKernels avx2_step_kernels() { return {nullptr, nullptr, nullptr, nullptr}; }
}  // namespace catena::first_order
#endif
