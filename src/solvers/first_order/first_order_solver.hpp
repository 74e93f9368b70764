// What Jacobi and accelerated projected gradient share: set-up, joints, evaluations, the clock.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "catena/solvers/joint_solver_settings.hpp"
#include "catena/solvers/solver.hpp"
#include "solvers/first_order/scaled_problem.hpp"
#include "solvers/joints/joint_system.hpp"
#include "solvers/stop_monitor.hpp"

namespace catena::first_order {

/// One solve under way.
class Run {
 public:
  Run(const ConstraintProblem& problem, const StopRule& stop, ScaledProblem& rows,
      StopMonitor& monitor, std::span<double> impulses, std::span<double> velocities)
      : problem_(problem),
        stop_(stop),
        rows_(rows),
        monitor_(monitor),
        impulses_(impulses),
        velocities_(velocities) {}

  ScaledProblem& rows() { return rows_; }
  const Communicator& comm() const { return problem_.comm; }
  bool coulomb() const { return law_form(problem_.law).shifted; }
  bool due(int iteration) const { return monitor_.due(iteration); }
  /// Collective where a look at the clock is due. Whether no iteration after this one may be begun.
  bool is_last(int iteration) const;
  /// Collective. Judges x, whose slips were the last product; true if the solve is over. `moved`:
  /// this rank's squared length of the last step in scaled impulses, J.
  bool evaluate(int iteration, std::span<const double> x, double moved, bool last);

 private:
  const ConstraintProblem& problem_;
  const StopRule& stop_;
  ScaledProblem& rows_;
  StopMonitor& monitor_;
  std::span<double> impulses_, velocities_;
};

/// A method that goes on from x and g = S^-1 w(x).
class Method : public Solver {
 public:
  /// `splitting`: of scale_rows.
  Method(const StopRule& stop, const JointSettings& joints, double splitting)
      : stop_(stop), joint_settings_(joints), joints_(joints), splitting_(splitting) {}

  SolveReport solve(const ConstraintProblem& problem, std::span<double> impulses,
                    std::span<double> velocities) final;
  void move_joints(const ConstraintProblem& problem, std::span<const double> rhs,
                   std::span<double> changes) final;

 protected:
  /// Iterates until an evaluation says that the solve is over. Returns a remark for the report.
  virtual std::string iterate(Run& run, std::vector<double>& x, std::vector<double>& g) = 0;
  const StopRule& stop() const { return stop_; }

 private:
  StopRule stop_;
  JointSettings joint_settings_;
  JointSystem joints_;
  double splitting_;
};

}  // namespace catena::first_order
