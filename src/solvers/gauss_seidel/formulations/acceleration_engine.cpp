#include "solvers/gauss_seidel/formulations/formulations.hpp"

namespace catena {
namespace {

class CarriedAccelerations final : public CarriedQuantity {
 public:
  void start(DelassusOperator& op, std::span<const double> impulses,
             std::span<double> carried) const override {
    op.velocity_changes(impulses, carried);
  }

  /// q - G V_free.
  void adapt(const ConstraintProblem& problem, ExplicitBlocks& blocks,
             std::span<const Index> body) const override {
    const ExplicitBlocks::Block& block = blocks.blocks.back();
    for (Index j = block.reference_begin; j < block.reference_end; ++j) {
      const ExplicitBlocks::Reference& ref = blocks.references[j];
      const Index b = body[j - block.reference_begin];
      const double* v = problem.bodies.free_velocity.data() + problem.bodies.dof_begin[b];
      for (Index row = 0; row < block.rows; ++row)
        for (Index m = 0; m < ref.dofs; ++m)
          blocks.q[block.row + row] -= blocks.g[ref.g + (row * ref.dofs + m)] * v[m];
    }
  }
};

}  // namespace

SweepOptions acceleration_options(const LocalSolveOptions& rules) {
  static const CarriedAccelerations kCarried{};
  return {.local = rules, .kernels = plain_kernels(), .carried = &kCarried};
}

}  // namespace catena
