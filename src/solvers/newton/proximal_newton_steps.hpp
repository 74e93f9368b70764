// The iterations of proximal Newton, as a part of solvers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "catena/solvers/solver.hpp"
#include "solvers/newton/law_function.hpp"
#include "solvers/newton/newton_system.hpp"
#include "solvers/stop_monitor.hpp"

namespace catena {

/// Proximal point iterations: with the last solution p, the weight alpha and the rows' scales D,
///
///   F(lambda, N lambda + r + alpha D (lambda - p)) = 0
///
/// is solved, by Newton's method with a non-monotone line search, until |F| has fallen by a factor;
/// alpha falls as long as Newton is quick and rises where it fails. The proximal term gives the
/// systems of rank-deficient N a unique solution and vanishes from the result.
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

  int linear_iterations() const { return linear_iterations_; }
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
  bool find_direction();
  void take_step();
  double at_step(double length);
  double norm(double local_square) const;
  void adapt(Approach outcome, int steps, double before, double after);

  const ConstraintProblem& problem_;
  DelassusOperator& op_;
  const LawFunction& law_;
  NewtonSystem& system_;
  const StopRule& rule_;
  std::span<double> impulses_;
  BlockMatrices a_, b_, c_;
  Point now_, centre_, from_;  ///< centre of the proximal problem; start of the line search
  std::vector<double> free_residual_, f_, right_, direction_, slope_;
  std::vector<double> past_;  ///< |F| of the proximal problem so far
  double weight_, fall_;      ///< alpha, and what a quick success multiplies it by
  int steps_, linear_iterations_ = 0, problems_ = 0, failures_ = 0;
};

}  // namespace catena
