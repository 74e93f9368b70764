// Mechanisms that are no chains, eliminated together on one rank.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "catena/solvers/joint_solver_settings.hpp"
#include "solvers/joints/elimination/elimination.hpp"
#include "solvers/joints/joint_transport.hpp"

namespace catena {

/// The assigned joints of one group of a layout, with the elimination that suits them.
class JointGroup {
 public:
  /// Local. The group whose first joint is `first` of a layout, which is not kept. `rigid`: every
  /// joint assigned to this rank has at most six rows and acts on rigid bodies.
  JointGroup(const JointLayout& layout, std::size_t first, bool rigid, JointMethod method);

  /// Joints of it.
  std::size_t size() const { return rows_.blocks.size(); }
  /// Local. Takes the numbers of a step; `misfit`: MechanismRows::misfit.
  void factor(const JointTransport& transport, double misfit);
  /// Local. Rows of the layout: the group's become A^-1 times themselves.
  void solve(std::span<double> rows);

  const FactorReport& report() const { return elimination_->report(); }
  double contradiction() const { return elimination_->contradiction(); }
  /// Joints that a sparse direct factor eliminates.
  std::int64_t sparse_joints() const { return sparse_ ? rows_.blocks.size() : 0; }

 private:
  void lay_out(std::span<const AssignedJoint> joints);
  void choose_elimination(std::span<const AssignedJoint> joints, bool rigid, JointMethod method);

  std::size_t first_, first_row_ = 0;  ///< among the layout's
  MechanismRows rows_;
  std::vector<std::pair<std::size_t, int>> mass_from_;  ///< per body: joint, its body
  std::unique_ptr<JointElimination> elimination_;
  bool sparse_ = false;
};

}  // namespace catena
