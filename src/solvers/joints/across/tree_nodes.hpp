// The nodes of a PartTree that one rank eliminates.
#pragma once

#include <vector>

#include "solvers/joints/across/tree_node.hpp"
#include "solvers/joints/elimination/guests.hpp"
#include "solvers/joints/elimination/references.hpp"

namespace catena {

/// Where the blocks of a MechanismRows stand in the tree of their mechanism.
struct BlockNodes {
  Guests* guests = nullptr;  ///< none: all blocks are of one node, on this rank
  std::vector<int> node;     ///< per block, guests too; empty: all of node 1

  PartTree tree() const { return guests ? guests->tree() : PartTree{}; }
  /// Which eliminates a node.
  int rank_of(int n) const { return guests ? guests->rank_of(n) : 0; }
  int of(Index k) const { return node.empty() ? 1 : node[k]; }
  Index own_blocks(const MechanismRows& rows) const {
    return guests ? guests->own_blocks() : rows.blocks.size();
  }
};

/// Collective where there are guests. This rank's nodes in the order of their places; a round of
/// messages a level.
std::vector<TreeNode> make_tree_nodes(const MechanismRows& structure, const References& references,
                                      const BlockNodes& nodes);

}  // namespace catena
