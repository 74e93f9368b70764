#include "metrics/row_scale.hpp"

#include <cmath>

#include "catena/constraints/block_rows.hpp"

namespace catena {
namespace {

using ConstVec3 = Eigen::Map<const Vec3>;

}  // namespace

double row_scale(const ConstraintProblem& problem, const RigidContact& c) {
  const ProblemBodies& bodies = problem.bodies;
  const auto speed = [&](Index body, const Vec3& arm) {
    const double* v = bodies.free_velocity.data() + bodies.dof_begin[body];
    return ConstVec3(v).norm() + std::sqrt(arm.squaredNorm() * ConstVec3(v + 3).squaredNorm());
  };
  return speed(c.body_a, c.arm_a) + speed(c.body_b, c.arm_b) + bias_of(c).norm();
}

void row_scales(const ConstraintProblem& problem, Index k, std::vector<double>& scale) {
  const GeneralBlocks& blocks = problem.blocks;
  const ProblemBodies& bodies = problem.bodies;
  const std::size_t first = blocks.row_begin[k];
  scale.assign(blocks.row_begin[k + 1] - first, 0.0);
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = std::abs(blocks.q[first + i]);
  for_each_body(blocks, k, [&](Index body, const double* g) {
    const std::size_t begin = bodies.dof_begin[body], dofs = bodies.dofs(body);
    for (std::size_t i = 0; i < scale.size(); ++i)
      for (std::size_t d = 0; d < dofs; ++d)
        scale[i] += std::abs(g[i * dofs + d] * bodies.free_velocity[begin + d]);
  });
}

}  // namespace catena
