// A case on all ranks and on one, through a checkpoint: the same bits.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>

#include "catena/io/checkpoint.hpp"
#include "catena/partition/state_hash.hpp"
#include "support/case_text.hpp"

namespace catena::test {

/// Collective. Steps a deterministic case twice as often as `half`, on all ranks, on each alone,
/// and gone on from a checkpoint after the first half; expects the same bits. Returns the first of
/// them.
inline std::unique_ptr<Simulation> expect_same_bits(const std::string& yaml, int half,
                                                    const std::string& name) {
  const Communicator comm = Communicator::world();
  auto sim = simulate(comm, yaml);
  const auto alone = simulate(Communicator::self(), yaml);
  for (int step = 0; step < half; ++step) {
    sim->step();
    alone->step();
  }
  const std::string path = name + "-" + std::to_string(comm.size()) + ".h5";
  write_checkpoint(comm, path, {}, sim->bodies(), sim->state());
  Checkpoint checkpoint = read_checkpoint(comm, path);
  checkpoint.notes.n_parts = sim->number_of_parts();
  Simulation resumed(comm, sim->settings(), checkpoint);
  for (int step = 0; step < half; ++step) {
    sim->step();
    alone->step();
    resumed.step();
  }
  const auto expected = state_hash(Communicator::self(), alone->bodies(), alone->state());
  EXPECT_EQ(state_hash(comm, sim->bodies(), sim->state()), expected);
  EXPECT_EQ(state_hash(comm, resumed.bodies(), resumed.state()), expected);
  comm.barrier();
  if (comm.rank() == 0) std::remove(path.c_str());
  return sim;
}

}  // namespace catena::test
