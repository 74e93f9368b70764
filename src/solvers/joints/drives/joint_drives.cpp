#include "solvers/joints/drives/joint_drives.hpp"

#include "catena/constraints/block_rows.hpp"

namespace catena {
namespace {

/// General blocks of one row with a bound, all of whose bodies joints hold.
std::vector<Index> find_drives(const ConstraintProblem& problem, std::span<const char> touched) {
  const GeneralBlocks& blocks = problem.blocks;
  std::vector<Index> drives;
  for (Index k = 0; k < blocks.size(); ++k) {
    if (blocks.kind[k] != BlockKind::unilateral && blocks.kind[k] != BlockKind::boxed) continue;
    bool held = blocks.rows(k) == 1;
    for_each_body(blocks, k, [&](Index b, const double*) {
      held = held && (problem.bodies.is_prescribed(b) || touched[b] != 0);
    });
    if (held) drives.push_back(k);
  }
  return drives;
}

}  // namespace

JointDrives::JointDrives(const ConstraintProblem& problem, DelassusOperator& op,
                         JointSystem& joints, std::optional<JointSystem>& driven, bool mixed)
    : DriveRows(problem, find_drives(problem, joints.touched())),
      op_(op),
      joints_(joints),
      driven_(driven),
      mixed_(mixed),
      few_(problem, block_, op, joints) {
  if (block_.empty()) return;
  has_.assign(problem.contacts.size() + problem.blocks.size(), 0);
  for (const Index k : block_) has_[problem.contacts.size() + k] = 1;
}

void JointDrives::solve(std::span<double> impulses, std::span<double> velocities) {
  if (!many_) {
    if (few_.solve(impulses, velocities)) return;
    if (!driven_) {
      JointSolverSettings settings = joints_.settings();
      // a chain with its drives may be none
      if (settings.method == JointMethod::chain) settings.method = JointMethod::automatic;
      driven_.emplace(settings);
    }
    many_.emplace(problem_, block_, op_, *driven_, mixed_);
  }
  many_->solve(impulses, velocities);
}

void JointDrives::store(std::span<const double> from, std::span<double> to) const {
  for (const std::size_t row : row_) to[row] = from[row];
}

}  // namespace catena
