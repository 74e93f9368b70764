#include "catena/solvers/solver.hpp"

#include <utility>

#include "catena/base/error.hpp"

namespace catena {

std::string_view to_string(SolveStatus status) {
  switch (status) {
    case SolveStatus::converged:
      return "converged";
    case SolveStatus::iteration_limit:
      return "iteration_limit";
    case SolveStatus::time_limit:
      return "time_limit";
    case SolveStatus::breakdown:
      return "breakdown";
  }
  return "unknown";
}

void clear(SolveReport& report) {
  SolveReport empty;
  empty.reason = std::move(report.reason);
  empty.choice = std::move(report.choice);
  empty.history = std::move(report.history);
  empty.reason.clear();
  empty.choice.clear();
  empty.history.clear();
  report = std::move(empty);
}

void Solver::move_joints(const ConstraintProblem& /*problem*/, std::span<const double> /*rhs*/,
                         std::span<double> /*changes*/) {
  throw Error(
      "positions cannot be projected: " + std::string(name()) + " keeps no factors of the joints",
      "solver.joints", "use solver.joints.method: auto, or leave out the projection");
}

void describe(SettingsVisitor& visit, StopRule& s) {
  visit.choose("metric", s.metric, kMetricNames,
               {.help = "error that decides when the solver may stop"});
  visit.visit("relative_tolerance", s.relative_tolerance,
              {.min = 0, .help = "of the metric's value at zero impulses"});
  visit.visit(
      "absolute_tolerance", s.absolute_tolerance,
      {.unit = s.metric == Metric::energy                                               ? "J"
               : s.metric == Metric::natural_map || s.metric == Metric::natural_map_rms ? "m/s"
                                                                                        : "",
       .min = 0,
       .help = "of the metric itself, in its unit"});
  visit.visit("max_iterations", s.max_iterations,
              {.min = 1,
               .word = "auto",
               .word_value = 0,
               .help = "iterations of one solve, in the method's unit (gauss_seidel, jacobi: "
                       "sweeps; apgd: products with N; interior_point: stages; dantzig: passes; "
                       "method auto: the work of so many sweeps); `auto`: 1000, of method auto "
                       "10000"});
  visit.visit("time_limit", s.time_limit,
              {.unit = "s",
               .min = 0,
               .word = "none",
               .help = "wall time of one solve, checked at evaluations and every half second"});
  visit.visit("check_interval", s.check_interval,
              {.min = 1,
               .help = "iterations between evaluations of the error, the first after 1, 2, 4, ...; "
                       "gauss_seidel leaves up to three in a row out, or makes one early, where "
                       "contacts are compliant and the change of its sweeps foretells the error"});
  visit.visit("keep_best", s.keep_best,
              {.help = "stopped by a limit, return the iterate of least energy error"});
}

}  // namespace catena
