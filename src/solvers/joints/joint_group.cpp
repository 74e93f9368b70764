#include "solvers/joints/joint_group.hpp"

#include <algorithm>
#include <map>

namespace catena {
namespace {

/// Rows of a border up to which a looped mechanism is a bordered forest.
constexpr Index kMaxBorderRows = 200;

}  // namespace

JointGroup::JointGroup(const JointLayout& layout, std::size_t first, bool rigid, JointMethod method)
    : first_(first) {
  const auto rest = std::span(layout.assigned).subspan(first);
  const auto end = std::ranges::find_if(
      rest, [&](const AssignedJoint& joint) { return joint.group != rest.front().group; });
  const std::span<const AssignedJoint> joints(rest.begin(), end);
  first_row_ = joints.front().first_row;
  lay_out(joints);
  choose_elimination(joints, rigid, method);
}

/// The blocks and bodies, without their numbers.
void JointGroup::lay_out(std::span<const AssignedJoint> joints) {
  GeneralBlocks& blocks = rows_.blocks;
  std::map<GlobalId, Index> number;
  for (std::size_t n = 0; n < joints.size(); ++n) {
    const AssignedJoint& joint = joints[n];
    blocks.kind.push_back(BlockKind::bilateral);
    blocks.name.push_back(joint.name);
    blocks.row_begin.push_back(blocks.row_begin.back() + joint.rows);
    rows_.drive.resize(blocks.row_begin.back(), 0);
    std::fill_n(rows_.drive.end() - joint.drives, joint.drives, char{1});
    for (int j = 0; j < joint.bodies; ++j) {
      const auto [entry, fresh] = number.try_emplace(joint.body[j], rows_.bodies.size());
      if (fresh) {
        const std::size_t dofs = joint.dofs[j];
        const std::vector<double> zeros(dofs * dofs, 0.0);
        if (joint.mass_kind[j] == MassKind::rigid)
          rows_.bodies.add_rigid(joint.body[j], 0.0, 0.0, {});
        else
          rows_.bodies.add_dense(joint.body[j], zeros, std::span(zeros).first(dofs));
        mass_from_.emplace_back(n, j);
      }
      blocks.body.push_back(entry->second);
      blocks.jacobian_begin.push_back(blocks.jacobian_begin.back() +
                                      std::int64_t{joint.rows} * joint.dofs[j]);
    }
    blocks.body_begin.push_back(to_index(blocks.body.size()));
  }
  blocks.friction.assign(blocks.size(), 0.0);
  const std::size_t rows = blocks.n_rows();
  blocks.q.assign(rows, 0.0);
  blocks.compliance.assign(rows, 0.0);
  blocks.lower.assign(rows, 0.0);
  blocks.upper.assign(rows, 0.0);
  blocks.angular.assign(rows, 0);
  blocks.jacobian.assign(blocks.jacobian_begin.back(), 0.0);
  rows_.bodies.n_owned = rows_.bodies.size();
}

void JointGroup::choose_elimination(std::span<const AssignedJoint> joints, bool rigid,
                                    JointMethod method) {
  const MechanismKind kind = joints.front().place.kind;
  const bool tree = kind == MechanismKind::tree || kind == MechanismKind::chain;
  const bool simple = rigid && method != JointMethod::direct &&
                      std::all_of(joints.begin(), joints.end(),
                                  [](const AssignedJoint& j) { return j.bodies <= 2; });
  if (simple && tree) {
    elimination_ = make_tree_elimination(rows_);
  } else if (simple && border_rows(rows_) <= kMaxBorderRows) {
    elimination_ = make_bordered_elimination(rows_);
  } else {
    elimination_ = sparse_elimination_asked_for() ? make_sparse_elimination(rows_)
                                                  : make_dissected_elimination(rows_);
    sparse_ = true;
  }
}

void JointGroup::factor(const JointTransport& transport, double misfit) {
  GeneralBlocks& blocks = rows_.blocks;
  ProblemBodies& bodies = rows_.bodies;
  std::size_t b = 0;
  for (std::size_t n = 0; n < size(); ++n) {
    const JointNumbers own = transport.numbers(first_ + n);
    std::copy_n(own.compliance, blocks.rows(to_index(n)),
                blocks.compliance.begin() + blocks.row_begin[n]);
    const Index first = blocks.body_begin[n];
    for (Index j = first; j < blocks.body_begin[n + 1]; ++j)
      std::copy_n(own.jacobian[j - first], blocks.jacobian_begin[j + 1] - blocks.jacobian_begin[j],
                  blocks.jacobian.begin() + blocks.jacobian_begin[j]);
    // bodies are numbered as their joints come
    for (; b < mass_from_.size() && mass_from_[b].first == n; ++b)
      std::copy_n(own.inverse_mass[mass_from_[b].second],
                  bodies.mass_begin[b + 1] - bodies.mass_begin[b],
                  bodies.inverse_mass.begin() + bodies.mass_begin[b]);
  }
  rows_.misfit = misfit;
  elimination_->factor(rows_);
}

void JointGroup::solve(std::span<double> rows) {
  const std::span<double> x = rows.subspan(first_row_, rows_.blocks.n_rows());
  elimination_->solve(x, x);
}

}  // namespace catena
