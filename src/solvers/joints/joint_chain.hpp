// Chains of all ranks, assembled from their joints' numbers.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "solvers/joints/chain/chain_factor.hpp"
#include "solvers/joints/joint_transport.hpp"

namespace catena {

/// A = G M^-1 G^T + Sigma of the joints that a layout eliminates as chains, factored over all
/// ranks: these joints stand one after another, so that A is block tridiagonal.
class JointChain {
 public:
  /// Collective, of ranks that have such joints between them. `layout` must outlive it.
  JointChain(const ConstraintProblem& problem, const JointLayout& layout,
             const JointSolverSettings& settings);

  /// Collective. Takes the numbers of a step, per assigned joint of the layout.
  void factor(const Communicator& comm, std::span<const JointNumbers> numbers);
  /// Neighbours, and the ranks of the interface system. Rows of the layout: the chains' become
  /// A^-1 times themselves.
  void solve(std::span<double> rows) { factor_->solve(rows.first(part_.row_begin.back())); }

  const FactorReport& report() const { return factor_->report(); }
  ChainGrouping grouping() const { return factor_->grouping(); }

 private:
  std::span<const AssignedJoint> joints() const {
    return std::span(layout_.assigned).first(layout_.n_chain);
  }
  /// Whether the first joint shares a body with the last one of an earlier rank.
  bool couples_back() const {
    return layout_.n_chain > 0 && joints().front().place.previous_body >= 0;
  }
  int previous_rank(int rank) const;
  int next_rows(const Communicator& comm) const;
  void send_first(const Communicator& comm, const JointNumbers& first);

  const JointLayout& layout_;
  ChainPart part_;
  int next_rows_ = 0;               ///< rows of the next rank's first joint, if it couples; else 0
  std::vector<double> next_first_;  ///< G M^-1 of that joint at the body that both hold
  std::optional<ChainFactor> factor_;
};

}  // namespace catena
