#include "solvers/joints/across/tree_nodes.hpp"

#include <algorithm>

#include "catena/base/error.hpp"
#include "catena/base/sort_unique.hpp"
#include "catena/comm/typed_exchange.hpp"

namespace catena {
namespace {

/// Rows above a node up to which what it leaves fits into one message.
constexpr Index kMostRowsAbove = 20000;

/// A block above a node, told to the rank that has the separator above.
struct ToldBlock {
  int node = 0;
  BlockAbove block;
};

class NodeMaker {
 public:
  NodeMaker(const MechanismRows& structure, const References& references, const BlockNodes& nodes)
      : blocks_(structure.blocks),
        references_(references),
        nodes_(nodes),
        tree_(nodes.tree()),
        told_(2 * tree_.n_parts()) {
    list_nodes(nodes.own_blocks(structure));
  }

  std::vector<TreeNode> make() {
    for (int depth = tree_.levels; depth >= 0; --depth) {
      const auto work = [&] {
        for (TreeNode& node : made_)
          if (PartTree::depth(node.number) == depth) make(node);
      };
      if (!nodes_.guests) {
        work();
        continue;
      }
      all_or_none(nodes_.guests->comm(), work);
      tell(depth);
    }
    std::size_t fronts = 0;
    for (TreeNode& node : made_) {
      node.first_front = std::exchange(fronts, fronts + node.fronts->tree().front.size());
      connect(node);
    }
    return std::move(made_);
  }

 private:
  void list_nodes(Index own_blocks) {
    own_.assign(told_.size(), kNoIndex);
    const int rank = nodes_.guests ? nodes_.guests->comm().rank() : 0;
    for (int n = 1; n < 2 * tree_.n_parts(); ++n)
      if (nodes_.rank_of(n) == rank) made_.emplace_back().number = n;
    std::ranges::sort(made_, {}, [&](const TreeNode& node) { return tree_.place(node.number); });
    Index k = 0;
    for (std::size_t i = 0; i < made_.size(); ++i) {
      TreeNode& node = made_[i];
      own_[node.number] = to_index(i);
      node.first_block = k;
      node.first_row = blocks_.row_begin[k];
      while (k < own_blocks && nodes_.of(k) == node.number) ++k;
      node.blocks = k - node.first_block;
      node.rows = blocks_.row_begin[k] - node.first_row;
    }
    CATENA_CHECK(k == own_blocks, "blocks stand in the order of their nodes");
  }

  BlockAbove above(Index k) const {
    return {tree_.place(nodes_.of(k)), blocks_.rows(k), blocks_.name[k]};
  }

  /// Calls visit(block of the same node or above it) for all that share a body with own block k.
  template <class Visit>
  void for_each_neighbour(Index k, const Visit& visit) const {
    const int place = tree_.place(nodes_.of(k));
    for (Index j = blocks_.body_begin[k]; j < blocks_.body_begin[k + 1]; ++j)
      for (const Index other : references_.at(blocks_.body[j])) {
        const Index l = references_.block[other];
        if (l != k && tree_.place(nodes_.of(l)) >= place) visit(l);
      }
  }

  void make(TreeNode& node) {
    const int place = tree_.place(node.number);
    if (!tree_.is_part(node.number))
      for (const int n : {2 * node.number, 2 * node.number + 1})
        std::ranges::copy_if(told_[n], std::back_inserter(node.above),
                             [&](const BlockAbove& b) { return b.place != place; });
    for (Index k = node.first_block; k < node.first_block + node.blocks; ++k)
      for_each_neighbour(k, [&](Index l) {
        if (nodes_.of(l) != node.number) node.above.push_back(above(l));
      });
    std::ranges::sort(node.above, {}, &BlockAbove::key);
    const auto same = [](const BlockAbove& a, const BlockAbove& b) { return a.key() == b.key(); };
    node.above.erase(std::unique(node.above.begin(), node.above.end(), same), node.above.end());
    for (const BlockAbove& b : node.above)
      node.above_begin.push_back(node.above_begin.back() + b.rows);
    if (node.rows_above() > kMostRowsAbove)
      throw Error("a part of the mechanism of joint " + std::to_string(node.above.front().name) +
                      " is bounded by " + std::to_string(node.rows_above()) +
                      " rows, more than ranks can exchange",
                  "solver.joints.cut_from",
                  "raise it, so that one rank eliminates the mechanism, or use method: iterative",
                  ExitCode::runtime_error);
    node.fronts.emplace(tree_.is_part(node.number)
                            ? make_front_tree(graph_of(node), to_index(node.above.size()))
                            : front_of_separator(node.rows, node.rows_above()));
    node.x.assign(node.rows + node.rows_above(), 0.0);
  }

