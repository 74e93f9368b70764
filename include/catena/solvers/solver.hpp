// The interface of all contact solvers.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catena/base/settings.hpp"
#include "catena/base/watch.hpp"
#include "catena/constraints/constraint_problem.hpp"
#include "catena/metrics/errors.hpp"

namespace catena {

/// How a solve ended.
enum class SolveStatus {
  converged,        ///< the stop rule is met
  iteration_limit,  ///< stopped early; the impulses are feasible but not exact
  time_limit,       ///< the same, on the clock
  breakdown,        ///< infinity or NaN met; the impulses must not be used
};
/// The status as reports and logs name it.
std::string_view to_string(SolveStatus status);

/// One line of a solve's history.
struct HistoryEntry {
  int iteration = 0;
  double wall_s = 0.0;
  Errors errors;
  /// The method's own cheap monitor. Gauss-Seidel, (m/s)^2: over the last sweep, the sum of
  /// |D dlambda|^2, what each block's residual was just before its update, which is what
  /// [L11] Algorithm 2.2 takes off its xi. (xi itself leaves out what an update does to the
  /// neighbours' residuals and so drifts below zero.)
  double running_error = 0.0;
};

/// When a solver may stop. Met when `metric` falls below relative_tolerance times its
/// value at zero impulses, or below absolute_tolerance (in the metric's unit), or, for
/// energy, below the round-off of the step's energies.
struct StopRule {
  Metric metric = Metric::energy;
  double relative_tolerance = 1e-6;
  double absolute_tolerance = 1e-12;
  int max_iterations = 200;   ///< in the method's own unit; of `auto` the work of so many sweeps
  double time_limit = kNone;  ///< s, wall; kNone: none
  /// Iterations between evaluations of the error, which cost some sweeps each; they begin after
  /// 1, 2, 4, ... iterations, until they are so far apart. Gauss-Seidel estimates the error instead
  /// where it can, for less than a sweep; accelerated sweeps leave some out and make some early.
  int check_interval = 10;
  bool keep_best = true;  ///< when a limit stops the solver, return the iterate of least energy
  /// Errors made besides the metric's and the energy: at every evaluation and at zero impulses,
  /// and of the impulses returned; the others are NaN. The energy alone takes a third of the
  /// time of all. Set by the program, not by a case.
  ErrorSet history_set = ErrorSet::all, report_set = ErrorSet::all;
  /// Asked after every evaluation that did not end the solve, with all of them so far and the value
  /// that is to be reached (equal on all ranks but for wall_s): true ends the solve as the
  /// iteration limit does. Set by the program.
  std::function<bool(std::span<const HistoryEntry>, double threshold)> give_up = {};
  /// Looked at every half second and before each call of a library: where the run is to end, the
  /// solve is broken off by StopAsked on every rank. Null: nobody asks. Must outlive the solver.
  /// Set by the program.
  const Watch* watch = nullptr;
};
/// The keys of `solver:` that all methods share.
void describe(SettingsVisitor& visit, StopRule& s);

/// A row of a joint that depends on rows before it: met by regularisation.
struct RedundantJointRow {
  std::int64_t name = 0;  ///< of the block
  int row = 0;
};

/// Rows that a report names.
inline constexpr std::size_t kMaxRedundantNamed = 100;

/// How the joints of a problem were solved; equal on all ranks but for `own_rows`.
struct JointReport {
  std::int64_t joints = 0;                                    ///< bilateral blocks
  std::int64_t chains = 0, trees = 0, rings = 0, looped = 0;  ///< mechanisms
  std::int64_t longest_chain = 0;                             ///< joints
  std::int64_t chain_joints = 0;                              ///< eliminated as chains
  std::int64_t sparse_joints = 0;                             ///< by the sparse direct factor
  std::int64_t cut_joints = 0;  ///< of these: of mechanisms that several ranks eliminate
  std::string grouping;         ///< of the chains' elimination; "" without chains
  double regularisation = 0.0;  ///< largest epsilon: A_ii (1 + epsilon)
  double smallest_pivot = 1.0;  ///< over its row's A_ii: 1/condition to an order or so
  std::int64_t raised = 0;      ///< rows whose pivot had to be raised further
  /// Factorisations of the bilateral rows, without those of driven joints; 0: the factors of the
  /// solve before stood. Of a step: of all its solves.
  int factorisations = 0;
  std::vector<RedundantJointRow> redundant;  ///< the first hundred
  std::int64_t own_rows = -1;  ///< that this rank eliminates; -1: no joints are eliminated
};

/// A connected component of a problem that a solver which takes components apart did not solve, or
/// solved by another method.
struct SolvedApart {
  std::int64_t blocks = 0, rows = 0;
  bool solved = false;  ///< by the other method; false: its impulses miss the tolerance
  /// The block of its largest error: a contact's bodies, or `name` of another block (and of
  /// contacts without key).
  bool contact = false;
  ContactKey key;
  std::int64_t name = 0;
  std::string text;  ///< what happened, without names
};

/// Components that a report names.
inline constexpr std::size_t kMaxApartNamed = 100;

/// What a solve did; equal on all ranks but for JointReport::own_rows.
struct SolveReport {
  SolveStatus status = SolveStatus::iteration_limit;
  std::string reason;  ///< one sentence
  std::string choice;  ///< the methods tried, in order; empty where there was no choice
  int iterations = 0;  ///< in the unit of StopRule::max_iterations
  int linear_iterations = 0;
  double wall_s = 0.0;  ///< whole solve, set-up included
  double setup_s = 0.0;
  Errors initial;  ///< at zero impulses (StopRule::history_set)
  Errors errors;   ///< of the impulses returned, recomputed from them
  Metric metric = Metric::energy;
  double threshold = 0.0;             ///< the value of the metric that was to be reached
  std::vector<HistoryEntry> history;  ///< at every evaluation (StopRule::history_set)
  JointReport joints;
  std::vector<SolvedApart> apart;  ///< the first hundred
  std::int64_t n_apart = 0;        ///< of all
  /// Why a pivoting method ended without a solution, where it is not round-off; else empty.
  std::string stuck;
};

/// Becomes a report of nothing; its reason, choice and history keep their memory.
void clear(SolveReport& report);

/// A method for the constraint problem. Methods differ in speed and accuracy only: all
/// take the same problem and write the same unknowns, so that a run can change method
/// by changing its configuration.
class Solver {
 public:
  virtual ~Solver() = default;
  /// The method, as reports and logs name it.
  virtual std::string_view name() const = 0;

  /// Collective. Solves `problem`.
  ///
  /// `impulses` (n_rows) holds lambda, block by block in the problem's order, N s: the
  /// first guess on entry (zeros are fine; made admissible first), the solution on return.
  /// `velocities` (n_dofs) receives V = V_free + M^-1 G^T lambda, ghosts included. The report is
  /// the solver's own and stands until its next solve.
  virtual const SolveReport& solve(const ConstraintProblem& problem, std::span<double> impulses,
                                   std::span<double> velocities) = 0;

  /// Local. The solves that follow stop by another rule.
  virtual void set_stop_rule(const StopRule& rule) = 0;

  /// Collective. With the factors of the joints of the last solve, dV = M^-1 G^T lambda and
  /// A lambda = `rhs` for the bilateral rows; `rhs` is given in the problem's rows, others are
  /// not read. `changes` (n_dofs) receives dV, ghosts included. Throws Error(bad_input) where
  /// this method keeps no factors.
  virtual void move_joints(const ConstraintProblem& problem, std::span<const double> rhs,
                           std::span<double> changes);
};

}  // namespace catena
