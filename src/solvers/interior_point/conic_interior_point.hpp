// Interior point for the convex law: second-order cones, Nesterov and Todd's scaling.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "catena/solvers/interior_point.hpp"
#include "solvers/newton/newton_system.hpp"

namespace catena {

/// min 1/2 lambda^T N lambda + (r + shift)^T lambda over the blocks' cones and bounds: the problem
/// of law ccp with w shifted. (Law frictionless: its tangential rows are held fixed at 0.)
class ConicInteriorPoint {
 public:
  /// Collective. All must outlive it.
  ConicInteriorPoint(const ConstraintProblem& problem, DelassusOperator& op, NewtonSystem& system);
  ~ConicInteriorPoint();

  enum class Outcome {
    done,    ///< `stop` said so
    target,  ///< the target is reached
    stage_limit,
    stalled,    ///< no further progress: digits ran out
    unbounded,  ///< certificate found: lambda in K with N lambda = 0, r^T lambda < 0
    breakdown,
  };
  struct Report {
    Outcome outcome = Outcome::stage_limit;
    int stages = 0, linear_iterations = 0;
    double gap = 0.0;            ///< relative gap of the last iterate, of the shifted problem
    double infeasibility = 0.0;  ///< relative dual residual
    std::string remark;          ///< certificate or reason, a sentence; may be empty
  };
  struct Goal {
    double gap = 1e-12;  ///< relative; with an infeasibility of the same size
    int max_stages = 100;
    /// Called after every stage with the iterate in `impulses`, collectively; true ends the solve.
    /// A solve that ends otherwise goes back to its best iterate and asks once more about that.
    std::function<bool(int stage)> stop;
  };

  /// Collective. `shift` (n_rows, may be empty). `impulses`: the guess (used where `warm`), then
  /// the solution, inside the cones.
  Report solve(std::span<const double> shift, bool warm, const Goal& goal,
               std::span<double> impulses);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace catena
