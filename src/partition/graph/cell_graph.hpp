// The body/constraint graph on cells of consecutive bodies, gathered and split by METIS.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/partition/balance.hpp"

namespace catena::partition {

/// Undirected edge of a graph of cells, a < b.
struct CellEdge {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t weight = 0;
};

/// This rank's contribution to the graph: weights of cells and of edges, any number of
/// entries for the same ones; they are added up over all ranks.
struct CellGraphShare {
  struct Weight {
    std::int64_t cell = 0;
    PartWork work;
  };
  std::int64_t n_cells = 0;  ///< over all ranks, numbered along the curve
  std::vector<Weight> weights;
  std::vector<CellEdge> edges;  ///< weight = rows of contacts, and some for joints, between the two
  /// Joints' work of the largest mechanism that one rank eliminates, the same on every rank.
  std::int64_t largest_whole = 0;
};

struct CellParts {
  bool valid = false;        ///< false: METIS did not split the graph
  std::vector<int> part;     ///< of each entry of share.weights
  std::int64_t n_edges = 0;  ///< pairs of cells in contact
};

/// Collective. Sums the graph over ranks, splits it on rank 0 into n_parts and hands each
/// rank the parts of its entries.
///
/// Cells that follow each other along the curve are linked by a light edge besides (1,
/// against 2 a row): bodies without contacts then stay with their neighbours, and the graph
/// is connected.
CellParts split_cells(const Communicator& comm, CellGraphShare share, int n_parts);

/// Sorts by (a, b), orders each edge's ends and adds up equal ones.
void merge_edges(std::vector<CellEdge>& edges);

/// Parts of a graph's vertices by METIS, or an empty list if it refuses. `edges` merged. Where both
/// joints and the rest are a part of the work that counts, each of them is balanced; but the rest
/// alone where the largest mechanism that one rank eliminates, of `largest_whole` work on joints,
/// is more than a part's share of them: no split makes that even.
std::vector<std::int32_t> metis_parts(std::span<const PartWork> weights,
                                      std::span<const CellEdge> edges, int n_parts,
                                      std::int64_t largest_whole = 0);

/// The same where the graph is long paths (or rings) of rows, links of the curve left out: cut
/// along them, so that each part is one piece of a path but where paths end. Empty for other
/// graphs.
std::vector<std::int32_t> path_parts(std::span<const PartWork> weights,
                                     std::span<const CellEdge> edges, int n_parts);

}  // namespace catena::partition
