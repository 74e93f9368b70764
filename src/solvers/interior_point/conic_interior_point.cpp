#include "solvers/interior_point/conic_interior_point.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "solvers/interior_point/conic_stage.hpp"

namespace catena {
namespace {

/// Stages without a fall of the merit to kProgress of it that end a solve: once its merit is below
/// kNearly, before.
constexpr double kProgress = 0.9, kNearly = 1e-5;
constexpr int kPatience = 4, kLongPatience = 20;
/// The stages in which a guess has to prove itself by steps of at least this length.
constexpr double kGuessStep = 0.05;
constexpr int kGuessStages = 3;

}  // namespace

struct ConicInteriorPoint::Impl {
  Impl(const ConstraintProblem& p, DelassusOperator& o, NewtonSystem& n)
      : iterate(p, o), system(p, iterate.rows, n), stage(iterate, system) {}

  Report solve(std::span<const double> shift, bool warm, const Goal& goal,
               std::span<double> impulses);

 private:
  /// The iterate of least merit and how many stages ago it was.
  struct Best {
    ConicIterate::Measures measures{.gap = std::numeric_limits<double>::infinity()};
    std::vector<double> impulses;
    int behind = 0;

    void see(const ConicIterate::Measures& m, std::span<const double> x) {
      ++behind;
      if (m.merit() >= measures.merit()) return;
      // progress is what is worth a stage
      if (m.merit() < kProgress * measures.merit()) behind = 0;
      measures = m;
      impulses.assign(x.begin(), x.end());
    }
  };

  bool judge(const Goal& goal, const Best& best, Report& report) const;
  void give_up(const Best& best, Report& report) const;

  ConicIterate iterate;
  ConicSystem system;
  ConicStage stage;
};

/// Whether the solve ends with the iterate, and how.
bool ConicInteriorPoint::Impl::judge(const Goal& goal, const Best& best, Report& report) const {
  if (iterate.now.gap <= goal.gap && iterate.now.infeasibility <= goal.gap) {
    report.outcome = Outcome::target;
    return true;
  }
  const std::string certificate = iterate.unbounded();
  if (!certificate.empty()) {
    report.outcome = Outcome::unbounded;
    report.remark = certificate;
    return true;
  }
  if (best.behind < (best.measures.merit() < kNearly ? kPatience : kLongPatience)) return false;
  report.outcome = Outcome::stalled;
  report.remark = "no progress over " + std::to_string(best.behind) + " stages";
  return true;
}

/// The numbers' end: no factor, no direction or no step.
void ConicInteriorPoint::Impl::give_up(const Best& best, Report& report) const {
  const bool nearly = best.measures.merit() < kNearly;
  report.outcome = nearly ? Outcome::stalled : Outcome::breakdown;
  report.remark = nearly ? "digits ran out in stage " + std::to_string(report.stages)
                         : "the linear system of stage " + std::to_string(report.stages) +
                               " could not be solved";
}

ConicInteriorPoint::Report ConicInteriorPoint::Impl::solve(std::span<const double> shift, bool warm,
                                                           const Goal& goal,
                                                           std::span<double> impulses) {
  Report report;
  system.forget_iterations();
  iterate.set_free_residual(shift);
  bool guessed = warm && iterate.start_warm(impulses);
  bool good = guessed || iterate.start_cold(system);
  Best best;
  while (report.stages < goal.max_stages) {
    good = good && stage.advance();
    ++report.stages;
    if (guessed && report.stages <= kGuessStages && (!good || stage.step() < kGuessStep)) {
      // a guess from which hardly a way leads on is worse than none
      guessed = false;
      report.remark = "the guess was of no use";
      good = iterate.start_cold(system);
      continue;
    }
    if (!good) break;
    iterate.write(impulses);
    best.see(iterate.now, impulses);
    if (goal.stop && goal.stop(report.stages)) {
      report.outcome = Outcome::done;
      break;
    }
    if (judge(goal, best, report)) break;
  }
  if (!good) give_up(best, report);
  if (report.outcome != Outcome::done && best.behind > 0) {
    std::copy(best.impulses.begin(), best.impulses.end(), impulses.begin());
    iterate.now = best.measures;
    if (goal.stop && goal.stop(report.stages)) report.outcome = Outcome::done;
  }
  report.linear_iterations = system.iterations();
  report.gap = iterate.now.gap;
  report.infeasibility = iterate.now.infeasibility;
  return report;
}

ConicInteriorPoint::ConicInteriorPoint(const ConstraintProblem& problem, DelassusOperator& op,
                                       NewtonSystem& system)
    : impl_(std::make_unique<Impl>(problem, op, system)) {}
ConicInteriorPoint::~ConicInteriorPoint() = default;

ConicInteriorPoint::Report ConicInteriorPoint::solve(std::span<const double> shift, bool warm,
                                                     const Goal& goal, std::span<double> impulses) {
  return impl_->solve(shift, warm, goal, impulses);
}

}  // namespace catena
