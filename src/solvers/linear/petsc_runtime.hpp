// PETSc's initialisation, its errors, and what the factors of this module share. Only sources of
// this module that call PETSc include it.
#pragma once

#include <petscksp.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "catena/comm/communicator.hpp"

namespace catena::petsc {

/// Initialises PETSc, unless it is: on this rank alone, so that no other takes part, without
/// ~/.petscrc, PETSC_OPTIONS and signal handlers. It is finalised when MPI is. From there on the
/// program's BLAS has one thread.
void initialize();
/// Collective. The same with what PETSc itself prints (-log_view) on `comm`.
void initialize(const Communicator& comm);

/// Collective over the ranks that began it together. Finalises PETSc now, if it runs.
void end();

/// Not collective. Some option in PETSc's database begins with `prefix`.
bool options_given(std::string_view prefix);

/// Where an error of PETSc is reported, and what to do about it.
struct Place {
  std::string where, fix;
};

/// Throws Error (runtime_error) if a call of PETSc failed.
void check(PetscErrorCode code, const char* call, const Place& place);

/// PETSc reports errors by codes alone while this lives; it prints nothing.
class QuietErrors {
 public:
  QuietErrors() { PetscPushErrorHandler(PetscIgnoreErrorHandler, nullptr); }
  ~QuietErrors() { PetscPopErrorHandler(); }
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;
};

/// False once PETSc is finalised: its objects are gone then.
bool is_running();

/// Sets a KSP's types; options may change them afterwards.
using Defaults = std::function<void(KSP ksp)>;

/// A KSP with a matrix as its operator: by default one application of MUMPS's factor (Cholesky of a
/// symmetric positive definite matrix, or LU). Its pattern is analysed once.
class Solver {
 public:
  struct Settings {
    bool symmetric = true;
    std::string prefix;  ///< of options
    std::string what;    ///< that the matrix has, for errors: "joint rows"
    Place place;
    Defaults defaults;  ///< in place of MUMPS
  };
  struct Solved {
    bool settled = false;
    int iterations = 0;
  };

  /// Collective over the matrix's ranks.
  Solver(Mat matrix, Settings settings);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// Collective. Factors the matrix's present numbers; false: singular, or not positive definite.
  bool factor();
  /// Collective, after factor(). The matrix's present numbers, the preconditioner of the last.
  Solved solve(Vec right, Vec solution, double absolute = 0.0);
  /// Collective. The next factor() keeps the last one's preconditioner.
  void keep(bool preconditioner);
  std::int64_t flops() const;  ///< of the last factor, as MUMPS counted; 0 without MUMPS
  /// Collective. "MUMPS", or "cg with gamg".
  std::string description();

 private:
  void make();
  void make_mumps(PC pc);
  Mat factored() const;
  PetscInt info(PetscInt which) const;
  [[noreturn]] void failed(const char* stage) const;

  Mat matrix_;
  Settings settings_;
  KSP ksp_ = nullptr;
  bool mumps_ = false;
  int room_ = 30;  ///< ICNTL(14), %
};

}  // namespace catena::petsc
