// What ranks know of each other's joints when they eliminate one mechanism together.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "catena/comm/path_messages.hpp"
#include "catena/partition/part_tree.hpp"
#include "solvers/joints/elimination/elimination.hpp"

namespace catena {

/// A mechanism cut by a PartTree, each node on one rank. A G M^-1 G^T of two blocks at a body is
/// made by the rank that eliminates the first of them; blocks of other ranks that it needs for that
/// are its guests, which it knows at the bodies of its own blocks alone.
class Guests {
 public:
  /// Collective. `rows` and `node` (of each block) are of own blocks, by place of their nodes, then
  /// by name; guests are appended to both, in that order. `exact`: sums over rows are to be the
  /// same bits whatever the ranks.
  Guests(const Communicator& comm, DealtTree tree, bool exact, MechanismRows& rows,
         std::vector<int>& node);

  const Communicator& comm() const { return comm_; }
  const PartTree& tree() const { return tree_.tree; }
  const DealtTree& dealt_tree() const { return tree_; }
  /// Of a node.
  int rank_of(int node) const { return tree_.rank_of(node); }
  bool exact() const { return exact_; }
  Index own_blocks() const { return own_blocks_; }
  /// The first rows: of own blocks.
  Index own_rows() const { return own_rows_; }
  /// Whether this rank knows all blocks at body b; exactly one does.
  bool knows_all_at(Index b) const { return knows_all_[b] != 0; }

  /// Neighbours. G of guests.
  void bring_jacobians(MechanismRows& rows);
  /// Neighbours. Numbers of guests' rows, in a vector of all rows.
  void bring(std::span<double> x);

 private:
  struct Guest {
    Index path;  ///< to the rank that eliminates it
    Index first_row, rows;
    Offset jacobian, numbers;  ///< of all its bodies here: the first, and how many
  };
  /// Another rank, of which own blocks are guests.
  struct Host {
    std::vector<Index> reference;               ///< own, at bodies that it has, too
    std::vector<std::pair<Index, Index>> rows;  ///< of these blocks: first, how many
  };
  struct End;
  std::vector<End> find(const MechanismRows& rows, std::span<const int> node);
  void append(std::span<const End> ends, MechanismRows& rows, std::vector<int>& node);
  void lay_paths(std::span<const End> ends, const GeneralBlocks& blocks);

  Communicator comm_;
  DealtTree tree_;
  bool exact_;
  Index own_blocks_, own_rows_;
  std::vector<char> knows_all_;
  std::vector<Guest> guests_;
  std::vector<Host> hosts_;  ///< per path
  std::optional<PathMessages> jacobians_, values_;
};

}  // namespace catena
