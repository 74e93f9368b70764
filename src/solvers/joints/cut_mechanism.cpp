#include "solvers/joints/cut_mechanism.hpp"

#include <algorithm>

namespace catena {

CutMechanism::CutMechanism(const Communicator& comm, const JointLayout& layout,
                           const MechanismParts& parts, std::size_t first, bool exact) {
  const auto rest = std::span(layout.assigned).subspan(first);
  const auto end = std::ranges::find_if(rest, [&](const AssignedJoint& joint) {
    return !joint.is_cut() || joint.place.component != parts.component;
  });
  const std::span<const AssignedJoint> joints(rest.begin(), end);
  rows_ = AssignedRows(joints, first);
  BlockNodes nodes;
  for (const AssignedJoint& joint : joints) nodes.node.push_back(joint.node);
  guests_ = std::make_unique<Guests>(comm, parts.tree, exact, rows_.rows, nodes.node);
  nodes.guests = guests_.get();
  elimination_ = make_cut_elimination(rows_.rows, nodes);
}

void CutMechanism::factor(const JointTransport& transport, const ConstraintProblem& problem) {
  rows_.take_numbers(transport, problem);
  guests_->bring_jacobians(rows_.rows);
  elimination_->factor(rows_.rows);
}

void CutMechanism::solve(std::span<double> rows) {
  const std::span<double> x = rows_.of(rows);
  elimination_->solve(x, x);
}

}  // namespace catena
