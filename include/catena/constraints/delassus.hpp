// The operator N = G M^-1 G^T + Sigma: implicit (through velocities) and assembled.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// Applies the problem's operator. Holds the halo of ghosts and scratch; made once per
/// problem, which must outlive it.
class DelassusOperator {
 public:
  /// Collective over neighbours.
  explicit DelassusOperator(const ConstraintProblem& problem);
  ~DelassusOperator();
  DelassusOperator(DelassusOperator&&) noexcept;

  /// Neighbours. V = V_free + M^-1 G^T lambda, ghosts included. Without bodies
  /// (assembled operator) `velocities` is empty.
  void velocities(std::span<const double> impulses, std::span<double> velocities);
  /// Neighbours. dV = M^-1 G^T lambda (no V_free), ghosts included.
  void velocity_changes(std::span<const double> impulses, std::span<double> changes);
  /// Local, no messages. w = G V + Sigma lambda - q from given velocities. With an
  /// assembled operator: neighbours; w = N lambda + r, velocities ignored.
  void slips(std::span<const double> velocities, std::span<const double> impulses,
             std::span<double> w);
  /// Neighbours. y = N lambda.
  void multiply(std::span<const double> impulses, std::span<double> y);
  /// Neighbours. r: w at zero impulses.
  void free_slips(std::span<double> r);

  /// Local. Diagonal block N_kk (rows x rows, row by row) of block k.
  void diagonal_block(Index block, std::span<double> out) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Dense N of a problem on one rank, row by row (n_rows x n_rows): for tests and direct
/// solvers of small problems. Throws std::logic_error on several ranks.
std::vector<double> assemble_dense(const ConstraintProblem& problem);

/// The same problem as assembled operator (one rank only): no bodies. Throws
/// std::logic_error on several ranks and where blocks other than contacts exist.
ConstraintProblem assembled_problem(const ConstraintProblem& problem);

}  // namespace catena
