#include "solvers/stop_monitor.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "catena/base/index.hpp"
#include "catena/base/release.hpp"
#include "catena/base/text.hpp"
#include "catena/base/timer.hpp"
#include "catena/comm/sums.hpp"

namespace catena {
namespace {

bool is_finite(const Errors& e, Metric metric) {
  return std::isfinite(e.energy) && std::isfinite(value_of(e, metric));
}

/// Errors of contacts' energies alone; the others are not known.
Errors energy_errors(double normal, double friction) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  Errors e;
  e.energy = normal + friction;
  e.energy_normal = normal;
  e.energy_friction = friction;
  e.natural_map = e.natural_map_rms = e.natural_map_angular = kNaN;
  e.siconos = e.fclib_merit = e.scaled = e.gap = e.fischer_burmeister = e.objective = kNaN;
  e.cone_violation = e.largest_impulse = kNaN;
  return e;
}

/// A text that is kept takes no memory.
void append(std::string& text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) text += part;
}

std::string with_unit(double value, Metric metric) {
  const std::string_view unit = metric_unit(metric);
  std::string text = short_text(value, 3);
  if (unit != "1") append(text, {" ", unit});
  return text;
}

}  // namespace

StopMonitor::StopMonitor(const ConstraintProblem& problem, DelassusOperator& op,
                         const StopRule& rule, std::span<double> impulses,
                         std::span<double> velocities, double started) {
  set_up(problem, op, rule, impulses, velocities, started);
}

void StopMonitor::set_up(const ConstraintProblem& problem, DelassusOperator& op,
                         const StopRule& rule, std::span<double> impulses,
                         std::span<double> velocities, double started) {
  problem_ = &problem;
  op_ = &op;
  rule_ = rule;
  impulses_ = impulses;
  velocities_ = velocities;
  started_ = started;
  evaluator_.start(problem, op);
  reduction_.start(problem.comm);
  watch_.emplace(problem.comm, rule.watch, rule.time_limit, started);
  set_ = std::max(rule.history_set, set_of(rule.metric));
  report_set_ = std::max(rule.report_set, set_);
  evaluated_set_ = set_;
  current_velocities_ = true;
  floored_ = false;
  clear(report_);
  report_.metric = rule.metric;
  iteration_ = 0;
  best_.clear();
  best_is_estimated_ = false;
  best_errors_ = errors_ = {};
  best_iteration_ = -1;
}

void StopMonitor::rest() {
  evaluator_.rest();
  clear_large(best_);
}

bool StopMonitor::start(bool judged) {
  report_.initial = evaluator_.evaluate_zero(set_);
  // std::max drops a NaN in its second argument; judge() checks the errors themselves.
  report_.threshold = std::max(rule_.relative_tolerance * value_of(report_.initial, rule_.metric),
                               rule_.absolute_tolerance);
  const bool zero =
      std::all_of(impulses_.begin(), impulses_.end(), [](double x) { return x == 0.0; });
  Errors errors = report_.initial;
  const std::array<double, 2> seen = watch_->local();
  std::array<double, 3> largest = {zero ? 0.0 : 1.0, seen[0], seen[1]};
  problem_->comm.max(largest);
  watch_->note(0, largest[1], largest[2]);
  if (largest[0] > 0.0)
    errors = evaluator_.evaluate(impulses_, velocities_, set_);
  else
    current_velocities_ = false;
  record(0, largest[1], errors, 0.0);
  if (!is_finite(report_.initial, rule_.metric)) {
    report_.status = SolveStatus::breakdown;
    report_.reason = "the problem's errors at zero impulses are not finite";
    return true;
  }
  if (judged && judge(0, largest[1], errors)) return true;
  watch_->obey();
  return false;
}

void StopMonitor::allow(double energy) {
  constexpr double kSmall = 1e-3;
  if (rule_.metric == Metric::energy && energy <= kSmall * report_.initial.energy)
    report_.threshold += energy;
}

void StopMonitor::begin(int iteration, double running_error, bool last, bool known) {
  iteration_ = iteration;
  const ErrorSet set = last ? report_set_ : set_;
  evaluated_set_ = set;
  current_velocities_ = true;
  if (known)
    evaluator_.begin_at(impulses_, velocities_, set);
  else
    evaluator_.begin(impulses_, velocities_, set);
  const std::array<double, 1> sums = {running_error};
  reduction_->begin(sums, watch_->local());
}

