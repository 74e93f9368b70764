#include "catena/constraints/block_diagonal.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "catena/constraints/block_rows.hpp"

namespace catena {
namespace {

const double* inverse_mass_of(const ProblemBodies& bodies, Index b) {
  return bodies.inverse_mass.data() + bodies.mass_begin[b];
}

/// out += G Y^T of one body's rows, `dofs` numbers a row: products are summed up body by body.
void add_products(std::size_t rows, std::size_t dofs, const double* g, const double* y,
                  double* out) {
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < rows; ++j)
      out[i * rows + j] += std::inner_product(g + i * dofs, g + (i + 1) * dofs, y + j * dofs, 0.0);
}

/// g M^-1 g^T of a row at a rigid body, in the order of apply_inverse_mass.
double rigid_mobility(const double* m, const double* g) {
  const double x = m[1] * g[3] + m[2] * g[4] + m[3] * g[5];
  const double y = m[2] * g[3] + m[4] * g[4] + m[5] * g[5];
  const double z = m[3] * g[3] + m[5] * g[4] + m[6] * g[5];
  return g[0] * (m[0] * g[0]) + g[1] * (m[0] * g[1]) + g[2] * (m[0] * g[2]) + g[3] * x + g[4] * y +
         g[5] * z;
}

/// s G M^-1 G^T of a contact's body with a dense mass; G = (axes, turns), whatever its sign.
Mat3 dense_part(const ProblemBodies& bodies, Index b, std::span<const Vec3, 3> axes,
                const Mat3& turns, double s) {
  std::array<double, 18> g, y;
  for (std::size_t i = 0; i < 3; ++i) {
    Eigen::Map<Vec3>(g.data() + 6 * i) = axes[i];
    Eigen::Map<Vec3>(g.data() + 6 * i + 3) = turns.col(to_index(i));
    apply_inverse_mass(bodies, b, std::span(g).subspan(6 * i, 6), std::span(y).subspan(6 * i, 6));
  }
  for (double& value : y) value *= s;
  Eigen::Matrix<double, 3, 3, Eigen::RowMajor> d = Mat3::Zero();
  add_products(3, 6, g.data(), y.data(), d.data());
  return d;
}

bool has_dense_body(const ProblemBodies& bodies, const RigidContact& c) {
  return bodies.mass_kind[c.body_a] == MassKind::dense ||
         bodies.mass_kind[c.body_b] == MassKind::dense;
}

/// Calls add(dofs, G, Y) for every body that general block k moves, Y = s G M^-1.
template <class Add>
void for_each_product(const ConstraintProblem& problem, Index k, std::span<const double> weight,
                      const Add& add) {
  const std::size_t rows = problem.blocks.rows(k);
  std::array<double, 36> few;
  std::vector<double> many;
  for_each_body(problem.blocks, k, [&](Index b, const double* g) {
    if (problem.bodies.is_prescribed(b)) return;
    const std::size_t dofs = problem.bodies.dofs(b);
    if (rows * dofs > few.size()) many.resize(rows * dofs);
    const std::span<double> y =
        many.empty() ? std::span<double>(few).first(rows * dofs) : std::span<double>(many);
    for (std::size_t r = 0; r < rows; ++r)
      apply_inverse_mass(problem.bodies, b, {g + r * dofs, dofs}, y.subspan(r * dofs, dofs));
    if (!weight.empty())
      for (double& value : y) value *= weight[b];
    add(dofs, g, y.data());
  });
}

/// Calls add(i, j, value) for the entries of block k of an assembled operator.
template <class Add>
void for_each_own_entry(const AssembledOperator& n, Index k, const Add& add) {
  for (Index i = 0; i < 3; ++i)
    for (auto e = n.row_begin[3 * k + i]; e < n.row_begin[3 * k + i + 1]; ++e)
      if (const Index j = n.column[e] - 3 * k; j >= 0 && j < 3) add(i, j, n.value[e]);
}

}  // namespace

