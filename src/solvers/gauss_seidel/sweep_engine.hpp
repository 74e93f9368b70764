// What carries out Gauss-Seidel's sweeps for one problem.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "catena/base/error.hpp"
#include "catena/constraints/delassus.hpp"
#include "solvers/batches/subdomain.hpp"
#include "solvers/joints/joint_system.hpp"
#include "solvers/stop_monitor.hpp"

namespace catena {

/// A problem packed for sweeping, with its iterate.
class SweepEngine {
 public:
  virtual ~SweepEngine() = default;
  /// Neighbours. One sweep over all blocks. Returns this rank's sum of |D dlambda|^2, the
  /// squares of the blocks' own residuals just before they are solved.
  virtual double sweep(bool forward) = 0;
  /// Local. Writes the iterate, in the problem's order.
  virtual void store_impulses(std::span<double> impulses) const = 0;
  /// Neighbours. The next sweep starts from these impulses, admissible or not, instead of the
  /// iterate, without mixes. Only of the hybrid without joints solved beside it.
  virtual void load(DelassusOperator& /*op*/, std::span<const double> /*impulses*/) {
    CATENA_CHECK(false, "only the hybrid engine starts anew");
  }
  /// Square of the last sweep's change over all ranks, in a norm in which it falls as the energy
  /// error does; NaN where it is not known.
  virtual double change() const { return kNotGiven; }
  /// Whether errors() is known; the same on all ranks.
  virtual bool knows_errors() const { return false; }
  /// Local. Errors of the iterate at the velocities that the sweeps carried along: less work than a
  /// sweep, and as exact as round-off of all sweeps leaves these velocities.
  virtual ErrorParts errors() const { return ErrorParts(false); }
  /// Errors of zero impulses; null where they are not known, on all ranks alike.
  virtual const ErrorParts* errors_at_zero() const { return nullptr; }
  /// Local. Of an engine that knows errors: keeps the iterate; writes the one that was kept last.
  virtual void keep() {}
  virtual void store_kept(std::span<double> /*impulses*/) {}
  /// What the report should say of the method; may be empty.
  virtual std::string remark() const { return {}; }
};

/// The hybrid over subdomains: each sweeps its blocks across borders by Gauss-Seidel on copies of
/// shared bodies with n_b M^-1; their changes are added with the true mass (SharedBodies), and all
/// others are swept with true masses. Interior blocks are swept while the messages travel. Kept
/// over problems: what it packs is written into the memory of the last one.
class HybridEngine : public SweepEngine {
 public:
  /// Collective. Packs a problem, which must outlive its sweeps; comes before anything else.
  /// `impulses`: the first guess.
  ///
  /// `joints`, if not null, are prepared for the problem: bilateral blocks are then not swept, but
  /// solved exactly with true masses at the start and after each sweep; the bodies carry velocities
  /// then.
  virtual void start(const ConstraintProblem& problem, DelassusOperator& op,
                     const SweepOptions& rules, JointSystem* joints,
                     std::span<const double> impulses) = 0;
  /// Whether the engine has this problem packed and sweeps it by velocities.
  virtual bool holds(const ConstraintProblem& problem) const = 0;
  /// What is packed of it, for other iterations: null where several subdomains share it, or where
  /// sweeps carry something else than velocities.
  virtual Subdomain* packed(const ConstraintProblem& problem) = 0;
  /// Local. After the last sweep: gives the memory of large lists back; start() comes next.
  virtual void rest() = 0;
};
std::unique_ptr<HybridEngine> make_hybrid_engine();

/// Collective. By rows of an assembled N. On several ranks block-Jacobi between ranks,
/// Gauss-Seidel inside: the diagonal of each block is raised by the row sums of the
/// off-rank part |N_ij|, so that for symmetric N
///   N <= N_inside + diag(row sums)
/// and every sweep descends for the convex laws.
std::unique_ptr<SweepEngine> make_assembled_engine(const ConstraintProblem& problem,
                                                   const LocalSolveOptions& rules,
                                                   std::span<const double> impulses);

}  // namespace catena
