#include <algorithm>
#include <tuple>

#include "catena/base/error.hpp"
#include "catena/comm/directory.hpp"
#include "catena/partition/mechanisms.hpp"

namespace catena {
namespace {

/// Collective. Where each joint's chain begins in the global row; -1 for joints of no chain.
std::vector<std::int64_t> chain_starts(const Communicator& comm, std::span<const JointPlace> places,
                                       std::span<const char> as_chain) {
  struct Chain {
    std::int64_t component = 0;
    std::int64_t joints = 0;  ///< 0: a question; else what the holder of the first joint reports
    std::int64_t start = 0;
  };
  std::vector<Chain> chains, questions;
  for (std::size_t j = 0; j < places.size(); ++j) {
    if (as_chain[j] == 0) continue;
    questions.push_back({places[j].component, 0, 0});
    if (places[j].index == 0) chains.push_back({places[j].component, places[j].n_joints, 0});
  }
  const auto lower = [](const Chain& a, const Chain& b) { return a.component < b.component; };
  const auto same = [](const Chain& a, const Chain& b) { return a.component == b.component; };
  std::sort(chains.begin(), chains.end(), lower);
  std::sort(questions.begin(), questions.end(), lower);
  questions.erase(std::unique(questions.begin(), questions.end(), same), questions.end());
  std::int64_t joints = 0;
  for (const Chain& chain : chains) joints += chain.joints;
  std::int64_t start = comm.exclusive_sum(joints);
  for (Chain& chain : chains) {
    chain.start = start;
    start += chain.joints;
  }

  // reported and asked in one: the directory of components knows both at once
  std::vector<Chain> all = questions;
  all.insert(all.end(), chains.begin(), chains.end());
  std::vector<int> rank;
  rank.reserve(all.size());
  for (const Chain& chain : all) rank.push_back(directory_rank(comm, chain.component));
  const auto reply = [&](const RankLists<Chain>& told) {
    std::vector<Chain> known;
    for (const auto& from : told)
      for (const Chain& chain : from)
        if (chain.joints > 0) known.push_back(chain);
    std::sort(known.begin(), known.end(), lower);
    return reply_each<std::int64_t>(told, [&](const Chain& chain) {
      const auto at = std::lower_bound(known.begin(), known.end(), chain, lower);
      CATENA_CHECK(at != known.end() && same(*at, chain), "a chain without a first joint");
      return at->start;
    });
  };
  const auto answers = request_reply<std::int64_t>(comm, rank, all, reply);
  std::vector<std::int64_t> starts(places.size(), -1);
  for (std::size_t j = 0; j < places.size(); ++j) {
    if (as_chain[j] == 0) continue;
    const Chain wanted{places[j].component, 0, 0};
    const auto at = std::lower_bound(questions.begin(), questions.end(), wanted, lower);
    starts[j] = answers[at - questions.begin()];
  }
  return starts;
}

/// One place of the global row.
struct Slot {
  std::int64_t place = 0;
  std::int64_t cost = 0;
  std::int64_t start = 0, joints = 0;  ///< of its chain
  std::int64_t pieces = 1;             ///< that are not cut, of its chain
};

/// The cut nearest to place `at`, beside or behind `slot`, that its chain allows.
std::int64_t allowed_cut(const Slot& slot, std::int64_t at) {
  const std::int64_t index = at - slot.start;
  const std::int64_t piece = index * slot.pieces / slot.joints;
  if (piece == slot.pieces) return at;
  const std::int64_t begin = piece_begin(slot.joints, slot.pieces, piece);
  const std::int64_t end = piece_begin(slot.joints, slot.pieces, piece + 1);
  return slot.start + (index - begin <= end - index ? begin : end);
}

/// Collective. The slots of an equal interval of places for each rank, so that none holds more
/// than its share; ascending.
std::vector<Slot> spread_row(const Communicator& comm, std::span<const Slot> own, std::int64_t n) {
  const std::int64_t width = std::max<std::int64_t>((n - 1) / comm.size() + 1, 1);
  RankLists<Slot> out(comm.size());
  for (const Slot& slot : own) out[slot.place / width].push_back(slot);
  std::vector<Slot> slots = joined(all_to_all(comm, std::move(out)));
  std::ranges::sort(slots, [](const Slot& a, const Slot& b) { return a.place < b.place; });
  return slots;
}

/// Collective. The first places of the ranks' parts: part r begins where r / ranks of the cost is
/// reached, as nearly as chains allow.
std::vector<std::int64_t> cut_row(const Communicator& comm, std::span<const Slot> own) {
  const std::int64_t n = comm.sum(std::ssize(own));
  const std::vector<Slot> slots = spread_row(comm, own, n);
  std::int64_t cost = 0;
  for (const Slot& slot : slots) cost += slot.cost;
  std::int64_t before = comm.exclusive_sum(cost);
  const std::int64_t total = comm.sum(cost);
  const std::int64_t n_ranks = comm.size();
  // every cut is found by the rank whose interval holds its share of the cost; the others add 0
  std::vector<std::int64_t> first(n_ranks + 1, 0);
  const auto target = [&](std::int64_t r) { return total * r / n_ranks; };
  std::int64_t r = 1;
  while (r < n_ranks && target(r) < before) ++r;
  for (const Slot& slot : slots) {
    for (; r < n_ranks && target(r) < before + slot.cost; ++r) {
      const std::int64_t at = slot.place + (2 * (target(r) - before) > slot.cost);
      first[r] = allowed_cut(slot, at);
    }
    before += slot.cost;
  }
  comm.sum(first);
  first.back() = n;
  return first;
}

/// Collective. The rank that holds most joints of each joint's mechanism, the lowest of equals; for
/// joints in no chain.
void deal_whole(const Communicator& comm, std::span<const JointPlace> places,
                std::span<const char> as_chain, std::vector<int>& rank) {
  struct Held {
    std::int64_t component = 0;
    std::int64_t count = 0;
  };
  std::vector<std::int64_t> components;
  for (std::size_t j = 0; j < places.size(); ++j)
    if (as_chain[j] == 0) components.push_back(places[j].component);
  std::sort(components.begin(), components.end());
  std::vector<Held> held;
  std::vector<int> directory;
  for (const std::int64_t component : components) {
    if (held.empty() || held.back().component != component) {
      held.push_back({component, 0});
      directory.push_back(directory_rank(comm, component));
    }
    ++held.back().count;
  }
  const auto reply = [](const RankLists<Held>& told) {
    struct Claim {
      std::int64_t component, count;
      int rank;
    };
    std::vector<Claim> claims;
    for (std::size_t r = 0; r < told.size(); ++r)
      for (const Held& h : told[r]) claims.push_back({h.component, h.count, narrow<int>(r)});
    std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) {
      return std::tuple(a.component, -a.count, a.rank) < std::tuple(b.component, -b.count, b.rank);
    });
    return reply_each<int>(told, [&](const Held& h) {
      return std::lower_bound(
                 claims.begin(), claims.end(), h.component,
                 [](const Claim& a, std::int64_t component) { return a.component < component; })
          ->rank;
    });
  };
  const auto winner = request_reply<int>(comm, directory, held, reply);
  for (std::size_t j = 0; j < places.size(); ++j) {
    if (as_chain[j] != 0) continue;
    const auto at = std::lower_bound(
        held.begin(), held.end(), places[j].component,
        [](const Held& h, std::int64_t component) { return h.component < component; });
    rank[j] = winner[at - held.begin()];
  }
}

}  // namespace