Mat3 mobility_matrix(const ProblemBodies& bodies, const RigidContact& c, double s_a, double s_b) {
  const Vec3 axes[3] = {c.normal, c.tangent, c.normal.cross(c.tangent)};
  double mass = 0.0;
  for (const auto& [b, s] : {std::pair(c.body_a, s_a), std::pair(c.body_b, s_b)})
    if (bodies.mass_kind[b] == MassKind::rigid) mass += s * inverse_mass_of(bodies, b)[0];
  Mat3 d = mass * Mat3::Identity();
  const auto add = [&](Index b, const Vec3& arm, double s) {
    if (bodies.is_prescribed(b)) return;
    Mat3 turns;
    for (int j = 0; j < 3; ++j) turns.col(j) = arm.cross(axes[j]);
    if (bodies.mass_kind[b] == MassKind::dense) {
      d += dense_part(bodies, b, axes, turns, s);
      return;
    }
    const double* m = inverse_mass_of(bodies, b);
    double i[6];
    for (int j = 0; j < 6; ++j) i[j] = s * m[j + 1];
    Mat3 inverse;
    inverse << i[0], i[1], i[2], i[1], i[3], i[4], i[2], i[4], i[5];
    d += turns.transpose() * inverse * turns;
  };
  add(c.body_a, c.arm_a, s_a);
  add(c.body_b, c.arm_b, s_b);
  return d;
}

std::array<double, 2> cone_diagonal(const ConstraintProblem& problem, Index k) {
  const RigidContact& c = problem.contacts[k];
  if (has_dense_body(problem.bodies, c)) {
    std::array<double, 3> d;
    row_diagonals(problem, k, d);
    return {d[0], 0.5 * (d[1] + d[2])};
  }
  const auto [d_n, a_t] = contact_mobility(problem.bodies, c);
  return {d_n + c.compliance, a_t + c.tangent_compliance};
}

void block_diagonal(const ConstraintProblem& problem, Index block, std::span<double> out,
                    std::span<const double> weight) {
  const std::size_t rows = block_view(problem, block).rows;
  std::fill(out.begin(), out.end(), 0.0);
  if (problem.assembled) {
    for_each_own_entry(*problem.assembled, block,
                       [&](Index i, Index j, double value) { out[3 * i + j] += value; });
    return;
  }
  const auto n_contacts = to_index(problem.contacts.size());
  if (block < n_contacts) {
    const RigidContact& c = problem.contacts[block];
    const auto s = [&](Index b) { return weight.empty() ? 1.0 : weight[b]; };
    Mat3 d = mobility_matrix(problem.bodies, c, s(c.body_a), s(c.body_b));
    d.diagonal() += compliance_of(c);
    for (Index i = 0; i < 3; ++i)
      for (Index j = 0; j < 3; ++j) out[3 * i + j] = d(i, j);
    return;
  }
  for (std::size_t r = 0; r < rows; ++r)
    out[r * (rows + 1)] = compliance_of_row(problem, block, to_index(r));
  for_each_product(problem, block - n_contacts, weight,
                   [&](std::size_t dofs, const double* g, const double* y) {
                     add_products(rows, dofs, g, y, out.data());
                   });
}

void row_diagonals(const ConstraintProblem& problem, Index block, std::span<double> out) {
  std::fill(out.begin(), out.end(), 0.0);
  if (problem.assembled) {
    for_each_own_entry(*problem.assembled, block, [&](Index i, Index j, double value) {
      if (i == j) out[i] += value;
    });
    return;
  }
  const auto n_contacts = to_index(problem.contacts.size());
  if (block < n_contacts) {
    const RigidContact& c = problem.contacts[block];
    const Vec3 d = mobility_matrix(problem.bodies, c).diagonal() + compliance_of(c);
    std::copy_n(d.data(), 3, out.begin());
    return;
  }
  for (std::size_t r = 0; r < out.size(); ++r)
    out[r] = compliance_of_row(problem, block, to_index(r));
  const ProblemBodies& bodies = problem.bodies;
  std::vector<double> many;
  for_each_body(problem.blocks, block - n_contacts, [&](Index b, const double* g) {
    const Index dofs = bodies.dofs(b);
    if (bodies.mass_kind[b] == MassKind::rigid) {
      const double* m = inverse_mass_of(bodies, b);
      for (double& d : out) d += rigid_mobility(m, std::exchange(g, g + 6));
    } else if (!bodies.is_prescribed(b)) {
      many.resize(dofs);
      for (double& d : out) {
        apply_inverse_mass(bodies, b, {g, static_cast<std::size_t>(dofs)}, many);
        d += std::inner_product(g, g + dofs, many.begin(), 0.0);
        g += dofs;
      }
    }
  });
}

}  // namespace catena
