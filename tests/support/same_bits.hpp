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
/// and gone on from checkpoints after the first half: on as many ranks as wrote it, on one, and one
/// rank's on all; expects the same bits. Returns the first of them.
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
  const std::string path_alone = "alone-" + path;
  write_checkpoint(comm, path, {}, sim->bodies(), sim->state());
  if (comm.rank() == 0)
    write_checkpoint(Communicator::self(), path_alone, {}, alone->bodies(), alone->state());
  comm.barrier();
  const auto go_on = [&](const Communicator& on, const std::string& from) {
    Checkpoint checkpoint = read_checkpoint(on, from);
    checkpoint.notes.n_parts = sim->number_of_parts();
    return std::make_unique<Simulation>(on, sim->settings(), checkpoint);
  };
  const auto resumed = go_on(comm, path), on_more = go_on(comm, path_alone);
  const auto on_one = go_on(Communicator::self(), path);
  for (int step = 0; step < half; ++step) {
    sim->step();
    alone->step();
    resumed->step();
    on_more->step();
    on_one->step();
  }
  const auto expected = state_hash(Communicator::self(), alone->bodies(), alone->state());
  EXPECT_EQ(state_hash(comm, sim->bodies(), sim->state()), expected);
  for (const auto* other : {resumed.get(), on_more.get()})
    EXPECT_EQ(state_hash(comm, other->bodies(), other->state()), expected);
  EXPECT_EQ(state_hash(Communicator::self(), on_one->bodies(), on_one->state()), expected);
  comm.barrier();
  if (comm.rank() != 0) return sim;
  std::remove(path.c_str());
  std::remove(path_alone.c_str());
  return sim;
}

}  // namespace catena::test
