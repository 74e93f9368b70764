#include "stop_monitor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "catena/base/timer.hpp"

namespace catena {
namespace {

bool is_finite(const Errors& e, Metric metric) {
  return std::isfinite(e.energy) && std::isfinite(e.natural_map) &&
         std::isfinite(value_of(e, metric));
}

std::string number(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

std::string with_unit(double value, Metric metric) {
  const std::string_view unit = metric_unit(metric);
  return number(value) + (unit == "1" ? std::string() : " " + std::string(unit));
}

/// Adds |G_ij V_free_j| of the block's rows to `scale`.
void add_row_scales(const ConstraintProblem& problem, Index block, std::span<double> scale) {
  const ProblemBodies& bodies = problem.bodies;
  const auto add = [&](Index b, std::span<const double> jacobian) {
    const auto begin = static_cast<std::size_t>(bodies.dof_begin[static_cast<std::size_t>(b)]);
    const auto end = static_cast<std::size_t>(bodies.dof_begin[static_cast<std::size_t>(b) + 1]);
    for (std::size_t i = 0; i < scale.size(); ++i)
      for (std::size_t j = begin; j < end; ++j)
        scale[i] += std::abs(jacobian[i * (end - begin) + j - begin] * bodies.free_velocity[j]);
  };
  const auto n_contacts = static_cast<Index>(problem.contacts.size());
  if (block < n_contacts) {
    const RigidContact& c = problem.contacts[static_cast<std::size_t>(block)];
    std::array<double, 18> g_a, g_b;
    contact_jacobian(c, g_a, g_b);
    add(c.body_a, g_a);
    add(c.body_b, g_b);
    scale[0] += std::abs(c.bias);
    return;
  }
  const GeneralBlocks& general = problem.blocks;
  const auto k = static_cast<std::size_t>(block - n_contacts);
  for (Index j = general.body_begin[k]; j < general.body_begin[k + 1]; ++j) {
    const auto at = static_cast<std::size_t>(j);
    add(general.body[at],
        std::span(general.jacobian).subspan(static_cast<std::size_t>(general.jacobian_begin[at])));
  }
  for (std::size_t i = 0; i < scale.size(); ++i)
    scale[i] += std::abs(general.q[static_cast<std::size_t>(general.row_begin[k]) + i]);
}

}  // namespace

double energy_round_off(const ConstraintProblem& problem, const DelassusOperator& op) {
  constexpr double kRoundOff = 8.0 * std::numeric_limits<double>::epsilon();
  double sum = 0.0;
  std::vector<double> scale, diagonal;
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    const auto rows = static_cast<std::size_t>(view.rows);
    scale.assign(rows, 0.0);
    diagonal.resize(rows * rows);
    op.diagonal_block(k, diagonal);
    if (problem.assembled) {
      for (std::size_t i = 0; i < rows; ++i)
        scale[i] = std::abs(problem.assembled->r[static_cast<std::size_t>(view.row) + i]);
    } else {
      add_row_scales(problem, k, scale);
    }
    for (std::size_t i = 0; i < rows; ++i) {
      const double n_ii = diagonal[i * rows + i];
      if (n_ii > 0.0) sum += 0.5 * (kRoundOff * scale[i]) * (kRoundOff * scale[i]) / n_ii;
    }
  }
  return problem.comm.sum(sum);
}

StopMonitor::StopMonitor(const ConstraintProblem& problem, DelassusOperator& op,
                         const StopRule& rule, double started)
    : problem_(problem),
      op_(op),
      rule_(rule),
      started_(started),
      evaluator_(problem, op),
      reduction_(problem.comm),
      evaluated_(static_cast<std::size_t>(problem.n_rows()), 0.0) {
  report_.metric = rule.metric;
}

bool StopMonitor::start(std::span<const double> guess) {
  report_.initial = evaluator_.evaluate(evaluated_);
  const double floor = rule_.metric == Metric::energy ? energy_round_off(problem_, op_) : 0.0;
  // std::max drops a NaN in its second argument; judge() looks at the errors themselves.
  report_.threshold = std::max({rule_.relative_tolerance * value_of(report_.initial, rule_.metric),
                                rule_.absolute_tolerance, floor});
  const bool zero = std::all_of(guess.begin(), guess.end(), [](double x) { return x == 0.0; });
  Errors errors = report_.initial;
  if (problem_.comm.sum(zero ? 0.0 : 1.0) > 0.0) {
    std::copy(guess.begin(), guess.end(), evaluated_.begin());
    errors = evaluator_.evaluate(evaluated_);
  }
  const double wall = problem_.comm.max(wall_seconds() - started_);
  record(0, wall, errors, 0.0);
  if (!is_finite(report_.initial, rule_.metric)) {
    report_.status = SolveStatus::breakdown;
    report_.reason = "the problem's errors at zero impulses are not finite";
    return true;
  }
  return judge(0, wall, errors);
}

void StopMonitor::begin(int iteration, std::span<const double> impulses, double running_error) {
  iteration_ = iteration;
  std::copy(impulses.begin(), impulses.end(), evaluated_.begin());
  evaluator_.begin(evaluated_);
  const std::array<double, 1> sums = {running_error};
  const std::array<double, 1> maxima = {wall_seconds() - started_};
  reduction_.begin(sums, maxima);
}

bool StopMonitor::end() {
  const Errors errors = evaluator_.end();
  std::array<double, 1> running, wall;
  reduction_.end(running, wall);
  record(iteration_, wall[0], errors, running[0]);
  return judge(iteration_, wall[0], errors);
}

void StopMonitor::record(int iteration, double wall, const Errors& errors, double running_error) {
  report_.history.push_back({iteration, wall, errors, running_error});
  report_.iterations = iteration;
}

void StopMonitor::keep(int iteration, const Errors& errors) {
  if (!rule_.keep_best || (best_iteration_ >= 0 && errors.energy >= best_errors_.energy)) return;
  best_ = evaluated_;
  best_errors_ = errors;
  best_iteration_ = iteration;
}

bool StopMonitor::judge(int iteration, double wall, const Errors& errors) {
  errors_ = errors;
  const double value = value_of(errors, rule_.metric);
  const std::string name(kMetricNames[static_cast<std::size_t>(rule_.metric)]);
  const std::string after = " after " + std::to_string(iteration) + " iterations";
  if (!is_finite(errors, rule_.metric)) {
    report_.status = SolveStatus::breakdown;
    report_.reason = name + " is not finite" + after;
    return true;
  }
  keep(iteration, errors);
  if (value <= report_.threshold) {
    report_.status = SolveStatus::converged;
    report_.reason = name + " " + with_unit(value, rule_.metric) + " is within " +
                     with_unit(report_.threshold, rule_.metric) + after;
    return true;
  }
  const bool late = !std::isnan(rule_.time_limit) && wall >= rule_.time_limit;
  if (!late && iteration < rule_.max_iterations) return false;
  report_.status = late ? SolveStatus::time_limit : SolveStatus::iteration_limit;
  report_.reason = std::string(late ? "time limit" : "iteration limit") + " reached" + after +
                   ": " + name + " " + with_unit(value, rule_.metric) + " is above " +
                   with_unit(report_.threshold, rule_.metric);
  return true;
}

SolveReport StopMonitor::finish(std::span<double> impulses, std::span<double> velocities,
                                const std::string& remark) {
  const bool limited =
      report_.status == SolveStatus::iteration_limit || report_.status == SolveStatus::time_limit;
  if (limited && rule_.keep_best && best_errors_.energy < errors_.energy) {
    evaluated_ = best_;
    errors_ = best_errors_;
    report_.reason += "; returned is iterate " + std::to_string(best_iteration_) +
                      " of least energy error, " +
                      std::string(kMetricNames[static_cast<std::size_t>(rule_.metric)]) + " " +
                      with_unit(value_of(errors_, rule_.metric), rule_.metric);
  }
  if (!remark.empty()) report_.reason += "; " + remark;
  std::copy(evaluated_.begin(), evaluated_.end(), impulses.begin());
  op_.velocities(impulses, velocities);
  report_.errors = errors_;
  std::array<double, 2> seconds = {report_.setup_s, wall_seconds() - started_};
  problem_.comm.max(seconds);
  report_.setup_s = seconds[0];
  report_.wall_s = seconds[1];
  return report_;
}

}  // namespace catena
