#include "solvers/first_order/first_order_solver.hpp"

#include <algorithm>
#include <cmath>

#include "catena/base/timer.hpp"

namespace catena::first_order {

bool Run::is_last(int iteration) const {
  return iteration >= stop_.max_iterations || monitor_.out_of_time(iteration);
}

bool Run::evaluate(int iteration, std::span<const double> x, double moved, bool last) {
  rows_.store(x, impulses_);
  const std::span<const double> v = rows_.velocities();
  std::copy(v.begin(), v.end(), velocities_.begin());
  monitor_.begin(iteration, moved, last, !v.empty());
  return monitor_.end();
}

SolveReport Method::solve(const ConstraintProblem& problem, std::span<double> impulses,
                          std::span<double> velocities) {
  const double started = wall_seconds();
  obey(problem.comm, stop_.watch);  // a factor of joints may take long
  JointSystem* joints = nullptr;
  if (joint_settings_.method != JointMethod::iterative && !problem.assembled &&
      joints_.prepare(problem))
    joints = &joints_;
  DelassusOperator op(problem);
  ScaledProblem rows(problem, op, joints, splitting_);
  std::vector<double> x(rows.size()), g(rows.size());
  rows.load(impulses, x);
  // twice where there are joints: what regularisation leaves of the first the second takes out
  for (int turn = joints != nullptr ? 0 : 1; turn < 2; ++turn) rows.residual_velocities(x, g);
  rows.store(x, impulses);
  StopMonitor monitor(problem, op, stop_, impulses, velocities, started);
  const bool over = monitor.start();
  monitor.set_setup_seconds(wall_seconds() - started);
  std::string remark;
  if (!over) {
    Run run(problem, stop_, rows, monitor, impulses, velocities);
    remark = iterate(run, x, g);
  }
  SolveReport report = monitor.finish(remark);
  if (joints != nullptr) report.joints = joints->report();
  return report;
}

void Method::move_joints(const ConstraintProblem& problem, std::span<const double> rhs,
                         std::span<double> changes) {
  if (joint_settings_.method == JointMethod::iterative)
    return Solver::move_joints(problem, rhs, changes);
  joints_.move(problem, rhs, changes);
}

}  // namespace catena::first_order
