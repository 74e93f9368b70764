// One number for a distributed state: to see whether two runs are bitwise the same.
#pragma once

#include <cstdint>

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// Collective. Hash of all columns of bodies (but subdomains) and joints, keyed impulses and
/// couples, time and step and the progress of insertions: the sum mod 2^64 of a hash per body,
/// joint, impulse and couple, so it depends neither on the number of ranks nor on the order on
/// each. Bits of values count, padding does not; +0 and -0 differ. The audit sums are left out:
/// unless the run is deterministic, they are rounded by ranks.
std::uint64_t state_hash(const Communicator& comm, const Bodies& bodies, const State& state);

}  // namespace catena
