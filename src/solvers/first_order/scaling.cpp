// How first-order methods scale rows, and how far N is from its diagonal.
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>

#include "catena/comm/ghost_sum.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/block_rows.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "catena/math/cone.hpp"
#include "catena/math/disc_cone.hpp"
#include "solvers/first_order/row_layout.hpp"

namespace catena::first_order {
namespace {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Neighbours. n_b: how many blocks of all ranks touch each local body.
std::vector<double> count_blocks(const ConstraintProblem& problem, const RowLayout& layout) {
  std::vector<double> count(problem.bodies.size(), 0.0);
  for (const Place& place : layout.places)
    for_each_body_index(problem, place.block, [&](Index b) {
      if (!problem.bodies.is_prescribed(b)) count[b] += 1.0;
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
void widen(const Place& place, double c, double splitting, std::vector<double>& by_scale) {
  // no block is beyond its own diagonal by less than nothing: round-off
  const double by = std::pow(std::max(c, 1.0), -0.5 * splitting);
  for (std::size_t r = 0; r < place.rows; ++r) by_scale[place.first + r * place.stride] *= by;
}

void set_scales(const Place& place, const std::vector<double>& d, std::vector<double>& by_scale) {
  for (std::size_t r = 0; r < place.rows; ++r)
    by_scale[place.first + r * place.stride] = d[r] > 0.0 ? 1.0 / std::sqrt(d[r]) : 0.0;
}

/// s times the axes of a cone that is no disc.
void stretch(const ContactCone& cone, const Place& place, std::vector<double>& by_scale) {
  for (std::size_t i = 1; i < 6; ++i)
    if (cone.row[i] >= 0) by_scale[place.first + cone.row[i] * place.stride] /= cone.axis[i];
}

void scale_body_rows(const ConstraintProblem& problem, double splitting, RowLayout& layout) {
  std::vector<double> count;
  if (splitting > 0.0) count = count_blocks(problem, layout);
  std::vector<double> own, d;
  RowMatrix block;
  for (const Place& place : layout.places) {
    own.resize(place.rows);
    d.assign(place.rows, 0.0);
    row_diagonals(problem, place.block, own);
    mean_diagonal(block_view(problem, place.block), own, d.data());
    set_scales(place, d, layout.by_scale);
    if (block_view(problem, place.block).kind == BlockKind::contact)
      stretch(contact_cone(problem, place.block), place, layout.by_scale);
    if (!(splitting > 0.0)) continue;
    block.resize(to_index(place.rows), to_index(place.rows));
    block_diagonal(problem, place.block, {block.data(), std::size_t(block.size())}, count);
    const auto by = [&](Index r) {
      return layout.by_scale[place.first + Offset{r} * place.stride];
    };
    for (Index r = 0; r < block.rows(); ++r)
      for (Index c = 0; c < block.cols(); ++c) block(r, c) *= by(r) * by(c);
    widen(place, largest(block), splitting, layout.by_scale);
  }
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

void scale_assembled_rows(const ConstraintProblem& problem, double splitting, RowLayout& layout) {
  const AssembledOperator& n = *problem.assembled;
  std::vector<double> by(n.n_rows() + n.n_halo_rows, 0.0);
  std::vector<double> own, d;
  for (const Place& place : layout.places) {
    own.resize(3);
    d.assign(3, 0.0);
    row_diagonals(problem, place.block, own);
    mean_diagonal(block_view(problem, place.block), own, d.data());
    set_scales(place, d, layout.by_scale);
    for (std::size_t r = 0; r < 3; ++r)
      by[(3 * place.block) + r] = layout.by_scale[place.first + r * place.stride];
  }
  if (!(splitting > 0.0)) return;
  HaloExchange halo(problem.comm, n.halo, 3, Tag::product_scales);
  halo.begin(by);
  halo.end(by);
  for (const Place& place : layout.places)
    widen(place, sum_of_norms(n, place.block, by), splitting, layout.by_scale);
}

}  // namespace

void scale_rows(const ConstraintProblem& problem, double splitting, RowLayout& layout) {
  layout.by_scale.assign(layout.size, 0.0);
  if (problem.assembled)
    scale_assembled_rows(problem, splitting, layout);
  else
    scale_body_rows(problem, splitting, layout);
}

}  // namespace catena::first_order
