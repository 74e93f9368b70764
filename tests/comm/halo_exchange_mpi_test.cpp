#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "catena/comm/halo_exchange.hpp"

namespace catena {
namespace {

constexpr int kWidth = 6;
constexpr Tag kTag = Tag::delassus_velocities, kOtherTag = Tag::delassus_forces;

/// Two bodies owned per rank, places 0 and 1; ghosts of the left neighbour's second
/// body at place 2 and of the right neighbour's first body at place 3.
class RingOfBodies : public testing::Test {
 protected:
  RingOfBodies()
      : comm_(Communicator::world()),
        left_((comm_.rank() + comm_.size() - 1) % comm_.size()),
        right_((comm_.rank() + 1) % comm_.size()) {}

  HaloPlan plan() const {
    HaloPlan plan;
    if (comm_.size() == 1) return plan;
    if (left_ == right_) {
      // both sides are one neighbour, so both bodies travel in one message; its order
      // is the sender's: body 0, body 1
      plan.neighbours = {{left_, {0, 1}, {3, 2}}};
    } else {
      plan.neighbours = {{left_, {0}, {2}}, {right_, {1}, {3}}};
      if (left_ > right_) std::swap(plan.neighbours[0], plan.neighbours[1]);
    }
    return plan;
  }

  double value(int rank, int body, int component) const {
    return 100.0 * rank + 10.0 * body + component + 0.5;
  }

  std::vector<double> owned_twists() const {
    std::vector<double> twists(4 * kWidth, -1.0);
    for (int body = 0; body < 2; ++body)
      for (int k = 0; k < kWidth; ++k)
        twists[static_cast<std::size_t>(body * kWidth + k)] = value(comm_.rank(), body, k);
    return twists;
  }

  Communicator comm_;
  int left_, right_;
};

TEST_F(RingOfBodies, GhostsEqualTheirOwnersAfterExchange) {
  std::vector<double> twists = owned_twists();
  HaloExchange halo(comm_, plan(), kWidth, kTag);

  halo.begin(twists);
  halo.end(twists);

  for (int k = 0; k < kWidth; ++k) {
    const auto component = static_cast<std::size_t>(k);
    EXPECT_EQ(twists[component], value(comm_.rank(), 0, k));
    EXPECT_EQ(twists[kWidth + component], value(comm_.rank(), 1, k));
    if (comm_.size() > 1) {
      EXPECT_EQ(twists[2 * kWidth + component], value(left_, 1, k));
      EXPECT_EQ(twists[3 * kWidth + component], value(right_, 0, k));
    }
  }
}

TEST_F(RingOfBodies, RepeatedExchangesCarryTheNewestValuesAndAreCounted) {
  HaloExchange halo(comm_, plan(), kWidth, kTag);
  std::vector<double> twists = owned_twists();
  for (int round = 0; round < 100; ++round) {
    for (int k = 0; k < 2 * kWidth; ++k) twists[static_cast<std::size_t>(k)] += 1000.0;
    halo.begin(twists);
    halo.end(twists);
    if (comm_.size() > 1) {
      EXPECT_EQ(twists[2 * kWidth], value(left_, 1, 0) + 1000.0 * (round + 1));
    }
  }
  const int neighbours = std::min(comm_.size() - 1, 2);
  EXPECT_EQ(comm_.traffic().messages, 100 * neighbours);
  const int bodies = comm_.size() > 1 ? 2 : 0;
  EXPECT_EQ(comm_.traffic().bytes, 100 * bodies * kWidth * static_cast<int>(sizeof(double)));
}

TEST_F(RingOfBodies, ReversedPlanBringsGhostValuesHome) {
  HaloExchange halo(comm_, plan().reversed(), 1, kTag);
  // ghosts hold 10 * (my rank) + place; owners receive what their ghosts held
  std::vector<double> values{0.0, 0.0, 10.0 * comm_.rank() + 2, 10.0 * comm_.rank() + 3};

  halo.begin(values);
  halo.end(values);

  if (comm_.size() > 1) {
    EXPECT_EQ(values[0], 10.0 * left_ + 3);   // my first body is the left one's right ghost
    EXPECT_EQ(values[1], 10.0 * right_ + 2);  // my second is the right one's left ghost
  }
}

TEST_F(RingOfBodies, TwoHalosWithDifferentTagsMayBeUnderWayAtOnce) {
  HaloExchange first(comm_, plan(), 1, kTag);
  HaloExchange second(comm_, plan(), 1, kOtherTag);
  std::vector<double> a{1.0, 1.0, 0.0, 0.0};
  std::vector<double> b{2.0, 2.0, 0.0, 0.0};

  first.begin(a);
  second.begin(b);
  second.end(b);
  first.end(a);

  const bool ring = comm_.size() > 1;
  EXPECT_EQ(a[2], ring ? 1.0 : 0.0);
  EXPECT_EQ(b[2], ring ? 2.0 : 0.0);
}

TEST_F(RingOfBodies, OneWayPathsAndEmptyNeighboursSendNothingBack) {
  // rank 0 sends one item to each other rank; nobody answers
  HaloPlan plan;
  for (int r = 1; r < comm_.size() && comm_.rank() == 0; ++r)
    plan.neighbours.push_back({r, {0}, {}});
  if (comm_.rank() > 0) plan.neighbours.push_back({0, {}, {0}});
  HaloExchange halo(comm_, plan, 2, kTag);
  std::vector<double> items{comm_.rank() == 0 ? 7.0 : 0.0, comm_.rank() == 0 ? 8.0 : 0.0};

  halo.begin(items);
  halo.end(items);

  EXPECT_EQ(items, (std::vector<double>{7.0, 8.0}));
  EXPECT_EQ(comm_.traffic().messages, comm_.rank() == 0 ? comm_.size() - 1 : 0);
}

TEST_F(RingOfBodies, RankWithoutItemsNeedsNoBuffers) {
  HaloExchange halo(comm_, {}, kWidth, kTag);
  halo.begin({});
  halo.end({});
  EXPECT_EQ(comm_.traffic().messages, 0);
}

TEST_F(RingOfBodies, MovedHaloStillWorks) {
  HaloExchange original(comm_, plan(), kWidth, kTag);
  HaloExchange halo = std::move(original);
  std::vector<double> twists = owned_twists();
  halo.begin(twists);
  halo.end(twists);
  if (comm_.size() > 1) {
    EXPECT_EQ(twists[2 * kWidth], value(left_, 1, 0));
  }
}

TEST_F(RingOfBodies, MisuseIsRefusedBeforeAnythingIsSent) {
  const int me = comm_.rank();
  EXPECT_THROW(HaloExchange(comm_, {{{me, {0}, {0}}}}, 1, kTag), std::logic_error);
  EXPECT_THROW(HaloExchange(comm_, {{{comm_.size(), {0}, {0}}}}, 1, kTag), std::logic_error);
  EXPECT_THROW(HaloExchange(comm_, {}, 0, kTag), std::logic_error);
  HaloExchange halo(comm_, plan(), kWidth, kTag);
  EXPECT_THROW(halo.end({}), std::logic_error);
  if (comm_.size() > 1) {
    EXPECT_THROW(halo.begin({}), std::logic_error);
  }
}

}  // namespace
}  // namespace catena
