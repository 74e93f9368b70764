#include <metis.h>

#include <algorithm>
#include <array>
#include <cmath>
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

std::string metis_version() {
  return std::to_string(METIS_VER_MAJOR) + "." + std::to_string(METIS_VER_MINOR) + "." +
         std::to_string(METIS_VER_SUBMINOR);
}

namespace partition {

namespace {

/// What joints, and all else, must be of one part's mean work to be balanced of its own: at worst
/// all of it is one part's, and less costs less than what two balances cost in the cut.
constexpr double kOfItsOwn = 0.2;
/// A mechanism's work over a part's share of the joints' from which no split is even in them: more
/// than the round-off of weights.
constexpr double kMoreThanShare = 1.01;
/// Bisections cut and balance better for few parts, and are slow for many.
constexpr int kFewParts = 8;
/// What one weight may be uneven by in a bisection, in thousandths.
constexpr idx_t kUnevenThousandths = 5;
/// What two weights, that of contacts and bodies and that of joints, may be uneven by in a
/// bisection (or where there is no bisection in all), and after all bisections, in which it
/// multiplies. Joints may by more: mechanisms are better left whole.
constexpr std::array<double, 2> kUnevenOnce = {1.02, 1.08}, kUnevenInAll = {1.04, 1.12};

std::array<real_t, 2> uneven_two(int n_parts) {
  int bisections = 0;
  while (1 << bisections < n_parts) ++bisections;
  std::array<real_t, 2> uneven = {};
  for (std::size_t i = 0; i < uneven.size(); ++i)
    uneven[i] = static_cast<real_t>(
        n_parts > kFewParts
            ? kUnevenOnce[i]
            : std::min(kUnevenOnce[i], std::pow(kUnevenInAll[i], 1.0 / bisections)));
  return uneven;
}

// METIS adds weights up in idx_t (32 bits in Debian's build): weights are divided so that
// their sum stays well inside. Those that are not 0 stay 1 at least, all do with `least` 1.
std::vector<idx_t> scaled(const std::vector<std::int64_t>& weights, std::int64_t least) {
  const std::int64_t sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  const std::int64_t limit = std::numeric_limits<idx_t>::max() / 4;
  const std::int64_t divisor = sum / limit + 1;
  std::vector<idx_t> result;
  result.reserve(weights.size());
  for (const std::int64_t w : weights) {
    const std::int64_t floor = w > 0 ? 1 : least;
    result.push_back(static_cast<idx_t>(std::max(w / divisor, floor)));
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

// Weights as METIS takes them, one or two a vertex.
struct VertexWeights {
  idx_t per_vertex = 1;
  std::vector<idx_t> weight;

  VertexWeights(std::span<const PartWork> work, int n_parts, std::int64_t largest_whole) {
    std::vector<std::int64_t> all, rest, joints;
    double sum_of_rest = 0.0, sum_of_joints = 0.0;
    for (const PartWork& w : work) {
      all.push_back(w.all());
      rest.push_back(w.contacts);
      joints.push_back(w.joints);
      sum_of_rest += static_cast<double>(w.contacts);
      sum_of_joints += static_cast<double>(w.joints);
    }
    const double least = kOfItsOwn * (sum_of_rest + sum_of_joints) / n_parts;
    if (sum_of_rest < least || sum_of_joints < least) {
      weight = scaled(all, 1);
      return;
    }
    // one part has that mechanism however it is split: the rest can still be even
    if (static_cast<double>(largest_whole) * n_parts > kMoreThanShare * sum_of_joints) {
      weight = scaled(rest, 1);
      return;
    }
    per_vertex = 2;
    const std::vector<idx_t> first = scaled(rest, 1), second = scaled(joints, 0);
    for (std::size_t i = 0; i < work.size(); ++i) {
      weight.push_back(first[i]);
      weight.push_back(second[i]);
    }
  }
};

}  // namespace

std::vector<std::int32_t> metis_parts(std::span<const PartWork> weights,
                                      std::span<const CellEdge> edges, int n_parts,
                                      std::int64_t largest_whole) {
  constexpr std::size_t kMost = std::numeric_limits<idx_t>::max();
  if (weights.size() > kMost / 2 || edges.size() > kMost / 2) return {};
  if (n_parts == 1) return std::vector<std::int32_t>(weights.size(), 0);

  Adjacency graph(weights.size(), edges);
  VertexWeights vertices(weights, n_parts, largest_whole);
  std::vector<idx_t> edge_weight = scaled(graph.weight, 1);
  std::vector<idx_t> part(weights.size(), 0);
  auto n = static_cast<idx_t>(weights.size());
  idx_t parts = n_parts;
  idx_t cut = 0;
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 1;
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_NCUTS] = static_cast<idx_t>(split_tries(std::ssize(weights)));
  if (n_parts <= kFewParts) options[METIS_OPTION_UFACTOR] = kUnevenThousandths;
  const auto split = n_parts <= kFewParts ? METIS_PartGraphRecursive : METIS_PartGraphKway;
  std::array<real_t, 2> uneven = uneven_two(n_parts);
  const int status =
      split(&n, &vertices.per_vertex, graph.begin.data(), graph.neighbour.data(),
            vertices.weight.data(), nullptr, edge_weight.data(), &parts, nullptr,
            vertices.per_vertex == 2 ? uneven.data() : nullptr, options, &cut, part.data());
  if (status != METIS_OK) return {};
  return {part.begin(), part.end()};
}

}  // namespace partition
}  // namespace catena
