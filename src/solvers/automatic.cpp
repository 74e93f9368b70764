#include "catena/solvers/automatic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/base/timer.hpp"
#include "proximal_newton.hpp"
#include "work_estimate.hpp"

namespace catena {
namespace {

/// A method takes over once Gauss-Seidel has spent this part of what that method may take, and
/// is expected to need more than that.
constexpr double kHedge = 0.25;
/// Sweeps that Gauss-Seidel gets at least: the start that the others want.
constexpr int kLeastSweeps = 24;
/// Newton steps that a solve is taken to need, and that it may take at most.
constexpr double kNewtonSteps = 15.0;
constexpr int kMostNewtonSteps = 300;
/// Unknowns up to which a method that needs a factor is tried.
constexpr std::int64_t kMostUnknowns = 60000;
/// A method that gained less than this factor in its last `kStallChecks` evaluations is stuck.
constexpr double kStallFactor = 0.9;
constexpr std::size_t kStallChecks = 12;

/// Iterations that bring the metric from its last value to `threshold` at the rate of the last half
/// of the history; infinite where it does not fall.
double iterations_left(std::span<const HistoryEntry> history, Metric metric, double threshold) {
  const HistoryEntry& last = history.back();
  const auto half = std::find_if(history.begin(), history.end() - 1, [&](const HistoryEntry& e) {
    return 2 * e.iteration >= last.iteration;
  });
  const double before = value_of(half->errors, metric), now = value_of(last.errors, metric);
  if (!(now < before) || !(threshold > 0.0)) return HUGE_VAL;
  return (last.iteration - half->iteration) * std::log(now / threshold) / std::log(before / now);
}

/// Whether the metric's best value hardly fell over the last evaluations.
bool stuck(std::span<const HistoryEntry> history, Metric metric) {
  if (history.size() <= kStallChecks) return false;
  const auto best = [&](std::span<const HistoryEntry> part) {
    double least = HUGE_VAL;
    for (const HistoryEntry& e : part) least = std::min(least, value_of(e.errors, metric));
    return least;
  };
  return best(history) > kStallFactor * best(history.first(history.size() - kStallChecks));
}

class Automatic final : public Solver {
 public:
  explicit Automatic(const MethodSettings& settings)
      : settings_(settings), gauss_seidel_(make_gauss_seidel(watched_gauss_seidel())) {}
  std::string_view name() const override { return "auto"; }

  SolveReport solve(const ConstraintProblem& problem, std::span<double> impulses,
                    std::span<double> velocities) override;

  void move_joints(const ConstraintProblem& problem, std::span<const double> rhs,
                   std::span<double> changes) override {
    gauss_seidel_->move_joints(problem, rhs, changes);
  }

 private:
  GaussSeidelSettings watched_gauss_seidel();
  bool give_up_sweeps(std::span<const HistoryEntry> history, double threshold) const;
  StopRule stop_of_rest(const ConstraintProblem& problem, int max_iterations) const;
  void try_direct(const ConstraintProblem& problem, std::span<double> impulses,
                  std::span<double> velocities);
  void run(Solver& solver, const ConstraintProblem& problem, std::span<double> impulses,
           std::span<double> velocities);
  bool over() const {
    return total_.status == SolveStatus::converged || total_.status == SolveStatus::time_limit;
  }

