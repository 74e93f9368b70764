// What a sparse Cholesky factorisation of a symmetric matrix is made of: its fronts.
#pragma once

#include <vector>

#include "catena/partition/nested_dissection.hpp"

namespace catena {

/// Columns that are eliminated together since they (nearly) have the same rows below, a supernode:
/// a dense matrix of its pivots and of those rows.
struct Front {
  Index first = 0;   ///< of its pivots, in the order of elimination
  Index pivots = 0;  ///< how many
  Index below = 0;   ///< rows that follow, which are pivots of fronts above it
  Index parent = kNoIndex;
  Offset begin = 0;  ///< of the rows below, in FrontTree::row and ::into

  Index rows() const { return pivots + below; }
};

/// The elimination tree of fronts. What the elimination of a front leaves to its rows below is
/// added to its parent, which has all of these rows.
struct FrontTree {
  std::vector<Index> place;  ///< per row of the matrix: when it is eliminated; kept rows are last
  std::vector<Front> front;  ///< children before their parents, subtree after subtree
  std::vector<Index> row;    ///< rows below the pivots, ascending, in the order of elimination
  std::vector<Index> into;   ///< the same rows as numbers among the parent's
};

/// Local. Orders by nested dissection, finds the fronts, and joins a front to its parent where one
/// larger front is less work than two. The last `kept` blocks are not eliminated: where there are
/// any, the last front has no pivots, and what is left there of their rows, in their order, is the
/// Schur complement of the others. Every kept block must be a neighbour of another. The same graph
/// gives the same tree.
FrontTree make_front_tree(const BlockGraph& graph, Index kept = 0);

}  // namespace catena
