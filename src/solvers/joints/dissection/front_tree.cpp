#include "solvers/joints/dissection/front_tree.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

namespace catena {
namespace {

/// Nanoseconds of a factorisation and of the solves of a step, estimates: of a front, of a
/// multiply-add, of an entry of the factor, of an entry that is added to the parent. The time of a
/// net's step hardly changes when one of them is halved or doubled.
constexpr double kFrontTime = 600.0;
constexpr double kFlopTime = 0.12;
constexpr double kEntryTime = 1.5;
constexpr double kUpdateTime = 0.7;

double time_of(double pivots, double below) {
  const double factor = pivots * (0.5 * pivots + below);
  const double flops =
      pivots * (pivots * pivots / 6.0 + 0.5 * pivots * below + 0.5 * below * below);
  return kFrontTime + kFlopTime * flops + kEntryTime * factor + 0.5 * kUpdateTime * below * below;
}

/// Blocks whose columns have the same blocks below. Blocks are known by their places.
struct Supernode {
  Index first, last;
  std::vector<Index> below;
  Index parent;  ///< supernode, kNoIndex: none
};

/// The order of blocks, and the elimination tree in it.
class Order {
 public:
  Order(const BlockGraph& graph, Index kept) : pivots(graph.size() - kept), graph_(graph) {
    order_pivots();
    find_parents();
    sort_by_subtrees();
  }

  /// Calls visit(place) of the neighbours of the block at place j.
  template <class Visit>
  void for_each_neighbour(Index j, const Visit& visit) const {
    for (Offset i = graph_.begin[at[j]]; i < graph_.begin[at[j] + 1]; ++i)
      visit(place[graph_.neighbour[i]]);
  }
  Index rows(Index j) const { return graph_.row_begin[at[j] + 1] - graph_.row_begin[at[j]]; }

  Index pivots;                  ///< blocks that are eliminated; the others stand after them
  std::vector<Index> place, at;  ///< of blocks, and the block at a place
  std::vector<Index> parent;     ///< per place: the first one below its pivot in the factor

 private:
  void invert() {
    at.resize(place.size());
    for (std::size_t k = 0; k < place.size(); ++k) at[place[k]] = to_index(k);
  }
  void order_pivots();
  void find_parents();
  void sort_by_subtrees();

