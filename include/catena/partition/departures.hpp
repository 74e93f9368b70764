// Mechanisms that leave through outflows: whole, or not at all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// A mechanism that stays although bodies of it have been in an outflow.
struct StayingMechanism {
  GlobalId component = kNoBody;  ///< its joint with the smallest id
  GlobalId body = kNoBody;       ///< the one with the smallest id that has been in an outflow
  std::int32_t region = 0;       ///< in which
  std::int64_t n_bodies = 0;     ///< dynamic ones
  std::int64_t n_joints = 0;     ///< springs included
  /// The joint with the smallest id by which the world or a body without mass holds it; kNoBody: it
  /// is free, and leaves once all of its bodies have been in an outflow.
  GlobalId anchor = kNoBody;
  GlobalId anchor_body = kNoBody;  ///< what holds it there; kNoBody: the world
};

/// What leaves of this rank's bodies and joints, and what does not.
struct Departures {
  std::vector<char> body;   ///< per owned body: leaves
  std::vector<char> joint;  ///< per joint held here
  /// Mechanisms of which bodies have been in an outflow for the first time now, ascending in
  /// component; the same on every rank.
  std::vector<StayingMechanism> staying;
};

/// Collective. Bodies that have been in an outflow (BodyConstants::passed) leave, bodies on which
/// joints act only with their whole mechanism: all of its dynamic bodies must have been in one, at
/// whatever times, and nothing may hold it. A mechanism is what joints and springs connect, where
/// the world and bodies without mass connect nothing. A gear relative to the world is not held by
/// it. `entered`: per owned body, whether `passed` was set just now; `joints_gone`: whether joints
/// have broken since the last call, the same on every rank. The result does not depend on
/// the number of ranks. Cost: as find_mechanisms(), where any body that joints act on has entered.
Departures find_departures(const Communicator& comm, const Model& model, const Bodies& bodies,
                           std::span<const char> entered, bool joints_gone);

/// Collective. Takes the bodies and joints that leave out of this rank's lists, and what is kept of
/// contacts with any of `gone`, the ids of all ranks' leaving bodies, ascending. Makes links anew.
void take_out(const Communicator& comm, const Departures& departures,
              std::span<const GlobalId> gone, Bodies& bodies, State& state);

}  // namespace catena
