// Ranks as the parts of a tree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catena/partition/part_tree.hpp"

namespace catena::partition {

/// What two ranks share of a mechanism.
struct RankLink {
  int a = 0, b = 0;
  std::int64_t rows = 0;
};

/// Local. A tree with a part for each of `ranks` (ascending), so that, from the top on, the halves
/// share few rows. Where ranks are no power of two parts to the right of others are empty; they
/// belong to the rank of the part before them. The same on every rank.
DealtTree tree_of_ranks(std::vector<int> ranks, std::span<const RankLink> links);

}  // namespace catena::partition
