#include "solvers/first_order/first_order_solver.hpp"

#include <algorithm>

#include "catena/base/timer.hpp"
#include "solvers/joints/joint_system.hpp"

namespace catena::first_order {
namespace {

class FirstOrderSolver final : public Solver {
 public:
  FirstOrderSolver(std::string_view name, const StopRule& stop, const JointSolverSettings& joints,
                   double splitting, Iterate iterate)
      : name_(name),
        stop_(stop),
        joint_settings_(joints),
        joints_(joints),
        splitting_(splitting),
        iterate_(std::move(iterate)) {}

  std::string_view name() const override { return name_; }
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
  SolveReport report_;
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
  DelassusOperator op(problem);
  const std::unique_ptr<Iterates> iterates =
      problem.assembled ? make_assembled_iterates(problem, splitting_)
                        : make_body_iterates(problem, op, joints, splitting_);
  iterates->start(impulses);
  iterates->store(impulses);
  StopMonitor monitor(problem, op, stop_, impulses, velocities, started);
  const bool over = monitor.start();
  monitor.set_setup_seconds(wall_seconds() - started);
  std::string remark;
  if (!over) {
    Run run(problem, stop_, *iterates, monitor, impulses, velocities);
    remark = iterate_(run);
  }
  report_ = std::move(monitor.finish(remark));
  if (joints != nullptr) report_.joints = joints->report();
  return report_;
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

bool Run::evaluate(int iteration, double moved, bool last) {
  iterates_.store(impulses_);
  const std::span<const double> v = iterates_.velocities();
  std::copy(v.begin(), v.end(), velocities_.begin());
  monitor_.begin(iteration, moved, last, !v.empty());
  return monitor_.end();
}

std::unique_ptr<Solver> make_first_order(std::string_view name, const StopRule& stop,
                                         const JointSolverSettings& joints, double splitting,
                                         Iterate iterate) {
  return std::make_unique<FirstOrderSolver>(name, stop, joints, splitting, std::move(iterate));
}

}  // namespace catena::first_order
