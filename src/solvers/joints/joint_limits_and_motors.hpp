// Limits, bounded motors and friction of joints, solved with the joints that they drive.
#pragma once

#include <span>
#include <vector>

#include "catena/constraints/delassus.hpp"
#include "solvers/joints/joint_system.hpp"

namespace catena {

/// The rows of unilateral and boxed blocks of one row, all of whose bodies joints hold. Swept like
/// contacts they see the bodies as if they were free: a hinge's brake turns the inertia of a bob,
/// I, where the joint makes it I + m r^2, and the two-block iteration needs some (I + m r^2)/I
/// turns. Here they are solved on what the joints leave:
///
///   N~ = N_ff - N_fj A^-1 N_jf,   lo <= lambda_f + d <= hi  complementary to  N~ d + w_f
///
/// with w_f of velocities that meet the joints, by projected Gauss-Seidel on the dense N~, which
/// every rank holds, and Cholesky factors of the rows between their bounds. d moves bodies and
/// joints by stored columns, so that the joints stay met. Up to kMost rows over all ranks and
/// kMaxNumbers stored; else they are swept as other blocks are.
class JointLimitsAndMotors {
 public:
  static constexpr std::size_t kMost = 128;
  static constexpr std::size_t kMaxNumbers = 4'000'000;  ///< on a rank

  /// Collective. `joints` is prepared for the problem. One solve of the joints per row.
  JointLimitsAndMotors(const ConstraintProblem& problem, DelassusOperator& op, JointSystem& joints);

  /// Whether block k of the problem is solved here.
  bool has(Index block) const { return !has_.empty() && has_[block] != 0; }
  /// Local. Brings the impulses of the rows within their bounds.
  void admit(std::span<double> impulses) const;
  /// Collective. `velocities`: those of bodies that joints hold, ghosts included, with the joints
  /// met; then both they and `impulses` (of all rows) are changed.
  void solve(std::span<double> impulses, std::span<double> velocities);
  /// Local. Copies the rows' impulses.
  void store(std::span<const double> from, std::span<double> to) const;

 private:
  void list_rows(JointSystem& joints);
  void find_places();
  void make_columns(DelassusOperator& op, JointSystem& joints);
  bool sweep_rows();
  bool free_rows();
  void move_row(std::size_t f, double d);
  double residual_velocity(std::size_t own, std::span<const double> impulses,
                           std::span<const double> velocities) const;

  const ConstraintProblem& problem_;
  std::vector<char> has_;           ///< per block
  std::vector<Index> block_;        ///< own rows: general block ...
  std::vector<std::size_t> row_;    ///< ... and row among all rows
  std::vector<std::size_t> place_;  ///< of each own row among those of all ranks
  std::vector<Index> own_;          ///< of all ranks' rows the own one, or kNoIndex
  std::size_t total_ = 0;           ///< over all ranks
  std::vector<std::size_t> dofs_;   ///< velocities that a column moves
  std::vector<std::size_t> rows_;   ///< bilateral rows that it moves
  std::vector<double> columns_;     ///< per row of all ranks: of dofs_, then of rows_
  std::vector<double> matrix_;      ///< N~, row by row
  std::vector<double> step_;        ///< what a row's slip is divided by, at least N~_ff
  std::vector<double> state_;       ///< w, lambda, lower, upper of all rows
  std::vector<double> change_;
};

}  // namespace catena
