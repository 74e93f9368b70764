#include "solvers/newton/proximal_newton.hpp"

#include <optional>

#include "catena/base/timer.hpp"
#include "solvers/newton/proximal_newton_steps.hpp"

namespace catena {
namespace {

class ProximalNewton final : public Solver {
 public:
  ProximalNewton(const StopRule& stop, const LinearSettings& linear)
      : stop_(stop), linear_(linear) {}
  std::string_view name() const override { return "proximal_newton"; }
  void set_stop_rule(const StopRule& rule) override { stop_ = rule; }

  const SolveReport& solve(const ConstraintProblem& problem, std::span<double> impulses,
                           std::span<double> velocities) override {
    const double started = wall_seconds();
    DelassusOperator op(problem);
    const LawFunction law(problem);
    law.make_admissible(impulses);
    std::optional<ProximalNewtonSteps> steps;
    StopRule rule = stop_;
    rule.give_up = [&](std::span<const HistoryEntry> history, double threshold) {
      return (steps && steps->stuck()) || (stop_.give_up && stop_.give_up(history, threshold));
    };
    StopMonitor monitor(problem, op, rule, impulses, velocities, started);
    if (monitor.start()) return report_ = std::move(monitor.finish(""));
    NewtonSystem system(problem, op, linear_, "solver.interior_point");
    system.watch(monitor.watch());
    steps.emplace(problem, op, law, system, rule, impulses);
    monitor.set_setup_seconds(wall_seconds() - started);
    steps->run(monitor);
    report_ = std::move(monitor.finish(steps->remark() +
                                       (steps->stuck() ? "; Newton's method found no way on" : "") +
                                       "; linear systems of " + std::to_string(system.unknowns()) +
                                       " unknowns by " + system.description()));
    report_.linear_iterations = steps->linear_iterations();
    return report_;
  }

 private:
  StopRule stop_;
  LinearSettings linear_;
  SolveReport report_;
};

}  // namespace

std::unique_ptr<Solver> make_proximal_newton(const StopRule& stop, const LinearSettings& linear) {
  return std::make_unique<ProximalNewton>(stop, linear);
}

}  // namespace catena
