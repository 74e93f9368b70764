// Limits, bounded motors and friction of joints, solved with the joints that they drive.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "catena/constraints/delassus.hpp"
#include "solvers/joints/joint_system.hpp"

namespace catena {

/// The rows of unilateral and boxed blocks of one row, all of whose bodies joints hold (*drives*).
/// Swept like contacts they see the bodies as if they were free: a hinge's brake turns the inertia
/// of a bob, I, where the joint makes it I + m r^2, and the two-block iteration needs some
/// (I + m r^2)/I turns. Here they are solved on what the joints leave, w the slip at velocities
/// that meet the joints:
///
///   lo <= lambda <= hi  complementary to  w
///
/// A few by their dense matrix (JointLimitsAndMotors), more with the joints in one factor
/// (DrivenJoints).
class JointDrives {
 public:
  virtual ~JointDrives() = default;

  /// Whether block k of the problem is solved here.
  bool has(Index block) const { return !has_.empty() && has_[block] != 0; }
  /// Local. Brings the impulses of the rows within their bounds.
  void admit(std::span<double> impulses) const;
  /// Collective. `velocities`: those of bodies that joints hold, ghosts included, with the joints
  /// met; then both they and `impulses` (of all rows) are changed, and the joints are met again.
  virtual void solve(std::span<double> impulses, std::span<double> velocities) = 0;
  /// Local. Copies the rows' impulses.
  void store(std::span<const double> from, std::span<double> to) const;

 protected:
  /// The problem's drives that this rank holds: general blocks, ascending.
  JointDrives(const ConstraintProblem& problem, std::vector<Index> drives);

  /// w of an own row.
  double residual_velocity(std::size_t own, std::span<const double> impulses,
                           std::span<const double> velocities) const;
  /// lo and hi of an own row, N s.
  double lower(std::size_t own) const;
  double upper(std::size_t own) const;
  /// The own row's place among the general blocks' rows.
  std::size_t general_row(std::size_t own) const { return problem_.blocks.row_begin[block_[own]]; }

  const ConstraintProblem& problem_;
  std::vector<Index> block_;      ///< own rows: general block ...
  std::vector<std::size_t> row_;  ///< ... and row among all rows

 private:
  std::vector<char> has_;  ///< per block
};

/// Collective. `joints` is prepared for the problem; both must outlive what is returned. `driven`
/// is kept from step to step: the joints with many drives, if there are such.
std::unique_ptr<JointDrives> make_joint_drives(const ConstraintProblem& problem,
                                               DelassusOperator& op, JointSystem& joints,
                                               std::optional<JointSystem>& driven);

}  // namespace catena
