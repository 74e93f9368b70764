#include "partition/mechanisms/components.hpp"

#include <algorithm>
#include <utility>

#include "catena/base/sort_unique.hpp"
#include "catena/comm/typed_exchange.hpp"

namespace catena::partition {
namespace {

/// A bijection that leaves no order (finaliser of splitmix64).
std::uint64_t shuffled(Address node) {
  auto x = static_cast<std::uint64_t>(node);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

bool before(Address a, Address b) { return shuffled(a) < shuffled(b); }

/// Collective. Parents of any nodes, each asked for once a rank.
std::vector<Address> parents_of(const Communicator& comm, std::span<const Address> nodes,
                                const std::vector<Address>& parent) {
  std::vector<Address> wanted(nodes.begin(), nodes.end());
  sort_unique(wanted);
  std::vector<int> rank;
  rank.reserve(wanted.size());
  for (const Address node : wanted) rank.push_back(rank_of(node));
  const auto reply = [&](const RankLists<Address>& asked) {
    return reply_each<Address>(asked, [&](Address node) { return parent[place_of(node)]; });
  };
  const auto found = request_reply<Address>(comm, rank, wanted, reply);
  std::vector<Address> parents;
  parents.reserve(nodes.size());
  for (const Address node : nodes) {
    const auto at = std::lower_bound(wanted.begin(), wanted.end(), node) - wanted.begin();
    parents.push_back(found[at]);
  }
  return parents;
}

/// Collective. Makes the parents of these own nodes roots, by doubling.
void jump_to_roots(const Communicator& comm, std::vector<std::size_t> nodes,
                   std::vector<Address>& parent) {
  std::vector<Address> above;
  while (comm.sum(std::ssize(nodes)) > 0) {
    above.clear();
    for (const std::size_t node : nodes) above.push_back(parent[node]);
    const std::vector<Address> next = parents_of(comm, above, parent);
    std::size_t left = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (next[i] == parent[nodes[i]]) continue;  // a root, and it stays one
      parent[nodes[i]] = next[i];
      nodes[left++] = nodes[i];
    }
    nodes.resize(left);
  }
}

/// Each pair of different nodes once.
void tidy(std::vector<NodeLink>& links) {
  std::erase_if(links, [](const NodeLink& link) { return link.a == link.b; });
  for (NodeLink& link : links)
    if (link.b < link.a) std::swap(link.a, link.b);
  const auto pair = [](const NodeLink& link) { return std::pair(link.a, link.b); };
  std::ranges::sort(links, [&](const NodeLink& x, const NodeLink& y) { return pair(x) < pair(y); });
  links.erase(std::unique(links.begin(), links.end(),
                          [&](const NodeLink& x, const NodeLink& y) { return pair(x) == pair(y); }),
              links.end());
}

/// The best neighbour of each node (a: the node, b: the neighbour) by the links held here.
std::vector<NodeLink> best_neighbours(const std::vector<NodeLink>& links) {
  std::vector<NodeLink> ways;
  ways.reserve(2 * links.size());
  for (const NodeLink& link : links) {
    ways.push_back(link);
    ways.push_back({link.b, link.a});
  }
  std::sort(ways.begin(), ways.end(), [](const NodeLink& x, const NodeLink& y) {
    return x.a != y.a ? x.a < y.a : before(x.b, y.b);
  });
  ways.erase(std::unique(ways.begin(), ways.end(),
                         [](const NodeLink& x, const NodeLink& y) { return x.a == y.a; }),
             ways.end());
  return ways;
}

/// Collective. Hooks every root that has a link to its best neighbour; returns this rank's.
std::vector<std::size_t> hook(const Communicator& comm, const std::vector<NodeLink>& links,
                              std::vector<Address>& parent) {
  RankLists<NodeLink> out(comm.size());
  for (const NodeLink& way : best_neighbours(links)) out[rank_of(way.a)].push_back(way);
  std::vector<std::size_t> hooked;
  for (const auto& ways : all_to_all(comm, std::move(out))) {
    for (const NodeLink& way : ways) {
      Address& chosen = parent[place_of(way.a)];
      const bool first = chosen == way.a;
      if (first) hooked.push_back(place_of(way.a));
      if (first || before(way.b, chosen)) chosen = way.b;
    }
  }
  std::vector<Address> above;
  above.reserve(hooked.size());
  for (const std::size_t node : hooked) above.push_back(parent[node]);
  const std::vector<Address> next = parents_of(comm, above, parent);
  // Two that chose one another are the only closed ways: along a longer one each would be the
  // best neighbour of the one before, and so no worse than the one two places back.
  for (std::size_t i = 0; i < hooked.size(); ++i) {
    const Address own = address_of(comm.rank(), hooked[i]);
    if (next[i] == own && before(own, above[i])) parent[hooked[i]] = own;
  }
  return hooked;
}

}  // namespace

std::vector<Address> join_nodes(const Communicator& comm, std::size_t n_own,
                                std::vector<NodeLink> links) {
  std::vector<Address> parent(n_own);
  for (std::size_t i = 0; i < n_own; ++i) parent[i] = address_of(comm.rank(), i);
  std::vector<Address> ends;
  while (true) {
    tidy(links);
    if (comm.sum(std::ssize(links)) == 0) break;
    jump_to_roots(comm, hook(comm, links, parent), parent);
    ends.clear();
    for (const NodeLink& link : links) {
      ends.push_back(link.a);
      ends.push_back(link.b);
    }
    const std::vector<Address> roots = parents_of(comm, ends, parent);
    for (std::size_t i = 0; i < links.size(); ++i) links[i] = {roots[2 * i], roots[2 * i + 1]};
  }
  std::vector<std::size_t> joined;
  for (std::size_t i = 0; i < n_own; ++i)
    if (parent[i] != address_of(comm.rank(), i)) joined.push_back(i);
  jump_to_roots(comm, std::move(joined), parent);
  return parent;
}

}  // namespace catena::partition