/// Collective. Totals over all ranks of parts, and of this rank's view of the clock.
struct StopMonitor::Totals {
  Totals(StopMonitor& monitor, std::initializer_list<const Sum*> parts, double running_error)
      : sums(monitor.problem_->ordered), seen(monitor.watch_->local()) {
    for (const Sum* part : parts) sums.add(*part);
    Sum running(monitor.problem_->ordered);
    running += running_error;
    sums.add(running);
    monitor.reduction_->begin(sums.words(), seen);
    monitor.reduction_->end(sums.words(), seen);
  }
  SumWords sums;
  std::array<double, 2> seen;
};

std::optional<StopMonitor::Estimate> StopMonitor::start_estimated(const ErrorParts& at_zero,
                                                                  const ErrorParts& guess) {
  const Totals totals(
      *this, {&at_zero.normal, &at_zero.friction, &at_zero.scale, &guess.normal, &guess.friction},
      0.0);
  const SumWords& sums = totals.sums;
  if (!std::isfinite(sums[0] + sums[1] + sums[2])) return std::nullopt;
  report_.initial = energy_errors(sums[0], sums[1]);
  report_.threshold = std::max({rule_.relative_tolerance * report_.initial.energy,
                                rule_.absolute_tolerance, energy_round_off(sums[2])});
  floored_ = true;
  const Errors errors = energy_errors(sums[3], sums[4]);
  watch_->note(0, totals.seen[0], totals.seen[1]);
  return weigh(0, totals.seen[0], errors, 0.0);
}

StopMonitor::Estimate StopMonitor::estimate(int iteration, const ErrorParts& errors,
                                            double running_error) {
  const Totals totals(*this, {&errors.normal, &errors.friction}, running_error);
  watch_->note(iteration, totals.seen[0], totals.seen[1]);
  return weigh(iteration, totals.seen[0], energy_errors(totals.sums[0], totals.sums[1]),
               totals.sums[2]);
}

/// What an estimate says of its iterate.
StopMonitor::Estimate StopMonitor::weigh(int iteration, double wall, const Errors& errors,
                                         double running_error) {
  errors_ = errors;
  evaluated_set_.reset();
  current_velocities_ = false;
  record(iteration, wall, errors, running_error);
  if (!std::isfinite(errors.energy)) return {.evaluate = true};
  raise_to_floor(errors.energy);
  const bool least = is_least(iteration, errors);
  best_is_estimated_ = best_is_estimated_ || least;
  const bool ends = errors.energy <= report_.threshold || watch_->late() || gives_up();
  if (ends) return {.evaluate = true, .keep = least};
  watch_->obey();
  show_progress(iteration, errors);
  return {.evaluate = false, .keep = least};
}

bool StopMonitor::due(int iteration) const {
  return iteration >= rule_.max_iterations || iteration % rule_.check_interval == 0 ||
         (iteration < rule_.check_interval &&
          std::has_single_bit(static_cast<unsigned>(iteration)));
}

bool StopMonitor::end() {
  const Errors errors = evaluator_.end();
  std::array<double, 1> running;
  std::array<double, 2> seen;
  reduction_->end(running, seen);
  record(iteration_, seen[0], errors, running[0]);
  watch_->note(iteration_, seen[0], seen[1]);
  // an iterate that ends the solve would have ended it unasked
  if (judge(iteration_, seen[0], errors)) return true;
  watch_->obey();
  show_progress(iteration_, errors);
  return false;
}

void StopMonitor::show_progress(int iteration, const Errors& errors) {
  if (!watch_->shows_progress()) return;
  watch_->show("iteration " + std::to_string(iteration) + ": " +
               std::string(kMetricNames[ordinal(rule_.metric)]) + " " +
               with_unit(value_of(errors, rule_.metric), rule_.metric) + ", wanted " +
               with_unit(report_.threshold, rule_.metric));
}

void StopMonitor::record(int iteration, double wall, const Errors& errors, double running_error) {
  // an evaluation takes the place of the estimate that asked for it
  if (!report_.history.empty() && report_.history.back().iteration == iteration)
    report_.history.pop_back();
  report_.history.push_back({iteration, wall, errors, running_error});
  report_.iterations = iteration;
}

/// Whether the iterate is that of least energy so far, and is to be kept; it is noted as such.
bool StopMonitor::is_least(int iteration, const Errors& errors) {
  if (!rule_.keep_best || (best_iteration_ >= 0 && errors.energy >= best_errors_.energy))
    return false;
  best_errors_ = errors;
  best_iteration_ = iteration;
  // the last iterate allowed is returned as it stands
  return iteration < rule_.max_iterations;
}

