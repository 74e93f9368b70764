// The iterates of a first-order method, and steps from them.
#pragma once

#include <memory>
#include <span>

#include "catena/base/error.hpp"
#include "catena/constraints/delassus.hpp"
#include "catena/solvers/apgd.hpp"
#include "solvers/batches/simd/step_batches.hpp"
#include "solvers/joints/joint_system.hpp"
#include "solvers/stop_monitor.hpp"

namespace catena::first_order {

/// x_k and x_k-1 of a problem, shifted impulses lambda + c n in K (a cone or bounds), and a trial
/// x_k+1, each with what it does: V, or w of an assembled operator. Both are affine in x, so that
/// the point y of momentum needs no product. At first both are the impulses given at the start,
/// made admissible.
class Iterates {
 public:
  virtual ~Iterates() = default;
  /// Neighbours. Makes x_k+1 with one product; this rank's sums.
  virtual StepSums step(const StepWeights& weights) = 0;
  /// Local. x_k+1 becomes x_k.
  virtual void accept() = 0;
  /// Neighbours. After a trial that was not accepted: x_k is what was done last again.
  virtual void reject() {}
  /// Local. Impulses of x_k.
  virtual void store(std::span<double> impulses) = 0;
  /// Local. V of x_k, ghosts included; false: not known, as of an assembled operator.
  virtual bool store_velocities(std::span<double> /*velocities*/) const { return false; }

  /// Whether errors() is known; the same on all ranks.
  virtual bool knows_errors() const { return false; }
  /// Local. Energy errors of x_k, for less than a step.
  virtual ErrorParts errors() { return ErrorParts(false); }
  /// Local. Those of zero impulses; null where they are not known, on all ranks alike.
  virtual const ErrorParts* errors_at_zero() const { return nullptr; }
  /// Local. Keeps the iterate whose errors were asked for last; writes the one that was kept last.
  virtual void keep() { CATENA_CHECK(false, "only iterates that know their errors are kept"); }
  virtual void store_kept(std::span<double> /*impulses*/) {}
};

/// Iterates with the bodies' velocities, kept over problems: what they pack is written into the
/// memory of the last one. What another method has packed is not packed again (make_apgd).
class BodyIterates : public Iterates {
 public:
  /// Collective. Takes a problem; comes before anything else. `joints`, unless null, are prepared
  /// for the problem and solved in each product, so that N is that of the problem reduced to the
  /// other rows. `op` gives velocities at the start, and those of ordered problems. All outlive the
  /// steps. `splitting`: of scale_rows.
  virtual void start(const ConstraintProblem& problem, DelassusOperator& op, JointSystem* joints,
                     double splitting, std::span<const double> impulses) = 0;
  /// Local. Gives the memory of large lists back; start() comes next.
  virtual void rest() = 0;
};
std::unique_ptr<BodyIterates> make_body_iterates(PackedBy packed = {});

/// Neighbours. Of an assembled operator.
std::unique_ptr<Iterates> make_assembled_iterates(const ConstraintProblem& problem,
                                                  double splitting,
                                                  std::span<const double> impulses);

}  // namespace catena::first_order
