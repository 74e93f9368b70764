// The bilateral blocks of a problem as one block of the outer iteration, solved exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "catena/constraints/delassus.hpp"
#include "catena/solvers/solver.hpp"
#include "solvers/joints/cut_mechanism.hpp"
#include "solvers/joints/joint_chain.hpp"
#include "solvers/joints/joint_group.hpp"
#include "solvers/joints/joint_velocities.hpp"

namespace catena {

/// Solves all bilateral blocks of a problem exactly while the others are held fixed:
///
///   A dlambda = -w(lambda) on the bilateral rows,  A = G M^-1 G^T + Sigma,
///   lambda += dlambda,  V += M^-1 G^T dlambda   (true masses)
///
/// Kept from step to step: the layout (mechanisms, who eliminates what) and the paths of the
/// numbers, as long as the same blocks stand in the same order on every rank, with the same rows
/// but for some that are at rest. For each matrix: the numbers of blocks that another rank
/// eliminates travel there once, factors are made once; each solve sends their w there and dlambda
/// back, besides the velocities of the bodies that joints hold.
///
/// refine takes out again what regularisation and round-off leave, by more solves with the same
/// factors.
class JointSystem {
 public:
  explicit JointSystem(const JointSolverSettings& settings) : settings_(settings) {}
  // its parts refer to its layout
  JointSystem(const JointSystem&) = delete;
  JointSystem& operator=(const JointSystem&) = delete;

  /// Collective. Takes the problem's bilateral blocks and factors them, unless these factors stand
  /// (ConstraintProblem::joint_matrix); false if there are none
  /// on any rank. Throws Error(bad_input) where the method refuses a mechanism.
  bool prepare(const ConstraintProblem& problem);

  /// Neighbours, and what the eliminations say. `velocities` (n_dofs): V of all bodies that joints
  /// hold, right at their owners on entry, at ghosts too on return. `impulses`: all rows.
  void solve(const ConstraintProblem& problem, std::span<double> impulses,
             std::span<double> velocities);

  /// solve() from the other impulses alone, whatever the reactions were: they are taken back first,
  /// V -= M^-1 G^T lambda. Where a factor is regularised beyond round-off, or chains' factors,
  /// which do not refine, take part, a second solve takes out what that leaves.
  void solve_anew(const ConstraintProblem& problem, std::span<double> impulses,
                  std::span<double> velocities);
  /// Whether the rows determine their impulses, as far as is known: closed loops have redundant
  /// rows, or nearly such.
  bool determined() const {
    return report_.redundant.empty() && report_.raised == 0 && report_.rings + report_.looped == 0;
  }

  /// Collective. velocities and slips() become those of the impulses, recomputed.
  void measure(const ConstraintProblem& problem, DelassusOperator& op,
               std::span<const double> impulses, std::span<double> velocities);
  /// Collective, after measure() of the same impulses. Solves until all |w| are below 1e-12 m/s
  /// (rad/s) or round-off, or no longer fall, at most four times; `at_least` times in any case, for
  /// who knows that they are not small enough. Velocities and slips() are again those of the
  /// impulses.
  void refine(const ConstraintProblem& problem, DelassusOperator& op, std::span<double> impulses,
              std::span<double> velocities, int at_least = 0);
  /// w of the last measure() and the diagonal of N, per row of the general blocks; right where they
  /// are bilateral. The diagonal is empty where it is not known.
  std::span<const double> slips() const { return slips_; }
  std::span<const double> diagonal() const { return diagonal_; }

  /// The same for a given right-hand side of the bilateral rows: A lambda = rhs;
  /// changes = M^-1 G^T lambda, all other bodies 0. `impulses`, unless empty, get lambda.
  void move(const ConstraintProblem& problem, std::span<const double> rhs,
            std::span<double> changes, std::span<double> impulses = {});

  const JointSolverSettings& settings() const { return settings_; }
  /// Per local body: whether a joint of any rank acts on it.
  std::span<const char> touched() const { return velocities_.touched(); }
  /// The same on every rank.
  const JointReport& report() const { return report_; }
  /// Collective. JointElimination::contradiction of all mechanisms in the last solve.
  double contradiction(const ConstraintProblem& problem) const;

 private:
  void make_structure(const ConstraintProblem& problem);
  void factor(const ConstraintProblem& problem);
  void eliminate();
  double find_slips(const ConstraintProblem& problem, std::span<const double> impulses,
                    std::span<const double> velocities);
  void keep_diagonal(const ConstraintProblem& problem);
  void ask_for(const ConstraintProblem& problem, std::span<const double> rows);
  void take_regularisation_out(const ConstraintProblem& problem, std::span<double> impulses);
  void add_impulses(const ConstraintProblem& problem, double* lambda) const;
  void add_changes(const ConstraintProblem& problem, std::span<double> velocities);
  void make_report(const Communicator& comm);

  JointSolverSettings settings_;
  JointReport report_;
  std::vector<HeldJoint> held_;  ///< of the present problem
  bool laid_out_ = false;        ///< what follows is whole and serves joints like `held_`
  /// Problem and ConstraintProblem::joint_matrix that the factors are of.
  std::pair<const ConstraintProblem*, std::int64_t> factored_{};
  std::optional<JointLayout> layout_;
  std::optional<JointTransport> transport_;
  JointVelocities velocities_;
  std::optional<JointChain> chain_;  ///< where any rank has chains
  std::vector<CutMechanism> cut_;    ///< the same ones on every rank
  std::vector<JointGroup> groups_;
  bool any_groups_ = false;   ///< on any rank
  std::vector<double> rows_;  ///< of the layout: w and then dlambda
  bool regular_ = false;      ///< all are chains, without raised pivots: one regularisation
  std::vector<double> slips_, diagonal_;  ///< of the general blocks' rows
  // of all ranks, at the last measure()
  double largest_slip_ = 0.0;
  double refined_ = 0.0;  ///< a largest slip that needs no refinement
};

}  // namespace catena
