#include <algorithm>
#include <numeric>

#include "catena/base/sort_unique.hpp"
#include "catena/constraints/block_rows.hpp"
#include "solvers/joints/dissection/front_factor.hpp"
#include "solvers/joints/elimination/tree_factor.hpp"

namespace catena {
namespace {

/// References of blocks to their bodies, from both sides.
struct References {
  std::vector<Index> block;           ///< of a reference
  std::vector<Index> begin, of_body;  ///< a body's references, ascending

  explicit References(const MechanismRows& structure) {
    const GeneralBlocks& blocks = structure.blocks;
    begin.assign(structure.bodies.size() + 1, 0);
    for (Index k = 0; k < blocks.size(); ++k)
      for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
        block.push_back(k);
        ++begin[blocks.body[j] + 1];
      }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    of_body.resize(block.size());
    std::vector<Index> next(begin.begin(), begin.end() - 1);
    for (std::size_t j = 0; j < block.size(); ++j) of_body[next[blocks.body[j]]++] = to_index(j);
  }
  std::span<const Index> at(Index body) const {
    return std::span(of_body).subspan(begin[body], begin[body + 1] - begin[body]);
  }
};

/// Blocks are coupled where they share a body.
BlockGraph graph_of(const MechanismRows& structure, const References& references) {
  const GeneralBlocks& blocks = structure.blocks;
  BlockGraph graph;
  graph.row_begin = blocks.row_begin;
  std::vector<Index> others;
  for (Index k = 0; k < blocks.size(); ++k) {
    others.clear();
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j)
      for (const Index other : references.at(blocks.body[j]))
        if (references.block[other] != k) others.push_back(references.block[other]);
    sort_unique(others);
    graph.neighbour.insert(graph.neighbour.end(), others.begin(), others.end());
    graph.begin.push_back(std::ssize(graph.neighbour));
  }
  return graph;
}

double product_of_six(const double* a, const double* b) {
  return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
}

/// A in the order of nested dissection, its dense blocks eliminated front by front.
class DissectedFactor final : public CholeskyFactor {
 public:
  explicit DissectedFactor(const MechanismRows& structure)
      : DissectedFactor(structure, References(structure)) {}

  bool factor(const MechanismRows& joints, std::span<const double> added) override;
  void solve(std::span<double> x) override;
  void pivots(std::span<double> out) override;
  std::int64_t raised() const override { return raised_; }
  std::int64_t flops() const override { return fronts_.flops(); }

 private:
  /// G_k M_b^-1 G_l^T of references of blocks k and l, k not after l in the order of elimination,
  /// to body b, and where its first entry is added.
  struct Product {
    Index k, l;
    Offset place;
  };
  DissectedFactor(const MechanismRows& structure, const References& references);
  void list_products(const MechanismRows& structure, const References& references);
  void multiply_by_masses(const MechanismRows& joints);
  void add_products(const MechanismRows& joints, Index f);

  std::vector<Index> block_;  ///< of a reference
  FrontFactor fronts_;
  std::vector<Offset> product_begin_;  ///< per front
  std::vector<Product> products_;
  std::vector<Offset> diagonal_;  ///< per row, in the order of elimination, as the rest
  std::vector<double> jacobian_times_mass_, added_, pivot_, x_;
  std::int64_t raised_ = 0;
};

DissectedFactor::DissectedFactor(const MechanismRows& structure, const References& references)
    : block_(references.block), fronts_(make_front_tree(graph_of(structure, references))) {
  list_products(structure, references);
  const std::size_t rows = structure.blocks.n_rows();
  for (auto* v : {&added_, &pivot_, &x_}) v->resize(rows, 1.0);
  jacobian_times_mass_.resize(structure.blocks.jacobian.size());
}

