// What Jacobi and accelerated projected gradient share: set-up, joints, evaluations, the clock.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "catena/constraints/contact_cone.hpp"
#include "catena/solvers/apgd.hpp"
#include "catena/solvers/joint_solver_settings.hpp"
#include "catena/solvers/solver.hpp"
#include "solvers/first_order/iterates.hpp"
#include "solvers/stop_monitor.hpp"

namespace catena::first_order {

/// One solve under way.
class Run {
 public:
  Run(const ConstraintProblem& problem, const StopRule& stop, Iterates& iterates,
      StopMonitor& monitor, std::span<double> impulses, std::span<double> velocities)
      : problem_(problem),
        stop_(stop),
        iterates_(iterates),
        monitor_(monitor),
        impulses_(impulses),
        velocities_(velocities) {}

  Iterates& iterates() { return iterates_; }
  const Communicator& comm() const { return problem_.comm; }
  bool coulomb() const { return law_form(problem_.law).shifted; }
  bool due(int iteration) const { return monitor_.due(iteration); }
  /// Collective where the clock is checked. Whether no iteration after this one may be begun.
  bool is_last(int iteration) const;
  /// Collective. Whether x_0 ends the solve.
  bool start();
  /// Collective. Judges x_k, by what is known of its errors unless that seems to end the solve;
  /// true if the solve is over. `moved`: this rank's squared length of the last step in scaled
  /// impulses, J.
  bool evaluate(int iteration, double moved, bool last);

 private:
  bool estimates() const { return iterates_.knows_errors() && monitor_.takes_estimates(); }

  const ConstraintProblem& problem_;
  const StopRule& stop_;
  Iterates& iterates_;
  StopMonitor& monitor_;
  std::span<double> impulses_, velocities_;
};

/// Goes on from the first iterate until an evaluation says that the solve is over. Returns a remark
/// for the report.
using Iterate = std::function<std::string(Run& run)>;

/// `name` outlives the solver. `splitting`: of scale_rows. `packed`: as of make_apgd.
std::unique_ptr<Solver> make_first_order(std::string_view name, const StopRule& stop,
                                         const JointSolverSettings& joints, double splitting,
                                         Iterate iterate, PackedBy packed = {});

}  // namespace catena::first_order
