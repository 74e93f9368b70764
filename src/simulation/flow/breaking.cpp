#include "catena/simulation/breaking.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "catena/base/id_index.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/partition/departures.hpp"

namespace catena {

namespace {

/// Mean load over a step of length h, without the energy.
BrokenJoint load_of(const JointConstants& joint, const JointState& state,
                    const JointReaction& reaction, double h) {
  BrokenJoint load;
  load.joint = joint.id;
  // a tendon's reaction on b is that of its runs to b
  load.force =
      (joint.type == JointType::tendon ? std::abs(state.impulse[0]) : reaction.impulse.norm()) / h;
  load.torque = reaction.couple.norm() / h;
  return load;
}

/// The joint's z axis, world frame, by its body that is owned here.
Vec3 axis_of(const Bodies& bodies, const State& state, std::size_t j) {
  const std::array<Index, kJointBodies>& body = bodies.links.body[j];
  const std::size_t k = body[1] != kNoIndex ? 1 : 0;
  return state.body[body[k]].pose.q * (bodies.joints[j].frame[k].q * Vec3::UnitZ());
}

/// `axis`: z of the joint's frames.
bool exceeds(const BrokenJoint& load, const Vec3& force, const Vec3& axis,
             const BreakLimits& limits) {
  const double along = force.dot(axis);
  return load.force > limits.force || load.torque > limits.torque || -along > limits.tension ||
         (force - along * axis).norm() > limits.shear;
}

}  // namespace

void Breaking::note(const TimeStepper& stepper, const Bodies& bodies, State& state) {
  if (none()) return;
  const std::size_t before = state.broken.size();
  for (std::size_t j = 0; j < bodies.joints.size(); ++j) {
    const JointConstants& joint = bodies.joints[j];
    if (joint.breaking < 0) continue;
    const BreakLimits& limits = model_.break_limits[joint.breaking];
    const JointReaction reaction = stepper.joint_reaction(j);
    BrokenJoint load = load_of(joint, state.joints[j], reaction, step_);
    const bool exceeded =
        exceeds(load, reaction.impulse / step_, axis_of(bodies, state, j), limits);
    // what most joints store is not asked for
    if (!exceeded && !(limits.energy < BreakLimits::kNone)) continue;
    load.energy = stepper.joint_energy(bodies, state, j);
    if (!exceeded && !(load.energy > limits.energy)) continue;
    load.step = state.step;
    load.time = state.time;
    state.broken.push_back(load);
  }
  state.broken_joints += comm_.sum(narrow<std::int64_t>(state.broken.size() - before));
}

void Breaking::take_out(Bodies& bodies, State& state) {
  taken_.clear();
  freed_.clear();
  if (none()) return;
  // those who hold a joint need not be those who noted it: the state may come from a checkpoint
  std::vector<BrokenJoint> own;
  for (const BrokenJoint& broken : state.broken)
    if (broken.step == state.step) own.push_back(broken);
  taken_ = all_gather_values(comm_, own);
  if (taken_.empty()) return;
  std::ranges::sort(taken_, {}, &BrokenJoint::joint);
  const IdIndex broken(taken_.size(), [&](std::size_t k) { return taken_[k].joint; });
  Departures leaving;
  leaving.body.assign(bodies.constants.size(), 0);
  leaving.joint.assign(bodies.joints.size(), 0);
  for (std::size_t j = 0; j < bodies.joints.size(); ++j)
    leaving.joint[j] = broken.find(bodies.joints[j].id) == kNoIndex ? 0 : 1;
  const auto apart = bodies.links.apart;
  catena::take_out(comm_, leaving, {}, bodies, state);
  std::ranges::set_difference(apart, bodies.links.apart, std::back_inserter(freed_));
}

void Breaking::let_overlaps_relax(const ContactSet& contacts, State& state) const {
  std::vector<KeyedImpulse> overlaps;
  for (const Contact& contact : contacts.contacts) {
    const std::pair pair(contact.key.a, contact.key.b);
    if (contact.gap < 0.0 && std::ranges::binary_search(freed_, pair))
      overlaps.push_back({.key = contact.key, .start_overlap = -contact.gap});
  }
  const auto middle = state.impulses.insert(state.impulses.end(), overlaps.begin(), overlaps.end());
  std::ranges::inplace_merge(state.impulses, middle, {}, &KeyedImpulse::key);
}

}  // namespace catena
