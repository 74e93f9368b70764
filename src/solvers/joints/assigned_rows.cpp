#include "solvers/joints/assigned_rows.hpp"

#include <algorithm>

#include "catena/base/id_index.hpp"

namespace catena {

AssignedRows::AssignedRows(std::span<const AssignedJoint> joints, std::size_t first)
    : first_(first), joints_(joints.size()) {
  if (!joints.empty()) first_row_ = joints.front().first_row;
  GeneralBlocks& blocks = rows.blocks;
  std::vector<GlobalId> ids;
  for (const AssignedJoint& joint : joints)
    ids.insert(ids.end(), joint.body.begin(), joint.body.begin() + joint.bodies);
  const IdIndex index(ids.size(), [&](std::size_t i) { return ids[i]; });
  std::vector<Index> number(ids.size(), kNoIndex);  // at one of an id's places in `ids`
  for (std::size_t n = 0; n < joints.size(); ++n) {
    const AssignedJoint& joint = joints[n];
    blocks.kind.push_back(BlockKind::bilateral);
    blocks.name.push_back(joint.name);
    blocks.row_begin.push_back(blocks.row_begin.back() + joint.rows);
    rows.drive.resize(blocks.row_begin.back(), 0);
    std::fill_n(rows.drive.end() - joint.drives, joint.drives, char{1});
    for (int j = 0; j < joint.bodies; ++j) {
      Index& body = number[index.find(joint.body[j])];
      if (body == kNoIndex) {
        body = rows.bodies.size();
        const std::size_t dofs = joint.dofs[j];
        const std::vector<double> zeros(dofs * dofs, 0.0);
        if (joint.mass_kind[j] == MassKind::rigid)
          rows.bodies.add_rigid(joint.body[j], 0.0, 0.0, {});
        else
          rows.bodies.add_dense(joint.body[j], zeros, std::span(zeros).first(dofs));
        mass_from_.emplace_back(n, j);
      }
      blocks.body.push_back(body);
      blocks.jacobian_begin.push_back(blocks.jacobian_begin.back() +
                                      std::int64_t{joint.rows} * joint.dofs[j]);
    }
    blocks.body_begin.push_back(to_index(blocks.body.size()));
  }
  blocks.friction.assign(blocks.size(), 0.0);
  n_rows_ = blocks.n_rows();
  blocks.q.assign(n_rows_, 0.0);
  blocks.compliance.assign(n_rows_, 0.0);
  blocks.lower.assign(n_rows_, 0.0);
  blocks.upper.assign(n_rows_, 0.0);
  blocks.angular.assign(n_rows_, 0);
  blocks.jacobian.assign(blocks.jacobian_begin.back(), 0.0);
  rows.bodies.n_owned = rows.bodies.size();
}

void AssignedRows::take_numbers(const JointTransport& transport, const ConstraintProblem& problem) {
  GeneralBlocks& blocks = rows.blocks;
  ProblemBodies& bodies = rows.bodies;
  std::size_t b = 0;
  for (std::size_t n = 0; n < joints_; ++n) {
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
  rows.misfit = problem.joint_misfit;
  rows.ordered = problem.ordered;
}

}  // namespace catena
