#include "solvers/joints/elimination/row_products.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <numeric>

#include "catena/base/error.hpp"
#include "catena/constraints/block_rows.hpp"

namespace catena {

void diagonal(const MechanismRows& joints, std::span<double> out) {
  const GeneralBlocks& blocks = joints.blocks;
  const ProblemBodies& bodies = joints.bodies;
  std::vector<double> f;
  for (Index k = 0; blocks.row_begin[k] < std::ssize(out); ++k) {
    const std::size_t first = blocks.row_begin[k];
    const auto rows = blocks.row_begin[k + 1] - first;
    for (std::size_t r = 0; r < rows; ++r) out[first + r] = blocks.compliance[first + r];
    for_each_body(blocks, k, [&](Index b, const double* g) {
      const std::size_t dofs = bodies.dofs(b);
      const double* m = bodies.inverse_mass.data() + bodies.mass_begin[b];
      if (bodies.mass_kind[b] == MassKind::rigid) {
        for (std::size_t r = 0; r < rows; ++r, g += 6) {
          out[first + r] += m[0] * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) + m[1] * g[3] * g[3] +
                            m[4] * g[4] * g[4] + m[6] * g[5] * g[5] +
                            2.0 * (m[2] * g[3] * g[4] + m[3] * g[3] * g[5] + m[5] * g[4] * g[5]);
        }
        return;
      }
      f.resize(dofs);
      for (std::size_t r = 0; r < rows; ++r, g += dofs) {
        apply_inverse_mass(bodies, b, {g, dofs}, f);
        out[first + r] += std::inner_product(f.begin(), f.end(), g, 0.0);
      }
    });
  }
  for (double& d : out) d = d == 0.0 ? 1.0 : d;
}

std::vector<Index> mechanism_of_rows(const MechanismRows& structure, Index& n) {
  const GeneralBlocks& blocks = structure.blocks;
  std::vector<Index> up(structure.bodies.size());
  std::iota(up.begin(), up.end(), 0);
  const auto root = [&](Index b) {
    while (up[b] != b) {
      b = up[b] = up[up[b]];
    }
    return b;
  };
  const auto first_body = [&](std::size_t k) { return blocks.body[blocks.body_begin[k]]; };
  for (std::size_t k = 0; k < blocks.kind.size(); ++k) {
    CATENA_CHECK(blocks.body_begin[k + 1] > blocks.body_begin[k], "joints have bodies");
    for (Index j = blocks.body_begin[k] + 1; j < blocks.body_begin[k + 1]; ++j) {
      up[root(blocks.body[j])] = root(first_body(k));
    }
  }
  std::vector<Index> number(up.size(), kNoIndex);
  std::vector<Index> of_row;
  n = 0;
  for (std::size_t k = 0; k < blocks.kind.size(); ++k) {
    Index& mechanism = number[root(first_body(k))];
    if (mechanism == kNoIndex) mechanism = n++;
    of_row.resize(blocks.row_begin[k + 1], mechanism);
  }
  return of_row;
}

std::vector<char> trees_held_once(const MechanismRows& structure,
                                  std::span<const Index> mechanism_of_row, Index n_mechanisms,
                                  const Guests* guests) {
  const GeneralBlocks& blocks = structure.blocks;
  /// Bodies, joints of two bodies, joints to the world, joints of more bodies.
  std::vector<std::array<double, 4>> count(n_mechanisms);
  std::vector<Index> of_body(structure.bodies.size(), kNoIndex);
  for (Index k = 0; blocks.row_begin[k] < std::ssize(mechanism_of_row); ++k) {
    const Index mechanism = mechanism_of_row[blocks.row_begin[k]];
    const Index bodies = blocks.body_begin[k + 1] - blocks.body_begin[k];
    count[mechanism][bodies == 2 ? 1 : bodies == 1 ? 2 : 3] += 1.0;
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j)
      of_body[blocks.body[j]] = mechanism;
  }
  for (std::size_t b = 0; b < of_body.size(); ++b)
    if (of_body[b] != kNoIndex && (!guests || guests->knows_all_at(to_index(b))))
      count[of_body[b]][0] += 1.0;
  if (guests) guests->comm().sum(count[0]);
  std::vector<char> once(n_mechanisms);
  std::ranges::transform(count, once.begin(), [](const auto& n) {
    return n[1] == n[0] - 1.0 && n[2] <= 1.0 && n[3] == 0.0 ? 1 : 0;
  });
  return once;
}

