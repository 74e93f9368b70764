// Solvers of the matrices that Newton systems lead to.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "solvers/newton/condensed_system.hpp"

namespace catena {

/// A x = b with A given by its entries in the pattern's order.
class NewtonMatrix {
 public:
  virtual ~NewtonMatrix() = default;
  /// Collective. False on every rank: no factor (not positive definite, singular).
  virtual bool factor(std::span<const double> values, bool symmetric) = 0;
  /// Collective. In place; x: this rank's unknowns. Iterative ones stop at a residual of
  /// `absolute` (2-norm). Iterations taken, or -1: failed.
  virtual int solve(std::span<double> x, double absolute) = 0;
  /// Collective.
  virtual std::string description() = 0;
};

/// One rank, few unknowns: dense Cholesky or LU with partial pivoting.
std::unique_ptr<NewtonMatrix> make_dense_matrix(const MatrixPattern& pattern);

/// One rank, few unknowns: Cholesky or LU with partial pivoting, dense, or sparse where that is
/// less work (chains, rows of bodies). Null if either would take more than MUMPS.
std::unique_ptr<NewtonMatrix> make_small_matrix(const MatrixPattern& pattern);

/// Collective. PETSc on `comm`: MUMPS if `direct`, else a Krylov method with `settings`'
/// preconditioner; options catena_contact_ change both. Throws Error at `where`.
std::unique_ptr<NewtonMatrix> make_petsc_matrix(const Communicator& comm, CondensedSystem& form,
                                                const LinearSettings& settings, bool direct,
                                                std::string where);

}  // namespace catena
