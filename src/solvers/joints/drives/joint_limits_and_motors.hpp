// A few active limits, bounded motors and friction of joints by their dense matrix.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "catena/constraints/delassus.hpp"
#include "solvers/joints/drives/drive_rows.hpp"
#include "solvers/joints/joint_system.hpp"

namespace catena {

/// A few drives on what the joints leave:
///
///   N~ = N_ff - N_fj A^-1 N_jf,   lo <= lambda_f + d <= hi  complementary to  N~ d + w_f
///
/// with w_f of velocities that meet the joints, by projected Gauss-Seidel on the dense N~, which
/// every rank holds, and Cholesky factors of the rows between their bounds. d moves bodies and
/// joints by stored columns, so that the joints stay met. f is the *active set*: rows that were
/// once off their bounds or on the wrong side of them. All others, such as limits near which
/// nothing happens, are *inactive*: they are checked, and nothing else depends on them, to the last
/// bit.
class JointLimitsAndMotors final : public DriveRows {
 public:
  /// Collective. `joints` is prepared.
  JointLimitsAndMotors(const ConstraintProblem& problem, std::vector<Index> drives,
                       DelassusOperator& op, JointSystem& joints);

  /// Collective. False where more rows are active than kMost, or than kMaxNumbers stored on one
  /// rank allow; impulses and velocities are then those of before, or of a solve that knew fewer of
  /// them.
  bool solve(std::span<double> impulses, std::span<double> velocities);

 private:
  static constexpr std::int64_t kMost = 128;
  static constexpr std::int64_t kMaxNumbers = 4'000'000;
  struct Name {
    std::int64_t joint = 0;  ///< name of the block
    std::int64_t order = 0;  ///< among the rows of that joint
    auto operator<=>(const Name&) const = default;
  };
  /// An active row, as every rank knows it.
  struct Acting {
    Name name;
    Index own = kNoIndex;             ///< the own row, if it is one
    double of_unit = 0.0;             ///< N_ff, where it is an own row
    std::vector<double> column = {};  ///< V of dofs_, then impulses of rows_
  };

  void list_moved(const JointSystem& joints);
  bool rests(std::size_t own, std::span<const double> impulses,
             std::span<const double> velocities) const;
  void add_acting(std::span<const std::size_t> own);
  void make_column(Acting& acting);
  void make_matrix();
  std::int64_t gather_state(std::span<const double> impulses, std::span<const double> velocities,
                            std::size_t more);
  bool move_acting(std::span<double> impulses, std::span<double> velocities);
  bool sweep_rows();
  bool free_rows();
  void move_row(std::size_t f, double d);

  DelassusOperator& op_;
  JointSystem& joints_;
  std::int64_t total_ = 0;         ///< rows of all ranks ...
  std::int64_t most_ = 0;          ///< ... and how many may be active
  std::vector<Name> name_;         ///< of each own row
  std::vector<char> acts_;         ///< of each own row: it is active
  std::vector<std::size_t> dofs_;  ///< velocities that a column moves
  std::vector<std::size_t> rows_;  ///< bilateral rows that it moves
  std::vector<Acting> acting_;     ///< by name
  std::vector<double> matrix_;     ///< N~, row by row
  std::vector<double> step_;       ///< what a row's slip is divided by, at least N~_ff
  std::vector<double> state_;      ///< w, lambda, lower, upper of active rows, a count
  std::vector<double> change_;
};

}  // namespace catena
