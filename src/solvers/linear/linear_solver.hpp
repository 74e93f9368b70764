// Linear systems given by the entries of their matrices, and what solves them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/solvers/linear_settings.hpp"

namespace catena {

/// A square matrix over all ranks as a list of entries; what stands at the same place adds up.
/// Every rank owns consecutive rows; its entries may lie in rows of others.
struct MatrixPattern {
  std::int64_t first = 0;  ///< this rank's first unknown
  Index owned = 0;         ///< unknowns of this rank
  std::int64_t total = 0;  ///< over all ranks
  int block_size = 1;      ///< that all unknowns come in
  /// One rank, symmetric: the lower triangle is not listed, rows ascend and columns in them from
  /// the diagonal on, every place once.
  bool upper_triangle = false;
  std::vector<Index> row, column;
};

/// A x = b with A given by its entries in a pattern's order: direct and iterative, with and without
/// PETSc. Factors that are not given entries stay apart: JointElimination and ChainFactor assemble
/// from joints' numbers and report on rows, LdlFactor's rows come and go.
class LinearSolver {
 public:
  virtual ~LinearSolver() = default;
  /// Collective. False on every rank: no factor (not positive definite, singular).
  virtual bool factor(std::span<const double> values, bool symmetric) = 0;
  /// Collective. In place; x: this rank's unknowns. Iterative ones stop at a residual of
  /// `absolute` (2-norm), direct ones do not read it. Iterations taken, or -1: failed.
  virtual int solve(std::span<double> x, double absolute) = 0;
  /// Collective. "dense", "sparse", "MUMPS", "cg with gamg", ...: for reports.
  virtual std::string description() = 0;
  virtual bool is_direct() const { return true; }
  /// Multiply-adds of the last factor(); 0 where they are not counted.
  virtual std::int64_t flops() const { return 0; }
};

/// Collective. Motions of all unknowns as one rigid body, which multigrid keeps; a field each.
using RigidMotions = std::function<std::vector<std::vector<double>>()>;

/// Who asks PETSc for a solver: the prefix of its options, and what errors name.
struct PetscUser {
  std::string prefix;      ///< of options: "catena_contact_"
  std::string unknowns;    ///< what the matrix has, for errors: "joint rows"
  std::string where, fix;  ///< of errors
};

/// Not collective. Some option of PETSc begins with `prefix`.
bool petsc_options_given(const std::string& prefix);

/// One rank, few unknowns: dense Cholesky or LU with partial pivoting.
std::unique_ptr<LinearSolver> make_dense_solver(const MatrixPattern& pattern);

/// Collective. PETSc on `comm`: MUMPS if `direct`, else a Krylov method with `preconditioner`;
/// options with the user's prefix change both. `motions` are asked for by multigrid only. Throws
/// Error at the user's place.
std::unique_ptr<LinearSolver> make_petsc_solver(
    const Communicator& comm, const MatrixPattern& pattern, PetscUser user, bool direct = true,
    LinearPreconditioner preconditioner = LinearPreconditioner::gamg,
    const RigidMotions& motions = {});

/// Collective. What suits a system of contacts: on one rank, unless settings or options ask for
/// PETSc, a dense factor, or a sparse one where that is less work (chains, rows of bodies), as long
/// as either takes less than MUMPS; else PETSc, direct as long as the factor is taken to fit into
/// memory. Throws Error at `where`.
std::unique_ptr<LinearSolver> make_contact_solver(const Communicator& comm,
                                                  const MatrixPattern& pattern,
                                                  const LinearSettings& settings, std::string where,
                                                  const RigidMotions& motions);

}  // namespace catena
