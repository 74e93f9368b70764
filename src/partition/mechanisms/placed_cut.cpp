#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "catena/base/sort_unique.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/partition/mechanisms.hpp"
#include "partition/mechanisms/rank_tree.hpp"

namespace catena {
namespace {

using partition::RankLink;

/// Rows that a separator may have: it is one dense front. Nets of 10^6 knots, whose rods have a row
/// each, have some 1,000 to 2,000; more stand for a body with very many joints, which no cut parts.
constexpr std::int64_t kMostOfSeparator = 2500;

/// Rows of a mechanism's joints whose bodies ranks a and b have (a == b: one rank alone).
struct Shared {
  std::int64_t component = 0;
  int a = 0, b = 0;
  std::int64_t rows = 0;
  std::int64_t separating = 0;  ///< of joints of several ranks, each told once

  auto key() const { return std::tuple(component, a, b); }
};

/// Each mechanism and pair of ranks once, ascending.
void merge(std::vector<Shared>& list) {
  std::ranges::sort(list, {}, &Shared::key);
  std::size_t n = 0;
  for (const Shared& shared : list) {
    if (n > 0 && list[n - 1].key() == shared.key()) {
      list[n - 1].rows += shared.rows;
      list[n - 1].separating += shared.separating;
    } else {
      list[n++] = shared;
    }
  }
  list.resize(n);
}

std::vector<int> ranks_of(const JointEdge& edge, const std::array<int, 4>& owner) {
  std::vector<int> ranks(owner.begin(), owner.begin() + edge.n_bodies);
  sort_unique(ranks);
  return ranks;
}

/// The tree of a mechanism, from what ranks share of it; without parts: one rank has all of it.
DealtTree tree_of(std::span<const Shared> shared) {
  std::vector<int> ranks;
  std::vector<RankLink> links;
  for (const Shared& s : shared) {
    ranks.insert(ranks.end(), {s.a, s.b});
    if (s.a != s.b) links.push_back({s.a, s.b, s.rows});
  }
  sort_unique(ranks);
  if (ranks.size() < 2) return {{}, {}};
  return partition::tree_of_ranks(std::move(ranks), links);
}

/// Where ranks' parts stand in a tree.
class PartsOfRanks {
 public:
  explicit PartsOfRanks(const DealtTree& dealt) {
    for (std::size_t part = 0; part < dealt.rank.size(); ++part)
      part_.emplace_back(dealt.rank[part], dealt.tree.n_parts() + narrow<int>(part));
    std::ranges::sort(part_);
  }

  /// The lowest node above the parts of all these ranks.
  int node_above(std::span<const int> ranks) const {
    int node = part_of(ranks.front());
    for (const int rank : ranks.subspan(1))
      for (int other = part_of(rank); other != node;)
        (other > node ? other : node) = PartTree::parent(std::max(other, node));
    return node;
  }

 private:
  /// The first of its parts: those behind it are empty.
  int part_of(int rank) const {
    return std::ranges::lower_bound(part_, std::pair(rank, 0))->second;
  }

  std::vector<std::pair<int, int>> part_;  ///< ranks and nodes, ascending
};

/// Rows of the largest separator. (A joint of more than two ranks counts where the first two meet,
/// which may be below its node.)
std::int64_t largest_separator(const DealtTree& dealt, const PartsOfRanks& parts,
                               std::span<const Shared> shared) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(dealt.tree.n_parts()), 0);
  for (const Shared& s : shared)
    if (s.a != s.b)
      rows[static_cast<std::size_t>(parts.node_above(std::array{s.a, s.b}))] += s.separating;
  return std::ranges::max(rows);
}

}  // namespace

PlacedCut cut_between_ranks(const Communicator& comm, std::span<const JointEdge> edges,
                            std::span<const JointPlace> places,
                            std::span<const std::array<int, 4>> owner,
                            std::span<const char> marked) {
  std::vector<Shared> all;
  for (std::size_t j = 0; j < edges.size(); ++j) {
    if (marked[j] == 0) continue;
    const std::vector<int> ranks = ranks_of(edges[j], owner[j]);
    const std::int64_t rows = edges[j].rows;
    if (ranks.size() == 1) all.push_back({places[j].component, ranks[0], ranks[0], rows, 0});
    for (std::size_t a = 0; a < ranks.size(); ++a)
      for (std::size_t b = a + 1; b < ranks.size(); ++b)
        all.push_back({places[j].component, ranks[a], ranks[b], rows, b == 1 ? rows : 0});
    if (all.size() > 2 * edges.size()) merge(all);
  }
  merge(all);
  all = all_gather_values(comm, all);
  merge(all);

  PlacedCut cut;
  std::vector<PartsOfRanks> places_of;  // per tree
  std::vector<std::int64_t> too_much;   // mechanisms, ascending
  for (std::size_t first = 0, last = 0; first < all.size(); first = last) {
    const std::int64_t component = all[first].component;
    std::int64_t separating = 0, rows = 0;
    for (last = first; last < all.size() && all[last].component == component; ++last) {
      separating += all[last].separating;
      rows += all[last].a == all[last].b ? all[last].rows : all[last].separating;
    }
    if (static_cast<double>(separating) > kMostSeparating * static_cast<double>(rows)) {
      too_much.push_back(component);
      continue;
    }
    const std::span<const Shared> shared = std::span(all).subspan(first, last - first);
    DealtTree tree = tree_of(shared);
    if (tree.rank.empty()) continue;
    PartsOfRanks parts(tree);
    if (largest_separator(tree, parts, shared) > kMostOfSeparator) {
      too_much.push_back(component);
      continue;
    }
    cut.parts.push_back({component, std::move(tree)});
    places_of.push_back(std::move(parts));
  }

  cut.node.assign(edges.size(), 0);
  for (std::size_t j = 0; j < edges.size(); ++j) {
    if (marked[j] == 0) continue;
    const std::int64_t component = places[j].component;
    const auto parts =
        std::ranges::lower_bound(cut.parts, component, {}, &MechanismParts::component);
    if (parts != cut.parts.end() && parts->component == component)
      cut.node[j] = places_of[static_cast<std::size_t>(parts - cut.parts.begin())].node_above(
          ranks_of(edges[j], owner[j]));
    else if (std::ranges::binary_search(too_much, component))
      cut.node[j] = PlacedCut::kNone;
  }
  return cut;
}

}  // namespace catena
