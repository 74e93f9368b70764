// Watches an iterative solver: true errors at fixed iterations without blocking, the stop
// rule, the best iterate, and the report.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/comm/kept_reduction.hpp"
#include "catena/constraints/delassus.hpp"
#include "catena/math/sum.hpp"
#include "catena/metrics/errors.hpp"
#include "catena/solvers/solver.hpp"
#include "solvers/solve_watch.hpp"

namespace catena {

/// Energy errors of this rank's contacts as a method knows them, J: of the normal and of the other
/// components; at zero impulses also sum of s^2/N_ii (ErrorEvaluator::energy_round_off).
struct ErrorParts {
  explicit ErrorParts(bool exact) : normal(exact), friction(exact), scale(exact) {}
  Sum normal, friction, scale;
};

/// Evaluates iterates of one solve and decides, the same on every rank, when to stop.
///
///   start()                      errors at zero impulses (they give the threshold) and of
///                                the guess; true if the solve is over already
///   begin(iteration, ...)        posts the evaluation of the iterate in `impulses`
///   end()                        waits; true if the solve is over
///   estimate(iteration, ...)     records errors that the method knows by itself; says whether the
///                                iterate is worth an evaluation
///   finish(remark)               makes `impulses` the iterate returned and hands out the report
///
/// The solve is over when the iterate meets the stop rule and its impulses lie in their cones and
/// bounds to round-off, whatever the rule's metric says of them (converged), is not finite
/// (breakdown), or a limit is reached. The clock is reduced over the ranks together with
/// the errors, so that every rank takes the same decision. The iterate returned is the
/// one that was evaluated, so its errors are exactly those reported.
///
/// Only what is evaluated, with w recomputed from the impulses, ends a solve: estimates spare
/// evaluations in between.
///
/// An evaluation gives the errors that the stop rule asks for (ErrorSet), and that of the iterate
/// returned those of the rule's report_set. The memory held besides the evaluator's diagonal is the
/// best iterate, only with keep_best.
class StopMonitor {
 public:
  /// `op`, `impulses` (the guess) and `velocities`, the solve's own output, must outlive the
  /// monitor. Between begin and end, and from the last end to finish, `impulses` must not
  /// change. `started` is the wall clock at the solve's begin, s.
  StopMonitor(const ConstraintProblem& problem, DelassusOperator& op, const StopRule& rule,
              std::span<double> impulses, std::span<double> velocities, double started);
  /// Of no solve yet: set_up() comes first.
  StopMonitor() = default;
  /// Goes over to another solve, with what the constructor takes; the memory stays.
  void set_up(const ConstraintProblem& problem, DelassusOperator& op, const StopRule& rule,
              std::span<double> impulses, std::span<double> velocities, double started);
  /// Between solves: gives the memory of large lists back.
  void rest();

  /// Local, before start(). ErrorEvaluator::know_general_rows; w is that of zero impulses first.
  void know_general_rows(std::span<const double> diagonal, std::span<const double> w) {
    evaluator_.know_general_rows(diagonal, w);
  }
  /// Collective. With `judged` false the start is measured, but not judged: the method goes on
  /// anyway (a start that is not finite ends all the same).
  bool start(bool judged = true);
  /// After start(). `energy` of the energy error cannot be solved away, J: the iterate is to come
  /// within the tolerance of that. What is more than a part of the error at zero impulses is no
  /// small misfit, and counts.
  void allow(double energy);
  /// Collective. One evaluation may be under way. `running_error` is this rank's part of
  /// the method's own monitor; the sum over the ranks is recorded. `last`: no other will follow.
  /// `known`: `velocities` are V of `impulses` already, recomputed from them.
  void begin(int iteration, double running_error, bool last, bool known = false);
  bool pending() const { return evaluator_.pending(); }
  /// Whether the rule asks for no more between evaluations than an estimate gives.
  bool takes_estimates() const {
    return rule_.metric == Metric::energy && set_ == ErrorSet::energy;
  }
  struct Estimate {
    bool evaluate = false;  ///< the iterate seems to end the solve
    bool keep = false;      ///< it is to be kept by the method as that of least energy so far
  };
  /// Collective. In place of start(): takes this rank's errors of zero impulses and of the guess.
  /// Nothing where they are not finite: start() is then to say why.
  std::optional<Estimate> start_estimated(const ErrorParts& at_zero, const ErrorParts& guess);
  /// Collective. This rank's errors of the iterate.
  Estimate estimate(int iteration, const ErrorParts& errors, double running_error);
  /// Whether the iterate after `iteration` is to be evaluated: after 1, 2, 4, ... iterations until
  /// they are check_interval apart, and after the last.
  bool due(int iteration) const;
  /// Collective.
  bool end();
  /// The rule's metric at the last evaluation over what is to be reached.
  double excess() const { return value_of(errors_, rule_.metric) / report_.threshold; }
  /// Collective. `velocities` holds V of the impulses returned. `remark`, if any, is
  /// added to the report's reason. `kept` writes the iterate that the method was to keep last.
  SolveReport& finish(const std::string& remark,
                      const std::function<void(std::span<double>)>& kept = {});

  /// The solve's clock. Evaluations check it; loops and calls between them do so by themselves.
  SolveWatch& watch() { return *watch_; }
  /// Collective where a look is due. Whether the time limit is over, so that the iterate after
  /// `iteration` is to be evaluated as the last.
  bool out_of_time(int iteration) { return watch_->turn(iteration); }

  /// s, of this solve so far: to be set once the first iteration may begin.
  void set_setup_seconds(double seconds) { report_.setup_s = seconds; }

 private:
  struct Totals;
  Estimate weigh(int iteration, double wall, const Errors& errors, double running_error);
  void record(int iteration, double wall, const Errors& errors, double running_error);
  bool judge(int iteration, double wall, const Errors& errors);
  bool is_least(int iteration, const Errors& errors);
  void raise_to_floor(double value);
  bool gives_up() const;
  void return_best(const std::function<void(std::span<double>)>& kept);
  void show_progress(int iteration, const Errors& errors);
  bool keeps_to_cones();

  const ConstraintProblem* problem_ = nullptr;
  DelassusOperator* op_ = nullptr;
  StopRule rule_;
  std::span<double> impulses_, velocities_;
  double started_ = 0.0;
  ErrorEvaluator evaluator_;
  KeptReduction reduction_;
  std::optional<SolveWatch> watch_;
  ErrorSet set_ = ErrorSet::all;         ///< of every evaluation but the last
  ErrorSet report_set_ = ErrorSet::all;  ///< of the iterate returned
  /// Of the evaluation under way or last made; none: errors_ is an estimate.
  std::optional<ErrorSet> evaluated_set_;
  bool current_velocities_ = true;  ///< velocities_ are V of impulses_
  bool floored_ = false;            ///< the threshold is at the round-off of the energies, at least
  SolveReport report_;
  int iteration_ = 0;               ///< of the evaluation under way
  std::vector<double> best_;        ///< of least energy so far; kept only if the rule asks
  bool best_is_estimated_ = false;  ///< the method keeps it
  Errors errors_, best_errors_;
  int best_iteration_ = -1;
};

}  // namespace catena
