#include "solvers/first_order/first_order_solver.hpp"

#include <optional>

#include "catena/base/timer.hpp"
#include "solvers/joints/joint_system.hpp"

namespace catena::first_order {
namespace {

class FirstOrderSolver final : public Solver {
 public:
  FirstOrderSolver(std::string_view name, const StopRule& stop, const JointSolverSettings& joints,
                   double splitting, Iterate iterate, PackedBy packed)
      : name_(name),
        stop_(stop),
        joint_settings_(joints),
        joints_(joints),
        splitting_(splitting),
        iterate_(std::move(iterate)),
        bodies_(make_body_iterates(std::move(packed))) {}

  std::string_view name() const override { return name_; }
  void set_stop_rule(const StopRule& rule) override { stop_ = rule; }
  const SolveReport& solve(const ConstraintProblem& problem, std::span<double> impulses,
                           std::span<double> velocities) override;
  void move_joints(const ConstraintProblem& problem, std::span<const double> rhs,
                   std::span<double> changes) override;

 private:
  std::string_view name_;
  StopRule stop_;
  JointSolverSettings joint_settings_;
  JointSystem joints_;
  double splitting_;
  Iterate iterate_;
  // kept over solves
  DelassusOperator op_;
  StopMonitor monitor_;
  std::unique_ptr<BodyIterates> bodies_;
};

const SolveReport& FirstOrderSolver::solve(const ConstraintProblem& problem,
                                           std::span<double> impulses,
                                           std::span<double> velocities) {
  const double started = wall_seconds();
  obey(problem.comm, stop_.watch);  // a factor of joints may take long
  JointSystem* joints = nullptr;
  if (joint_settings_.method != JointMethod::iterative && !problem.assembled &&
      joints_.prepare(problem))
    joints = &joints_;
  op_.start(problem);
  std::unique_ptr<Iterates> assembled;
  if (problem.assembled)
    assembled = make_assembled_iterates(problem, splitting_, impulses);
  else
    bodies_->start(problem, op_, joints, splitting_, impulses);
  Iterates& iterates = assembled ? *assembled : *bodies_;
  monitor_.set_up(problem, op_, stop_, impulses, velocities, started);
  Run run(problem, stop_, iterates, monitor_, impulses, velocities);
  const bool over = run.start();
  monitor_.set_setup_seconds(wall_seconds() - started);
  std::string remark;
  if (!over) remark = iterate_(run);
  SolveReport& report =
      monitor_.finish(remark, [&](std::span<double> kept) { iterates.store_kept(kept); });
  if (joints != nullptr) report.joints = joints->report();
  bodies_->rest();
  monitor_.rest();
  return report;
}

void FirstOrderSolver::move_joints(const ConstraintProblem& problem, std::span<const double> rhs,
                                   std::span<double> changes) {
  if (joint_settings_.method == JointMethod::iterative)
    return Solver::move_joints(problem, rhs, changes);
  joints_.move(problem, rhs, changes);
}

}  // namespace

bool Run::is_last(int iteration) const {
  return iteration >= stop_.max_iterations || monitor_.out_of_time(iteration);
}

bool Run::start() {
  const ErrorParts* at_zero = iterates_.errors_at_zero();
  std::optional<StopMonitor::Estimate> seen;
  if (at_zero != nullptr && estimates())
    seen = monitor_.start_estimated(*at_zero, iterates_.errors());
  if (seen && seen->keep) iterates_.keep();
  if (seen && !seen->evaluate) return false;
  iterates_.store(impulses_);
  if (!seen) return monitor_.start();
  monitor_.begin(0, 0.0, true);
  return monitor_.end();
}

bool Run::evaluate(int iteration, double moved, bool last) {
  if (estimates() && !last) {
    const StopMonitor::Estimate seen = monitor_.estimate(iteration, iterates_.errors(), moved);
    if (seen.keep) iterates_.keep();
    if (!seen.evaluate) return false;
  }
  iterates_.store(impulses_);
  const bool known = iterates_.store_velocities(velocities_);
  monitor_.begin(iteration, moved, last || estimates(), known);
  return monitor_.end();
}

std::unique_ptr<Solver> make_first_order(std::string_view name, const StopRule& stop,
                                         const JointSolverSettings& joints, double splitting,
                                         Iterate iterate, PackedBy packed) {
  return std::make_unique<FirstOrderSolver>(name, stop, joints, splitting, std::move(iterate),
                                            std::move(packed));
}

}  // namespace catena::first_order
