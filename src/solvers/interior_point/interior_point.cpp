#include "catena/solvers/interior_point.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
#include "catena/base/timer.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "solvers/interior_point/conic_interior_point.hpp"
#include "solvers/interior_point/fang/fang_interior_point.hpp"
#include "solvers/newton/proximal_newton_steps.hpp"
#include "solvers/stop_monitor.hpp"

namespace catena {
namespace {

/// The outer fixed point goes on while it takes |F| of Coulomb's law below this part.
constexpr double kSettles = 0.1;
/// Relative gap of the first convex problem, and of the others: this part of |F|^2 over the
/// energy, in these bounds.
constexpr double kFirstGap = 1e-4, kGapPart = 1e-2, kMinGap = 1e-13;
/// Asked of a convex problem that the monitor is to end: out of reach.
constexpr double kNoGap = 1e-18;

/// One solve in form cone.
class Solve {
 public:
  Solve(const ConstraintProblem& problem, const StopRule& stop, const LinearSettings& linear,
        std::span<double> impulses, std::span<double> velocities);

  SolveReport run();

 private:
  using Outcome = ConicInteriorPoint::Outcome;

  bool start();
  bool solve_convex();
  bool solve_outer();
  void polish();
  bool evaluate();
  double renew_shift();
  ConicInteriorPoint::Report inner(double gap);
  SolveReport finish();

  const ConstraintProblem& problem_;
  const LinearSettings& linear_;
  double started_ = wall_seconds();
  std::span<double> impulses_;
  DelassusOperator op_;
  LawFunction law_;
  StopRule rule_;
  StopMonitor monitor_;
  std::optional<NewtonSystem> system_;
  std::optional<ConicInteriorPoint> conic_;
  std::optional<ProximalNewtonSteps> newton_;
  std::vector<double> shift_, w_, free_, f_;
  bool warm_ = false;
  bool over_ = false;    ///< nothing more is to be tried
  double energy_ = 0.0;  ///< max(|lambda N lambda|, |r lambda|), J
  int stages_ = 0, outer_ = 0, linear_iterations_ = 0;
  ConicInteriorPoint::Report last_;
};

Solve::Solve(const ConstraintProblem& problem, const StopRule& stop, const LinearSettings& linear,
             std::span<double> impulses, std::span<double> velocities)
    : problem_(problem),
      linear_(linear),
      impulses_(impulses),
      op_(problem),
      law_(problem),
      rule_(stop),
      monitor_(
          problem, op_,
          [this] {
            StopRule rule = rule_;
            rule.give_up = [this](std::span<const HistoryEntry> history, double threshold) {
              const auto& asked = rule_.give_up;
              return over_ || (newton_ && newton_->stuck()) || (asked && asked(history, threshold));
            };
            return rule;
          }(),
          impulses, velocities, started_) {}

SolveReport Solve::run() {
  if (start()) return monitor_.finish("");
  try {
    const bool over = law_form(problem_.law).shifted ? solve_outer() : solve_convex();
    if (!over) polish();
  } catch (const OutOfTime&) {
    // the iterate is that of the last stage
    law_.make_admissible(impulses_);
    monitor_.begin(stages_, 0.0, true);
    monitor_.end();
  }
  return finish();
}

bool Solve::start() {
  law_.make_admissible(impulses_);
  const bool zero =
      std::all_of(impulses_.begin(), impulses_.end(), [](double x) { return x == 0.0; });
  warm_ = problem_.comm.max(std::int64_t{zero ? 0 : 1}) > 0;
  if (monitor_.start()) return true;
  system_.emplace(problem_, op_, linear_, "solver.interior_point");
  system_->watch(monitor_.watch());
  conic_.emplace(problem_, op_, *system_);
  for (std::vector<double>* v : {&w_, &free_, &f_}) v->assign(impulses_.size(), 0.0);
  op_.free_residual(free_);
  monitor_.set_setup_seconds(wall_seconds() - started_);
  return false;
}

/// The iterate as it stands; true if the solve is over.
bool Solve::evaluate() {
  monitor_.begin(stages_, 0.0, stages_ >= rule_.max_iterations);
  return monitor_.end();
}

/// Laws ccp and frictionless: every stage is judged.
bool Solve::solve_convex() {
  bool over = false;
  const int first = stages_;
  ConicInteriorPoint::Goal goal;
  goal.gap = kNoGap;
  goal.max_stages = rule_.max_iterations;
  goal.stop = [&](int stage) {
    stages_ = first + stage;
    return over = evaluate();
  };
  last_ = conic_->solve({}, warm_, goal, impulses_);
  stages_ = first + last_.stages;
  linear_iterations_ += last_.linear_iterations;
  return over;
}

/// One convex problem with w shifted; ends at the gap, or where the solve's limits are.
ConicInteriorPoint::Report Solve::inner(double gap) {
  const int first = stages_;
  ConicInteriorPoint::Goal goal;
  goal.gap = gap;
  goal.max_stages = rule_.max_iterations - stages_;
  goal.stop = [&](int stage) {
    stages_ = first + stage;
    return monitor_.watch().late();
  };
  ConicInteriorPoint::Report report = conic_->solve(shift_, warm_, goal, impulses_);
  stages_ = first + report.stages;
  linear_iterations_ += report.linear_iterations;
  warm_ = true;
  return report;
}

/// s = mu |w_t| of the impulses; returns |F| of Coulomb's law.
double Solve::renew_shift() {
  op_.apply(impulses_, w_);
  std::array<double, 2> energies{};
  for (std::size_t i = 0; i < w_.size(); ++i) {
    energies[0] += impulses_[i] * w_[i];
    energies[1] += impulses_[i] * free_[i];
    w_[i] += free_[i];
  }
  law_.shift(w_, shift_);
  problem_.comm.sum(energies);
  energy_ = std::max(std::abs(energies[0]), std::abs(energies[1]));
  return std::sqrt(problem_.comm.sum(law_.evaluate(impulses_, w_, f_)));
}

/// Law coulomb: convex problems with s of the last solution, while that settles.
bool Solve::solve_outer() {
  shift_.assign(impulses_.size(), 0.0);
  double before = renew_shift();
  if (!warm_) std::fill(shift_.begin(), shift_.end(), 0.0);
  double gap = kFirstGap;
  while (true) {
    last_ = inner(gap);
    ++outer_;
    if (last_.outcome == Outcome::breakdown) return false;
    if (evaluate()) return true;
    const double now = renew_shift();
    if (!(now < kSettles * before) || last_.outcome != Outcome::target) return false;
    before = now;
    gap = std::clamp(kGapPart * now * now / std::max(energy_, std::numeric_limits<double>::min()),
                     kMinGap, kFirstGap);
  }
}

/// Newton's method from where interior point came to, unless no solution exists.
void Solve::polish() {
  over_ = last_.outcome == Outcome::unbounded;
  if (over_) {
    evaluate();
    return;
  }
  law_.make_admissible(impulses_);
  newton_.emplace(problem_, op_, law_, *system_, rule_, impulses_, stages_);
  newton_->run(monitor_);
  linear_iterations_ += newton_->linear_iterations();
}

SolveReport Solve::finish() {
  std::string remark;
  if (outer_ > 0)
    remark = std::to_string(outer_) + (outer_ == 1 ? " convex problem" : " convex problems") +
             " of the outer fixed point, ";
  remark += std::to_string(stages_) + " stages, relative gap " + short_text(last_.gap, 2);
  if (!last_.remark.empty()) remark += "; " + last_.remark;
  if (newton_)
    remark += std::string(outer_ > 0 ? "; it did not settle" : "; digits ran out") +
              ": went on by Newton's method, " + newton_->remark();
  remark += "; linear systems of " + std::to_string(system_->unknowns()) + " unknowns by " +
            system_->description();
  SolveReport report = monitor_.finish(remark);
  report.linear_iterations = linear_iterations_;
  return report;
}

class InteriorPoint final : public Solver {
 public:
  InteriorPoint(const StopRule& stop, const LinearSettings& linear)
      : stop_(stop), linear_(linear) {}
  std::string_view name() const override { return "interior_point"; }
  void set_stop_rule(const StopRule& rule) override { stop_ = rule; }

