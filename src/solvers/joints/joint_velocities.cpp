#include "solvers/joints/joint_velocities.hpp"

#include "catena/constraints/delassus.hpp"

namespace catena {
namespace {

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
  if (problem.ordered)
    ordered_.emplace(problem, OrderedSums::Blocks::bilateral, Tag::joint_ordered_changes);
  if (problem.comm.size() == 1) return;
  const HaloPlan plan = velocity_plan(restricted(problem.ghosts, touched_), problem.bodies, width_);
  forward_.emplace(problem.comm, plan, width_, Tag::joint_velocities);
  if (!problem.ordered) backward_.emplace(problem.comm, plan, width_, Tag::joint_changes);
}

void JointVelocities::find_touched(const ConstraintProblem& problem,
                                   std::span<const HeldJoint> held) {
  touched_.assign(problem.bodies.size(), 0);
  for (const HeldJoint& joint : held)
    for (Index j = 0; j < joint.bodies; ++j) touched_[joint.body(problem, j)] = 1;
  if (problem.comm.size() == 1) return;
  std::vector<double> marks(touched_.begin(), touched_.end());
  sum_with_ghosts(problem.comm, problem.ghosts, 1, Tag::jointed_bodies, Tag::all_jointed_bodies,
                  marks);
  for (std::size_t b = 0; b < touched_.size(); ++b) touched_[b] = marks[b] > 0.0 ? 1 : 0;
}

void JointVelocities::share(std::span<double> velocities) {
  if (!forward_) return;
  forward_->begin(velocities);
  forward_->end(velocities);
}

}  // namespace catena