  MethodSettings settings_;
  std::unique_ptr<Solver> gauss_seidel_;
  // of the solve under way
  WorkEstimate work_;
  bool may_give_up_ = false;  ///< the sweeps, for a method that may be quicker
  double started_ = 0.0;
  SolveReport total_;
  std::vector<double> best_;  ///< impulses of total_.errors
};

GaussSeidelSettings Automatic::watched_gauss_seidel() {
  GaussSeidelSettings settings = settings_.gauss_seidel;
  settings.stop.give_up = [this](std::span<const HistoryEntry> history, double threshold) {
    return may_give_up_ && give_up_sweeps(history, threshold);
  };
  return settings;
}

/// Sweeps are cheap and sure: another method takes over once they have had a part of its price and
/// would need more than all of it.
bool Automatic::give_up_sweeps(std::span<const HistoryEntry> history, double threshold) const {
  const int done = history.back().iteration;
  const double price = kNewtonSteps * work_.newton_step;
  return done >= kLeastSweeps && done * work_.sweep >= kHedge * price &&
         iterations_left(history, settings_.stop().metric, threshold) * work_.sweep > price;
}

/// Collective if there is a time limit.
StopRule Automatic::stop_of_rest(const ConstraintProblem& problem, int max_iterations) const {
  StopRule stop = settings_.stop();
  stop.max_iterations = std::min(stop.max_iterations, max_iterations);
  if (!std::isnan(stop.time_limit)) {
    stop.time_limit = std::max(0.0, stop.time_limit - problem.comm.max(wall_seconds() - started_));
  }
  const Metric metric = stop.metric;
  stop.give_up = [metric](std::span<const HistoryEntry> history, double) {
    return stuck(history, metric);
  };
  return stop;
}

/// Collective. One method from the best impulses so far; its result is kept if it is better.
void Automatic::run(Solver& solver, const ConstraintProblem& problem, std::span<double> impulses,
                    std::span<double> velocities) {
  const bool first = total_.choice.empty();
  SolveReport report = solver.solve(problem, impulses, velocities);
  const Metric metric = settings_.stop().metric;
  const bool better = report.status != SolveStatus::breakdown &&
                      !(value_of(report.errors, metric) >= value_of(total_.errors, metric));
  const int iterations = total_.iterations;
  const double wall = total_.wall_s;
  for (HistoryEntry& entry : report.history) {
    entry.iteration += iterations;
    entry.wall_s += wall;
    if (first || entry.iteration > iterations) total_.history.push_back(entry);
  }
  total_.iterations += report.iterations;
  total_.linear_iterations += report.linear_iterations;
  total_.wall_s += report.wall_s;
  total_.choice += (first ? "" : ", then ") + std::string(solver.name());
  total_.reason += (first ? "" : "; ") + std::string(solver.name()) + ": " + report.reason;
  if (first) {
    total_.initial = report.initial;
    total_.setup_s = report.setup_s;
    total_.metric = report.metric;
    total_.threshold = report.threshold;
    total_.joints = report.joints;
  }
  if (first || better) {
    total_.status = report.status;
    total_.errors = report.errors;
    best_.assign(impulses.begin(), impulses.end());
  } else if (report.status == SolveStatus::time_limit) {
    total_.status = SolveStatus::time_limit;
  }
  std::copy(best_.begin(), best_.end(), impulses.begin());
}

void Automatic::try_direct(const ConstraintProblem& problem, std::span<double> impulses,
                           std::span<double> velocities) {
  if (problem.law != ContactLaw::ccp) {
    ProximalNewtonSettings settings;
    settings.stop = stop_of_rest(problem, kMostNewtonSteps);
    settings.linear = settings_.interior_point.linear;
    run(*make_proximal_newton(settings), problem, impulses, velocities);
    if (over()) return;
  }
  InteriorPointSettings settings = settings_.interior_point;
  settings.form = InteriorPointForm::cone;
  settings.stop = stop_of_rest(problem, kMostNewtonSteps);
  run(*make_interior_point(settings), problem, impulses, velocities);
}

SolveReport Automatic::solve(const ConstraintProblem& problem, std::span<double> impulses,
                             std::span<double> velocities) {
  started_ = wall_seconds();
  total_ = {};
  work_ = estimate_work(problem);
  const bool has_direct = problem.law != ContactLaw::box && work_.rows > 0 &&
                          (problem.law == ContactLaw::ccp || work_.unknowns <= kMostUnknowns);
  may_give_up_ = has_direct;
  run(*gauss_seidel_, problem, impulses, velocities);
  if (!over() && total_.status != SolveStatus::breakdown && has_direct) {
    const int swept = total_.iterations;
    try_direct(problem, impulses, velocities);
    if (!over() && swept < settings_.stop().max_iterations) {
      may_give_up_ = false;
      GaussSeidelSettings rest = settings_.gauss_seidel;
      rest.stop = stop_of_rest(problem, settings_.stop().max_iterations - swept);
      rest.stop.give_up = nullptr;
      run(*make_gauss_seidel(rest), problem, impulses, velocities);
    }
    // the best impulses need not be the last
    DelassusOperator op(problem);
    op.velocities(impulses, velocities);
  }
  total_.wall_s = problem.comm.max(wall_seconds() - started_);
  return std::move(total_);
}

}  // namespace

std::unique_ptr<Solver> make_automatic(const MethodSettings& settings) {
  return std::make_unique<Automatic>(settings);
}

}  // namespace catena
