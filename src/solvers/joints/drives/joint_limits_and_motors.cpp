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

JointLimitsAndMotors::JointLimitsAndMotors(const ConstraintProblem& problem,
                                           std::vector<Index> drives, DelassusOperator& op,
                                           JointSystem& joints)
    : DriveRows(problem, std::move(drives)),
      op_(op),
      joints_(joints),
      total_(problem.comm.sum(std::ssize(block_))),
      acts_(block_.size(), 0) {
  if (total_ == 0) return;
  for (const Index k : block_) {
    // a joint's rows lie on one rank, together and in their order
    const std::int64_t joint = problem.blocks.name[k];
    const bool same = !name_.empty() && joint == name_.back().joint;
    name_.push_back({joint, same ? name_.back().order + 1 : 0});
  }
  list_moved(joints);
  // of ordered problems what does not depend on the ranks
  const std::int64_t line = problem.ordered
                                ? problem.comm.sum(2 * std::ssize(rows_))
                                : problem.comm.max(std::ssize(dofs_) + std::ssize(rows_));
  most_ = std::min(kMost, kMaxNumbers / std::max(line, std::int64_t{1}));
}

/// What columns move.
void JointLimitsAndMotors::list_moved(const JointSystem& joints) {
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

/// Whether an own row stands at a bound and its slip keeps it there.
bool JointLimitsAndMotors::rests(std::size_t own, std::span<const double> impulses,
                                 std::span<const double> velocities) const {
  const double lambda = impulses[row_[own]], lo = lower(own), hi = upper(own);
  if (lo == hi) return lambda == lo;
  const double w = residual_velocity(own, impulses, velocities);
  return (lambda == lo && w >= 0.0) || (lambda == hi && w <= 0.0);
}

/// Collective. Own rows that are active from now on, with those of the other ranks.
void JointLimitsAndMotors::add_acting(std::span<const std::size_t> own) {
  std::vector<Name> names;
  names.reserve(own.size());
  for (const std::size_t g : own) names.push_back(name_[g]);
  const auto before = std::ssize(acting_);
  for (const Name& name : all_gather_values(problem_.comm, names))
    acting_.push_back({.name = name});
  const auto added = std::span(acting_).subspan(before);
  std::ranges::sort(added, {}, &Acting::name);
  for (const std::size_t g : own) {
    acts_[g] = 1;
    std::ranges::lower_bound(added, name_[g], {}, &Acting::name)->own = to_index(g);
  }
  for (Acting& acting : added) make_column(acting);
  std::ranges::inplace_merge(acting_, acting_.begin() + before, {}, &Acting::name);
  make_matrix();
}

/// Collective. What a unit impulse of a row does to bodies and joints.
void JointLimitsAndMotors::make_column(Acting& acting) {
  const std::size_t n_rows = problem_.n_rows(), n_dofs = problem_.bodies.n_dofs();
  const std::size_t first_general = problem_.first_general_row();
  const std::vector<double>& q = problem_.blocks.q;
  std::vector<double> unit(n_rows, 0.0), reaction(n_rows, 0.0), rhs(n_rows, 0.0);
  std::vector<double> velocities(n_dofs), changes(n_dofs), residual(n_rows - first_general);
  const bool is_own = acting.own != kNoIndex;
  const std::size_t row = is_own ? row_[acting.own] : 0;
  if (is_own) unit[row] = 1.0;
  op_.velocity_changes(unit, velocities);
  op_.general_residual_velocities(velocities, std::span(unit).subspan(first_general), residual);
  if (is_own) acting.of_unit = residual[row - first_general] + q[row - first_general];
  for (const std::size_t r : rows_) rhs[r] = -(residual[r - first_general] + q[r - first_general]);
  joints_.move(problem_, rhs, changes, reaction);
  acting.column.reserve(dofs_.size() + rows_.size());
  for (const std::size_t d : dofs_) acting.column.push_back(velocities[d] + changes[d]);
  for (const std::size_t r : rows_) acting.column.push_back(reaction[r]);
}

/// Collective. N~ of the active rows, and what their slips are divided by.
void JointLimitsAndMotors::make_matrix() {
  const std::size_t n = acting_.size();
  std::vector<double> unit(problem_.n_rows(), 0.0), velocities(problem_.bodies.n_dofs(), 0.0);
  // the diagonal of N stands behind N~
  matrix_.assign(n * n + n, 0.0);
  for (std::size_t f = 0; f < n; ++f) {
    const Acting& acting = acting_[f];
    for (std::size_t i = 0; i < dofs_.size(); ++i) velocities[dofs_[i]] = acting.column[i];
    if (acting.own != kNoIndex) unit[row_[acting.own]] = 1.0;
    for (std::size_t g = 0; g < n; ++g)
      if (const Index own = acting_[g].own; own != kNoIndex)
        matrix_[g * n + f] =
            residual_velocity(own, unit, velocities) + problem_.blocks.q[general_row(own)];
    if (acting.own != kNoIndex) unit[row_[acting.own]] = 0.0;
    matrix_[n * n + f] = acting.of_unit;
  }
  problem_.comm.sum(matrix_);
  step_.resize(n);
  for (std::size_t f = 0; f < n; ++f)
    step_[f] = std::max(matrix_[f * n + f], kLeast * matrix_[n * n + f]);
}

/// One projected sweep; true if nothing moves beyond round-off.
bool JointLimitsAndMotors::sweep_rows() {
  const std::size_t n = acting_.size();
  double* w = state_.data();
  double* lambda = w + n;
  const double* lower = lambda + n;
  const double* upper = lower + n;
  double moved = 0.0, size = 0.0;
  for (std::size_t f = 0; f < n; ++f) {
    if (!(step_[f] > 0.0)) continue;
    const double d = std::clamp(lambda[f] - w[f] / step_[f], lower[f], upper[f]) - lambda[f];
    moved += d * d * step_[f];
    size += lambda[f] * lambda[f] * step_[f];
    if (d != 0.0) move_row(f, d);
  }
  return !(moved > kRest * size);
}

void JointLimitsAndMotors::move_row(std::size_t f, double d) {
  const std::size_t n = acting_.size();
  state_[n + f] += d;
  change_[f] += d;
  for (std::size_t g = 0; g < n; ++g) state_[g] += matrix_[f * n + g] * d;
}

/// Least of the rows between their bounds, as far along the way to it as all stay between; false
/// where there is nothing to gain.
bool JointLimitsAndMotors::free_rows() {
  const std::size_t rows = acting_.size();
  const double* w = state_.data();
  const double* lambda = w + rows;
  const double* lower = lambda + rows;
  const double* upper = lower + rows;
  std::vector<std::size_t> free;
  for (std::size_t f = 0; f < rows; ++f)
    if (step_[f] > 0.0 && lambda[f] > lower[f] && lambda[f] < upper[f]) free.push_back(f);
  if (free.size() < 2) return !free.empty();
  const Eigen::Index n = free.size();
  Eigen::MatrixXd a(n, n);
  Eigen::VectorXd d(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const std::size_t f = free[i];
    for (Eigen::Index j = 0; j < n; ++j) a(i, j) = matrix_[f * rows + free[j]];
    a(i, i) += kSoft * step_[f] + (step_[f] - matrix_[f * rows + f]);
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

/// Collective. state_ of the active rows; returns the sum of all ranks' `more`.
std::int64_t JointLimitsAndMotors::gather_state(std::span<const double> impulses,
                                                std::span<const double> velocities,
                                                std::size_t more) {
  const std::size_t n = acting_.size();
  state_.assign(4 * n + 1, 0.0);
  for (std::size_t f = 0; f < n; ++f) {
    if (acting_[f].own == kNoIndex) continue;
    const std::size_t g = acting_[f].own;
    state_[f] = residual_velocity(g, impulses, velocities);
    state_[n + f] = impulses[row_[g]];
    state_[2 * n + f] = lower(g);
    state_[3 * n + f] = upper(g);
  }
  state_.back() = static_cast<double>(more);
  problem_.comm.sum(state_);
  return std::llround(state_.back());
}

/// Local. Solves for the active rows; whether any impulse changed.
bool JointLimitsAndMotors::move_acting(std::span<double> impulses, std::span<double> velocities) {
  change_.assign(acting_.size(), 0.0);
  for (int turn = 0; turn < kTurns; ++turn) {
    bool at_rest = false;
    for (int sweep = 0; sweep < kSweeps && !at_rest; ++sweep) at_rest = sweep_rows();
    if (at_rest || !free_rows()) break;
  }
  bool moved = false;
  for (std::size_t f = 0; f < acting_.size(); ++f) {
    const double d = change_[f];
    if (d == 0.0) continue;
    moved = true;
    const double* column = acting_[f].column.data();
    for (const std::size_t i : dofs_) velocities[i] += *column++ * d;
    for (const std::size_t r : rows_) impulses[r] += *column++ * d;
  }
  // a row taken to its bound by a part of a step has it to round-off only
  for (std::size_t f = 0; f < acting_.size(); ++f)
    if (const Index own = acting_[f].own; own != kNoIndex)
      impulses[row_[own]] = std::clamp(state_[acting_.size() + f], lower(own), upper(own));
  return moved;
}

bool JointLimitsAndMotors::solve(std::span<double> impulses, std::span<double> velocities) {
  if (total_ == 0) return true;
  std::vector<std::size_t> more;
  // what moves may make others active
  for (bool solved = false;;) {
    more.clear();
    for (std::size_t g = 0; g < block_.size(); ++g)
      if (acts_[g] == 0 && !rests(g, impulses, velocities)) more.push_back(g);
    const std::int64_t n_more = gather_state(impulses, velocities, more.size());
    if (n_more > 0) {
      if (std::ssize(acting_) + n_more > most_) return false;
      add_acting(more);
      solved = false;
    } else {
      if (solved) return true;
      const bool moved = move_acting(impulses, velocities);
      if (!moved || std::ssize(acting_) == total_) return true;
      solved = true;
    }
  }
}

}  // namespace catena
