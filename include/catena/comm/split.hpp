// Parts of a communicator's ranks.
#pragma once

#include "catena/comm/communicator.hpp"

namespace catena {

/// Collective. The ranks that give the same `part` (not negative), in their order here. What they
/// exchange among themselves, and how long they wait for each other, counts with `comm`'s.
Communicator split(const Communicator& comm, int part);

}  // namespace catena
