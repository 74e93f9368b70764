#include "partition/graph/cell_graph.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "catena/comm/typed_exchange.hpp"

namespace catena::partition {

namespace {

// Cells are dealt to ranks in equal ranges, where the shares of all ranks are added up; so
// no rank holds more than its range, however the bodies lie.
struct Dealing {
  std::int64_t n_cells;
  std::int64_t n_ranks;
  std::int64_t first(std::int64_t rank) const {
    return n_cells / n_ranks * rank + n_cells % n_ranks * rank / n_ranks;
  }
  int holder(std::int64_t cell) const {
    auto rank = static_cast<std::int64_t>(static_cast<double>(cell) / static_cast<double>(n_cells) *
                                          static_cast<double>(n_ranks));
    rank = std::clamp(rank, std::int64_t{0}, n_ranks - 1);
    while (cell < first(rank)) --rank;
    while (cell >= first(rank + 1)) ++rank;
    return narrow<int>(rank);
  }
};

// What one rank sends to the holder of a range.
struct Contribution {
  std::vector<CellGraphShare::Weight> weights;
  std::vector<CellEdge> edges;

  std::vector<std::byte> pack() const {
    Packer out;
    out.put_list(weights);
    out.put_values(edges);
    return out.take();
  }
  static Contribution unpack(std::span<const std::byte> bytes) {
    Unpacker in(bytes);
    Contribution c;
    c.weights = in.get_list<CellGraphShare::Weight>();
    c.edges = in.get_rest<CellEdge>();
    return c;
  }
};

// Adds up equal cells. `entry[i]`: where weights[i] went.
std::vector<CellGraphShare::Weight> merge_weights(
    const std::vector<CellGraphShare::Weight>& weights, std::vector<std::size_t>& entry) {
  std::vector<std::size_t> order(weights.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(weights[a].cell, a) < std::pair(weights[b].cell, b);
  });
  entry.resize(weights.size());
  std::vector<CellGraphShare::Weight> merged;
  for (const std::size_t i : order) {
    if (merged.empty() || merged.back().cell != weights[i].cell) {
      merged.push_back({weights[i].cell, {}});
    }
    merged.back().work += weights[i].work;
    entry[i] = merged.size() - 1;
  }
  return merged;
}

// The graph summed over ranks, this rank's range of cells.
struct HeldGraph {
  std::vector<PartWork> weights;  // of the cells of the range
  std::vector<CellEdge> edges;    // whose lower cell is in the range
  std::int64_t n_edges = 0;       // without links
  RankLists<std::int64_t> asked;  // by rank, cells in its order
};

HeldGraph sum_over_ranks(const Communicator& comm, const Dealing& dealing,
                         const std::vector<CellGraphShare::Weight>& weights,
                         const std::vector<CellEdge>& edges) {
  std::vector<Contribution> sent(comm.size());
  for (const auto& w : weights) {
    sent[dealing.holder(w.cell)].weights.push_back(w);
  }
  for (const CellEdge& e : edges) {
    sent[dealing.holder(e.a)].edges.push_back(e);
  }
  std::vector<Parcel> out;
  for (int r = 0; r < comm.size(); ++r) {
    const Contribution& c = sent[r];
    if (!c.weights.empty() || !c.edges.empty()) out.push_back({r, c.pack()});
  }

  const std::int64_t first = dealing.first(comm.rank());
  const std::int64_t end = dealing.first(comm.rank() + 1);
  HeldGraph held;
  held.weights.resize(end - first);
  held.asked.resize(comm.size());
  for (const Parcel& parcel : comm.exchange(std::move(out))) {
    const Contribution c = Contribution::unpack(parcel.bytes);
    for (const auto& w : c.weights) {
      held.weights[w.cell - first] += w.work;
      held.asked[parcel.rank].push_back(w.cell - first);
    }
    held.edges.insert(held.edges.end(), c.edges.begin(), c.edges.end());
  }
  merge_edges(held.edges);
  held.n_edges = std::ssize(held.edges);
  for (CellEdge& e : held.edges) e.weight *= 2;
  for (std::int64_t c = first; c < end && c + 1 < dealing.n_cells; ++c) {
    held.edges.push_back({c, c + 1, 1});
  }
  merge_edges(held.edges);
  return held;
}

// Collective. Parts of the range's cells, from rank 0; empty if the graph was not split.
std::vector<std::int32_t> split_on_root(const Communicator& comm, const Dealing& dealing,
                                        const HeldGraph& held, int n_parts,
                                        std::int64_t largest_whole) {
  const std::vector<PartWork> weights = gather_values(comm, 0, held.weights);
  const std::vector<CellEdge> edges = gather_values(comm, 0, held.edges);
  RankLists<std::int32_t> out(comm.size());
  if (comm.rank() == 0) {
    std::vector<std::int32_t> part = path_parts(weights, edges, n_parts);
    if (part.empty()) part = metis_parts(weights, edges, n_parts, largest_whole);
    for (int r = 0; !part.empty() && r < comm.size(); ++r)
      out[r].assign(part.begin() + dealing.first(r), part.begin() + dealing.first(r + 1));
  }
  return all_to_all(comm, std::move(out)).front();
}

}  // namespace

void merge_edges(std::vector<CellEdge>& edges) {
  for (CellEdge& e : edges) {
    if (e.a > e.b) std::swap(e.a, e.b);
  }
  std::sort(edges.begin(), edges.end(), [](const CellEdge& x, const CellEdge& y) {
    return std::tie(x.a, x.b) < std::tie(y.a, y.b);
  });
  std::size_t n = 0;
  for (const CellEdge& e : edges) {
    if (n > 0 && edges[n - 1].a == e.a && edges[n - 1].b == e.b) {
      edges[n - 1].weight += e.weight;
    } else {
      edges[n++] = e;
    }
  }
  edges.resize(n);
}

CellParts split_cells(const Communicator& comm, CellGraphShare share, int n_parts) {
  const Dealing dealing{share.n_cells, comm.size()};
  std::vector<std::size_t> entry;
  const std::vector<CellGraphShare::Weight> weights = merge_weights(share.weights, entry);
  merge_edges(share.edges);
  const HeldGraph held = sum_over_ranks(comm, dealing, weights, share.edges);
  const std::vector<std::int32_t> range =
      split_on_root(comm, dealing, held, n_parts, share.largest_whole);

  CellParts result;
  result.n_edges = comm.sum(held.n_edges);
  result.valid = comm.max(std::ssize(range)) > 0;
  if (!result.valid) return result;
  const auto answers =
      reply_each<std::int32_t>(held.asked, [&](std::int64_t cell) { return range[cell]; });
  // A holder's cells come back in the order in which they were sent: ascending, so the
  // holders' answers in rank order are the parts of `weights`.
  const std::vector<std::int32_t> merged_part = joined(all_to_all(comm, answers));
  CATENA_CHECK(merged_part.size() == weights.size(), "a part for each cell");
  for (const std::size_t e : entry) result.part.push_back(merged_part[e]);
  return result;
}

}  // namespace catena::partition
