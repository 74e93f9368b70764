#include <algorithm>
#include <numeric>

#include "catena/constraints/block_rows.hpp"
#include "solvers/joints/across/tree_nodes.hpp"
#include "solvers/joints/elimination/tree_factor.hpp"

namespace catena {
namespace {

double product_of_six(const double* a, const double* b) {
  return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
}

/// A in the order of nested dissection, its dense blocks eliminated front by front; by all ranks of
/// a mechanism, each its own nodes, where there are guests.
class DissectedFactor final : public CholeskyFactor {
 public:
  DissectedFactor(const MechanismRows& structure, const BlockNodes& nodes)
      : DissectedFactor(structure, nodes, References(structure)) {}

  /// Neighbours in the tree, as solve().
  bool factor(const MechanismRows& joints, std::span<const double> added) override;
  void solve(std::span<double> x) override;
  void pivots(std::span<double> out) override;
  std::int64_t raised() const override { return raised_; }
  std::int64_t flops() const override;

 private:
  /// G_k M_b^-1 G_l^T of references of blocks k and l, k not after l in the order of elimination,
  /// to body b, and where its first entry is added.
  struct Product {
    Index k, l;
    Offset place;
  };
  DissectedFactor(const MechanismRows& structure, const BlockNodes& nodes,
                  const References& references);
  void list_products(const MechanismRows& structure, const BlockNodes& nodes,
                     const References& references);
  void multiply_by_masses(const MechanismRows& joints);
  void add_products(const MechanismRows& joints, TreeNode& node, Index f);
  void add_below(TreeNode& node);
  void eliminate(const MechanismRows& joints, TreeNode& node);
  void go_up(TreeNode& node, std::span<const double> b);
  void go_down(TreeNode& node, std::span<double> x);
  template <class Work>
  void for_rows(const TreeNode& node, const Work& work) const {
    const std::vector<Index>& place = node.fronts->tree().place;
    for (Index r = 0; r < node.rows; ++r) work(node.first_row + r, place[r]);
  }

