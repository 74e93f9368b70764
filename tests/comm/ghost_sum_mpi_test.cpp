#include <gtest/gtest.h>

#include <vector>

#include "catena/comm/ghost_sum.hpp"

namespace catena {
namespace {

/// Two bodies on each rank, two numbers each: at place 0 one that rank 0 owns and of which the
/// others have ghosts, at place 1 one that nobody shares.
class StarOfGhosts : public testing::Test {
 protected:
  StarOfGhosts() {
    if (comm_.rank() > 0) plan_.neighbours = {{0, {}, {0}}};
    for (int r = 1; comm_.rank() == 0 && r < comm_.size(); ++r)
      plan_.neighbours.push_back({r, {0}, {}});
  }

  /// Such that each order of addition gives another sum.
  static std::vector<double> values(int rank) {
    const double large[] = {1.0, 1e16, 3.0, -1e16};
    return {large[rank % 4], 0.25 * rank, 7.0, 8.0 + rank};
  }

  /// The shared item's two numbers, added in the order of ranks.
  std::vector<double> sum() const {
    std::vector<double> all = {values(0)[0], values(0)[1]};
    for (int r = 1; r < comm_.size(); ++r)
      for (std::size_t d = 0; d < 2; ++d) all[d] += values(r)[d];
    return all;
  }

  Communicator comm_ = Communicator::world();
  HaloPlan plan_;
};

TEST_F(StarOfGhosts, OwnersAddInTheOrderOfRanks) {
  std::vector<double> all = values(comm_.rank());
  GhostSum to_owner(comm_, plan_, 2, Tag::delassus_forces);

  for (int turn = 0; turn < 2; ++turn) {  // paths serve again
    all = values(comm_.rank());
    const std::int64_t before = comm_.traffic().messages;
    to_owner.begin(all);
    to_owner.end(all);
    EXPECT_EQ(comm_.traffic().messages - before, comm_.rank() > 0 ? 1 : 0);
  }

  std::vector<double> expected = values(comm_.rank());
  if (comm_.rank() == 0) expected = {sum()[0], sum()[1], expected[2], expected[3]};
  EXPECT_EQ(all, expected);
}

TEST_F(StarOfGhosts, SumsGoBackToGhosts) {
  std::vector<double> all = values(comm_.rank());

  sum_with_ghosts(comm_, plan_, 2, Tag::block_counts, Tag::whole_block_counts, all);

  const std::vector<double> own = values(comm_.rank());
  EXPECT_EQ(all, (std::vector<double>{sum()[0], sum()[1], own[2], own[3]}));
}

TEST(Tags, LevelsOfChainsShareNone) {
  EXPECT_EQ(chain_level_tag(0, 0), Tag::chain_levels);
  EXPECT_LT(chain_level_tag(0, kTagsPerLevel - 1), chain_level_tag(1, 0));
  EXPECT_GT(chain_level_tag(0, 0), Tag::calibration);
}

}  // namespace
}  // namespace catena