  const SolveReport& solve(const ConstraintProblem& problem, std::span<double> impulses,
                           std::span<double> velocities) override {
    if (law_form(problem.law).box)
      throw Error("interior point does not know law 'box'", "contact.law",
                  "use law coulomb, or solver.method: gauss_seidel or dantzig");
    return report_ = Solve(problem, stop_, linear_, impulses, velocities).run();
  }

 private:
  StopRule stop_;
  LinearSettings linear_;
  SolveReport report_;
};

constexpr std::array<std::string_view, 4> kForms = {"cone", "kkt", "schur", "schur_pcg"};
constexpr std::array<std::string_view, 2> kPreconditioners = {"barrier", "diagonal"};
constexpr std::array<std::string_view, 3> kStops = {"none", "objective", "force"};

}  // namespace

void describe(SettingsVisitor& visit, InteriorPointSettings& s) {
  visit.choose("form", s.form, kForms,
               {.help = "cone: second-order cones with Nesterov and Todd's scaling; kkt (5 "
                        "unknowns a contact, direct), schur (3, direct) and schur_pcg (3, "
                        "conjugate gradients): the forms of [F14], for law ccp"});
  visit.choose("preconditioner", s.preconditioner, kPreconditioners,
               {.help = "of schur_pcg: the barrier's blocks, or these with the diagonal of N"});
  describe(visit, s.linear);
  visit.section("fang", {.help = "of the forms of [F14]"}, [&] {
    visit.choose("stop", s.fang.stop, kStops,
                 {.help = "[F14]'s stop criteria, beside the solver's own: no more change of the "
                          "objective, or of the contact force magnitude"});
    visit.visit("tolerance", s.fang.tolerance,
                {.min = 0, .help = "relative change that counts as none"});
  });
  visit.renamed("fang_stop", "fang.stop");
  visit.renamed("fang_tolerance", "fang.tolerance");
}

std::unique_ptr<Solver> make_interior_point(const StopRule& stop,
                                            const InteriorPointSettings& settings) {
  if (settings.form != InteriorPointForm::cone) return make_fang_interior_point(stop, settings);
  return std::make_unique<InteriorPoint>(stop, settings.linear);
}

}  // namespace catena
