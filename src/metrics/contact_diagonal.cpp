#include "contact_diagonal.hpp"

#include <array>
#include <cmath>
#include <span>

namespace catena {
namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

using ConstVec3 = Eigen::Map<const Vec3>;

/// Adds one rigid body's part of the diagonal in three directions.
void add_body(const double* m, const Vec3& arm, const std::array<Vec3, 3>& directions, Vec3& sum) {
  for (std::size_t i = 0; i < 3; ++i) {
    const Vec3 x = arm.cross(directions[i]);
    const double turn = m[1] * x[0] * x[0] + m[4] * x[1] * x[1] + m[6] * x[2] * x[2] +
                        2.0 * (m[2] * x[0] * x[1] + m[3] * x[0] * x[2] + m[5] * x[1] * x[2]);
    sum[static_cast<Eigen::Index>(i)] += m[0] + turn;
  }
}

}  // namespace

Vec3 contact_diagonal(const ConstraintProblem& problem, const DelassusOperator& op, Index k) {
  const ProblemBodies& bodies = problem.bodies;
  const RigidContact& c = problem.contacts[at(k)];
  if (bodies.mass_kind[at(c.body_a)] == MassKind::dense ||
      bodies.mass_kind[at(c.body_b)] == MassKind::dense) {
    std::array<double, 9> block{};
    op.diagonal_block(k, block);
    return {block[0], block[4], block[8]};
  }
  const std::array<Vec3, 3> directions = {c.normal, c.tangent, c.normal.cross(c.tangent)};
  Vec3 sum = Vec3::Zero();
  const auto add = [&](Index b, const Vec3& arm) {
    if (bodies.mass_kind[at(b)] != MassKind::prescribed)
      add_body(bodies.inverse_mass.data() + bodies.mass_begin[at(b)], arm, directions, sum);
  };
  add(c.body_a, c.arm_a);
  add(c.body_b, c.arm_b);
  return sum;
}

Vec3 row_scales(const ConstraintProblem& problem, const RigidContact& c) {
  const ProblemBodies& bodies = problem.bodies;
  const double* a = bodies.free_velocity.data() + bodies.dof_begin[at(c.body_a)];
  const double* b = bodies.free_velocity.data() + bodies.dof_begin[at(c.body_b)];
  const Vec3 speed = ConstVec3(a).cwiseAbs() + ConstVec3(b).cwiseAbs();
  const Vec3 turn_a = ConstVec3(a + 3).cwiseAbs(), turn_b = ConstVec3(b + 3).cwiseAbs();
  const auto scale = [&](const Vec3& d) {
    return d.cwiseAbs().dot(speed) + c.arm_a.cross(d).cwiseAbs().dot(turn_a) +
           c.arm_b.cross(d).cwiseAbs().dot(turn_b);
  };
  return {scale(c.normal) + std::abs(c.bias), scale(c.tangent), scale(c.normal.cross(c.tangent))};
}

void row_scales(const ConstraintProblem& problem, Index k, std::vector<double>& scale) {
  const GeneralBlocks& blocks = problem.blocks;
  const ProblemBodies& bodies = problem.bodies;
  const std::size_t first = at(blocks.row_begin[at(k)]);
  scale.assign(at(blocks.row_begin[at(k) + 1]) - first, 0.0);
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = std::abs(blocks.q[first + i]);
  for (Index j = blocks.body_begin[at(k)]; j < blocks.body_begin[at(k) + 1]; ++j) {
    const std::size_t body = at(blocks.body[at(j)]);
    const std::size_t begin = at(bodies.dof_begin[body]);
    const std::size_t dofs = at(bodies.dof_begin[body + 1]) - begin;
    const double* g = blocks.jacobian.data() + blocks.jacobian_begin[at(j)];
    for (std::size_t i = 0; i < scale.size(); ++i)
      for (std::size_t d = 0; d < dofs; ++d)
        scale[i] += std::abs(g[i * dofs + d] * bodies.free_velocity[begin + d]);
  }
}

}  // namespace catena
