// A mechanism that several ranks eliminate together.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "solvers/joints/across/tree_nodes.hpp"
#include "solvers/joints/assigned_rows.hpp"

namespace catena {

/// The assigned joints of one cut mechanism of a layout, eliminated in the order of its PartTree by
/// all ranks that have some of it.
class CutMechanism {
 public:
  /// Collective. The cut mechanism whose joints here, if there are any, begin with joint `first` of
  /// a layout, which is not kept. `exact`: Guests.
  CutMechanism(const Communicator& comm, const JointLayout& layout, const MechanismParts& parts,
               std::size_t first, bool exact);

  /// Joints of it here.
  std::size_t size() const { return rows_.size(); }
  /// Collective. Takes the numbers of a step.
  void factor(const JointTransport& transport, const ConstraintProblem& problem);
  /// Collective. Rows of the layout: the mechanism's become A^-1 times themselves.
  void solve(std::span<double> rows);

  const FactorReport& report() const { return elimination_->report(); }
  double contradiction() const { return elimination_->contradiction(); }

 private:
  AssignedRows rows_;
  std::unique_ptr<Guests> guests_;
  std::unique_ptr<JointElimination> elimination_;
};

}  // namespace catena