/// The floor costs a walk over all rows: made once an iterate may need it.
void StopMonitor::raise_to_floor(double value) {
  if (floored_ || rule_.metric != Metric::energy || !(value > report_.threshold)) return;
  report_.threshold = std::max(report_.threshold, evaluator_.energy_round_off());
  floored_ = true;
}

bool StopMonitor::gives_up() const {
  return rule_.give_up && rule_.give_up(report_.history, report_.threshold);
}

/// Collective, once per iterate: evaluated only where an iterate would do, or is returned.
bool StopMonitor::keeps_to_cones() {
  if (std::isnan(errors_.cone_violation)) {
    const ConeViolation cones = evaluator_.cone_violation(impulses_);
    errors_.cone_violation = cones.distance;
    errors_.largest_impulse = cones.largest;
  }
  return cone_violation_of(errors_).is_round_off();
}

bool StopMonitor::judge(int iteration, double wall, const Errors& errors) {
  errors_ = errors;
  const double value = value_of(errors, rule_.metric);
  const std::string_view name = kMetricNames[ordinal(rule_.metric)];
  const auto end = [&](SolveStatus status, std::initializer_list<std::string_view> why) {
    report_.status = status;
    report_.reason.clear();
    append(report_.reason, why);
    return true;
  };
  const std::string iterations = std::to_string(iteration);
  if (!is_finite(errors, rule_.metric))
    return end(SolveStatus::breakdown, {name, " is not finite after ", iterations, " iterations"});
  if (is_least(iteration, errors)) {
    make_room(best_, impulses_.size());
    best_.assign(impulses_.begin(), impulses_.end());
    best_is_estimated_ = false;
  }
  raise_to_floor(value);
  const bool met = value <= report_.threshold;
  const std::string reached = with_unit(value, rule_.metric);
  const std::string wanted = with_unit(report_.threshold, rule_.metric);
  if (met && keeps_to_cones())
    return end(SolveStatus::converged,
               {name, " ", reached, " is within ", wanted, " after ", iterations, " iterations"});
  const bool late = watch_->late() || (!std::isnan(rule_.time_limit) && wall >= rule_.time_limit);
  const bool last = iteration >= rule_.max_iterations;
  if (!late && !last && !gives_up()) return false;
  end(late ? SolveStatus::time_limit : SolveStatus::iteration_limit,
      {late   ? "time limit reached"
       : last ? "iteration limit reached"
              : "given up",
       " after ", iterations, " iterations: ", name, " ", reached,
       met ? " is within " : " is above ", wanted});
  if (met)
    append(report_.reason,
           {", but impulses leave their cones by ", short_text(errors_.cone_violation, 3), " N s"});
  return true;
}

/// The iterate of least energy is returned where a limit ended the solve at another one.
void StopMonitor::return_best(const std::function<void(std::span<double>)>& kept) {
  const bool limited =
      report_.status == SolveStatus::iteration_limit || report_.status == SolveStatus::time_limit;
  if (!limited || !rule_.keep_best || !(best_errors_.energy < errors_.energy)) return;
  if (best_is_estimated_)
    kept(impulses_);
  else
    std::copy(best_.begin(), best_.end(), impulses_.begin());
  errors_ = best_errors_;
  evaluated_set_ = best_is_estimated_ ? std::nullopt : std::optional(set_);
  current_velocities_ = false;
  append(report_.reason, {"; returned is iterate ", std::to_string(best_iteration_),
                          " of least energy error, ", kMetricNames[ordinal(rule_.metric)], " ",
                          with_unit(value_of(errors_, rule_.metric), rule_.metric)});
}

SolveReport& StopMonitor::finish(const std::string& remark,
                                 const std::function<void(std::span<double>)>& kept) {
  return_best(kept);
  if (!remark.empty()) append(report_.reason, {"; ", remark});
  if (!current_velocities_) op_->velocities(impulses_, velocities_);
  if (evaluated_set_ != report_set_) {
    const ConeViolation seen = cone_violation_of(errors_);
    errors_ = evaluator_.evaluate_at(impulses_, velocities_, report_set_);
    if (std::isnan(errors_.cone_violation)) {
      errors_.cone_violation = seen.distance;
      errors_.largest_impulse = seen.largest;
    }
  }
  keeps_to_cones();
  report_.errors = errors_;
  std::array<double, 2> seconds = {report_.setup_s, wall_seconds() - started_};
  problem_->comm.max(seconds);
  report_.setup_s = seconds[0];
  report_.wall_s = seconds[1];
  return report_;
}

}  // namespace catena
