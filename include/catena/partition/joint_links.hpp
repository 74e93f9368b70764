// Joints over ranks: who needs whose bodies.
#pragma once

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// Collective. Makes bodies.links anew from bodies.constants and bodies.joints of all ranks, by a
/// directory of body ids (id mod ranks), so that no rank holds more than its share. A body that no
/// rank owns is an unbounded one, which every rank knows. Called by migrate() and where bodies
/// leave. Marks bodies on which joints act (BodyConstants::jointed) besides.
///
/// Each joint is held by the owner of its home: of the first dynamic one of b, a and the carrier
/// (joint_home, where a or b is dynamic).
void link_joints(const Communicator& comm, Bodies& bodies);

/// Whether a joint keeps the pair (smaller id first) from making contacts.
bool held_apart(const JointLinks& links, GlobalId low, GlobalId high);

}  // namespace catena
