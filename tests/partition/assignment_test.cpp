// Least migration: the assignment of numbers to new parts against all permutations.
#include "catena/partition/assignment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "catena/base/random.hpp"

namespace catena {
namespace {

std::int64_t total(const std::vector<std::int64_t>& gain, const std::vector<int>& column) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < column.size(); ++i) {
    sum += gain[i * column.size() + static_cast<std::size_t>(column[i])];
  }
  return sum;
}

TEST(Assignment, TheSecondBestChoiceOfOneCanBeBestForAll) {
  // taking the 5 first leaves the 0; both 4s are more
  EXPECT_EQ(largest_assignment(std::vector<std::int64_t>{5, 4, 4, 0}, 2), (std::vector<int>{1, 0}));
  EXPECT_TRUE(largest_assignment({}, 0).empty());
}

TEST(Assignment, IsTheBestOfAllPermutations) {
  for (int n = 1; n <= 6; ++n) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      std::vector<std::int64_t> gain(static_cast<std::size_t>(n * n));
      for (std::size_t k = 0; k < gain.size(); ++k) {
        // many equal ones and zeros, as overlaps of parts are
        gain[k] = static_cast<std::int64_t>(mix64(1000 * seed + k) % 8);
      }
      std::vector<int> order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      std::int64_t best = 0;
      do best = std::max(best, total(gain, order));
      while (std::next_permutation(order.begin(), order.end()));

      std::vector<int> found = largest_assignment(gain, n);

      EXPECT_EQ(total(gain, found), best) << n << " " << seed;
      std::sort(found.begin(), found.end());
      std::iota(order.begin(), order.end(), 0);
      EXPECT_EQ(found, order);
    }
  }
}

TEST(Assignment, FiveHundredPartsThatMovedAroundAreFoundAgain) {
  constexpr int n = 500;
  std::vector<std::int64_t> gain(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) gain[i * n + (i * 7 + 3) % n] = 1;

  EXPECT_EQ(total(gain, largest_assignment(gain, n)), n);
}

}  // namespace
}  // namespace catena
