// One lane at a time.
#include "solvers/lanes/plain.hpp"

static_assert(catena::D::kWidth == 1);

#include "solvers/first_order/steps/step_kernels.hpp"

namespace catena::first_order {
StepKernels plain_step_kernels() { return {"plain", sphere_steps, contact_steps, row_steps}; }
}  // namespace catena::first_order
