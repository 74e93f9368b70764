// Ranks in a tree whose halves share little.
#include "partition/mechanisms/rank_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <numeric>

namespace catena::partition {
namespace {

/// Ranks 0 .. n - 1.
std::vector<int> ranks_to(int n) {
  std::vector<int> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// Ranks in a square, each sharing rows with those beside it.
std::vector<RankLink> square(int side) {
  std::vector<RankLink> links;
  for (int i = 0; i < side; ++i)
    for (int k = 0; k < side; ++k) {
      if (k > 0) links.push_back({i * side + k - 1, i * side + k, 3});
      if (i > 0) links.push_back({(i - 1) * side + k, i * side + k, 3});
    }
  return links;
}

TEST(RankTree, ALineOfRanksIsHalvedAtOneLinkEachTime) {
  // 5 is prime to 16: neighbours in the line have numbers far apart
  constexpr int kN = 16;
  std::vector<RankLink> links;
  for (int i = 0; i + 1 < kN; ++i) links.push_back({i * 5 % kN, (i + 1) * 5 % kN, 3});

  const DealtTree dealt = tree_of_ranks(ranks_to(kN), links);

  ASSERT_EQ(dealt.tree.levels, 4);
  std::vector<int> part(kN), between(kN, 0);  // links at each separator
  for (int p = 0; p < kN; ++p) part[dealt.rank[p]] = kN + p;
  for (const RankLink& link : links) {
    int a = part[link.a], b = part[link.b];
    while (a != b) (a > b ? a : b) /= 2;
    ++between[a];
  }
  for (int node = 1; node < kN; ++node) EXPECT_EQ(between[node], 1) << "separator " << node;
}

TEST(RankTree, PartsWithoutARankBelongToTheOneBefore) {
  const DealtTree dealt = tree_of_ranks({4, 7, 9}, std::vector<RankLink>{{4, 7, 1}, {7, 9, 1}});

  ASSERT_EQ(dealt.rank.size(), 4u);
  std::vector<int> ranks = dealt.rank;
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::ranges::sort(ranks);
  EXPECT_EQ(ranks, (std::vector<int>{4, 7, 9}));
}

TEST(RankTree, TimeDoesNotGrowWithTheSquareOfTheRanks) {
  // the least of three, without what other programs took
  const auto seconds = [](int side) {
    const std::vector<RankLink> links = square(side);
    std::clock_t least = std::numeric_limits<std::clock_t>::max();
    for (int k = 0; k < 3; ++k) {
      const std::clock_t start = std::clock();
      const DealtTree dealt = tree_of_ranks(ranks_to(side * side), links);
      least = std::min(least, std::clock() - start);
      EXPECT_EQ(dealt.rank.size(), static_cast<std::size_t>(side * side));
    }
    return static_cast<double>(least) / CLOCKS_PER_SEC;
  };

  // 16 times the ranks: by n log^2 n 36 times the time, by n^2 256 times
  EXPECT_LT(seconds(64), 100.0 * std::max(seconds(16), 1e-3));
}

}  // namespace
}  // namespace catena::partition
