#include "catena/simulation/joint_reading.hpp"

#include <algorithm>
#include <vector>

#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/joint_rows.hpp"

namespace catena {

namespace {

/// Collective. What the one rank that holds the joint makes of its place in Bodies::joints, on
/// every rank.
template <class Make>
auto of_holder(const Simulation& sim, GlobalId joint, Make make) {
  const std::vector<JointConstants>& joints = sim.bodies().joints;
  const auto at = std::ranges::lower_bound(joints, joint, {}, &JointConstants::id);
  std::vector<decltype(make(std::size_t{}))> own;
  if (at != joints.end() && at->id == joint) own.push_back(make(at - joints.begin()));
  return all_gather_values(sim.communicator(), own).front();
}

/// Collective.
JointPoses poses_of(Simulation& sim, const JointConstants& joint) {
  JointPoses poses;
  for (std::size_t k = 0; k < kJointBodies; ++k) {
    if (joint.body[k] == kNoBody) continue;
    const BodyMotionState state = sim.scene().body_state(joint.body[k]);
    poses.pose[k] = state.pose;
    poses.twist[k] = state.twist;
    // the image that is nearest to the joint's first body
    if (k == 0 || joint.body[0] == kNoBody) continue;
    Vec3& p = poses.pose[k].p;
    p -= sim.model().periodic.nearest_shift(p - poses.pose[0].p);
  }
  return poses;
}

}  // namespace

JointMotion joint_place(Simulation& sim, GlobalId joint) {
  const JointConstants constants = sim.scene().joint_constants(joint);
  const JointPoses poses = poses_of(sim, constants);
  const auto angle =
      of_holder(sim, joint, [&](std::size_t j) { return sim.state().joints[j].angle; });
  return {joint_coordinates(constants, poses, angle, sim.model()),
          joint_rates(constants, poses, angle, sim.model())};
}

JointForces joint_forces(Simulation& sim, GlobalId joint) {
  sim.scene().joint_constants(joint);  // throws where it is not there
  const double h = sim.settings().time.step;
  return of_holder(sim, joint, [&](std::size_t j) {
    const JointReaction reaction = sim.stepper().joint_reaction(j);
    JointForces forces{reaction.impulse / h, reaction.couple / h, sim.state().joints[j].drive};
    for (auto& axis : forces.drive)
      for (double& part : axis) part /= h;
    return forces;
  });
}

}  // namespace catena
