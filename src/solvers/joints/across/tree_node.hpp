// A node of a PartTree as the rank that eliminates it has it.
#pragma once

#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "catena/comm/path_messages.hpp"
#include "catena/partition/part_tree.hpp"
#include "solvers/joints/dissection/front_factor.hpp"

namespace catena {

/// A block of a separator above a node, known by its name.
struct BlockAbove {
  int place = 0;  ///< of its node in the tree
  int rows = 0;
  std::int64_t name = 0;

  auto key() const { return std::pair(place, name); }
};

/// Numbers between a node and the one above it where two ranks have these.
struct ParentMessages {
  /// Neighbours of each other; `up`: this rank has the lower node. `rows`: rows above the lower
  /// one.
  ParentMessages(const Communicator& comm, int other, bool up, Index rows);

  PathMessages update;    ///< what the lower one leaves of the matrix, columns from the diagonal on
  PathMessages forward;   ///< up: what it takes from the right-hand side
  PathMessages backward;  ///< down: the solution
};

/// What is below a separator, seen from there.
struct NodeBelow {
  Index own = kNoIndex;     ///< among this rank's nodes, or it is another rank's
  std::vector<Index> into;  ///< its rows above among the separator's own and those above this
  std::optional<ParentMessages> messages;
};

/// Rows of a node: its own, in the order of elimination, then those of blocks above which its
/// elimination changes.
struct TreeNode {
  int number = 0;
  Index first_block = 0, blocks = 0, first_row = 0, rows = 0;  ///< own ones, among the rank's
  std::vector<BlockAbove> above;                               ///< by place, then by name
  std::vector<Index> above_begin = {0};                        ///< rows of these
  std::optional<FrontFactor> fronts;
  std::size_t first_front = 0;  ///< among those of all of the rank's nodes
  std::vector<double> x;        ///< per row
  std::vector<NodeBelow> below;
  std::optional<ParentMessages> messages;  ///< where the node above is another rank's

  Index rows_above() const { return above_begin.back(); }
  Index row_above(const BlockAbove& block) const;
};

/// The fronts of a node that is a separator: one.
FrontTree front_of_separator(Index rows, Index rows_above);

/// Adds what `from` has left of a matrix to the first front of `to`, which is open.
void add_left(FrontFactor& from, std::span<const Index> into, FrontFactor& to);
/// The same by way of messages.
void send_left(FrontFactor& from, Index rows, PathMessages& update);
void add_received(const PathMessages& update, std::span<const Index> into, FrontFactor& to);

}  // namespace catena
