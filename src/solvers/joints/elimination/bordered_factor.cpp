#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "catena/base/error.hpp"
#include "solvers/joints/elimination/tree_factor.hpp"

namespace catena {
namespace {

/// Joins bodies by joints in ascending order of names.
class SpanningForest {
 public:
  explicit SpanningForest(const MechanismRows& structure) : up_(structure.bodies.size()) {
    std::iota(up_.begin(), up_.end(), 0);
    const GeneralBlocks& blocks = structure.blocks;
    in_forest.assign(blocks.size(), 1);
    std::vector<std::size_t> by_name(in_forest.size());
    std::iota(by_name.begin(), by_name.end(), std::size_t{0});
    std::sort(by_name.begin(), by_name.end(),
              [&](std::size_t a, std::size_t b) { return blocks.name[a] < blocks.name[b]; });
    for (const std::size_t k : by_name) {
      const Index first = blocks.body_begin[k];
      for (Index j = first + 1; j < blocks.body_begin[k + 1]; ++j) {
        const Index a = root(blocks.body[first]);
        const Index b = root(blocks.body[j]);
        if (a == b) in_forest[k] = 0;
        up_[b] = a;
      }
    }
  }
  /// A body of the same tree, equal for all of them.
  Index root(Index body) {
    const auto up = [this](Index b) -> Index& { return up_[b]; };
    while (up(body) != body) body = up(body) = up(up(body));
    return body;
  }
  std::vector<char> in_forest;  ///< per block

 private:
  std::vector<Index> up_;
};

/// A = [T B; B^T D] with the forest's T = L L^T: Y = L^-1 B, S = D - Y^T Y.
class BorderedFactor final : public CholeskyFactor {
 public:
  explicit BorderedFactor(const MechanismRows& structure)
      : BorderedFactor(structure, SpanningForest(structure)) {}

  bool factor(const MechanismRows& joints, std::span<const double> added) override;
  void solve(std::span<double> x) override;
  void pivots(std::span<double> out) override;
  std::int64_t raised() const override { return raised_; }
  std::int64_t flops() const override { return flops_; }

 private:
  struct Mechanism {
    std::vector<Index> forest_rows, border_rows;
    Eigen::MatrixXd y;  ///< forest rows x border rows
    Eigen::MatrixXd s;  ///< its Cholesky factor, lower
  };
  BorderedFactor(const MechanismRows& structure, SpanningForest forest);
  void list_couplings(const MechanismRows& structure);
  void add_couplings(const MechanismRows& joints, Index row, std::span<double> column) const;
  void factor_border(const MechanismRows& joints, Mechanism& mechanism,
                     std::span<const double> added);

  TreeFactor tree_;
  std::vector<char> in_forest_;
  std::vector<Mechanism> mechanisms_;  ///< those with loops
  std::vector<Index> block_of_row_;
  std::vector<Index> ref_begin_, ref_of_body_, block_of_ref_;
  std::vector<double> column_, pivot_;
  Eigen::VectorXd inner_;
  std::size_t widest_ = 0;
  std::int64_t raised_ = 0, flops_ = 0;
};

BorderedFactor::BorderedFactor(const MechanismRows& structure, SpanningForest forest)
    : tree_(structure, forest.in_forest), in_forest_(forest.in_forest) {
  const GeneralBlocks& blocks = structure.blocks;
  std::vector<Index> number(structure.bodies.size(), kNoIndex);
  const auto root = [&](std::size_t k) { return forest.root(blocks.body[blocks.body_begin[k]]); };
  for (std::size_t k = 0; k < in_forest_.size(); ++k) {
    if (in_forest_[k] != 0 || number[root(k)] != kNoIndex) continue;
    number[root(k)] = to_index(mechanisms_.size());
    mechanisms_.emplace_back();
  }
  for (std::size_t k = 0; k < in_forest_.size(); ++k) {
    block_of_row_.resize(blocks.row_begin[k + 1], to_index(k));
    if (number[root(k)] == kNoIndex) continue;
    Mechanism& m = mechanisms_[number[root(k)]];
    std::vector<Index>& rows = in_forest_[k] != 0 ? m.forest_rows : m.border_rows;
    for (Index r = blocks.row_begin[k]; r < blocks.row_begin[k + 1]; ++r) rows.push_back(r);
  }
  for (Mechanism& m : mechanisms_) {
    const Eigen::Index n = m.forest_rows.size();
    const Eigen::Index border = m.border_rows.size();
    m.y.resize(n, border);
    m.s.resize(border, border);
    widest_ = std::max(widest_, m.border_rows.size());
    flops_ += n * border * (border + 1) / 2 + border * border * border / 6;
  }
  // a forward sweep is about a fifth of a factorisation
  flops_ += tree_.flops() + narrow<std::int64_t>(widest_) * tree_.flops() / 5;
  column_.resize(block_of_row_.size());
  pivot_.resize(block_of_row_.size());
  inner_.resize(widest_);
  list_couplings(structure);
}

void BorderedFactor::list_couplings(const MechanismRows& structure) {
  const GeneralBlocks& blocks = structure.blocks;
  ref_begin_.assign(structure.bodies.size() + 1, 0);
  block_of_ref_.resize(blocks.body.size());
  for (const Index b : blocks.body) ++ref_begin_[b + 1];
  std::partial_sum(ref_begin_.begin(), ref_begin_.end(), ref_begin_.begin());
  ref_of_body_.resize(blocks.body.size());
  std::vector<Index> next(ref_begin_.begin(), ref_begin_.end() - 1);
  for (std::size_t k = 0; k < in_forest_.size(); ++k) {
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
      const std::size_t body = blocks.body[j];
      block_of_ref_[j] = to_index(k);
      ref_of_body_[next[body]++] = j;
    }
  }
}

/// column += G M^-1 g^T of all rows that share a body with `row`, whose Jacobian is g.
void BorderedFactor::add_couplings(const MechanismRows& joints, Index row,
                                   std::span<double> column) const {
  const GeneralBlocks& blocks = joints.blocks;
  const std::size_t k = block_of_row_[row];
  std::array<double, 6> v;
  for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
    const auto jacobian = [&](Index ref, Index r) {
      return blocks.jacobian.data() + blocks.jacobian_begin[ref] + 6 * r;
    };
    const Index body = blocks.body[j];
    apply_inverse_mass(joints.bodies, body, {jacobian(j, row - blocks.row_begin[k]), 6}, v);
    for (Index i = ref_begin_[body]; i < ref_begin_[body + 1]; ++i) {
      const Index ref = ref_of_body_[i];
      const std::size_t other = block_of_ref_[ref];
      const Index first = blocks.row_begin[other];
      for (Index r = first; r < blocks.row_begin[other + 1]; ++r) {
        column[r] += std::inner_product(v.begin(), v.end(), jacobian(ref, r - first), 0.0);
      }
    }
  }
}