void DissectedFactor::list_products(const MechanismRows& structure, const References& references) {
  const FrontTree& tree = fronts_.tree();
  const std::vector<Index>& row_begin = structure.blocks.row_begin;
  const auto place_of = [&](Index k) { return tree.place[row_begin[k]]; };
  std::vector<Index> front_of(tree.place.size());
  for (std::size_t f = 0; f < tree.front.size(); ++f)
    std::fill_n(front_of.begin() + tree.front[f].first, tree.front[f].pivots, to_index(f));
  const auto for_each_product = [&](const auto& visit) {
    for (Index b = 0; b < structure.bodies.size(); ++b)
      for (const Index k : references.at(b))
        for (const Index l : references.at(b)) {
          const Index column = place_of(block_[k]), row = place_of(block_[l]);
          if (column <= row) visit(front_of[column], column, row, k, l);
        }
  };
  product_begin_.assign(tree.front.size() + 1, 0);
  for_each_product([&](Index f, Index, Index, Index, Index) { ++product_begin_[f + 1]; });
  std::partial_sum(product_begin_.begin(), product_begin_.end(), product_begin_.begin());
  products_.resize(product_begin_.back());
  std::vector<Offset> next(product_begin_.begin(), product_begin_.end() - 1);
  for_each_product([&](Index f, Index column, Index row, Index k, Index l) {
    products_[next[f]++] = {k, l, fronts_.place(f, column, row)};
  });
  diagonal_.resize(front_of.size());
  for (std::size_t i = 0; i < diagonal_.size(); ++i)
    diagonal_[i] = fronts_.place(front_of[i], to_index(i), to_index(i));
}

void DissectedFactor::multiply_by_masses(const MechanismRows& joints) {
  const GeneralBlocks& blocks = joints.blocks;
  for (std::size_t j = 0; j < blocks.body.size(); ++j) {
    const std::size_t dofs = joints.bodies.dofs(blocks.body[j]);
    const std::size_t end = blocks.jacobian_begin[j + 1];
    for (std::size_t at = blocks.jacobian_begin[j]; at < end; at += dofs)
      apply_inverse_mass(joints.bodies, blocks.body[j], {blocks.jacobian.data() + at, dofs},
                         {jacobian_times_mass_.data() + at, dofs});
  }
}

void DissectedFactor::add_products(const MechanismRows& joints, Index f) {
  const GeneralBlocks& blocks = joints.blocks;
  const Offset stride = fronts_.stride(f);
  for (Offset i = product_begin_[f]; i < product_begin_[f + 1]; ++i) {
    const Product& p = products_[i];
    const Index columns = blocks.rows(block_[p.k]), rows = blocks.rows(block_[p.l]);
    const Index dofs = joints.bodies.dofs(blocks.body[p.k]);
    const double* left = jacobian_times_mass_.data() + blocks.jacobian_begin[p.k];
    double* to = fronts_.values().data() + p.place;
    for (Index c = 0; c < columns; ++c, left += dofs, to += stride) {
      const double* right = blocks.jacobian.data() + blocks.jacobian_begin[p.l];
      for (Index r = 0; r < rows; ++r, right += dofs)
        to[r] += dofs == 6 ? product_of_six(left, right)
                           : std::inner_product(left, left + dofs, right, 0.0);
    }
  }
}

bool DissectedFactor::factor(const MechanismRows& joints, std::span<const double> added) {
  const FrontTree& tree = fronts_.tree();
  multiply_by_masses(joints);
  // what stands on the diagonal besides the products
  for (std::size_t r = 0; r < added.size(); ++r) {
    added_[tree.place[r]] = added[r];
    x_[tree.place[r]] = joints.blocks.compliance[r] + added[r];
  }
  raised_ = 0;
  double* values = fronts_.values().data();
  for (Index f = 0; f < std::ssize(tree.front); ++f) {
    const Front& front = tree.front[f];
    fronts_.open(f);
    add_products(joints, f);
    for (Index i = front.first; i < front.first + front.pivots; ++i) values[diagonal_[i]] += x_[i];
    raised_ += fronts_.eliminate(f, {added_.data(), kPivotFloor, pivot_.data()});
  }
  return true;
}

void DissectedFactor::solve(std::span<double> x) {
  const std::vector<Index>& place = fronts_.tree().place;
  for (std::size_t r = 0; r < x.size(); ++r) x_[place[r]] = x[r];
  fronts_.solve(x_);
  for (std::size_t r = 0; r < x.size(); ++r) x[r] = x_[place[r]];
}

void DissectedFactor::pivots(std::span<double> out) {
  const std::vector<Index>& place = fronts_.tree().place;
  for (std::size_t r = 0; r < out.size(); ++r) out[r] = pivot_[place[r]];
}

}  // namespace

std::unique_ptr<JointElimination> make_dissected_elimination(const MechanismRows& structure) {
  return make_regularised(structure, std::make_unique<DissectedFactor>(structure));
}

}  // namespace catena
