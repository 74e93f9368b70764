// What of a case's start can be said before it is run.
#pragma once

#include <string>

#include "catena/simulation/case.hpp"

namespace catena {

/// Collective. Which bodies overlap at the start: the worst three pairs with their overlaps and
/// keys, one sentence; empty where none do. Makes the bodies and searches their contacts.
std::string overlaps_at_start(const Communicator& comm, const CaseSettings& settings,
                              const Model& model);

}  // namespace catena
