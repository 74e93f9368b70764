// How first-order methods scale rows, and how far N is from its diagonal.
#include "solvers/first_order/row_scales.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>

#include "catena/base/release.hpp"
#include "catena/comm/ghost_sum.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/block_rows.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "catena/math/cone.hpp"
#include "catena/math/disc_cone.hpp"

namespace catena::first_order {
namespace {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Calls visit(block, view of it) for all blocks, or all but joints.
template <class Visit>
void each_block(const ConstraintProblem& problem, bool with_joints, const Visit& visit) {
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    if (with_joints || view.kind != BlockKind::bilateral) visit(k, view);
  }
}

/// Neighbours. n_b: how many blocks of all ranks touch each local body.
std::vector<double> count_blocks(const ConstraintProblem& problem, bool with_joints) {
  std::vector<double> count(problem.bodies.size(), 0.0);
  each_block(problem, with_joints, [&](Index k, const BlockView&) {
    for_each_body_index(problem, k, [&](Index b) {
      if (!problem.bodies.is_prescribed(b)) count[b] += 1.0;
    });
  });
  sum_with_ghosts(problem.comm, problem.ghosts, 1, Tag::block_counts, Tag::whole_block_counts,
                  count);
  return count;
}

/// D of a block from the diagonal of N_kk: means over the discs of a contact. A contact whose
/// normal nothing moves has no rows that move.
void mean_diagonal(const BlockView& view, const std::vector<double>& own, double* d) {
  if (view.kind != BlockKind::contact) {
    std::copy(own.begin(), own.end(), d);
    return;
  }
  d[0] = own[0];
  const std::array<int, 6> row = standard_row_slots(view);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t begin = kDiscBegin[i];
    const std::size_t last = begin + kDiscRows[i] - 1;
    if (row[begin] < 0) continue;
    const std::size_t r = row[begin], s = row[last];
    d[r] = d[s] = own[0] > 0.0 ? 0.5 * (own[r] + own[s]) : 0.0;
  }
}

/// Largest eigenvalue, or, of blocks that are no contacts of three rows, its bound by row sums.
double largest(const RowMatrix& d) {
  if (d.rows() == 3) return largest_eigenvalue(d);
  return d.cwiseAbs().rowwise().sum().maxCoeff();
}

/// s <- s c^(splitting/2) of a block, given as 1/s.
void widen(double c, double splitting, std::span<double> by) {
  // no block is beyond its own diagonal by less than nothing: round-off
  const double less = std::pow(std::max(c, 1.0), -0.5 * splitting);
  for (double& x : by) x *= less;
}

/// 1/s of a block's rows from its own diagonal; `own`, `d`: scratch.
void set_scales(const ConstraintProblem& problem, Index block, const BlockView& view,
                std::vector<double>& own, std::vector<double>& d, std::span<double> by) {
  own.resize(view.rows);
  d.assign(view.rows, 0.0);
  row_diagonals(problem, block, own);
  mean_diagonal(view, own, d.data());
  for (std::size_t r = 0; r < d.size(); ++r) by[r] = d[r] > 0.0 ? 1.0 / std::sqrt(d[r]) : 0.0;
}

/// s times the axes of a cone that is no disc.
void stretch(const ContactCone& cone, std::span<double> by) {
  for (std::size_t i = 1; i < 6; ++i)
    if (cone.row[i] >= 0) by[cone.row[i]] /= cone.axis[i];
}

void scale_body_rows(const ConstraintProblem& problem, bool with_joints, double splitting,
                     std::span<double> by_scale) {
  std::vector<double> count;
  if (splitting > 0.0) count = count_blocks(problem, with_joints);
  std::vector<double> own, d;
  RowMatrix block;
  each_block(problem, with_joints, [&](Index k, const BlockView& view) {
    const std::span<double> by = by_scale.subspan(view.row, view.rows);
    set_scales(problem, k, view, own, d, by);
    if (view.kind == BlockKind::contact && !has_kernels(problem))
      stretch(contact_cone(problem, k), by);
    if (!(splitting > 0.0)) return;
    block.resize(view.rows, view.rows);
    block_diagonal(problem, k, {block.data(), std::size_t(block.size())}, count);
    for (Index r = 0; r < block.rows(); ++r)
      for (Index c = 0; c < block.cols(); ++c) block(r, c) *= by[r] * by[c];
    widen(largest(block), splitting, by);
  });
}

/// The blocks D_k^-1/2 N_kj D_j^-1/2 of contact k's rows, summed by their norms.
double sum_of_norms(const AssembledOperator& n, Index k, std::span<const double> by) {
  // the rows of a block name the same columns, but not all of them need be there
  std::vector<std::pair<Index, Mat3>> blocks;
  for (Index i = 0; i < 3; ++i)
    for (std::size_t e = n.row_begin[3 * k + i];
         e < static_cast<std::size_t>(n.row_begin[(3 * k + i) + 1]); ++e) {
      const Index j = n.column[e] / 3;
      auto found = std::find_if(blocks.begin(), blocks.end(),
                                [j](const auto& entry) { return entry.first == j; });
      if (found == blocks.end()) found = blocks.insert(blocks.end(), {j, Mat3::Zero()});
      found->second(i, n.column[e] % 3) += n.value[e] * by[3 * k + i] * by[n.column[e]];
    }
  double sum = 0.0;
  for (const auto& [j, block] : blocks)
    sum += std::sqrt(largest_eigenvalue(block.transpose() * block));
  return sum;
}

void scale_assembled_rows(const ConstraintProblem& problem, double splitting,
                          std::span<double> by_scale) {
  const AssembledOperator& n = *problem.assembled;
  std::vector<double> own, d;
  for (Index k = 0; k < problem.n_blocks(); ++k)
    set_scales(problem, k, block_view(problem, k), own, d, by_scale.subspan(Offset{3} * k, 3));
  if (!(splitting > 0.0)) return;
  std::vector<double> by(by_scale.begin(), by_scale.end());
  by.resize(n.n_rows() + n.n_halo_rows, 0.0);
  HaloExchange halo(problem.comm, n.halo, 3, Tag::product_scales);
  halo.begin(by);
  halo.end(by);
  for (Index k = 0; k < problem.n_blocks(); ++k)
    widen(sum_of_norms(n, k, by), splitting, by_scale.subspan(Offset{3} * k, 3));
}

}  // namespace

void scale_rows(const ConstraintProblem& problem, bool with_joints, double splitting,
                std::vector<double>& by_scale) {
  assign_with_room(by_scale, problem.n_rows(), 0.0);
  if (problem.assembled)
    scale_assembled_rows(problem, splitting, by_scale);
  else
    scale_body_rows(problem, with_joints, splitting, by_scale);
}

}  // namespace catena::first_order
