// Bodies that overlap at the start of a run, for its log and for `catena check`.
#pragma once

#include <string>
#include <vector>

#include "catena/search/contact_search.hpp"
#include "catena/simulation/case.hpp"
#include "catena/stepper/time_stepper.hpp"

namespace catena {

/// Two bodies that overlap.
struct PairOverlap {
  GlobalId a = kNoBody, b = kNoBody;
  double depth = 0.0;  ///< m, of the deepest point
  double size = 0.0;   ///< m, the smaller half extent
  double sizes = 0.0;  ///< m, both together: spheres so deep in each other have one centre
};

/// Over all ranks: pairs that overlap by more than contact.margin (1 mm if it is made per pair) or
/// a twentieth of the smaller one's half extent.
struct StartOverlaps {
  std::int64_t pairs = 0;
  std::vector<PairOverlap> worst;  ///< three at most, the deepest first
};

/// Collective. From the contacts that a stepper's last step found at its start.
StartOverlaps overlaps_of_step(const Communicator& comm, const Model& model,
                               const TimeStepper& stepper);
/// Collective. From a contact search among the bodies of a state.
StartOverlaps find_overlaps(const Communicator& comm, const CaseSettings& settings,
                            const Model& model, const Bodies& bodies, const State& state);

/// One sentence with the worst pairs, their overlaps and keys; empty where nothing overlaps.
std::string to_text(const StartOverlaps& overlaps, const CaseSettings& settings,
                    const Model& model);

}  // namespace catena
