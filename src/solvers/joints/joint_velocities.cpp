#include "solvers/joints/joint_velocities.hpp"

#include "catena/constraints/delassus.hpp"

namespace catena {
namespace {

constexpr int kTagForward = 333, kTagBackward = 334;

/// Restricts a plan to the bodies that are marked on both sides.
HaloPlan restricted(const HaloPlan& plan, std::span<const char> marked) {
  HaloPlan out;
  const auto keep = [&](const std::vector<Index>& list) {
    std::vector<Index> kept;
    for (const Index b : list)
      if (marked[b] != 0) kept.push_back(b);
    return kept;
  };
  for (const HaloPlan::Neighbour& n : plan.neighbours) {
    HaloPlan::Neighbour mine{n.rank, keep(n.send), keep(n.receive)};
    if (!mine.send.empty() || !mine.receive.empty()) out.neighbours.push_back(std::move(mine));
  }
  return out;
}

}  // namespace

void JointVelocities::connect(const ConstraintProblem& problem, std::span<const HeldJoint> held) {
  find_touched(problem, held);
  ordered_.reset();
  if (problem.ordered) ordered_.emplace(problem, OrderedSums::Blocks::bilateral, kTagBackward);
  if (problem.comm.size() == 1) return;
  HaloPlan forward = velocity_plan(restricted(problem.ghosts, touched_), problem.bodies, width_);
  HaloPlan backward = forward.reversed_into_slots(slot_item_);
  slots_.assign(slot_item_.size() * Offset{width_}, 0.0);
  forward_.emplace(problem.comm, std::move(forward), width_, kTagForward);
  if (problem.ordered) return;
  backward_.emplace(problem.comm, std::move(backward), width_, kTagBackward);
}

void JointVelocities::find_touched(const ConstraintProblem& problem,
                                   std::span<const HeldJoint> held) {
  touched_.assign(problem.bodies.size(), 0);
  for (const HeldJoint& joint : held)
    for (Index j = 0; j < joint.bodies; ++j) touched_[joint.body(problem, j)] = 1;
  if (problem.comm.size() == 1) return;
  std::vector<double> marks(touched_.begin(), touched_.end());
  std::vector<Index> slot;
  HaloPlan plan = problem.ghosts.reversed_into_slots(slot);
  std::vector<double> received(slot.size(), 0.0);
  HaloExchange backward(problem.comm, std::move(plan), 1, kTagBackward);
  backward.begin(marks);
  backward.end(received);
  for (std::size_t s = 0; s < slot.size(); ++s)
    marks[slot[s]] = std::max(marks[slot[s]], received[s]);
  HaloExchange forward(problem.comm, problem.ghosts, 1, kTagForward);
  forward.begin(marks);
  forward.end(marks);
  for (std::size_t b = 0; b < touched_.size(); ++b) touched_[b] = marks[b] > 0.0 ? 1 : 0;
}

void JointVelocities::share(std::span<double> velocities) {
  if (!forward_) return;
  forward_->begin(velocities);
  forward_->end(velocities);
}

void JointVelocities::add_up_ghosts() {
  backward_->begin(change_);
  backward_->end(slots_);
  const std::size_t line = width_;
  for (std::size_t s = 0; s < slot_item_.size(); ++s)
    for (std::size_t d = 0; d < line; ++d)
      change_[Offset{slot_item_[s]} * line + d] += slots_[s * line + d];
}

}  // namespace catena