bool BorderedFactor::factor(const MechanismRows& joints, std::span<const double> added) {
  tree_.factor(joints, added);
  raised_ = tree_.raised();
  tree_.pivots(pivot_);
  // one column of every mechanism at a time: they do not touch each other
  for (std::size_t i = 0; i < widest_; ++i) {
    std::fill(column_.begin(), column_.end(), 0.0);
    for (const Mechanism& m : mechanisms_) {
      if (i < m.border_rows.size()) add_couplings(joints, m.border_rows[i], column_);
    }
    for (Mechanism& m : mechanisms_) {
      if (i >= m.border_rows.size()) continue;
      const Eigen::Index c = i;
      for (std::size_t r = i; r < m.border_rows.size(); ++r) {
        m.s(r, c) = column_[m.border_rows[r]];
      }
    }
    tree_.forward(column_);
    for (Mechanism& m : mechanisms_) {
      if (i >= m.border_rows.size()) continue;
      for (std::size_t r = 0; r < m.forest_rows.size(); ++r) {
        m.y(r, i) = column_[m.forest_rows[r]];
      }
    }
  }
  for (Mechanism& m : mechanisms_) factor_border(joints, m, added);
  return true;
}

/// Cholesky of S in ascending order of rows.
void BorderedFactor::factor_border(const MechanismRows& joints, Mechanism& mechanism,
                                   std::span<const double> added) {
  Eigen::MatrixXd& s = mechanism.s;
  s.selfadjointView<Eigen::Lower>().rankUpdate(mechanism.y.transpose(), -1.0);
  for (Eigen::Index i = 0; i < s.rows(); ++i) {
    const std::size_t row = mechanism.border_rows[i];
    double d = s(i, i) + joints.blocks.compliance[row] + added[row];
    d -= s.row(i).head(i).squaredNorm();
    pivot_[row] = d;
    if (d <= kPivotFloor * added[row]) {
      d = added[row];
      ++raised_;
    }
    const double root = std::sqrt(d);
    s(i, i) = root;
    const Eigen::Index below = s.rows() - i - 1;
    if (below == 0) continue;
    s.col(i).tail(below).noalias() -= s.block(i + 1, 0, below, i) * s.row(i).head(i).transpose();
    s.col(i).tail(below) /= root;
  }
}

void BorderedFactor::pivots(std::span<double> out) {
  std::copy(pivot_.begin(), pivot_.end(), out.begin());
}

void BorderedFactor::solve(std::span<double> x) {
  tree_.forward(x);
  const auto at = [&](Index row) -> double& { return x[row]; };
  for (const Mechanism& m : mechanisms_) {
    const Eigen::Index border = m.border_rows.size();
    auto inner = inner_.head(border);
    for (Eigen::Index c = 0; c < border; ++c) {
      double sum = at(m.border_rows[c]);
      for (std::size_t r = 0; r < m.forest_rows.size(); ++r) {
        sum -= m.y(r, c) * at(m.forest_rows[r]);
      }
      inner[c] = sum;
    }
    m.s.triangularView<Eigen::Lower>().solveInPlace(inner);
    m.s.triangularView<Eigen::Lower>().transpose().solveInPlace(inner);
    for (Eigen::Index c = 0; c < border; ++c) {
      at(m.border_rows[c]) = inner[c];
      for (std::size_t r = 0; r < m.forest_rows.size(); ++r) {
        at(m.forest_rows[r]) -= m.y(r, c) * inner[c];
      }
    }
  }
  tree_.backward(x);
}

}  // namespace

Index border_rows(const MechanismRows& structure) {
  const SpanningForest forest(structure);
  Index rows = 0;
  for (std::size_t k = 0; k < forest.in_forest.size(); ++k) {
    if (forest.in_forest[k] != 0) continue;
    rows += structure.blocks.row_begin[k + 1] - structure.blocks.row_begin[k];
  }
  return rows;
}

std::unique_ptr<JointElimination> make_bordered_elimination(const MechanismRows& structure) {
  return make_regularised(structure, std::make_unique<BorderedFactor>(structure));
}

}  // namespace catena
