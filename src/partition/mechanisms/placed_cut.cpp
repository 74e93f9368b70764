#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "catena/base/sort_unique.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/partition/mechanisms.hpp"
#include "partition/mechanisms/rank_tree.hpp"

namespace catena {
namespace {

using partition::RankLink;

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

/// Of each of a tree's ranks the node of its part, ascending in rank.
std::vector<std::pair<int, int>> parts_of(const DealtTree& dealt) {
  std::vector<std::pair<int, int>> parts;
  parts.reserve(dealt.rank.size());
  for (int part = 0; part < std::ssize(dealt.rank); ++part)
    parts.emplace_back(dealt.rank[part], dealt.tree.n_parts() + part);
  std::ranges::sort(parts);
  // parts to the right of a rank's own are empty
  const auto same_rank = [](const auto& a, const auto& b) { return a.first == b.first; };
  parts.erase(std::unique(parts.begin(), parts.end(), same_rank), parts.end());
  return parts;
}

/// The lowest node above the parts of all these ranks.
int node_above(std::span<const std::pair<int, int>> parts, std::span<const int> ranks) {
  const auto part_of = [&](int rank) {
    return std::ranges::lower_bound(parts, rank, {}, &std::pair<int, int>::first)->second;
  };
  int node = part_of(ranks.front());
  for (const int rank : ranks.subspan(1))
    for (int other = part_of(rank); other != node;)
      (other > node ? other : node) = PartTree::parent(std::max(other, node));
  return node;
}

/// Most rows of separators that stand above one part.
std::int64_t most_above(const DealtTree& dealt, std::span<const std::pair<int, int>> parts,
                        std::span<const Shared> shared) {
  std::vector<std::int64_t> above(2 * dealt.tree.n_parts(), 0);
  for (const Shared& s : shared)
    if (s.separating > 0) above[node_above(parts, std::array{s.a, s.b})] += s.separating;
  for (std::size_t n = 2; n < above.size(); ++n) above[n] += above[n / 2];
  return std::ranges::max(above);
}

/// Rows of separators on top of each other that a mechanism of so many may have. A plane net has
/// some sqrt(rows), a block rows^(2/3); where one body has many joints all of them may separate,
/// and a cut by the graph, which leaves such a mechanism whole, costs less than their dense front.
double bearable_above(std::int64_t rows) {
  return std::max(1000.0, std::pow(static_cast<double>(rows), 2.0 / 3.0));
}

/// Collective. Cuts mechanisms by their graphs (`levels` of each joint's; 0: not) and adds them to
/// `cut`.
void cut_by_graph(const Communicator& comm, std::span<const JointEdge> edges,
                  std::span<const JointPlace> places, std::span<const int> levels, int n_ranks,
                  PlacedCut& cut) {
  const std::vector<int> nodes = cut_mechanisms(comm, edges, places, levels);
  struct Found {
    std::int64_t component = 0;
    int levels = 0;

    auto operator<=>(const Found&) const = default;
  };
  std::vector<Found> found;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (levels[i] == 0) continue;
    cut.node[i] = nodes[i];
    if (nodes[i] > 0) found.push_back({places[i].component, levels[i]});
  }
  sort_unique(found);
  found = all_gather_values(comm, found);
  sort_unique(found);
  for (const auto& [component, n] : found)
    cut.parts.push_back({component, DealtTree::in_order({n}, n_ranks)});
  std::ranges::sort(cut.parts, {}, &MechanismParts::component);
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
  std::vector<std::vector<std::pair<int, int>>> part_of;  // as cut.parts
  std::vector<std::int64_t> too_much;                     // mechanisms, ascending
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
    const auto shared = std::span(all).subspan(first, last - first);
    DealtTree tree = tree_of(shared);
    if (tree.rank.empty()) continue;
    auto ranks_parts = parts_of(tree);
    if (static_cast<double>(most_above(tree, ranks_parts, shared)) > bearable_above(rows)) {
      too_much.push_back(component);
      continue;
    }
    cut.parts.push_back({component, std::move(tree)});
    part_of.push_back(std::move(ranks_parts));
  }

  cut.node.assign(edges.size(), 0);
  for (std::size_t j = 0; j < edges.size(); ++j) {
    if (marked[j] == 0) continue;
    const std::int64_t component = places[j].component;
    const auto parts =
        std::ranges::lower_bound(cut.parts, component, {}, &MechanismParts::component);
    if (parts != cut.parts.end() && parts->component == component)
      cut.node[j] = node_above(part_of[parts - cut.parts.begin()], ranks_of(edges[j], owner[j]));
    else if (std::ranges::binary_search(too_much, component))
      cut.node[j] = PlacedCut::kNone;
  }
  return cut;
}

PlacedCut cut_over_ranks(const Communicator& comm, std::span<const JointEdge> edges,
                         std::span<const JointPlace> places,
                         std::span<const std::array<int, 4>> owner, std::span<const char> marked,
                         int n_ranks, bool by_graph) {
  PlacedCut cut;
  if (by_graph)
    cut.node.assign(edges.size(), 0);
  else
    cut = cut_between_ranks(comm, edges, places, owner, marked);
  std::vector<int> levels(edges.size(), 0);
  for (std::size_t j = 0; j < edges.size(); ++j)
    if (by_graph ? marked[j] != 0 : cut.node[j] == PlacedCut::kNone)
      levels[j] = PartTree::of(places[j].n_joints, n_ranks, by_graph).levels;
  const std::int64_t any = std::ranges::count_if(levels, [](int n) { return n > 0; });
  if (comm.max(any) > 0) cut_by_graph(comm, edges, places, levels, n_ranks, cut);
  return cut;
}

}  // namespace catena
