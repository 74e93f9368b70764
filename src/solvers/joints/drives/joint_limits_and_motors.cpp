#include "solvers/joints/drives/joint_limits_and_motors.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "catena/comm/typed_exchange.hpp"

namespace catena {
namespace {

/// Turns of sweeps over the dense rows, and sweeps in each.
constexpr int kTurns = 20, kSweeps = 10;
/// Square of the relative change that counts as none.
constexpr double kRest = 1e-28;
/// Part of the diagonal that is added, so that rows on the same axis can be free together.
constexpr double kSoft = 1e-12;
/// Share of N_ff below which what the joints leave of a row is taken for round-off.
constexpr double kLeast = 1e-6;

}  // namespace

bool JointLimitsAndMotors::takes(const ConstraintProblem& problem, std::span<const Index> drives,
                                 const JointSystem& joints) {
  const std::int64_t total = problem.comm.sum(std::ssize(drives));
  if (total > kMost) return false;
  const std::span<const char> touched = joints.touched();
  std::int64_t dofs = 0, rows = 0;
  for (Index b = 0; b < problem.bodies.size(); ++b)
    if (touched[b] != 0) dofs += problem.bodies.dofs(b);
  for (Index k = 0; k < problem.blocks.size(); ++k)
    if (problem.blocks.kind[k] == BlockKind::bilateral) rows += problem.blocks.rows(k);
  // of ordered problems what does not depend on the ranks
  const std::int64_t numbers = total * (problem.ordered ? 2 * rows : dofs + rows);
  return (problem.ordered ? problem.comm.sum(numbers) : problem.comm.max(numbers)) <= kMaxNumbers;
}

JointLimitsAndMotors::JointLimitsAndMotors(const ConstraintProblem& problem,
                                           std::vector<Index> drives, DelassusOperator& op,
                                           JointSystem& joints)
    : JointDrives(problem, std::move(drives)) {
  total_ = problem_.comm.sum(std::ssize(block_));
  if (total_ == 0) return;
  list_rows(joints);
  find_places();
  make_columns(op, joints);
}

/// What columns move.
void JointLimitsAndMotors::list_rows(const JointSystem& joints) {
  const GeneralBlocks& blocks = problem_.blocks;
  const std::span<const char> touched = joints.touched();
  for (Index b = 0; b < problem_.bodies.size(); ++b) {
    if (touched[b] == 0) continue;
    for (Index d = problem_.bodies.dof_begin[b]; d < problem_.bodies.dof_begin[b + 1]; ++d)
      dofs_.push_back(d);
  }
  for (Index k = 0; k < blocks.size(); ++k) {
    if (blocks.kind[k] != BlockKind::bilateral) continue;
    for (Index r = blocks.row_begin[k]; r < blocks.row_begin[k + 1]; ++r)
      rows_.push_back(problem_.first_general_row() + r);
  }
}

/// Collective. Rows stand in the order of their joints.
void JointLimitsAndMotors::find_places() {
  std::vector<std::int64_t> names;
  names.reserve(block_.size());
  for (const Index k : block_) names.push_back(problem_.blocks.name[k]);
  std::vector<std::int64_t> all = all_gather_values(problem_.comm, names);
  std::sort(all.begin(), all.end());
  own_.assign(total_, kNoIndex);
  // a joint's rows lie on one rank, together and in their order
  for (std::size_t g = 0; g < names.size(); ++g) {
    const bool same = g > 0 && names[g] == names[g - 1];
    place_.push_back(same ? place_.back() + 1
                          : static_cast<std::size_t>(
                                std::lower_bound(all.begin(), all.end(), names[g]) - all.begin()));
    own_[place_.back()] = to_index(g);
  }
}

void JointLimitsAndMotors::make_columns(DelassusOperator& op, JointSystem& joints) {
  const std::size_t n_rows = problem_.n_rows(), n_dofs = problem_.bodies.n_dofs();
  const std::size_t first_general = problem_.first_general_row();
  std::vector<double> unit(n_rows, 0.0), reaction(n_rows, 0.0), rhs(n_rows, 0.0);
  std::vector<double> velocities(n_dofs), changes(n_dofs), zero(n_dofs, 0.0);
  std::vector<double> residual(n_rows - first_general), bias(n_rows - first_general);
  op.general_residual_velocities(zero, {}, bias);
  const std::size_t line = dofs_.size() + rows_.size();
  columns_.assign(total_ * line, 0.0);
  matrix_.assign(total_ * total_, 0.0);
  std::vector<double> own_diagonal(total_, 0.0);
  for (std::size_t f = 0; f < total_; ++f) {
    const bool own = own_[f] != kNoIndex;
    const std::size_t row = own ? row_[own_[f]] : 0;
    if (own) unit[row] = 1.0;
    op.velocity_changes(unit, velocities);
    op.general_residual_velocities(velocities, std::span(unit).subspan(first_general), residual);
    if (own) own_diagonal[f] = residual[row - first_general] - bias[row - first_general];
    for (const std::size_t r : rows_)
      rhs[r] = bias[r - first_general] - residual[r - first_general];
    joints.move(problem_, rhs, changes, reaction);
    for (std::size_t d = 0; d < n_dofs; ++d) velocities[d] += changes[d];
    for (std::size_t g = 0; g < block_.size(); ++g)
      matrix_[place_[g] * total_ + f] =
          residual_velocity(g, unit, velocities) + problem_.blocks.q[row_[g] - first_general];
    double* column = columns_.data() + f * line;
    for (const std::size_t d : dofs_) *column++ = velocities[d];
    for (const std::size_t r : rows_) *column++ = reaction[r];
    if (own) unit[row] = 0.0;
  }
  problem_.comm.sum(matrix_);
  problem_.comm.sum(own_diagonal);
  step_.resize(total_);
  for (std::size_t f = 0; f < total_; ++f)
    step_[f] = std::max(matrix_[f * total_ + f], kLeast * own_diagonal[f]);
  state_.resize(4 * total_);
  change_.resize(total_);
}

/// One projected sweep; true if nothing moves beyond round-off.
bool JointLimitsAndMotors::sweep_rows() {
  double* w = state_.data();
  double* lambda = w + total_;
  const double* lower = lambda + total_;
  const double* upper = lower + total_;
  double moved = 0.0, size = 0.0;
  for (std::size_t f = 0; f < total_; ++f) {
    if (!(step_[f] > 0.0)) continue;
    const double d = std::clamp(lambda[f] - w[f] / step_[f], lower[f], upper[f]) - lambda[f];
    moved += d * d * step_[f];
    size += lambda[f] * lambda[f] * step_[f];
    if (d != 0.0) move_row(f, d);
  }
  return !(moved > kRest * size);
}

void JointLimitsAndMotors::move_row(std::size_t f, double d) {
  state_[total_ + f] += d;
  change_[f] += d;
  for (std::size_t g = 0; g < total_; ++g) state_[g] += matrix_[f * total_ + g] * d;
}

/// Least of the rows between their bounds, as far along the way to it as all stay between; false
/// where there is nothing to gain.
bool JointLimitsAndMotors::free_rows() {
  const double* w = state_.data();
  const double* lambda = w + total_;
  const double* lower = lambda + total_;
  const double* upper = lower + total_;
  std::vector<std::size_t> free;
  for (std::size_t f = 0; f < total_; ++f)
    if (step_[f] > 0.0 && lambda[f] > lower[f] && lambda[f] < upper[f]) free.push_back(f);
  if (free.size() < 2) return !free.empty();
  const Eigen::Index n = free.size();
  Eigen::MatrixXd a(n, n);
  Eigen::VectorXd d(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const std::size_t f = free[i];
    for (Eigen::Index j = 0; j < n; ++j) a(i, j) = matrix_[f * total_ + free[j]];
    a(i, i) += kSoft * step_[f] + (step_[f] - matrix_[f * total_ + f]);
    d(i) = -w[f];
  }
  const Eigen::LLT<Eigen::MatrixXd> factor(a);
  if (factor.info() != Eigen::Success) return false;
  d = factor.solve(d);
  double share = 1.0;
  for (Eigen::Index i = 0; i < n; ++i) {
    const std::size_t f = free[i];
    const double room = d(i) > 0.0 ? upper[f] - lambda[f] : lower[f] - lambda[f];
    if (std::abs(d(i)) > std::abs(room)) share = std::min(share, room / d(i));
  }
  for (Eigen::Index i = 0; i < n; ++i) move_row(free[i], share * d(i));
  return true;
}

void JointLimitsAndMotors::solve(std::span<double> impulses, std::span<double> velocities) {
  if (total_ == 0) return;
  std::fill(state_.begin(), state_.end(), 0.0);
  double* w = state_.data();
  double* lambda = w + total_;
  double* lower_bound = lambda + total_;
  double* upper_bound = lower_bound + total_;
  for (std::size_t g = 0; g < block_.size(); ++g) {
    const std::size_t f = place_[g];
    w[f] = residual_velocity(g, impulses, velocities);
    lambda[f] = impulses[row_[g]];
    lower_bound[f] = lower(g);
    upper_bound[f] = upper(g);
  }
  problem_.comm.sum(state_);
  std::fill(change_.begin(), change_.end(), 0.0);
  for (int turn = 0; turn < kTurns; ++turn) {
    bool at_rest = false;
    for (int sweep = 0; sweep < kSweeps && !at_rest; ++sweep) at_rest = sweep_rows();
    if (at_rest || !free_rows()) break;
  }
  const std::size_t line = dofs_.size() + rows_.size();
  for (std::size_t f = 0; f < total_; ++f) {
    const double d = change_[f];
    if (d == 0.0) continue;
    const double* column = columns_.data() + f * line;
    for (const std::size_t i : dofs_) velocities[i] += *column++ * d;
    for (const std::size_t r : rows_) impulses[r] += *column++ * d;
  }
  // a row taken to its bound by a part of a step has it to round-off only
  for (std::size_t g = 0; g < block_.size(); ++g)
    impulses[row_[g]] = std::clamp(lambda[place_[g]], lower(g), upper(g));
}

}  // namespace catena