  std::vector<Index> block_;  ///< of a reference
  std::vector<TreeNode> nodes_;
  std::vector<Offset> product_begin_;  ///< per front of all nodes
  std::vector<Product> products_;
  std::vector<Offset>
      diagonal_;  ///< per row, node by node in its order of elimination, as the rest
  std::vector<double> jacobian_times_mass_, added_, pivot_, on_diagonal_;
  std::int64_t raised_ = 0;
};

DissectedFactor::DissectedFactor(const MechanismRows& structure, const BlockNodes& nodes,
                                 const References& references)
    : block_(references.block), nodes_(make_tree_nodes(structure, references, nodes)) {
  list_products(structure, nodes, references);
  for (auto* v : {&added_, &pivot_, &on_diagonal_}) v->resize(diagonal_.size(), 1.0);
  jacobian_times_mass_.resize(structure.blocks.jacobian.size());
}

void DissectedFactor::list_products(const MechanismRows& structure, const BlockNodes& nodes,
                                    const References& references) {
  const GeneralBlocks& blocks = structure.blocks;
  const PartTree tree = nodes.tree();
  std::vector<Index> node_of(nodes.own_blocks(structure));
  std::vector<std::vector<Index>> front_of(nodes_.size());
  std::size_t fronts = 0, rows = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const TreeNode& node = nodes_[i];
    std::fill_n(node_of.begin() + node.first_block, node.blocks, to_index(i));
    for (std::size_t f = 0; f < node.fronts->tree().front.size(); ++f)
      front_of[i].resize(front_of[i].size() + node.fronts->tree().front[f].pivots, to_index(f));
    fronts += node.fronts->tree().front.size();
    rows += node.rows;
  }
  // products of two blocks are added up in an order that does not depend on the ranks
  std::vector<Index> bodies(structure.bodies.size());
  std::iota(bodies.begin(), bodies.end(), 0);
  if (nodes.guests) std::ranges::sort(bodies, {}, [&](Index b) { return structure.bodies.id[b]; });
  /// Of block k, or of a block above the node of block k: its first row there.
  const auto row_of = [&](const TreeNode& node, Index k) {
    if (nodes.of(k) == node.number)
      return node.fronts->tree().place[blocks.row_begin[k] - node.first_row];
    return node.rows + node.row_above({tree.place(nodes.of(k)), blocks.rows(k), blocks.name[k]});
  };
  const auto for_each_product = [&](const auto& visit) {
    for (const Index b : bodies)
      for (const Index k : references.at(b)) {
        if (block_[k] >= std::ssize(node_of)) continue;
        const Index i = node_of[block_[k]];
        const TreeNode& node = nodes_[i];
        const Index column = row_of(node, block_[k]);
        const int place = tree.place(node.number);
        for (const Index l : references.at(b)) {
          if (tree.place(nodes.of(block_[l])) < place) continue;
          const Index row = row_of(node, block_[l]);
          if (column <= row) visit(i, front_of[i][column], column, row, k, l);
        }
      }
  };
  product_begin_.assign(fronts + 1, 0);
  for_each_product([&](Index i, Index f, Index, Index, Index, Index) {
    ++product_begin_[nodes_[i].first_front + f + 1];
  });
  std::partial_sum(product_begin_.begin(), product_begin_.end(), product_begin_.begin());
  products_.resize(product_begin_.back());
  std::vector<Offset> next(product_begin_.begin(), product_begin_.end() - 1);
  for_each_product([&](Index i, Index f, Index column, Index row, Index k, Index l) {
    products_[next[nodes_[i].first_front + f]++] = {k, l, nodes_[i].fronts->place(f, column, row)};
  });
  diagonal_.reserve(rows);
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    for (Index r = 0; r < nodes_[i].rows; ++r)
      diagonal_.push_back(nodes_[i].fronts->place(front_of[i][r], r, r));
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

void DissectedFactor::add_products(const MechanismRows& joints, TreeNode& node, Index f) {
  const GeneralBlocks& blocks = joints.blocks;
  FrontFactor& fronts = *node.fronts;
  const Offset stride = fronts.stride(f);
  const std::size_t front = node.first_front + f;
  for (Offset i = product_begin_[front]; i < product_begin_[front + 1]; ++i) {
    const Product& p = products_[i];
    const Index columns = blocks.rows(block_[p.k]), rows = blocks.rows(block_[p.l]);
    const Index dofs = joints.bodies.dofs(blocks.body[p.k]);
    const double* left = jacobian_times_mass_.data() + blocks.jacobian_begin[p.k];
    double* to = fronts.values().data() + p.place;
    for (Index c = 0; c < columns; ++c, left += dofs, to += stride) {
      const double* right = blocks.jacobian.data() + blocks.jacobian_begin[p.l];
      for (Index r = 0; r < rows; ++r, right += dofs)
        to[r] += dofs == 6 ? product_of_six(left, right)
                           : std::inner_product(left, left + dofs, right, 0.0);
    }
  }
}

/// What nodes below leave, the left one first.
void DissectedFactor::add_below(TreeNode& node) {
  for (NodeBelow& below : node.below) {
    if (below.messages) {
      below.messages->update.end();
      add_received(below.messages->update, below.into, *node.fronts);
    } else {
      add_left(*nodes_[below.own].fronts, below.into, *node.fronts);
    }
  }
}

void DissectedFactor::eliminate(const MechanismRows& joints, TreeNode& node) {
  FrontFactor& fronts = *node.fronts;
  double* values = fronts.values().data();
  const Index first = node.first_row;
  for (Index f = 0; f < std::ssize(fronts.tree().front); ++f) {
    const Front& front = fronts.tree().front[f];
    fronts.open(f);
    add_below(node);
    add_products(joints, node, f);
    for (Index i = front.first; i < front.first + front.pivots; ++i)
      values[diagonal_[first + i]] += on_diagonal_[first + i];
    raised_ += fronts.eliminate(f, {added_.data() + first, kPivotFloor, pivot_.data() + first});
  }
}

bool DissectedFactor::factor(const MechanismRows& joints, std::span<const double> added) {
  multiply_by_masses(joints);
  for (TreeNode& node : nodes_) {
    // what stands on the diagonal besides the products
    for_rows(node, [&](Index r, Index place) {
      added_[node.first_row + place] = added[r];
      on_diagonal_[node.first_row + place] = joints.blocks.compliance[r] + added[r];
    });
    for (NodeBelow& below : node.below)
      if (below.messages) below.messages->update.begin();
  }
  raised_ = 0;
  for (TreeNode& node : nodes_) {
    eliminate(joints, node);
    if (node.messages) send_left(*node.fronts, node.rows_above(), node.messages->update);
  }
  for (TreeNode& node : nodes_)
    if (node.messages) node.messages->update.end();
  return true;
}

void DissectedFactor::go_up(TreeNode& node, std::span<const double> b) {
  for_rows(node, [&](Index r, Index place) { node.x[place] = b[r]; });
  std::fill(node.x.begin() + node.rows, node.x.end(), 0.0);
  for (NodeBelow& below : node.below) {
    if (below.messages) below.messages->forward.end();
    const double* from = below.messages ? below.messages->forward.in(0)
                                        : nodes_[below.own].x.data() + nodes_[below.own].rows;
    for (const Index row : below.into) node.x[row] += *from++;
  }
  node.fronts->forward(node.x);
  if (!node.messages) return;
  std::copy(node.x.begin() + node.rows, node.x.end(), node.messages->forward.out(0));
  node.messages->forward.begin();
}

void DissectedFactor::go_down(TreeNode& node, std::span<double> x) {
  if (node.messages) {
    node.messages->backward.end();
    std::copy_n(node.messages->backward.in(0), node.rows_above(), node.x.begin() + node.rows);
  }
  node.fronts->backward(node.x);
  for (NodeBelow& below : node.below) {
    double* to = below.messages ? below.messages->backward.out(0)
                                : nodes_[below.own].x.data() + nodes_[below.own].rows;
    for (const Index row : below.into) *to++ = node.x[row];
    if (below.messages) below.messages->backward.begin();
  }
  for_rows(node, [&](Index r, Index place) { x[r] = node.x[place]; });
}

void DissectedFactor::solve(std::span<double> x) {
  for (TreeNode& node : nodes_)
    for (NodeBelow& below : node.below)
      if (below.messages) below.messages->forward.begin();
  for (TreeNode& node : nodes_) go_up(node, x);
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (!node->messages) continue;
    node->messages->forward.end();
    node->messages->backward.begin();
  }
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) go_down(*node, x);
  for (TreeNode& node : nodes_)
    for (NodeBelow& below : node.below)
      if (below.messages) below.messages->backward.end();
}

void DissectedFactor::pivots(std::span<double> out) {
  for (const TreeNode& node : nodes_)
    for_rows(node, [&](Index r, Index place) { out[r] = pivot_[node.first_row + place]; });
}

std::int64_t DissectedFactor::flops() const {
  std::int64_t sum = 0;
  for (const TreeNode& node : nodes_) sum += node.fronts->flops();
  return sum;
}

}  // namespace

std::unique_ptr<CholeskyFactor> make_dissected_factor(const MechanismRows& structure,
                                                      const BlockNodes& nodes) {
  return std::make_unique<DissectedFactor>(structure, nodes);
}

std::unique_ptr<JointElimination> make_dissected_elimination(const MechanismRows& structure) {
  return make_regularised(structure, make_dissected_factor(structure, {}));
}

}  // namespace catena
