// Bonds between neighbouring bodies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"
#include "catena/scenarios/scene.hpp"

namespace catena {

/// Collective. Makes the joints of the case's `bonds` between bodies as they are now, one for each
/// pair of bounded bodies whose gap is below the bonds', boxes and hulls only where their faces are
/// opposite each other, not at edges and corners; of several that name a pair the first one
/// counts. Frames stand in the mean of the pair's points of contact, z along their mean normal
/// from a to b, the body of the smaller id. Ids follow those of the case in the order of pairs, so
/// that they do not depend on the number of ranks; links of joints are made anew. Returns the
/// number of bonds over all ranks. Memory O(own bodies + ghosts + bonds of the rank).
///
/// `gone_on`: names of bonds that an earlier run has made, which are there already. Throws Error on
/// every rank where a name of `between` is that of no body, and where others name the bodies of
/// these.
std::int64_t make_bonds(const Communicator& comm, const SceneSettings& scene, const Model& model,
                        std::span<const std::string> gone_on, Bodies& bodies, State& state);

/// What bonds of generator g have alike: a joint without id, bodies and frames.
JointConstants bond_like(const SceneSettings& scene, std::size_t g);
/// Whether a joint is one of these, by all that they have alike.
bool is_like(const JointConstants& joint, const JointConstants& bond);

}  // namespace catena
