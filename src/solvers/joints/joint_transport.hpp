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
  /// Collective. `layout` must outlive it.
  JointTransport(const Communicator& comm, const JointLayout& layout);

  /// Collective. Sigma, then per body G and M^-1, of the joints that others eliminate.
  void send_numbers(const ConstraintProblem& problem, std::span<const HeldJoint> held);
  /// Local. Those of a step, per assigned joint: where the problem has them, or as they came.
  std::span<const JointNumbers> numbers() const { return numbers_; }

  /// Neighbours. Rows of joints held elsewhere, from their holders into their places here.
  void bring(std::span<double> rows);
  /// Neighbours. The same rows back to their holders.
  void take_back(std::span<double> rows);

 private:
  void find_numbers(const ConstraintProblem& problem, std::span<const HeldJoint> held);

  const JointLayout& layout_;
  int rank_;
  std::vector<double> payload_;             ///< numbers of received joints
  std::vector<std::size_t> payload_begin_;  ///< per received joint
  std::vector<JointNumbers> numbers_;
  std::vector<double> received_;                   ///< width numbers per received joint
  std::optional<HaloExchange> bring_, take_back_;  ///< on several ranks
};

}  // namespace catena
