// Joints of a layout as eliminations take them.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "solvers/joints/elimination/elimination.hpp"
#include "solvers/joints/joint_transport.hpp"

namespace catena {

/// Assigned joints that follow each other in a layout, with the bodies they act on.
class AssignedRows {
 public:
  AssignedRows() = default;
  /// `joints` begin with joint `first` of the layout. Numbers are taken later.
  AssignedRows(std::span<const AssignedJoint> joints, std::size_t first);

  /// Joints of the layout.
  std::size_t size() const { return joints_; }
  /// Local. Takes the numbers of a step.
  void take_numbers(const JointTransport& transport, const ConstraintProblem& problem);
  /// Of the rows of the layout: these joints'.
  std::span<double> of(std::span<double> layout_rows) const {
    return layout_rows.subspan(first_row_, n_rows_);
  }

  MechanismRows rows;  ///< blocks of other ranks may be appended

 private:
  std::size_t first_ = 0, joints_ = 0, first_row_ = 0, n_rows_ = 0;
  std::vector<std::pair<std::size_t, int>> mass_from_;  ///< per body: joint, its body
};

}  // namespace catena
