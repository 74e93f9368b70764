// The iterations of proximal Newton, as a part of solvers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "catena/solvers/solver.hpp"
#include "solvers/newton/proximal_direction.hpp"
#include "solvers/stop_monitor.hpp"

namespace catena {

/// The weight alpha of proximal problems: it falls as long as Newton is quick and rises where it
/// fails.
struct ProximalWeight {
  static constexpr double kQuick = 0.2;

  /// After a problem of so many Newton steps, with |F| before and after it.
  void adapt(bool reached, int steps, double before, double after);

  double value = 1e-3;
  double fall = kQuick;  ///< what a quick success multiplies it by
  int failures = 0;      ///< in a row
};

/// Proximal point iterations: with the last solution p, the weight alpha and the rows' scales D,
///
///   F(lambda, N lambda + r + alpha D (lambda - p)) = 0
///
/// is solved, by Newton's method with a non-monotone line search, until |F| has fallen by a factor.
/// The proximal term gives the systems of rank-deficient N a unique solution and vanishes from the
/// result.
class ProximalNewtonSteps {
 public:
  /// Local. All must outlive it. `impulses`, admissible, are the start; `first` steps have been
  /// made by others.
  ProximalNewtonSteps(const ConstraintProblem& problem, DelassusOperator& op,
                      const LawFunction& law, NewtonSystem& system, const StopRule& rule,
                      std::span<double> impulses, int first = 0);

  /// Collective. Until the monitor says that the solve is over, which is also reported to it where
  /// no progress is to be expected any more: its rule's give_up must ask stuck(). Where time runs
  /// out within a step the last iterate that was judged is the last one.
  void run(StopMonitor& monitor);
  bool stuck() const;

  int linear_iterations() const { return newton_.linear_iterations(); }
  /// "12 proximal problems, last weight 1e-06".
  std::string remark() const;

 private:
  enum class Approach { reached, failed, limit };
  struct Point {
    std::vector<double> lambda, w;
  };

  void iterate(StopMonitor& monitor);
  double renew_slips();
  double lengthen();
  Approach approach();
  void take_step();
  double at_step(double length);
  double norm(double local_square) const;

  const ConstraintProblem& problem_;
  DelassusOperator& op_;
  const LawFunction& law_;
  const StopRule& rule_;
  std::span<double> impulses_;
  ProximalDirection newton_;
  Point now_, centre_, from_;  ///< centre of the proximal problem; start of the line search
  std::vector<double> free_residual_, f_;
  std::vector<double> past_;  ///< |F| of the proximal problem so far
  ProximalWeight weight_;
  int steps_, problems_ = 0;
};

}  // namespace catena
