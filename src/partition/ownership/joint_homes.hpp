// Steps by which joints come to the owners of their bodies.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"

namespace catena::partition {

/// Bodies of a joint in the order in which the first dynamic one is its home: b, a, carrier.
inline constexpr std::array<std::size_t, kJointBodies> kHomeOrder = {1, 0, 2};

/// Where one body of a joint is.
struct Whereabouts {
  std::int32_t owner = -1;   ///< rank; -1: the world, or a body that no rank owns
  std::int32_t dynamic = 0;  ///< 1 if it is
};
using JointWhereabouts = std::vector<std::array<Whereabouts, kJointBodies>>;

/// Collective. Where the bodies of this rank's joints are, by a directory of ids (id mod ranks).
JointWhereabouts find_joint_bodies(const Communicator& comm, const Bodies& bodies);

/// Collective. Moves joints, their states and `where` to the owners of the joints' homes, then
/// orders them by id. Throws Error on every rank where a joint acts on no dynamic body.
void bring_joints_home(const Communicator& comm, Bodies& bodies, State& state,
                       JointWhereabouts& where);

/// Collective. Makes bodies.links of joints that are at home.
void connect_joints(const Communicator& comm, Bodies& bodies, const JointWhereabouts& where);

}  // namespace catena::partition
