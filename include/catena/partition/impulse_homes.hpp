// Impulses of the last step that are not yet with their bodies.
#pragma once

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// Collective. Brings impulses and couples, whatever ranks hold them, to the owners of their
/// contacts' home bodies (home_of), ascending in key: as migrate() wants them. Of a contact with a
/// body that no rank owns the other one is the home. Whose bodies are where is asked of a directory
/// by id (id mod ranks): memory O(own bodies and impulses). Throws Error(input_output) on every
/// rank where neither body of an impulse is owned by any.
void bring_impulses_home(const Communicator& comm, const Bodies& bodies, State& state);

}  // namespace catena
