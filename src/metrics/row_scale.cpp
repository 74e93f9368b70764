#include "metrics/row_scale.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "catena/constraints/block_rows.hpp"

namespace catena {
namespace {

using ConstVec3 = Eigen::Map<const Vec3>;

/// x . A x of a rigid body's inverse inertia (numbers 1-6 of its storage).
double quadratic(const double* m, const Vec3& x) {
  return m[1] * x[0] * x[0] + m[4] * x[1] * x[1] + m[6] * x[2] * x[2] +
         2.0 * (m[2] * x[0] * x[1] + m[3] * x[0] * x[2] + m[5] * x[1] * x[2]);
}

/// Adds one rigid body's part of the diagonal in three directions.
void add_body(const double* m, const Vec3& arm, const std::array<Vec3, 3>& directions, Vec3& sum) {
  for (std::size_t i = 0; i < 3; ++i) sum[i] += m[0] + quadratic(m, arm.cross(directions[i]));
}

}  // namespace

Vec3 contact_diagonal(const ConstraintProblem& problem, const DelassusOperator& op, Index k) {
  const ProblemBodies& bodies = problem.bodies;
  const RigidContact& c = problem.contacts[k];
  if (bodies.mass_kind[c.body_a] == MassKind::dense ||
      bodies.mass_kind[c.body_b] == MassKind::dense) {
    std::array<double, 9> block{};
    op.diagonal_block(k, block);
    return {block[0], block[4], block[8]};
  }
  const std::array<Vec3, 3> directions = {c.normal, c.tangent, c.normal.cross(c.tangent)};
  Vec3 sum = compliance_of(c);
  const auto add = [&](Index b, const Vec3& arm) {
    if (bodies.mass_kind[b] != MassKind::prescribed)
      add_body(bodies.inverse_mass.data() + bodies.mass_begin[b], arm, directions, sum);
  };
  add(c.body_a, c.arm_a);
  add(c.body_b, c.arm_b);
  return sum;
}

std::array<double, 2> cone_diagonal(const ConstraintProblem& problem, const DelassusOperator& op,
                                    Index k) {
  const ProblemBodies& bodies = problem.bodies;
  const RigidContact& c = problem.contacts[k];
  if (bodies.mass_kind[c.body_a] == MassKind::dense ||
      bodies.mass_kind[c.body_b] == MassKind::dense) {
    const Vec3 d = contact_diagonal(problem, op, k);
    return {d[0], 0.5 * (d[1] + d[2])};
  }
  const auto [d_n, a_t] = contact_mobility(bodies, c);
  return {d_n + c.compliance, a_t + c.tangent_compliance};
}

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