  /// Blocks of a part are coupled where they share a body; those above it come last.
  BlockGraph graph_of(const TreeNode& node) const {
    BlockGraph graph;
    std::vector<Index> others;
    std::vector<std::vector<Index>> below(node.above.size());
    const auto add = [&](std::vector<Index>& neighbours, Index rows) {
      sort_unique(neighbours);
      graph.neighbour.insert(graph.neighbour.end(), neighbours.begin(), neighbours.end());
      graph.begin.push_back(std::ssize(graph.neighbour));
      graph.row_begin.push_back(graph.row_begin.back() + rows);
    };
    for (Index k = 0; k < node.blocks; ++k) {
      others.clear();
      for_each_neighbour(node.first_block + k, [&](Index l) {
        if (nodes_.of(l) == node.number) {
          others.push_back(l - node.first_block);
          return;
        }
        const auto at = std::ranges::lower_bound(node.above, above(l).key(), {}, &BlockAbove::key);
        const Index i = to_index(at - node.above.begin());
        others.push_back(node.blocks + i);
        below[i].push_back(k);
      });
      add(others, blocks_.rows(node.first_block + k));
    }
    for (std::size_t i = 0; i < below.size(); ++i) add(below[i], node.above[i].rows);
    return graph;
  }

  /// Collective. Ranks with separators hear what is above nodes of this depth below them.
  void tell(int depth) {
    RankLists<ToldBlock> out(nodes_.guests->comm().size());
    for (const TreeNode& node : made_)
      if (node.number > 1 && PartTree::depth(node.number) == depth)
        for (const BlockAbove& block : node.above)
          out[nodes_.rank_of(PartTree::parent(node.number))].push_back({node.number, block});
    for (const ToldBlock& told : joined(all_to_all(nodes_.guests->comm(), std::move(out))))
      told_[told.node].push_back(told.block);
  }

  /// Where rows of the nodes below stand, and the messages to and from other ranks.
  void connect(TreeNode& node) {
    if (!tree_.is_part(node.number))
      for (const int n : {2 * node.number, 2 * node.number + 1}) {
        NodeBelow& below = node.below.emplace_back();
        below.own = own_[n];
        for (const BlockAbove& block : told_[n]) {
          const Index first = row_in(node, block);
          for (Index r = 0; r < block.rows; ++r) below.into.push_back(first + r);
        }
        if (below.own == kNoIndex)
          below.messages.emplace(nodes_.guests->comm(), nodes_.rank_of(n), false,
                                 to_index(below.into.size()));
      }
    const int parent = PartTree::parent(node.number);
    if (parent > 0 && own_[parent] == kNoIndex)
      node.messages.emplace(nodes_.guests->comm(), nodes_.rank_of(parent), true, node.rows_above());
  }

  Index row_in(const TreeNode& node, const BlockAbove& block) const {
    if (block.place != tree_.place(node.number)) return node.rows + node.row_above(block);
    const auto first = blocks_.name.begin() + node.first_block;
    const auto at = std::lower_bound(first, first + node.blocks, block.name);
    const Index k = to_index(at - blocks_.name.begin());
    CATENA_CHECK(at != first + node.blocks && *at == block.name, "a separator has its own blocks");
    return blocks_.row_begin[k] - node.first_row;
  }

  const GeneralBlocks& blocks_;
  const References& references_;
  const BlockNodes& nodes_;
  PartTree tree_;
  std::vector<TreeNode> made_;
  std::vector<Index> own_;                     ///< per node of the tree: among `made_`
  std::vector<std::vector<BlockAbove>> told_;  ///< per node: what is above it, told to its parent's
};

}  // namespace

std::vector<TreeNode> make_tree_nodes(const MechanismRows& structure, const References& references,
                                      const BlockNodes& nodes) {
  return NodeMaker(structure, references, nodes).make();
}

}  // namespace catena
