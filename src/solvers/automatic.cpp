#include "catena/solvers/automatic.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "catena/base/release.hpp"
#include "catena/base/text.hpp"
#include "catena/base/timer.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "solvers/gauss_seidel/sweep_engine.hpp"
#include "solvers/newton/proximal_newton.hpp"
#include "solvers/patches/patched_sweeps.hpp"
#include "solvers/work_estimate.hpp"

namespace catena {
namespace {

/// Sweeps that come first: many a problem is easy, and the others want a start.
constexpr int kFirstSweeps = 24;
/// Sweeps that may pass without gain.
constexpr int kPatience = 200;
/// A cheap method hands over once it has had this part of what the next may take, and would need
/// more than all of it.
constexpr double kHedge = 0.5;
/// `siconos` tolerances from here on are taken to mean accuracy: `scaled` is then to be within this
/// factor of them.
constexpr double kAccurate = 1e-6, kScaledTolerance = 100.0;
/// Newton steps that a solve is taken to need, and that it may take at most.
constexpr double kNewtonSteps = 15.0;
constexpr int kMaxNewtonSteps = 300;
/// A method that factors is not begun with fewer steps than these left: they would be in vain.
constexpr double kMinNewtonSteps = 5.0;
/// Unknowns up to which a method that needs a factor is tried.
constexpr std::int64_t kMaxUnknowns = 60000;
/// A method that gained less than this factor in its last `kStallChecks` evaluations is stuck.
constexpr double kStallFactor = 0.9;
constexpr std::size_t kStallChecks = 12;
/// Turns of patches and apgd where sweeps circle, and apgd's part in each, in sweeps.
constexpr int kTurns = 5;
constexpr double kTurnOfProducts = 500.0;
/// Rounding of sums of iterations that are parts of a sweep.
constexpr double kRounding = 1e-6;

/// Iterations that bring the metric from its last value to `threshold` at the rate of the last half
/// of the history; infinite where it does not fall.
double iterations_left(std::span<const HistoryEntry> history, Metric metric, double threshold) {
  const HistoryEntry& last = history.back();
  const auto half = std::find_if(history.begin(), history.end() - 1, [&](const HistoryEntry& e) {
    return 2 * e.iteration >= last.iteration;
  });
  const auto best = [&](auto begin, auto end) {
    double least = HUGE_VAL;
    for (auto e = begin; e != end; ++e) least = std::min(least, value_of(e->errors, metric));
    return least;
  };
  const double before = best(history.begin(), half + 1), now = best(history.begin(), history.end());
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

using GiveUp = decltype(StopRule::give_up);

class Automatic final : public Solver {
 public:
  explicit Automatic(const SolverSettings& settings)
      : settings_(settings),
        goal_(settings.stop_rule()),
        gauss_seidel_(make_gauss_seidel(stop_of_sweeps(), settings.joints, settings.gauss_seidel,
                                        engine_.get())) {}
  std::string_view name() const override { return "auto"; }
  void set_stop_rule(const StopRule& rule) override { settings_.stop = rule; }

  const SolveReport& solve(const ConstraintProblem& problem, std::span<double> impulses,
                           std::span<double> velocities) override;

  void move_joints(const ConstraintProblem& problem, std::span<const double> rhs,
                   std::span<double> changes) override {
    gauss_seidel_->move_joints(problem, rhs, changes);
  }

 private:
  StopRule stop_of_sweeps();
  bool give_up_sweeps(std::span<const HistoryEntry> history, double threshold) const;
  bool give_up_products(std::span<const HistoryEntry> history, double threshold) const;
  StopRule stop_of_rest(const ConstraintProblem& problem) const;
  bool wants_scaled() const;
  void reach_scaled(const ConstraintProblem& problem, std::span<double> impulses,
                    std::span<double> velocities);
  void climb(const ConstraintProblem& problem, std::span<double> impulses,
             std::span<double> velocities);
  void break_cycles(const ConstraintProblem& problem, std::span<double> impulses,
                    std::span<double> velocities);
  void try_products(const ConstraintProblem& problem, const GiveUp& give_up,
                    std::span<double> impulses, std::span<double> velocities);
  void try_factors(const ConstraintProblem& problem, std::span<double> impulses,
                   std::span<double> velocities);
  Solver& apgd();
  Solver& patched_sweeps();
  Solver& proximal_newton();
  Solver& interior_point();
  void run(Solver& solver, const StopRule& stop, double unit, const ConstraintProblem& problem,
           std::span<double> impulses, std::span<double> velocities);
  double product_unit() const { return work_.sweep > 0.0 ? work_.product / work_.sweep : 1.0; }
  double newton_unit() const { return std::max(1.0, work_.newton_step / work_.sweep); }
  double sweeps_left() const { return goal_.max_iterations - used_; }
  bool newton_fits() const { return sweeps_left() >= kMinNewtonSteps * newton_unit(); }
  bool spent() const { return sweeps_left() < std::max(1.0, product_unit()); }
  bool over() const {
    return total_.status == SolveStatus::converged || total_.status == SolveStatus::time_limit;
  }

  SolverSettings settings_;
  StopRule goal_;  ///< of the solve under way
  /// What sweeps pack, patches and apgd go on with.
  std::unique_ptr<HybridEngine> engine_ = make_hybrid_engine();
  // kept over solves, with their buffers; all but the first made where they are first asked for
  std::unique_ptr<Solver> gauss_seidel_, apgd_, patches_, newton_, interior_point_;
  // of the solve under way
  WorkEstimate work_;
  double used_ = 0.0;  ///< sweeps' worth of work
  double started_ = 0.0;
  SolveReport total_;
  std::vector<double> best_;  ///< the best impulses before the method that is under way
};

StopRule Automatic::stop_of_sweeps() {
  StopRule stop = goal_;
  stop.give_up = [this](std::span<const HistoryEntry> history, double threshold) {
    return give_up_sweeps(history, threshold);
  };
  return stop;
}

/// Sweeps go on while they need no more than they did, or than the methods after them are taken to
/// need; the error of accelerated ones may stagnate for a while.
bool Automatic::give_up_sweeps(std::span<const HistoryEntry> history, double threshold) const {
  const int done = history.back().iteration;
  if (done < kFirstSweeps) return false;
  const double left = iterations_left(history, goal_.metric, threshold);
  if (std::isinf(left)) return done >= kPatience;
  return left > std::max<double>(done, kHedge * kNewtonSteps * newton_unit());
}

/// The same for products of apgd, in view of the price of a method that factors.
bool Automatic::give_up_products(std::span<const HistoryEntry> history, double threshold) const {
  const double price = kNewtonSteps * work_.newton_step;
  return history.back().iteration * work_.product >= kHedge * price &&
         iterations_left(history, goal_.metric, threshold) * work_.product > price;
}

/// Collective if there is a time limit.
StopRule Automatic::stop_of_rest(const ConstraintProblem& problem) const {
  StopRule stop = goal_;
  if (!std::isnan(stop.time_limit)) {
    stop.time_limit = std::max(0.0, stop.time_limit - problem.comm.max(wall_seconds() - started_));
  }
  return stop;
}

/// How many iterations of `unit` sweeps each are left at most.
int iterations_in(double sweeps, double unit) {
  return static_cast<int>(std::min(sweeps / unit, 1e9));
}

Solver& Automatic::apgd() {
  if (!apgd_)
    apgd_ =
        make_apgd(goal_, settings_.joints, settings_.apgd,
                  [this](const ConstraintProblem& problem) { return engine_->packed(problem); });
  return *apgd_;
}

Solver& Automatic::patched_sweeps() {
  if (!patches_) patches_ = make_patched_sweeps(goal_, settings_.gauss_seidel, *engine_);
  return *patches_;
}

Solver& Automatic::proximal_newton() {
  if (!newton_) newton_ = make_proximal_newton(goal_, settings_.interior_point.linear);
  return *newton_;
}

Solver& Automatic::interior_point() {
  InteriorPointSettings settings = settings_.interior_point;
  settings.form = InteriorPointForm::cone;
  if (!interior_point_) interior_point_ = make_interior_point(goal_, settings);
  return *interior_point_;
}

/// Collective. One method, stopped by `stop`, whose iterations are the work of `unit` sweeps each,
/// from the best impulses so far; its result is kept if it is better.
void Automatic::run(Solver& solver, const StopRule& stop, double unit,
                    const ConstraintProblem& problem, std::span<double> impulses,
                    std::span<double> velocities) {
  solver.set_stop_rule(stop);
  const bool first = total_.choice.empty();
  if (!first) best_.assign(impulses.begin(), impulses.end());
  const SolveReport& report = solver.solve(problem, impulses, velocities);
  const Metric metric = goal_.metric;
  const bool keeps = cone_violation_of(report.errors).is_round_off();
  const bool kept = cone_violation_of(total_.errors).is_round_off();
  const bool less = !(value_of(report.errors, metric) >= value_of(total_.errors, metric));
  const bool better = report.status != SolveStatus::breakdown && (keeps == kept ? less : keeps);
  const int iterations = total_.iterations;
  const double wall = total_.wall_s, used = used_;
  const auto in_sweeps = [&](int count) {
    return static_cast<int>(std::ceil(used + unit * count - kRounding));
  };
  for (HistoryEntry entry : report.history) {
    entry.iteration = in_sweeps(entry.iteration);
    entry.wall_s += wall;
    if (first || entry.iteration > iterations) total_.history.push_back(entry);
  }
  used_ = used + unit * report.iterations;
  total_.iterations = in_sweeps(report.iterations);
  total_.linear_iterations += report.linear_iterations;
  total_.wall_s += report.wall_s;
  (total_.choice += first ? "" : ", then ") += solver.name();
  (((total_.reason += first ? "" : "; ") += solver.name()) += ": ") += report.reason;
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
    return;
  }
  if (report.status == SolveStatus::time_limit) total_.status = SolveStatus::time_limit;
  std::copy(best_.begin(), best_.end(), impulses.begin());
}

void Automatic::try_products(const ConstraintProblem& problem, const GiveUp& give_up,
                             std::span<double> impulses, std::span<double> velocities) {
  StopRule stop = stop_of_rest(problem);
  stop.max_iterations = iterations_in(sweeps_left(), product_unit());
  stop.check_interval *= 2;  // an evaluation takes as long as several products
  stop.give_up = give_up;
  run(apgd(), stop, product_unit(), problem, impulses, velocities);
}

/// Collective. Patches and products in turns: these come near to a solution, from which those reach
/// it.
void Automatic::break_cycles(const ConstraintProblem& problem, std::span<double> impulses,
                             std::span<double> velocities) {
  const GiveUp had_its_turn = [this](std::span<const HistoryEntry> history, double) {
    return history.back().iteration * product_unit() >= kTurnOfProducts;
  };
  for (int turn = 0; turn < kTurns && !over() && !spent(); ++turn) {
    if (turn > 0) try_products(problem, had_its_turn, impulses, velocities);
    if (over() || spent()) return;
    StopRule stop = stop_of_rest(problem);
    stop.max_iterations = iterations_in(sweeps_left(), 1.0);
    run(patched_sweeps(), stop, 1.0, problem, impulses, velocities);
  }
}

void Automatic::try_factors(const ConstraintProblem& problem, std::span<double> impulses,
                            std::span<double> velocities) {
  const Metric metric = goal_.metric;
  const auto stop_of_steps = [&] {
    StopRule stop = stop_of_rest(problem);
    stop.max_iterations = std::min(iterations_in(sweeps_left(), newton_unit()), kMaxNewtonSteps);
    stop.give_up = [metric](std::span<const HistoryEntry> history, double) {
      return stuck(history, metric);
    };
    return stop;
  };
  if (!law_form(problem.law).is_associated()) {
    run(proximal_newton(), stop_of_steps(), newton_unit(), problem, impulses, velocities);
    if (over() || !newton_fits()) return;
  }
  run(interior_point(), stop_of_steps(), newton_unit(), problem, impulses, velocities);
}

/// Collective. The methods after the sweeps in turn, from the cheapest, until the goal is met.
void Automatic::climb(const ConstraintProblem& problem, std::span<double> impulses,
                      std::span<double> velocities) {
  if (spent()) return;
  if (may_patch(problem)) break_cycles(problem, impulses, velocities);
  if (over() || spent()) return;
  const LawForm form = law_form(problem.law);
  const bool known = !form.box && (form.is_associated() || work_.unknowns <= kMaxUnknowns);
  const bool factors = known && newton_fits();
  const GiveUp dear = [this](std::span<const HistoryEntry> history, double threshold) {
    return give_up_products(history, threshold);
  };
  try_products(problem, factors ? dear : GiveUp(), impulses, velocities);
  if (over()) return;
  if (known && !newton_fits()) total_.reason += "; max_iterations leaves too little for a factor";
  if (!factors) return;
  if (newton_fits()) try_factors(problem, impulses, velocities);
  if (!over() && !spent()) try_products(problem, {}, impulses, velocities);
}

/// `siconos` adds N s and m/s: where one of them is the larger by far it says little of the other.
/// Whoever asks for an accurate solution gets one that is accurate in consistent units, too.
bool Automatic::wants_scaled() const {
  return total_.status == SolveStatus::converged && goal_.metric == Metric::siconos &&
         goal_.absolute_tolerance <= kAccurate &&
         total_.errors.scaled > kScaledTolerance * goal_.absolute_tolerance;
}

/// Collective. Goes on from the solution found; what was found stays if nothing better comes.
void Automatic::reach_scaled(const ConstraintProblem& problem, std::span<double> impulses,
                             std::span<double> velocities) {
  const Errors found = total_.errors;
  const std::vector<double> found_impulses(impulses.begin(), impulses.end());
  const double asked = goal_.absolute_tolerance;
  goal_.metric = Metric::scaled;
  goal_.relative_tolerance = 0.0;
  goal_.absolute_tolerance = kScaledTolerance * asked;
  total_.status = SolveStatus::iteration_limit;
  total_.reason += "; scaled is still " + short_text(found.scaled, 3);
  climb(problem, impulses, velocities);
  total_.status = SolveStatus::converged;
  if (total_.errors.siconos <= std::max(asked, found.siconos)) return;
  total_.errors = found;
  std::copy(found_impulses.begin(), found_impulses.end(), impulses.begin());
}

const SolveReport& Automatic::solve(const ConstraintProblem& problem, std::span<double> impulses,
                                    std::span<double> velocities) {
  started_ = wall_seconds();
  engine_->rest();  // of a solve that was broken off
  clear(total_);
  work_ = estimate_work(problem);
  goal_ = settings_.stop_rule();
  used_ = 0.0;
  run(*gauss_seidel_, stop_of_sweeps(), 1.0, problem, impulses, velocities);
  if (!over() && total_.status != SolveStatus::breakdown) climb(problem, impulses, velocities);
  if (wants_scaled()) reach_scaled(problem, impulses, velocities);
  // the best impulses need not be the last
  if (total_.choice.find(", then ") != std::string::npos) {
    DelassusOperator op(problem);
    op.velocities(impulses, velocities);
  }
  total_.wall_s = problem.comm.max(wall_seconds() - started_);
  clear_large(best_);
  engine_->rest();
  return total_;
}

}  // namespace

std::unique_ptr<Solver> make_automatic(const SolverSettings& settings) {
  return std::make_unique<Automatic>(settings);
}

}  // namespace catena
