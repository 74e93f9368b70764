// Joints' numbers and right-hand sides on their way between who holds and who eliminates them.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "catena/comm/halo_exchange.hpp"
#include "solvers/joints/joint_layout.hpp"

namespace catena {

/// Where a joint's numbers of a step are.
struct JointNumbers {
  const double* compliance = nullptr;                             ///< Sigma, per row
  std::array<const double*, 4> jacobian = {}, inverse_mass = {};  ///< of each dynamic body
};

/// Carries what a layout says from the ranks that hold joints to those that eliminate them, and
/// reactions back. Knows nothing of factors.
class JointTransport {
 public:
  /// Collective. `layout` must outlive it; of its `assigned` it keeps what it needs.
  JointTransport(const Communicator& comm, const JointLayout& layout);

  /// Collective. Sigma, then per body G and M^-1, of the joints that others eliminate.
  void send_numbers(const ConstraintProblem& problem, std::span<const HeldJoint> held);
  /// Local. Those of a step, of assigned joint i: where the problem that was sent from has them, or
  /// as they came. Problem and `held` must still be as they were.
  JointNumbers numbers(std::size_t i) const {
    const Index from = source_[i];
    return from >= 0 ? own_numbers(held_[from]) : received_numbers(-1 - from);
  }

  /// Neighbours. Rows of joints held elsewhere, from their holders into their places here.
  void bring(std::span<double> rows);
  /// Neighbours. The same rows back to their holders.
  void take_back(std::span<double> rows);

 private:
  JointNumbers own_numbers(const HeldJoint& joint) const {
    const GeneralBlocks& blocks = problem_->blocks;
    const ProblemBodies& bodies = problem_->bodies;
    JointNumbers numbers;
    numbers.compliance = blocks.compliance.data() + blocks.row_begin[joint.block];
    for (Index j = 0; j < joint.bodies; ++j) {
      const Index reference = joint.reference(*problem_, j);
      numbers.jacobian[j] = blocks.jacobian.data() + blocks.jacobian_begin[reference];
      numbers.inverse_mass[j] =
          bodies.inverse_mass.data() + bodies.mass_begin[blocks.body[reference]];
    }
    return numbers;
  }
  JointNumbers received_numbers(std::size_t r) const;

  const JointLayout& layout_;
  const ConstraintProblem* problem_ = nullptr;  ///< of the step
  std::span<const HeldJoint> held_;
  /// Per assigned joint: which of the held ones it is; -1 - r: the r-th received one.
  std::vector<Index> source_;
  std::vector<AssignedJoint> received_joints_;
  std::vector<double> payload_;                    ///< numbers of received joints
  std::vector<std::size_t> payload_begin_;         ///< per received joint
  std::vector<double> received_;                   ///< width numbers per received joint
  std::optional<HaloExchange> bring_, take_back_;  ///< on several ranks
};

}  // namespace catena
