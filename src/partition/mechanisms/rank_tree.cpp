#include "partition/mechanisms/rank_tree.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <utility>

namespace catena::partition {
namespace {

/// Ranks from which a half is grown, one after another; the best half stays.
constexpr std::size_t kMostStarts = 16;

class Halving {
 public:
  Halving(std::vector<int> ranks, std::span<const RankLink> links)
      : ranks_(std::move(ranks)),
        near_(ranks_.size()),
        side_(ranks_.size(), kOutside),
        adds_(ranks_.size(), 0) {
    for (const RankLink& link : links) {
      const std::size_t a = number(link.a), b = number(link.b);
      near_[a].emplace_back(b, link.rows);
      near_[b].emplace_back(a, link.rows);
    }
    const auto levels = std::bit_width(ranks_.size() - 1);
    tree_.tree.levels = static_cast<int>(levels);
    tree_.rank.assign(tree_.tree.n_parts(), -1);
  }

  DealtTree make() {
    std::vector<std::size_t> all(ranks_.size());
    std::iota(all.begin(), all.end(), 0);
    deal(all, tree_.rank);
    for (std::size_t p = 1; p < tree_.rank.size(); ++p)
      if (tree_.rank[p] < 0) tree_.rank[p] = tree_.rank[p - 1];
    return std::move(tree_);
  }

 private:
  enum Side : char { kOutside, kOther, kGrown };
  using Candidate = std::pair<std::int64_t, std::size_t>;  ///< rows that it adds, and who

  std::size_t number(int rank) const {
    return std::ranges::lower_bound(ranks_, rank) - ranks_.begin();
  }

  void deal(std::vector<std::size_t> members, std::span<int> parts) {
    if (members.size() == 1) parts.front() = ranks_[members.front()];
    if (members.size() < 2) return;
    std::vector<std::size_t> left = best_half(members);
    std::ranges::sort(left);
    std::erase_if(members, [&](std::size_t m) { return std::ranges::binary_search(left, m); });
    deal(std::move(left), parts.first(parts.size() / 2));
    deal(std::move(members), parts.subspan(parts.size() / 2));
  }

  std::vector<std::size_t> best_half(const std::vector<std::size_t>& members) {
    const std::size_t starts = std::min(members.size(), kMostStarts);
    std::pair<std::int64_t, std::vector<std::size_t>> best;
    for (std::size_t s = 0; s < starts; ++s) {
      auto grown = grow(members, members[s * members.size() / starts]);
      if (s == 0 || grown.first < best.first) best = std::move(grown);
    }
    return std::move(best.second);
  }

  /// Half of the members, from one on: the next one is that which adds the fewest rows to those
  /// that the half shares with the others, of equals the first. Returns these rows, too. Time:
  /// members and their links, times the logarithm of the members.
  std::pair<std::int64_t, std::vector<std::size_t>> grow(const std::vector<std::size_t>& members,
                                                         std::size_t next) {
    for (const std::size_t m : members) side_[m] = kOther;
    std::vector<Candidate> candidates;  // a heap; an entry stands until its member adds other rows
    for (const std::size_t m : members) {
      adds_[m] = 0;
      for (const auto& [other, rows] : near_[m])
        if (side_[other] != kOutside) adds_[m] += rows;
      candidates.emplace_back(adds_[m], m);
    }
    std::ranges::make_heap(candidates, std::greater{});
    std::pair<std::int64_t, std::vector<std::size_t>> grown;
    while (true) {
      side_[next] = kGrown;
      grown.first += adds_[next];
      grown.second.push_back(next);
      for (const auto& [other, rows] : near_[next]) {
        if (side_[other] != kOther) continue;
        adds_[other] -= 2 * rows;
        candidates.emplace_back(adds_[other], other);
        std::ranges::push_heap(candidates, std::greater{});
      }
      if (grown.second.size() == (members.size() + 1) / 2) break;
      next = take_first(candidates);
    }
    for (const std::size_t m : members) side_[m] = kOutside;
    return grown;
  }

  /// Of those that are not in the half yet.
  std::size_t take_first(std::vector<Candidate>& candidates) const {
    while (true) {
      std::ranges::pop_heap(candidates, std::greater{});
      const auto [adds, member] = candidates.back();
      candidates.pop_back();
      if (side_[member] == kOther && adds == adds_[member]) return member;
    }
  }

  std::vector<int> ranks_;
  std::vector<std::vector<std::pair<std::size_t, std::int64_t>>> near_;  ///< shared rows
  std::vector<Side> side_;          ///< of the half that is grown; outside: no member
  std::vector<std::int64_t> adds_;  ///< rows that a member would add to what the half shares
  DealtTree tree_;
};

}  // namespace

DealtTree tree_of_ranks(std::vector<int> ranks, std::span<const RankLink> links) {
  return Halving(std::move(ranks), links).make();
}

}  // namespace catena::partition
