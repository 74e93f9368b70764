// Sparse Cholesky of MUMPS on this rank.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace catena {

/// Factor of a sparse symmetric positive definite matrix of one rank: upper triangle in CSR,
/// columns ascending, the diagonal first in each row. The pattern is analysed once.
///
/// PETSc's options with the prefix catena_joint_ change it. The first one made in a program
/// initialises PETSc (petsc_runtime.hpp).
///
/// Throws Error naming the call of PETSc that failed and what MUMPS said.
class PetscCholesky {
 public:
  PetscCholesky(std::vector<int> row_begin, std::vector<int> column);
  ~PetscCholesky();
  PetscCholesky(const PetscCholesky&) = delete;
  PetscCholesky& operator=(const PetscCholesky&) = delete;

  /// False: not positive definite to round-off.
  bool factor(std::span<const double> values);
  /// In place, with the last factor().
  void solve(std::span<double> x);
  std::int64_t flops() const;  ///< multiply-adds of factor(), as MUMPS counted

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace catena
