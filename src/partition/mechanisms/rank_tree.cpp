#include "partition/mechanisms/rank_tree.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace catena::partition {
namespace {

/// Ranks from which a half is grown, one after another; the best half stays.
constexpr std::size_t kMostStarts = 16;

class Halving {
 public:
  Halving(std::vector<int> ranks, std::span<const RankLink> links)
      : ranks_(std::move(ranks)), near_(ranks_.size()), half_(ranks_.size(), 0) {
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
  /// that the half shares with the others. Returns these rows, too.
  std::pair<std::int64_t, std::vector<std::size_t>> grow(const std::vector<std::size_t>& members,
                                                         std::size_t next) {
    enum Side : char { kOutside, kOther, kGrown };
    std::vector<std::int64_t> adds(ranks_.size(), 0);
    half_.assign(ranks_.size(), kOutside);
    for (const std::size_t m : members) half_[m] = kOther;
    for (const std::size_t m : members)
      for (const auto& [other, rows] : near_[m])
        if (half_[other] != kOutside) adds[m] += rows;
    std::pair<std::int64_t, std::vector<std::size_t>> grown;
    while (true) {
      half_[next] = kGrown;
      grown.first += adds[next];
      grown.second.push_back(next);
      for (const auto& [other, rows] : near_[next]) adds[other] -= 2 * rows;
      if (grown.second.size() == (members.size() + 1) / 2) return grown;
      const auto rest = [&](std::size_t m) { return half_[m] == kOther; };
      next = *std::ranges::find_if(members, rest);
      for (const std::size_t m : members)
        if (rest(m) && adds[m] < adds[next]) next = m;
    }
  }

  std::vector<int> ranks_;
  std::vector<std::vector<std::pair<std::size_t, std::int64_t>>> near_;  ///< shared rows
  std::vector<char> half_;
  DealtTree tree_;
};

}  // namespace

DealtTree tree_of_ranks(std::vector<int> ranks, std::span<const RankLink> links) {
  return Halving(std::move(ranks), links).make();
}

}  // namespace catena::partition
