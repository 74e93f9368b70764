// Watches an iterative solver: true errors at fixed iterations without blocking, the stop
// rule, the best iterate, and the report.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/constraints/delassus.hpp"
#include "catena/metrics/errors.hpp"
#include "catena/solvers/solver.hpp"

namespace catena {

/// Evaluates iterates of one solve and decides, the same on every rank, when to stop.
///
///   start(guess)                 errors at zero impulses (they give the threshold) and of
///                                the guess; true if the solve is over already
///   begin(iteration, impulses)   posts the evaluation of a copy of the iterate
///   end()                        waits; true if the solve is over
///   finish(impulses, ...)        writes the iterate returned and hands out the report
///
/// The solve is over when the iterate meets the stop rule (converged), is not finite
/// (breakdown), or a limit is reached. The clock is reduced over the ranks together with
/// the errors, so that every rank takes the same decision. The iterate returned is the
/// one that was evaluated, so its errors are exactly those reported.
class StopMonitor {
 public:
  /// `op` must outlive the monitor; `started` is the wall clock at the solve's begin, s.
  StopMonitor(const ConstraintProblem& problem, DelassusOperator& op, const StopRule& rule,
              double started);

  /// Collective.
  bool start(std::span<const double> guess);
  /// Collective. One evaluation may be under way. `running_error` is this rank's part of
  /// the method's own monitor; the sum over the ranks is recorded.
  void begin(int iteration, std::span<const double> impulses, double running_error);
  bool pending() const { return evaluator_.pending(); }
  /// Collective.
  bool end();
  /// Collective. `velocities` receives V of the impulses returned. `remark`, if any, is
  /// added to the report's reason.
  SolveReport finish(std::span<double> impulses, std::span<double> velocities,
                     const std::string& remark);

  /// s, of this solve so far: to be set once the first iteration may begin.
  void set_setup_seconds(double seconds) { report_.setup_s = seconds; }

 private:
  void record(int iteration, double wall, const Errors& errors, double running_error);
  bool judge(int iteration, double wall, const Errors& errors);
  void keep(int iteration, const Errors& errors);

  const ConstraintProblem& problem_;
  DelassusOperator& op_;
  StopRule rule_;
  double started_;
  ErrorEvaluator evaluator_;
  PendingReduction reduction_;
  SolveReport report_;
  int iteration_ = 0;              ///< of the evaluation under way
  std::vector<double> evaluated_;  ///< the iterate being evaluated, or last evaluated
  std::vector<double> best_;       ///< of least energy so far; kept only if the rule asks
  Errors errors_, best_errors_;
  int best_iteration_ = -1;
};

/// Collective. Energy error that round-off alone leaves, J: with s_i = sum |G_ij V_free_j|
/// + |q_i| the size of the terms that row i adds up,
///   1/2 sum_i (8 eps s_i)^2 / N_ii.
double energy_round_off(const ConstraintProblem& problem, const DelassusOperator& op);

}  // namespace catena
