// A few limits, bounded motors and friction of joints by their dense matrix.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solvers/joints/drives/joint_drives.hpp"

namespace catena {

/// A few drives on what the joints leave:
///
///   N~ = N_ff - N_fj A^-1 N_jf,   lo <= lambda_f + d <= hi  complementary to  N~ d + w_f
///
/// with w_f of velocities that meet the joints, by projected Gauss-Seidel on the dense N~, which
/// every rank holds, and Cholesky factors of the rows between their bounds. d moves bodies and
/// joints by stored columns, so that the joints stay met.
class JointLimitsAndMotors final : public JointDrives {
 public:
  /// Collective. Whether there are few enough: kMost rows over all ranks, kMaxNumbers stored on
  /// one.
  static bool takes(const ConstraintProblem& problem, std::span<const Index> drives,
                    const JointSystem& joints);
  /// Collective. One solve of the joints per row.
  JointLimitsAndMotors(const ConstraintProblem& problem, std::vector<Index> drives,
                       DelassusOperator& op, JointSystem& joints);

  void solve(std::span<double> impulses, std::span<double> velocities) override;

 private:
  static constexpr std::int64_t kMost = 128;
  static constexpr std::int64_t kMaxNumbers = 4'000'000;

  void list_rows(const JointSystem& joints);
  void find_places();
  void make_columns(DelassusOperator& op, JointSystem& joints);
  bool sweep_rows();
  bool free_rows();
  void move_row(std::size_t f, double d);

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