JointAssignment assign_joints(const Communicator& comm, std::span<const JointEdge> edges,
                              std::span<const JointPlace> places, std::span<const char> as_chain,
                              std::int64_t split, bool in_pieces) {
  JointAssignment deal;
  deal.rank.assign(edges.size(), comm.rank());
  deal.place.assign(edges.size(), -1);
  const std::vector<std::int64_t> start = chain_starts(comm, places, as_chain);
  std::vector<Slot> slots;
  for (std::size_t j = 0; j < edges.size(); ++j) {
    if (as_chain[j] == 0) continue;
    deal.place[j] = start[j] + places[j].index;
    const std::int64_t rows = edges[j].rows;
    const std::int64_t joints = places[j].n_joints;
    slots.push_back({deal.place[j], std::max<std::int64_t>(rows * rows * rows, 1), start[j], joints,
                     in_pieces        ? pieces_of_chain(joints)
                     : joints < split ? 1
                                      : joints});
  }
  deal.first = cut_row(comm, slots);
  for (std::size_t j = 0; j < edges.size(); ++j) {
    if (as_chain[j] == 0) continue;
    const auto after = std::upper_bound(deal.first.begin(), deal.first.end(), deal.place[j]);
    deal.rank[j] = narrow<int>(after - deal.first.begin()) - 1;
  }
  deal_whole(comm, places, as_chain, deal.rank);
  return deal;
}

}  // namespace catena