bool moves_each_body(const MechanismRows& joints, Index k) {
  /// Pivots over the diagonal below this are round-off.
  constexpr double kRoundOff = 1e-13;
  const GeneralBlocks& blocks = joints.blocks;
  const std::size_t first = blocks.row_begin[k], rows = blocks.rows(k);
  std::vector<double> f;
  Eigen::MatrixXd s(rows, rows);
  bool moves = true;
  for_each_body(blocks, k, [&](Index b, const double* g) {
    const std::size_t dofs = joints.bodies.dofs(b);
    f.resize(dofs);
    for (std::size_t r = 0; r < rows; ++r) {
      apply_inverse_mass(joints.bodies, b, {g + r * dofs, dofs}, f);
      for (std::size_t c = 0; c < rows; ++c)
        s(r, c) = std::inner_product(f.begin(), f.end(), g + c * dofs, 0.0);
      s(r, r) += blocks.compliance[first + r];
    }
    const Eigen::VectorXd diagonal = s.diagonal();
    for (std::size_t i = 0; i < rows; ++i) {
      // written so that NaN does not move
      if (!(s(i, i) > kRoundOff * diagonal[i])) {
        moves = false;
        return;
      }
      const Eigen::Index below = rows - i - 1;
      s.bottomRightCorner(below, below) -=
          s.col(i).tail(below) * s.col(i).tail(below).transpose() / s(i, i);
    }
  });
  return moves;
}

void add_products(const MechanismRows& joints, const std::vector<std::vector<double>>& n,
                  std::span<const Index> mechanism, const Guests* guests,
                  std::vector<Products>& product) {
  const GeneralBlocks& blocks = joints.blocks;
  const ProblemBodies& bodies = joints.bodies;
  const std::size_t dofs = bodies.n_dofs();
  std::vector<std::vector<double>> f(n.size(), std::vector<double>(dofs, 0.0)), v = f;
  std::vector<Index> of_body(bodies.size(), kNoIndex);
  for (std::size_t k = 0; k < blocks.kind.size(); ++k) {
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
      const std::size_t body = blocks.body[j];
      if (guests && !guests->knows_all_at(to_index(body))) continue;
      const std::size_t first = bodies.dof_begin[body];
      const std::size_t count = bodies.dof_begin[body + 1] - first;
      const double* g = blocks.jacobian.data() + blocks.jacobian_begin[j];
      if (blocks.row_begin[k] < std::ssize(mechanism))
        of_body[body] = mechanism[blocks.row_begin[k]];
      for (std::size_t i = 0; i < n.size(); ++i) {
        double* of_vector = f[i].data() + first;
        const double* row = g;
        for (Index r = blocks.row_begin[k]; r < blocks.row_begin[k + 1]; ++r, row += count)
          for (std::size_t d = 0; d < count; ++d) of_vector[d] += row[d] * n[i][r];
      }
    }
  }
  for (std::size_t b = 0; b < of_body.size(); ++b) {
    if (of_body[b] == kNoIndex) continue;
    const std::size_t first = bodies.dof_begin[b];
    const auto count = bodies.dof_begin[b + 1] - first;
    for (std::size_t i = 0; i < n.size(); ++i) {
      apply_inverse_mass(bodies, to_index(b), {f[i].data() + first, count},
                         {v[i].data() + first, count});
    }
    product[of_body[b]].add([&](std::size_t i, std::size_t k) {
      return std::inner_product(f[i].begin() + first, f[i].begin() + (first + count),
                                v[k].begin() + first, 0.0);
    });
  }
  for (std::size_t r = 0; r < mechanism.size(); ++r) {
    if (blocks.compliance[r] == 0.0) continue;
    product[mechanism[r]].add(
        [&](std::size_t i, std::size_t k) { return n[i][r] * blocks.compliance[r] * n[k][r]; });
  }
}

}  // namespace catena
