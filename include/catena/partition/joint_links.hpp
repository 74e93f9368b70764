// Joints over ranks: who needs whose bodies.
#pragma once

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// Collective. Makes bodies.links anew from bodies.constants and bodies.joints of all ranks, by a
/// directory of body ids (id mod ranks), so that no rank holds more than its share. A body that no
/// rank owns is an unbounded one, which every rank knows. Called by migrate() and where bodies
/// leave.
void link_joints(const Communicator& comm, Bodies& bodies);

/// Whether a joint keeps the pair (smaller id first) from making contacts.
bool held_apart(const JointLinks& links, GlobalId low, GlobalId high);

}  // namespace catena
