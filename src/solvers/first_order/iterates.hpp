// The iterates of a first-order method, and steps from them.
#pragma once

#include <memory>
#include <span>

#include "catena/constraints/delassus.hpp"
#include "solvers/first_order/steps/step_groups.hpp"
#include "solvers/joints/joint_system.hpp"

namespace catena::first_order {

/// x_k and x_k-1 of a problem in scaled rows, x = S (lambda + c n) in K' (a cone or bounds again),
/// and a trial x_k+1, each with what it does: V, or w of an assembled operator. Both are affine in
/// x, so that the point y of momentum needs no product.
class Iterates {
 public:
  virtual ~Iterates() = default;
  /// Neighbours. x_k and x_k-1 become these impulses, made admissible.
  virtual void start(std::span<const double> impulses) = 0;
  /// Neighbours. Makes x_k+1 with one product; this rank's sums.
  virtual StepSums step(const StepWeights& weights) = 0;
  /// Local. x_k+1 becomes x_k.
  virtual void accept() = 0;
  /// Neighbours. After a trial that was not accepted: x_k is what was done last again.
  virtual void reject() {}
  /// Local. Impulses of x_k.
  virtual void store(std::span<double> impulses) const = 0;
  /// V of x_k, ghosts included; empty for an assembled operator.
  virtual std::span<const double> velocities() const { return {}; }
};

/// Neighbours. Through velocities; `joints`, unless null, are prepared for the problem and solved
/// in each product, so that N is that of the problem reduced to the other rows. `op` gives
/// velocities at the start, and those of ordered problems. All outlive the iterates. `splitting`:
/// of scale_rows.
std::unique_ptr<Iterates> make_body_iterates(const ConstraintProblem& problem, DelassusOperator& op,
                                             JointSystem* joints, double splitting);
/// Neighbours.
std::unique_ptr<Iterates> make_assembled_iterates(const ConstraintProblem& problem,
                                                  double splitting);

}  // namespace catena::first_order