  const BlockGraph& graph_;
};

/// Kept blocks stay last, in their own order.
void Order::order_pivots() {
  if (pivots == graph_.size()) {
    place = nested_dissection(graph_);
    return;
  }
  BlockGraph inner;
  for (Index k = 0; k < pivots; ++k) {
    for (Offset i = graph_.begin[k]; i < graph_.begin[k + 1]; ++i)
      if (graph_.neighbour[i] < pivots) inner.neighbour.push_back(graph_.neighbour[i]);
    inner.begin.push_back(std::ssize(inner.neighbour));
    inner.row_begin.push_back(graph_.row_begin[k + 1]);
  }
  place = nested_dissection(inner);
  for (Index k = pivots; k < graph_.size(); ++k) place.push_back(k);
}

/// Liu's algorithm. What leads to a kept block, or to none, leads to the first of them, and these
/// follow each other: all others come before them.
void Order::find_parents() {
  invert();
  parent.assign(place.size(), kNoIndex);
  std::vector<Index> ancestor = parent;
  for (Index j = 0; j < std::ssize(parent); ++j)
    for_each_neighbour(j, [&](Index i) {
      while (i != kNoIndex && i < j) {
        const Index next = std::exchange(ancestor[i], j);
        if (next == kNoIndex) parent[i] = std::min(j, pivots);
        i = next;
      }
    });
  if (pivots == std::ssize(parent)) return;
  std::ranges::replace(parent.begin(), parent.begin() + pivots, kNoIndex, pivots);
  std::iota(parent.begin() + pivots, parent.end(), pivots + 1);
  parent.back() = kNoIndex;
}

/// Changes places, not the factor: children before parents, subtree after subtree.
void Order::sort_by_subtrees() {
  const Index n = to_index(parent.size());
  std::vector<Index> size(n, 1), first(n, 0);
  for (Index j = 0; j < n; ++j)
    if (parent[j] != kNoIndex) size[parent[j]] += size[j];
  // a subtree takes the places up to its root's; from the roots on
  std::vector<Index> used(n, 0), moved(n);
  Index roots = 0;
  for (Index j = n - 1; j >= 0; --j) {
    const Index p = parent[j];
    Index& taken = p == kNoIndex ? roots : used[p];
    const Index begin = p == kNoIndex ? 0 : first[p];
    first[j] = begin + taken;
    taken += size[j];
    moved[j] = first[j] + size[j] - 1;
  }
  std::vector<Index> parent_of(n);
  for (Index j = 0; j < n; ++j)
    parent_of[moved[j]] = parent[j] == kNoIndex ? kNoIndex : moved[parent[j]];
  parent = std::move(parent_of);
  for (Index& p : place) p = moved[p];
  invert();
}

std::vector<Supernode> find_supernodes(const Order& order) {
  const Index n = to_index(order.parent.size());
  std::vector<Supernode> nodes;
  std::vector<Index> of_place(n), mark(n, kNoIndex), below;
  std::vector<Index> first_child(n, kNoIndex), next_child;  // per place, and per supernode
  for (Index j = 0; j < order.pivots; ++j) {
    below.clear();
    mark[j] = j;
    const auto add = [&](Index i) {
      if (i < j || mark[i] == j) return;
      mark[i] = j;
      below.push_back(i);
    };
    const auto add_child = [&](const Supernode& child) {
      std::for_each(child.below.begin(), child.below.end(), add);
    };
    order.for_each_neighbour(j, add);
    for (Index c = first_child[j]; c != kNoIndex; c = next_child[c]) add_child(nodes[c]);
    const bool child = j > 0 && order.parent[j - 1] == j;
    if (child) add_child(nodes.back());
    if (!child || nodes.back().below.size() != below.size() + 1) {
      nodes.push_back({j, j, {}, kNoIndex});
      next_child.push_back(kNoIndex);
    }
    nodes.back().last = j;
    nodes.back().below.assign(below.begin(), below.end());
    of_place[j] = to_index(nodes.size()) - 1;
    // the next place asks for the one before it
    if (const Index p = order.parent[j]; p != kNoIndex && p != j + 1)
      next_child.back() = std::exchange(first_child[p], of_place[j]);
  }
  if (order.pivots < n) {
    std::fill(of_place.begin() + order.pivots, of_place.end(), to_index(nodes.size()));
    nodes.push_back({order.pivots, n - 1, {}, kNoIndex});
  }
  for (Supernode& node : nodes)
    if (const Index p = order.parent[node.last]; p != kNoIndex) node.parent = of_place[p];
  return nodes;
}

/// Per supernode the one above it that takes its columns over, itself if none does. Children come
/// to be parents' parts from the leaves on, the one with the most rows below first.
std::vector<Index> join_supernodes(const Order& order, std::span<const Supernode> nodes) {
  std::vector<Index> into(nodes.size());
  std::iota(into.begin(), into.end(), 0);
  std::vector<double> pivots(nodes.size(), 0.0), below(nodes.size(), 0.0);
  std::vector<std::vector<Index>> children(nodes.size());
  for (std::size_t s = 0; s < nodes.size(); ++s) {
    for (Index j = nodes[s].first; j <= nodes[s].last; ++j) pivots[s] += order.rows(j);
    for (const Index j : nodes[s].below) below[s] += order.rows(j);
    std::ranges::stable_sort(children[s], std::greater<>(), [&](Index c) { return below[c]; });
    for (const Index c : children[s]) {
      if (nodes[s].first >= order.pivots) break;
      const double both = time_of(pivots[c] + pivots[s], below[s]);
      if (both > time_of(pivots[c], below[c]) + time_of(pivots[s], below[s])) continue;
      into[c] = to_index(s);
      pivots[s] += pivots[c];
    }
    children[s] = {};
    if (nodes[s].parent != kNoIndex) children[nodes[s].parent].push_back(to_index(s));
  }
  for (std::size_t s = nodes.size(); s-- > 0;) into[s] = into[into[s]];
  return into;
}

/// Fronts and the blocks that are their pivots, in a new order of all blocks in which these follow
/// each other.
class FrontMaker {
 public:
  FrontMaker(const BlockGraph& graph, const Order& order, std::vector<Supernode> nodes)
      : graph_(graph), order_(order), nodes_(std::move(nodes)) {}
  FrontTree make() {
    number_pivots(join_supernodes(order_, nodes_));
    for (std::size_t f = 0; f < top_.size(); ++f) list_rows_below(f);
    for (const Front& front : tree_.front)
      if (front.parent != kNoIndex) place_in_parent(front, tree_.front[front.parent]);
    return std::move(tree_);
  }

