// Mechanisms that are no chains, eliminated together on one rank.
#pragma once

#include <memory>
#include <span>

#include "catena/solvers/joint_solver_settings.hpp"
#include "solvers/joints/assigned_rows.hpp"
#include "solvers/joints/elimination/guests.hpp"

namespace catena {

/// The assigned joints of one group of a layout, with the elimination that suits them.
class JointGroup {
 public:
  /// Local. The group whose first joint is `first` of a layout, which is not kept. `rigid`: every
  /// joint assigned to this rank has at most six rows and acts on rigid bodies.
  JointGroup(const JointLayout& layout, std::size_t first, bool rigid, JointMethod method);

  /// Joints of it.
  std::size_t size() const { return rows_.size(); }
  /// Local. Takes the numbers of a step.
  void factor(const JointTransport& transport, const ConstraintProblem& problem);
  /// Local. Rows of the layout: the group's become A^-1 times themselves.
  void solve(std::span<double> rows);

  const FactorReport& report() const { return elimination_->report(); }
  double contradiction() const { return elimination_->contradiction(); }
  /// Joints that a sparse direct factor eliminates.
  std::int64_t sparse_joints() const { return sparse_ ? rows_.rows.blocks.size() : 0; }

 private:
  void eliminate_with_branches();
  void choose_elimination(std::span<const AssignedJoint> joints, bool rigid, JointMethod method);

  AssignedRows rows_;
  std::unique_ptr<Guests> alone_;  ///< where branches are set apart: without other ranks
  std::unique_ptr<JointElimination> elimination_;
  bool sparse_ = false;
};

}  // namespace catena
