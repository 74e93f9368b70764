// What of a case's start can be said before it is run.
#pragma once

#include <cstdint>
#include <string>

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"
#include "catena/simulation/case.hpp"

namespace catena {

/// Collective. Which bodies overlap at the start: the worst three pairs with their overlaps and
/// keys, one sentence; empty where none do. Makes the bodies and searches their contacts.
std::string overlaps_at_start(const Communicator& comm, const CaseSettings& settings,
                              const Model& model);

/// Bodies per rank below which ranks cost more than they give (docs/performance.md, "Few bodies on
/// many ranks").
inline constexpr std::int64_t kFewBodies = 100;

/// Collective. Bodies that move freely in a run, over all ranks: those that are there, and those
/// that insertions may bring from the state's time until the end, by their rates and counts.
std::int64_t bodies_of_run(const Communicator& comm, const CaseSettings& settings,
                           const Bodies& bodies, const State& state);

/// One sentence where so many bodies are too few for so many ranks, with the number of ranks that
/// suits them; empty otherwise, and always on one rank.
std::string few_bodies_warning(std::int64_t bodies, int ranks);

}  // namespace catena
