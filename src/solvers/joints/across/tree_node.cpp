#include "solvers/joints/across/tree_node.hpp"

#include <algorithm>
#include <numeric>

#include "catena/base/error.hpp"

namespace catena {
namespace {

std::vector<MessagePath> path(int other, bool sends, std::int64_t numbers) {
  const Index n = narrow<Index>(numbers);
  return {{other, sends ? n : 0, sends ? 0 : n}};
}

}  // namespace

ParentMessages::ParentMessages(const Communicator& comm, int other, bool up, Index rows)
    : update(comm, path(other, up, Offset{rows} * (rows + 1) / 2), Tag::across_updates),
      forward(comm, path(other, up, rows), Tag::across_forward),
      backward(comm, path(other, !up, rows), Tag::across_backward) {}

Index TreeNode::row_above(const BlockAbove& block) const {
  const auto at = std::ranges::lower_bound(above, block.key(), {}, &BlockAbove::key);
  CATENA_CHECK(at != above.end() && at->key() == block.key(), "a node knows all blocks above it");
  return above_begin[at - above.begin()];
}

FrontTree front_of_separator(Index rows, Index rows_above) {
  FrontTree tree;
  tree.front.push_back({0, rows, rows_above, kNoIndex, 0});
  tree.place.resize(rows + rows_above);
  std::iota(tree.place.begin(), tree.place.end(), 0);
  tree.row.assign(tree.place.begin() + rows, tree.place.end());
  tree.into.assign(rows_above, 0);
  return tree;
}

void add_left(FrontFactor& from, std::span<const Index> into, FrontFactor& to) {
  for (Index j = 0; j < std::ssize(into); ++j) to.add_below(0, j, into, from.left(j));
}

void send_left(FrontFactor& from, Index rows, PathMessages& update) {
  double* out = update.out(0);
  for (Index j = 0; j < rows; ++j) out = std::copy_n(from.left(j) + j, rows - j, out);
  update.begin();
}

void add_received(const PathMessages& update, std::span<const Index> into, FrontFactor& to) {
  const double* in = update.in(0);
  const Index rows = to_index(into.size());
  for (Index j = 0; j < rows; ++j) {
    to.add_below(0, j, into, in - j);
    in += rows - j;
  }
}

}  // namespace catena