 private:
  void number_pivots(std::span<const Index> into);
  void list_rows_below(std::size_t f);
  void place_in_parent(const Front& front, const Front& parent);

  const BlockGraph& graph_;
  const Order& order_;
  std::vector<Supernode> nodes_;
  FrontTree tree_;
  std::vector<Index> top_;        ///< per front: the supernode that took the others
  std::vector<Index> first_row_;  ///< per place of the old order
};

void FrontMaker::number_pivots(std::span<const Index> into) {
  // supernodes stand subtree after subtree, and so do those that are left
  std::vector<Index> front_of(nodes_.size(), kNoIndex), begin, member(nodes_.size());
  for (std::size_t s = 0; s < nodes_.size(); ++s) {
    if (into[s] != to_index(s)) continue;
    front_of[s] = to_index(top_.size());
    top_.push_back(to_index(s));
  }
  begin.assign(top_.size() + 1, 0);
  for (const Index top : into) ++begin[front_of[top] + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Index> next(begin.begin(), begin.end() - 1);
  for (std::size_t s = 0; s < nodes_.size(); ++s) member[next[front_of[into[s]]]++] = to_index(s);

  tree_.front.resize(top_.size());
  first_row_.resize(order_.at.size());
  Index row = 0;
  for (std::size_t f = 0; f < top_.size(); ++f) {
    Front& front = tree_.front[f];
    front.first = row;
    for (Index m = begin[f]; m < begin[f + 1]; ++m)
      for (Index j = nodes_[member[m]].first; j <= nodes_[member[m]].last; ++j) {
        first_row_[j] = row;
        row += order_.rows(j);
      }
    front.pivots = row - front.first;
    if (nodes_[top_[f]].first >= order_.pivots) front.pivots = 0;
    const Index above = nodes_[top_[f]].parent;
    if (above != kNoIndex) front.parent = front_of[into[above]];
  }
  tree_.place.resize(row);
  for (Index k = 0; k < graph_.size(); ++k)
    std::iota(tree_.place.begin() + graph_.row_begin[k],
              tree_.place.begin() + graph_.row_begin[k + 1], first_row_[order_.place[k]]);
}

void FrontMaker::list_rows_below(std::size_t f) {
  std::vector<Index>& blocks = nodes_[top_[f]].below;
  for (Index j = nodes_[top_[f]].first; j <= nodes_[top_[f]].last && j >= order_.pivots; ++j)
    blocks.push_back(j);
  std::ranges::sort(blocks, {}, [&](Index j) { return first_row_[j]; });
  Front& front = tree_.front[f];
  front.begin = std::ssize(tree_.row);
  for (const Index j : blocks)
    for (Index r = 0; r < order_.rows(j); ++r) tree_.row.push_back(first_row_[j] + r);
  front.below = narrow<Index>(std::ssize(tree_.row) - front.begin);
  blocks = {};
}

void FrontMaker::place_in_parent(const Front& front, const Front& parent) {
  tree_.into.resize(tree_.row.size());
  const Index end = parent.first + parent.pivots;
  Index among = 0;
  for (Offset i = front.begin; i < front.begin + front.below; ++i) {
    const Index row = tree_.row[i];
    if (row < end) {
      tree_.into[i] = row - parent.first;
      continue;
    }
    while (tree_.row[parent.begin + among] != row) ++among;
    tree_.into[i] = parent.pivots + among;
  }
}

}  // namespace

FrontTree make_front_tree(const BlockGraph& graph, Index kept) {
  const Order order(graph, kept);
  return FrontMaker(graph, order, find_supernodes(order)).make();
}

}  // namespace catena
