// Iterates with the residual velocities of an assembled operator.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "catena/comm/halo_exchange.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "solvers/first_order/flat_rows.hpp"
#include "solvers/first_order/iterates.hpp"
#include "solvers/first_order/row_scales.hpp"

namespace catena::first_order {
namespace {

/// N in blocks of 3 x 3, by rows, and the scales of rows; columns are contacts, those of other
/// ranks last.
class BlockOperator {
 public:
  BlockOperator(const ConstraintProblem& problem, std::vector<double> by_scale)
      : n_(*problem.assembled),
        by_scale_(std::move(by_scale)),
        columns_((n_.n_rows() + n_.n_halo_rows) + 1, 0.0),
        halo_(problem.comm, n_.halo, 3, Tag::product_impulses) {
    std::vector<Index> found;
    for (Index k = 0; k < n_.n_rows() / 3; ++k) {
      found.clear();
      for (auto e = begin(k); e < begin(k + 1); ++e) found.push_back(n_.column[e] / 3);
      std::sort(found.begin(), found.end());
      found.erase(std::unique(found.begin(), found.end()), found.end());
      const std::size_t first = block_.size();
      for (const Index j : found) block_.push_back({{}, 3 * j});
      for (Index i = 0; i < 3; ++i)
        for (auto e = at_row(3 * k + i); e < at_row(3 * k + i + 1); ++e) {
          const Index j = n_.column[e] / 3;
          const auto place = std::lower_bound(found.begin(), found.end(), j) - found.begin();
          Block& block = block_[first + place];
          block.value[n_.column[e] - 3 * j][i] += n_.value[e];
        }
      block_end_.push_back(block_.size());
    }
  }

  /// g = S^-1 w(S^-1 x).
  void residual_velocities(std::span<const double> x, std::span<double> g) {
    for (std::size_t i = 0; i < x.size(); ++i) columns_[i] = by_scale_[i] * x[i];
    halo_.begin(columns_);
    halo_.end(columns_);
    for (std::size_t k = 0; k < block_end_.size(); ++k) {
      std::array<double, 4> sum{};
      for (std::size_t b = k > 0 ? block_end_[k - 1] : 0; b < block_end_[k]; ++b) {
        const Block& block = block_[b];
        const double* impulse = columns_.data() + block.column;
        for (std::size_t c = 0; c < 3; ++c)
          for (std::size_t i = 0; i < 4; ++i) sum[i] += block.value[c][i] * impulse[c];
      }
      for (std::size_t r = 0; r < 3; ++r)
        g[3 * k + r] = by_scale_[3 * k + r] * (sum[r] + n_.r[3 * k + r]);
    }
  }

 private:
  struct Block {
    std::array<std::array<double, 4>, 3> value{};  ///< column by column, padded
    Index column = 0;
  };
  std::size_t at_row(Index row) const { return n_.row_begin[row]; }
  std::size_t begin(Index block) const { return at_row(3 * block); }

  const AssembledOperator& n_;
  std::vector<double> by_scale_;
  std::vector<Block> block_;
  std::vector<std::size_t> block_end_;  ///< per own contact
  std::vector<double> columns_;
  HaloExchange halo_;
};

class AssembledIterates final : public Iterates {
 public:
  AssembledIterates(const ConstraintProblem& problem, std::span<const Index> blocks,
                    const std::vector<double>& by_scale, std::span<const double> impulses)
      : rows_(problem, blocks, by_scale), operator_(problem, by_scale) {
    for (auto* g : {&g_[0], &g_[1], &g_[2], &g_y_}) g->assign(rows_.size(), 0.0);
    rows_.load(impulses, slots_.now);
    rows_.load(impulses, slots_.before);
    operator_.residual_velocities(rows_.x(slots_.now), g_[slots_.now]);
    g_[slots_.before] = g_[slots_.now];
  }

  StepSums step(const StepWeights& weights) override {
    rows_.momentum_point(weights.y, slots_);
    for (std::size_t i = 0; i < g_y_.size(); ++i)
      g_y_[i] = weights.y.keep * g_[slots_.now][i] + weights.y.take * g_[slots_.before][i];
    StepSums sums = rows_.step(weights, slots_, g_y_);
    std::vector<double>& next = g_[slots_.next];
    operator_.residual_velocities(rows_.x(slots_.next), next);
    sums.curved = rows_.along_step(slots_, next, g_y_);
    return sums;
  }

  void accept() override { slots_.accept(); }
  void store(std::span<double> impulses) override { rows_.store(slots_.now, impulses); }

 private:
  FlatRows rows_;
  BlockOperator operator_;
  Slots slots_;
  std::array<std::vector<double>, 3> g_;  ///< w of the three iterates
  std::vector<double> g_y_;
};

}  // namespace

std::unique_ptr<Iterates> make_assembled_iterates(const ConstraintProblem& problem,
                                                  double splitting,
                                                  std::span<const double> impulses) {
  require_kernels(problem, "a first-order method on an assembled operator");
  std::vector<Index> blocks(problem.n_blocks());
  std::iota(blocks.begin(), blocks.end(), 0);
  std::vector<double> by_scale;
  scale_rows(problem, true, splitting, by_scale);
  return std::make_unique<AssembledIterates>(problem, blocks, by_scale, impulses);
}

}  // namespace catena::first_order
