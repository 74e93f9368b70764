// Chains that touch nothing are cut along themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "partition/graph/cell_graph.hpp"

namespace catena::partition {
namespace {

/// Where the k-th joint of a path of n vertices stands: numbers all over the place.
std::int64_t vertex(std::int64_t k, std::int64_t n) { return k * 37 % n; }

/// A path of n vertices (37 no divisor of n), and the curve's links from number to number.
std::vector<CellEdge> path(std::int64_t n) {
  std::vector<CellEdge> edges;
  for (std::int64_t k = 0; k + 1 < n; ++k) edges.push_back({vertex(k, n), vertex(k + 1, n), 6});
  for (std::int64_t v = 0; v + 1 < n; ++v) edges.push_back({v, v + 1, 1});
  merge_edges(edges);
  return edges;
}

TEST(PathParts, APathIsCutIntoOnePieceForEachPart) {
  constexpr std::int64_t kN = 1000;
  std::vector<PartWork> weights(kN, {1, 3});
  for (std::int64_t k = 0; k < kN / 2; ++k)
    weights[static_cast<std::size_t>(vertex(k, kN))] = {2, 0};

  const std::vector<std::int32_t> part = path_parts(weights, path(kN), 3);

  ASSERT_EQ(part.size(), weights.size());
  // the first half weighs 1000, the second 2000: thirds end after 500, 750 and 1000 vertices
  std::vector<std::int64_t> work(3, 0);
  int cuts = 0;
  for (std::int64_t k = 0; k < kN; ++k) {
    const auto at = static_cast<std::size_t>(vertex(k, kN));
    work[static_cast<std::size_t>(part[at])] += weights[at].all();
    if (k > 0) cuts += part[at] != part[static_cast<std::size_t>(vertex(k - 1, kN))] ? 1 : 0;
  }
  EXPECT_EQ(cuts, 2);
  for (const std::int64_t w : work) EXPECT_NEAR(static_cast<double>(w), 1000.0, 4.0);
}

TEST(PathParts, ARingIsCutIntoAsManyPiecesAsParts) {
  constexpr std::int64_t kN = 100;
  std::vector<CellEdge> edges = path(kN);
  edges.push_back({vertex(0, kN), vertex(kN - 1, kN), 6});
  merge_edges(edges);

  const std::vector<std::int32_t> part = path_parts(std::vector<PartWork>(kN, {1, 0}), edges, 4);

  ASSERT_EQ(part.size(), 100u);
  int cuts = 0;
  for (std::int64_t k = 0; k < kN; ++k)
    cuts += part[static_cast<std::size_t>(vertex(k, kN))] !=
                    part[static_cast<std::size_t>(vertex((k + 1) % kN, kN))]
                ? 1
                : 0;
  EXPECT_EQ(cuts, 4);
}

TEST(PathParts, BranchesAndShortPathsAreLeftToOthers) {
  std::vector<CellEdge> branched = path(1000);
  branched.push_back({vertex(1, 1000), vertex(500, 1000), 6});
  merge_edges(branched);
  const std::vector<PartWork> weights(1000, {1, 0});
  EXPECT_TRUE(path_parts(weights, branched, 2).empty());

  std::vector<CellEdge> pairs;
  for (std::int64_t k = 0; k < 1000; k += 2) pairs.push_back({k, k + 1, 6});
  EXPECT_TRUE(path_parts(weights, pairs, 2).empty());
}

}  // namespace
}  // namespace catena::partition
