// Velocities of prescribed motions, set between steps.
#pragma once

#include <functional>

#include "catena/model/state.hpp"

namespace catena {

/// Local. Gives the constant parts of the motions of bodies first .. first + count - 1, as far as
/// this rank owns them or every rank knows them, new velocities from state.time on: `change` of
/// those that they have. Returns whether there are any.
bool change_velocities(const Model& model, GlobalId first, GlobalId count,
                       const std::function<Twist(const Twist&)>& change, const Bodies& bodies,
                       State& state);

}  // namespace catena
