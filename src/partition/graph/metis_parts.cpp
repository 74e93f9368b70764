#include <metis.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "catena/base/error.hpp"
#include "catena/partition/balance.hpp"
#include "partition/graph/cell_graph.hpp"

namespace catena {

std::int64_t partition_memory(std::int64_t vertices, std::int64_t edges, int n_parts) {
  // Ours: the gathered weights and edges twice (as bytes and as numbers), METIS' input and
  // output. METIS': each level of the coarsening holds a graph and its maps, and a level has
  // about 0.6 of the one before; its refinement keeps a few numbers a vertex and boundary edge.
  const std::int64_t gathered = 2 * sizeof(std::int64_t) * Offset{vertices} +
                                2 * sizeof(partition::CellEdge) * Offset{edges + vertices};
  constexpr std::int64_t kIndex = sizeof(idx_t);
  const std::int64_t input = kIndex * (3 * vertices + 4 * (edges + vertices));
  const std::int64_t metis = kIndex * (28 * vertices + 10 * (edges + vertices) + 16 * n_parts);
  return gathered + input + metis;
}

namespace partition {

namespace {

// METIS adds weights up in idx_t (32 bits in Debian's build): weights are divided so that
// their sum stays well inside. The smallest stay 1.
std::vector<idx_t> scaled(const std::vector<std::int64_t>& weights, std::int64_t least) {
  const std::int64_t sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  const std::int64_t limit = std::numeric_limits<idx_t>::max() / 4;
  const std::int64_t divisor = sum / limit + 1;
  std::vector<idx_t> result;
  result.reserve(weights.size());
  for (const std::int64_t w : weights) {
    result.push_back(static_cast<idx_t>(std::max(w / divisor, least)));
  }
  return result;
}

// Compressed rows of the symmetric adjacency; neighbours ascend, as the edges do.
struct Adjacency {
  std::vector<idx_t> begin, neighbour;
  std::vector<std::int64_t> weight;

  Adjacency(std::size_t n, std::span<const CellEdge> edges) : begin(n + 1, 0) {
    for (const CellEdge& e : edges) {
      ++begin[e.a + 1];
      ++begin[e.b + 1];
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    neighbour.resize(2 * edges.size());
    weight.resize(2 * edges.size());
    std::vector<idx_t> next(begin.begin(), begin.end() - 1);
    const auto put = [&](std::int64_t from, std::int64_t to, std::int64_t w) {
      const std::size_t at = next[from]++;
      neighbour[at] = static_cast<idx_t>(to);
      weight[at] = w;
    };
    for (const CellEdge& e : edges) {
      put(e.a, e.b, e.weight);
      put(e.b, e.a, e.weight);
    }
  }
};

}  // namespace

std::vector<std::int32_t> metis_parts(std::span<const std::int64_t> weights,
                                      std::span<const CellEdge> edges, int n_parts) {
  constexpr std::size_t kMost = std::numeric_limits<idx_t>::max();
  if (weights.size() > kMost / 2 || edges.size() > kMost / 2) return {};
  if (n_parts == 1) return std::vector<std::int32_t>(weights.size(), 0);

  Adjacency graph(weights.size(), edges);
  std::vector<idx_t> vertex_weight = scaled({weights.begin(), weights.end()}, 1);
  std::vector<idx_t> edge_weight = scaled(graph.weight, 1);
  std::vector<idx_t> part(weights.size(), 0);
  auto n = static_cast<idx_t>(weights.size());
  idx_t n_weights = 1;
  idx_t parts = n_parts;
  idx_t cut = 0;
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 1;
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_NCUTS] = static_cast<idx_t>(split_tries(std::ssize(weights)));
  // Recursive bisection cuts and balances better for few parts and is slow for many.
  constexpr int kFew = 8;
  if (n_parts <= kFew) options[METIS_OPTION_UFACTOR] = 5;  // 0.5 % a bisection
  const auto split = n_parts <= kFew ? METIS_PartGraphRecursive : METIS_PartGraphKway;
  const int status =
      split(&n, &n_weights, graph.begin.data(), graph.neighbour.data(), vertex_weight.data(),
            nullptr, edge_weight.data(), &parts, nullptr, nullptr, options, &cut, part.data());
  if (status != METIS_OK) return {};
  return {part.begin(), part.end()};
}

}  // namespace partition
}  // namespace catena
