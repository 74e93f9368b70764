// Where a joint of a running simulation is and what it does, for a program between its steps.
#pragma once

#include <array>

#include "catena/simulation/simulation.hpp"

namespace catena {

/// Up to three each, m or rad, m/s or rad/s, NaN where a joint has fewer, as joint_coordinates and
/// joint_rates list them.
struct JointMotion {
  std::array<double, 3> coordinate{}, rate{};
};

/// What a joint did, the mean over a step, world frame.
struct JointForces {
  Vec3 force = Vec3::Zero();   ///< on body b, N
  Vec3 torque = Vec3::Zero();  ///< on body b about p_B, N m
  /// Per axis: of limit, motor and friction, N or N m.
  std::array<std::array<double, 3>, kJointAxes> drive{};
};

/// Collective. At the present poses and twists, also before the first step. Throws Error where the
/// joint is not there.
JointMotion joint_place(Simulation& sim, GlobalId joint);

/// Collective. In the step that `sim` has just done: not before its first one, nor after one that
/// failed. Throws Error where the joint is not there.
JointForces joint_forces(Simulation& sim, GlobalId joint);

}  // namespace catena
