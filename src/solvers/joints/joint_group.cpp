#include "solvers/joints/joint_group.hpp"

#include <algorithm>

#include "solvers/joints/across/tree_nodes.hpp"
#include "solvers/joints/elimination/tree_factor.hpp"

namespace catena {
namespace {

/// Rows of a border up to which a looped mechanism is a bordered forest.
constexpr Index kMaxBorderRows = 200;
/// Joints from which these are large: a border takes sweeps over all of them.
constexpr Index kLargeForest = 1000;

}  // namespace

JointGroup::JointGroup(const JointLayout& layout, std::size_t first, bool rigid,
                       JointMethod method) {
  const auto rest = std::span(layout.assigned).subspan(first);
  const auto end = std::ranges::find_if(
      rest, [&](const AssignedJoint& joint) { return joint.group != rest.front().group; });
  const std::span<const AssignedJoint> joints(rest.begin(), end);
  rows_ = AssignedRows(joints, first);
  choose_elimination(joints, rigid, method);
}

void JointGroup::choose_elimination(std::span<const AssignedJoint> joints, bool rigid,
                                    JointMethod method) {
  const MechanismKind kind = joints.front().place.kind;
  const bool tree = kind == MechanismKind::tree || kind == MechanismKind::chain;
  const bool simple = rigid && method != JointMethod::direct &&
                      std::all_of(joints.begin(), joints.end(),
                                  [](const AssignedJoint& j) { return j.bodies <= 2; });
  if (simple && tree) {
    elimination_ = make_tree_elimination(rows_.rows);
  } else if (simple && border_rows(rows_.rows) <= kMaxBorderRows) {
    if (rows_.size() < kLargeForest)
      elimination_ = make_bordered_elimination(rows_.rows);
    else
      eliminate_with_branches();
  } else {
    elimination_ = sparse_elimination_asked_for() ? make_sparse_elimination(rows_.rows)
                                                  : make_dissected_elimination(rows_.rows);
    sparse_ = true;
  }
}

void JointGroup::eliminate_with_branches() {
  BlockNodes nodes;
  nodes.node.assign(rows_.size(), 1);
  alone_ =
      std::make_unique<Guests>(Communicator::self(), DealtTree{}, false, rows_.rows, nodes.node);
  nodes.guests = alone_.get();
  elimination_ = make_regularised(rows_.rows, make_cut_factor(rows_.rows, nodes));
}

void JointGroup::factor(const JointTransport& transport, const ConstraintProblem& problem) {
  rows_.take_numbers(transport, problem);
  elimination_->factor(rows_.rows);
}

void JointGroup::solve(std::span<double> rows) {
  const std::span<double> x = rows_.of(rows);
  elimination_->solve(x, x);
}

}  // namespace catena
