// Orders of elimination with little fill.
#pragma once

#include <span>
#include <vector>

#include "catena/base/index.hpp"

namespace catena {

/// Which blocks of a symmetric matrix couple: blocks of consecutive rows, compressed rows of
/// neighbours without the block itself.
struct BlockGraph {
  std::vector<Index> row_begin = {0};
  std::vector<Offset> begin = {0};
  std::vector<Index> neighbour;

  Index size() const { return to_index(begin.size()) - 1; }
};

/// Local. Nested dissection by METIS: a small set of blocks that separates the rest into two halves
/// of about equal rows stands last, and so on in both halves. Returns every block's place. The same
/// graph has the same order. Throws Error for graphs beyond METIS' numbers.
std::vector<Index> nested_dissection(const BlockGraph& graph);

/// Local. The same as far as the top `levels` of it, parts of about equal rows: every block's node
/// of the PartTree. The same graph has the same nodes. Throws Error as above.
std::vector<int> nested_parts(const BlockGraph& graph, int levels);

}  // namespace catena
