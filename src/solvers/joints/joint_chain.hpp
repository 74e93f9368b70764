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
  /// Collective, of ranks that have such joints between them. `layout` is not kept.
  JointChain(const ConstraintProblem& problem, const JointLayout& layout,
             const JointSolverSettings& settings);

  /// Collective. Takes the numbers of a step; the chains' rows of the layout get A's diagonal.
  void factor(const Communicator& comm, const JointTransport& transport, std::span<double> rows);
  /// Neighbours, and the ranks of the interface system. Rows of the layout: the chains' become
  /// A^-1 times themselves.
  void solve(std::span<double> rows) { factor_->solve(rows.first(part().row_begin.back())); }

  const FactorReport& report() const { return factor_->report(); }
  ChainGrouping grouping() const { return factor_->grouping(); }

 private:
  /// A joint of the chains: its dynamic bodies, and which of them it shares with the joint before
  /// and the next one; -1: none.
  struct Link {
    std::int8_t bodies, previous, next;
  };
  const ChainPart& part() const { return factor_->part(); }
  int rows(std::size_t i) const { return part().row_begin[i + 1] - part().row_begin[i]; }
  /// Whether the first joint shares a body with the last one of an earlier rank.
  bool couples_back() const { return !links_.empty() && links_.front().previous >= 0; }
  int next_rows(const Communicator& comm, int first_rows) const;
  template <int kRows>
  static void assemble(const Link& link, const JointNumbers& own, int rows_before,
                       const double* before, double* a, double* coupling, double* diagonal);
  void send_first(const Communicator& comm, const JointTransport& transport);

  std::vector<Link> links_;
  int previous_rank_ = -1;          ///< the last rank before this one that has chain joints
  int next_rows_ = 0;               ///< rows of the next rank's first joint, if it couples; else 0
  std::vector<double> next_first_;  ///< G M^-1 of that joint at the body that both hold
  std::optional<ChainFactor> factor_;
};

}  // namespace catena
