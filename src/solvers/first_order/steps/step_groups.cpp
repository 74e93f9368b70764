#include "solvers/first_order/steps/step_groups.hpp"

namespace catena::first_order {

std::vector<StepKernels> available_step_kernels() {
  std::vector<StepKernels> kernels = {plain_step_kernels()};
  if (cpu_has_avx2() && avx2_step_kernels().name != nullptr) kernels.push_back(avx2_step_kernels());
  if (cpu_has_avx512() && avx512_step_kernels().name != nullptr)
    kernels.push_back(avx512_step_kernels());
  return kernels;
}

}  // namespace catena::first_order
