// The linear systems that interior point and Newton methods share.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/constraints/delassus.hpp"
#include "catena/solvers/linear_settings.hpp"
#include "solvers/solve_watch.hpp"

namespace catena {

/// A dense m_k x m_k matrix per block of a problem, row by row, one after the other.
struct BlockMatrices {
  explicit BlockMatrices(const ConstraintProblem& problem);
  std::vector<std::size_t> begin;  ///< n_blocks + 1, into value
  std::vector<double> value;
  double* block(Index k) { return value.data() + begin[k]; }
  const double* block(Index k) const { return value.data() + begin[k]; }
};

/// What one solve took.
struct LinearReport {
  bool ok = false;        ///< false: the factor broke down or the iteration did not settle
  int iterations = 0;     ///< of Krylov or refinement
  double residual = 0.0;  ///< |g - C dlambda - B N dlambda| / |g|, recomputed
};

/// Systems
///
///   C_k dlambda_k + B_k (N dlambda)_k = g_k   for every block k,   N = G M^-1 G^T + Sigma,
///
/// of one problem with changing block diagonal matrices C and B. Two kinds:
///
///   symmetric    B = I, C symmetric positive semidefinite (interior point: C is the scaling)
///   general      any C, B (Newton on a complementarity function)
///
/// With bodies the system is condensed on velocities ("body" form),
///
///   (M + G^T E G) dV = G^T e,  dlambda = e - E G dV,  E = (C + B Sigma)^-1 B, e = (C + B Sigma)^-1
///   g,
///
/// whose matrix has 6 x 6 blocks on the graph of contacts, is positive definite in the symmetric
/// kind and never rank-deficient; with an assembled operator it is solved in rows. Rows with
/// C + B Sigma ~ 0 (joints; sticking contacts late) are regularised in the factor only: what is
/// solved is always the system as it stands, by iterating with the factor as preconditioner
/// on its true residual (conjugate gradients in the symmetric kind).
///
/// Distributed as the problem is. The pattern is analysed once per problem. Small problems on one
/// rank do not touch PETSc: their factors are dense, or sparse where that is less work.
class NewtonSystem {
 public:
  /// Collective. `problem` and `op` must outlive it. `where` names the user in error messages.
  NewtonSystem(const ConstraintProblem& problem, DelassusOperator& op,
               const LinearSettings& settings, std::string where);
  ~NewtonSystem();

  /// From now on `watch`, which must outlive the system, is checked before every factor and every
  /// solve with it, and a factor that would outlast what is left is not begun, by the time that
  /// the factors so far took for their work: factor and solve may throw OutOfTime and StopAsked.
  void watch(SolveWatch& watch);

  /// Collective. Takes the numbers and factors them (or renews the preconditioner). `b` null: the
  /// symmetric kind. False on every rank: not finite, or singular beyond regularisation.
  bool factor(const BlockMatrices& c, const BlockMatrices* b = nullptr);
  /// Collective. Takes the numbers but keeps the last factor as preconditioner.
  void renew(const BlockMatrices& c, const BlockMatrices* b = nullptr);

  /// Collective. dlambda (n_rows) of right-hand side g (n_rows) until the residual is below
  /// `tolerance` times |g| or no longer falls. `change`, unless empty (n_dofs, with bodies only),
  /// receives M^-1 G^T dlambda, ghosts included, recomputed from dlambda.
  LinearReport solve(std::span<const double> g, std::span<double> dlambda, std::span<double> change,
                     double tolerance);

  /// "dense", "sparse", "MUMPS", "CG with GAMG", ...: for reports.
  std::string description() const;
  std::int64_t unknowns() const;  ///< of the system factored, over all ranks

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace catena
