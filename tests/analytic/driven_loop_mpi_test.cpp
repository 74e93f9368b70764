// Closed loops with motors over ranks.
#include <gtest/gtest.h>

#include "analytic/driven_loops.hpp"

namespace catena::test {
namespace {

/// Positions of all bodies by id, and the motors that are held back, on every rank.
std::vector<double> positions(const Communicator& comm, const std::string& text, int steps,
                              std::vector<GlobalId>& held) {
  const auto sim = simulate(comm, text);
  for (int i = 0; i < steps; ++i) held = sim->step().held_drives;
  return positions_by_id(*sim);
}

TEST(DrivenLoopRanks, MoveAlikeOnAnyNumberOfThem) {
  const std::string late = ", motor: {velocity: 1, table: {rows: [[0, 0], [0.02, 0], [0.021, 1]]}}";
  const std::string texts[] = {four_bar({}, ", motor: {position: 0.5}"),
                               spherical_four_bar({}, ", motor: {position: 0.5}"),
                               four_bar({}, late, late), truss({}, late)};
  for (const std::string& text : texts) {
    std::vector<GlobalId> held_alone, held;
    const std::string all = text + time_of(2e-3);
    const std::vector<double> alone = positions(Communicator::self(), all, 60, held_alone);
    const std::vector<double> together = positions(Communicator::world(), all, 60, held);

    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(alone[i], together[i], 1e-9) << i;
    EXPECT_EQ(held_alone, held);
  }
}

}  // namespace
}  // namespace catena::test
