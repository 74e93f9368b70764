// Lines that other engines' benchmark programs print.
#include "peer_programs.hpp"

#include <gtest/gtest.h>

namespace catena {
namespace {

TEST(PeerPrograms, QuickstepsTimeComesWithItsCollision) {
  const auto result = parse_peer(
      0,
      "qs N 4000 contacts 9578 rows 28734 collide 6.250 ms | it20 30.000 ms 19.16 Mrow/s | it50 "
      "48.500 ms 29.62 Mrow/s | fixed 17.667 ms slope 0.6167 ms/it => 46.59 Mrow-updates/s\n");

  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->contacts, 28734.0 / 3.0);
  EXPECT_DOUBLE_EQ(result->updates, 46.59 / 3.0);
  EXPECT_DOUBLE_EQ(result->step_ms, 48.5 + 6.25);
}

TEST(PeerPrograms, BulletsStepIsWhole) {
  const auto result =
      parse_peer(1,
                 "bullet-f64 si N 4000 it 50 rows 30267 (largest island 30267) step "
                 "65.150 ms setup 6.000 ms iter 26.400 ms => 57.32 Mrow-updates/s");

  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->contacts, 30267.0 / 3.0);
  EXPECT_DOUBLE_EQ(result->updates, 57.32 / 3.0);
  EXPECT_DOUBLE_EQ(result->step_ms, 65.15);
}

TEST(PeerPrograms, WhatIsNotUnderstoodOrNotThereIsNoResult) {
  EXPECT_FALSE(parse_peer(0, "terminate called"));
  EXPECT_FALSE(parse_peer(1, "rows 3 step => 4"));
  EXPECT_FALSE(run_peer("/no/such/directory", 0, "s4000"));
}

}  // namespace
}  // namespace catena
