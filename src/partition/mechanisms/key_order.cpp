#include <algorithm>
#include <limits>
#include <tuple>

#include "catena/comm/directory.hpp"
#include "partition/mechanisms/lines.hpp"

namespace catena::partition {
namespace {

struct Numbered {
  std::int64_t component = 0;
  std::int64_t key = 0;
};

/// Joints of one component on one rank of the key directory.
struct Share {
  std::int64_t component = 0;
  std::int64_t count = 0;
};

/// By component, then key.
std::vector<std::size_t> in_order(std::span<const Numbered> all) {
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(all[a].component, all[a].key) < std::tuple(all[b].component, all[b].key);
  });
  return order;
}

/// Collective. Joints of each share's component on lower ranks.
std::vector<std::int64_t> counts_before(const Communicator& comm, std::span<const Share> shares) {
  std::vector<int> rank;
  for (const Share& share : shares) rank.push_back(directory_rank(comm, share.component));
  const auto reply = [](const RankLists<Share>& told) {
    struct Entry {
      std::int64_t component;
      std::size_t rank, place;
    };
    std::vector<Entry> entries;
    RankLists<std::int64_t> before(told.size());
    for (std::size_t r = 0; r < told.size(); ++r) {
      before[r].resize(told[r].size());
      for (std::size_t i = 0; i < told[r].size(); ++i)
        entries.push_back({told[r][i].component, r, i});
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.component, a.rank) < std::tie(b.component, b.rank);
    });
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0 && entries[i].component != entries[i - 1].component) sum = 0;
      before[entries[i].rank][entries[i].place] = sum;
      sum += told[entries[i].rank][entries[i].place].count;
    }
    return before;
  };
  return request_reply<std::int64_t>(comm, rank, shares, reply);
}

/// Collective. Position of each in its component; every rank holds one interval of keys, ascending
/// with the rank.
std::vector<std::int64_t> positions(const Communicator& comm, std::span<const Numbered> all) {
  const std::vector<std::size_t> order = in_order(all);
  std::vector<Share> shares;
  for (const std::size_t i : order) {
    if (shares.empty() || shares.back().component != all[i].component)
      shares.push_back({all[i].component, 0});
    ++shares.back().count;
  }
  const std::vector<std::int64_t> before = counts_before(comm, shares);
  std::vector<std::int64_t> position(all.size());
  std::size_t next = 0;
  for (std::size_t s = 0; s < shares.size(); ++s)
    for (std::int64_t k = 0; k < shares[s].count; ++k) position[order[next++]] = before[s] + k;
  return position;
}

}  // namespace

void order_by_key(const Communicator& comm, std::span<const JointEdge> edges,
                  std::vector<JointPlace>& places) {
  std::vector<std::size_t> own;
  std::vector<Numbered> numbered;
  std::int64_t low = std::numeric_limits<std::int64_t>::max();
  std::int64_t high = std::numeric_limits<std::int64_t>::min();
  for (std::size_t j = 0; j < edges.size(); ++j) {
    if (places[j].kind == MechanismKind::chain || places[j].kind == MechanismKind::ring) continue;
    own.push_back(j);
    numbered.push_back({places[j].component, edges[j].key});
    low = std::min(low, edges[j].key);
    high = std::max(high, edges[j].key);
  }
  low = comm.min(low);
  high = comm.max(high);
  if (low > high) return;
  // equal intervals of keys, one a rank; unsigned: the difference may not fit otherwise
  const auto width = (static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low)) /
                         static_cast<std::uint64_t>(comm.size()) +
                     1;
  std::vector<int> rank;
  for (const Numbered& n : numbered) {
    rank.push_back(static_cast<int>(
        (static_cast<std::uint64_t>(n.key) - static_cast<std::uint64_t>(low)) / width));
  }
  // the directory's answer needs messages of its own, so the way there and back are two
  RankLists<Numbered> out(comm.size());
  for (std::size_t i = 0; i < own.size(); ++i) out[rank[i]].push_back(numbered[i]);
  const RankLists<Numbered> told = all_to_all(comm, std::move(out));
  const std::vector<std::int64_t> position = positions(comm, joined(told));
  RankLists<std::int64_t> answers(told.size());
  std::size_t next = 0;
  for (std::size_t r = 0; r < told.size(); ++r)
    for (std::size_t i = 0; i < told[r].size(); ++i) answers[r].push_back(position[next++]);
  const RankLists<std::int64_t> back = all_to_all(comm, std::move(answers));
  std::vector<std::size_t> taken(back.size(), 0);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::size_t from = rank[i];
    places[own[i]].index = back[from][taken[from]++];
  }
}

}  // namespace catena::partition
