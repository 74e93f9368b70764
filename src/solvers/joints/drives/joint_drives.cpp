#include "solvers/joints/drives/joint_drives.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "catena/constraints/block_rows.hpp"
#include "solvers/joints/drives/driven_joints.hpp"
#include "solvers/joints/drives/joint_limits_and_motors.hpp"

namespace catena {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

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

JointDrives::JointDrives(const ConstraintProblem& problem, std::vector<Index> drives)
    : problem_(problem), block_(std::move(drives)) {
  if (block_.empty()) return;
  has_.assign(problem.contacts.size() + problem.blocks.size(), 0);
  for (const Index k : block_) {
    has_[problem.contacts.size() + k] = 1;
    row_.push_back(problem.first_general_row() + problem.blocks.row_begin[k]);
  }
}

double JointDrives::residual_velocity(std::size_t own, std::span<const double> impulses,
                                      std::span<const double> velocities) const {
  const GeneralBlocks& blocks = problem_.blocks;
  const std::size_t row = general_row(own);
  double w = blocks.compliance[row] * impulses[row_[own]] - blocks.q[row];
  for_each_body(blocks, block_[own], [&](Index b, const double* g) {
    const double* v = velocities.data() + problem_.bodies.dof_begin[b];
    for (Index d = 0; d < problem_.bodies.dofs(b); ++d) w += g[d] * v[d];
  });
  return w;
}

double JointDrives::lower(std::size_t own) const {
  const bool limit = problem_.blocks.kind[block_[own]] == BlockKind::unilateral;
  return limit ? 0.0 : problem_.blocks.lower[general_row(own)];
}

double JointDrives::upper(std::size_t own) const {
  const bool limit = problem_.blocks.kind[block_[own]] == BlockKind::unilateral;
  return limit ? kUnbounded : problem_.blocks.upper[general_row(own)];
}

void JointDrives::admit(std::span<double> impulses) const {
  for (std::size_t g = 0; g < block_.size(); ++g)
    impulses[row_[g]] = std::clamp(impulses[row_[g]], lower(g), upper(g));
}

void JointDrives::store(std::span<const double> from, std::span<double> to) const {
  for (const std::size_t row : row_) to[row] = from[row];
}

std::unique_ptr<JointDrives> make_joint_drives(const ConstraintProblem& problem,
                                               DelassusOperator& op, JointSystem& joints,
                                               std::optional<JointSystem>& driven) {
  std::vector<Index> drives = find_drives(problem, joints.touched());
  if (JointLimitsAndMotors::takes(problem, drives, joints))
    return std::make_unique<JointLimitsAndMotors>(problem, std::move(drives), op, joints);
  if (!driven) {
    JointSolverSettings settings = joints.settings();
    // a chain with its drives may be none
    if (settings.method == JointMethod::chain) settings.method = JointMethod::automatic;
    driven.emplace(settings);
  }
  return std::make_unique<DrivenJoints>(problem, std::move(drives), op, *driven);
}

}  // namespace catena
