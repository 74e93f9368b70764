// Limits, bounded motors and friction of joints, solved with the joints that they drive.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "catena/constraints/delassus.hpp"
#include "solvers/joints/drives/drive_rows.hpp"
#include "solvers/joints/drives/driven_joints.hpp"
#include "solvers/joints/drives/joint_limits_and_motors.hpp"
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
/// While few are active, by their dense matrix (JointLimitsAndMotors); from the solve on in which
/// more are, with the joints in one factor (DrivenJoints).
class JointDrives : public DriveRows {
 public:
  /// Collective. `joints` is prepared for the problem; all must outlive this object. `driven` is
  /// kept from step to step: the joints with many drives, if there are such. `mixed`: impulses are
  /// mixed between solves.
  JointDrives(const ConstraintProblem& problem, DelassusOperator& op, JointSystem& joints,
              std::optional<JointSystem>& driven, bool mixed);

  /// Whether block k of the problem is solved here.
  bool has(Index block) const { return !has_.empty() && has_[block] != 0; }
  /// Whether solve() meets the joints by itself.
  bool meets_joints() const { return many_.has_value(); }
  /// Collective. `velocities`: those of bodies that joints hold, ghosts included, with the joints
  /// met unless meets_joints(); then both they and `impulses` (of all rows) are changed, and the
  /// joints are met again.
  void solve(std::span<double> impulses, std::span<double> velocities);
  /// Local. Copies the rows' impulses.
  void store(std::span<const double> from, std::span<double> to) const;

 private:
  DelassusOperator& op_;
  JointSystem& joints_;
  std::optional<JointSystem>& driven_;
  bool mixed_ = false;
  std::vector<char> has_;  ///< per block
  JointLimitsAndMotors few_;
  std::optional<DrivenJoints> many_;
};

}  // namespace catena
