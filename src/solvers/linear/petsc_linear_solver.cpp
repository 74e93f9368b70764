// Linear systems on PETSc: any number of ranks, direct or by Krylov methods.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "catena/base/error.hpp"
#include "solvers/linear/linear_solver.hpp"
#include "solvers/linear/petsc_runtime.hpp"

namespace catena {
namespace {

/// Krylov iterations of one inner solve, at most: what begins anew converges worse than what goes
/// on.
constexpr int kMaxIterations = 5000;
/// The residual of an inner solve need not be smaller than this part of its right-hand side.
constexpr double kRelative = 1e-12;

/// A default that only PETSc's database can set: an option while this lives, unless the user set
/// it.
class DefaultOption {
 public:
  DefaultOption(const std::string& name, const char* value) : name_("-" + name) {
    PetscOptionsHasName(nullptr, nullptr, name_.c_str(), &given_);
    if (given_ == PETSC_FALSE) PetscOptionsSetValue(nullptr, name_.c_str(), value);
  }
  ~DefaultOption() {
    if (given_ == PETSC_FALSE) PetscOptionsClearValue(nullptr, name_.c_str());
  }
  DefaultOption(const DefaultOption&) = delete;
  DefaultOption& operator=(const DefaultOption&) = delete;

 private:
  std::string name_;
  PetscBool given_ = PETSC_FALSE;
};

class PetscLinearSolver final : public LinearSolver {
 public:
  PetscLinearSolver(const Communicator& comm, const MatrixPattern& pattern, PetscUser user,
                    bool direct, LinearPreconditioner preconditioner, const RigidMotions& motions);
  ~PetscLinearSolver() override;
  PetscLinearSolver(const PetscLinearSolver&) = delete;
  PetscLinearSolver& operator=(const PetscLinearSolver&) = delete;

  bool factor(std::span<const double> values, bool symmetric) override;
  int solve(std::span<double> x, double absolute) override;
  std::string description() override {
    make_solver(symmetric_);
    return solver_->description();
  }
  bool is_direct() const override { return direct_; }
  std::int64_t flops() const override { return solver_ ? solver_->flops() / 2 : 0; }

 private:
  void check(PetscErrorCode code, const char* call) const { petsc::check(code, call, place_); }
  void make_matrix(MPI_Comm ranks, const MatrixPattern& pattern);
  void make_upper_triangle(const MatrixPattern& pattern);
  void set_values(std::span<const double> values);
  void set_near_null(const std::vector<std::vector<double>>& fields);
  void make_solver(bool symmetric);
  void set_defaults(KSP ksp) const;
  bool set_up();

  PetscUser user_;
  petsc::Place place_;
  bool direct_, symmetric_ = true;
  LinearPreconditioner preconditioner_;
  /// An upper triangle, which the matrix reads in place; empty otherwise.
  std::vector<PetscInt> row_begin_, column_;
  std::vector<double> value_;
  Mat matrix_ = nullptr;
  Vec right_ = nullptr, solution_ = nullptr;
  std::optional<petsc::Solver> solver_;
  bool lagged_ = false;       ///< the preconditioner is of earlier numbers
  int fresh_ = 0, last_ = 0;  ///< iterations with it when it was new, and of the last solve
};

PetscLinearSolver::PetscLinearSolver(const Communicator& comm, const MatrixPattern& pattern,
                                     PetscUser user, bool direct,
                                     LinearPreconditioner preconditioner,
                                     const RigidMotions& motions)
    : user_(std::move(user)),
      place_{user_.where, user_.fix},
      direct_(direct),
      preconditioner_(preconditioner) {
  petsc::initialize();
  const petsc::QuietErrors quiet;
  if (pattern.total > std::numeric_limits<PetscInt>::max()) {
    throw Error(std::to_string(pattern.total) + " unknowns are more than PETSc counts",
                place_.where, "use gauss_seidel or apgd", ExitCode::runtime_error);
  }
  const MPI_Comm ranks =
      pattern.upper_triangle ? PETSC_COMM_SELF : MPI_Comm_f2c(comm.fortran_handle());
  if (pattern.upper_triangle)
    make_upper_triangle(pattern);
  else
    make_matrix(ranks, pattern);
  const auto total = static_cast<PetscInt>(pattern.total);
  check(VecCreateMPIWithArray(ranks, 1, pattern.owned, total, nullptr, &right_),
        "VecCreateMPIWithArray");
  check(MatCreateVecs(matrix_, &solution_, nullptr), "MatCreateVecs");
  if (!direct_ && preconditioner_ == LinearPreconditioner::gamg && motions)
    set_near_null(motions());
}

void PetscLinearSolver::make_matrix(MPI_Comm ranks, const MatrixPattern& pattern) {
  const auto total = static_cast<PetscInt>(pattern.total);
  check(MatCreate(ranks, &matrix_), "MatCreate");
  check(MatSetSizes(matrix_, pattern.owned, pattern.owned, total, total), "MatSetSizes");
  check(MatSetBlockSize(matrix_, pattern.block_size), "MatSetBlockSize");
  check(MatSetType(matrix_, MATAIJ), "MatSetType");
  std::vector<PetscInt> row(pattern.row.begin(), pattern.row.end());
  std::vector<PetscInt> column(pattern.column.begin(), pattern.column.end());
  check(MatSetPreallocationCOO(matrix_, static_cast<PetscCount>(row.size()), row.data(),
                               column.data()),
        "MatSetPreallocationCOO");
  // the rank's own part does not inherit it, and the bodies' own blocks are sought there
  Mat own = nullptr;
  check(MatGetDiagonalBlock(matrix_, &own), "MatGetDiagonalBlock");
  check(MatSetBlockSize(own, pattern.block_size), "MatSetBlockSize");
}

void PetscLinearSolver::make_upper_triangle(const MatrixPattern& pattern) {
  row_begin_.assign(Offset{pattern.owned} + 1, 0);
  for (const Index row : pattern.row) ++row_begin_[row + 1];
  std::partial_sum(row_begin_.begin(), row_begin_.end(), row_begin_.begin());
  column_.assign(pattern.column.begin(), pattern.column.end());
  value_.assign(column_.size(), 0.0);
  check(MatCreateSeqSBAIJWithArrays(PETSC_COMM_SELF, 1, pattern.owned, pattern.owned,
                                    row_begin_.data(), column_.data(), value_.data(), &matrix_),
        "MatCreateSeqSBAIJWithArrays");
}

void PetscLinearSolver::set_values(std::span<const double> values) {
  if (row_begin_.empty())
    return check(MatSetValuesCOO(matrix_, values.data(), INSERT_VALUES), "MatSetValuesCOO");
  std::copy(values.begin(), values.end(), value_.begin());
  // the matrix reads the array; this marks the numbers as new
  check(MatAssemblyBegin(matrix_, MAT_FINAL_ASSEMBLY), "MatAssemblyBegin");
  check(MatAssemblyEnd(matrix_, MAT_FINAL_ASSEMBLY), "MatAssemblyEnd");
}

PetscLinearSolver::~PetscLinearSolver() {
  solver_.reset();
  if (!petsc::is_running()) return;
  VecDestroy(&right_);
  VecDestroy(&solution_);
  MatDestroy(&matrix_);
}

/// The fields that an elastic solid's multigrid keeps: motions of the whole as a rigid body.
void PetscLinearSolver::set_near_null(const std::vector<std::vector<double>>& fields) {
  if (fields.empty()) return;
  std::vector<Vec> vectors(fields.size(), nullptr);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    check(VecDuplicate(solution_, &vectors[i]), "VecDuplicate");
    PetscScalar* numbers = nullptr;
    check(VecGetArray(vectors[i], &numbers), "VecGetArray");
    std::copy(fields[i].begin(), fields[i].end(), numbers);
    check(VecRestoreArray(vectors[i], &numbers), "VecRestoreArray");
  }
  // orthonormal, as PETSc wants them
  std::size_t used = 0;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    PetscReal before = 0.0, after = 0.0;
    check(VecNorm(vectors[i], NORM_2, &before), "VecNorm");
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t j = 0; j < used; ++j) {
        PetscScalar part = 0.0;
        check(VecDot(vectors[i], vectors[j], &part), "VecDot");
        check(VecAXPY(vectors[i], -part, vectors[j]), "VecAXPY");
      }
    check(VecNormalize(vectors[i], &after), "VecNormalize");
    if (!(after > 1e-8 * before)) continue;
    std::swap(vectors[used++], vectors[i]);
  }
  MatNullSpace space = nullptr;
  check(MatNullSpaceCreate(PetscObjectComm(reinterpret_cast<PetscObject>(matrix_)), PETSC_FALSE,
                           static_cast<PetscInt>(used), vectors.data(), &space),
        "MatNullSpaceCreate");
  check(MatSetNearNullSpace(matrix_, space), "MatSetNearNullSpace");
  check(MatNullSpaceDestroy(&space), "MatNullSpaceDestroy");
  for (Vec& v : vectors) check(VecDestroy(&v), "VecDestroy");
}

void PetscLinearSolver::set_defaults(KSP ksp) const {
  PC pc = nullptr;
  check(KSPGetPC(ksp, &pc), "KSPGetPC");
  check(KSPSetType(ksp, symmetric_ ? KSPCG : KSPBCGS), "KSPSetType");
  check(KSPSetNormType(ksp, symmetric_ ? KSP_NORM_UNPRECONDITIONED : KSP_NORM_PRECONDITIONED),
        "KSPSetNormType");
  check(KSPSetTolerances(ksp, kRelative, PETSC_DEFAULT, PETSC_DEFAULT, kMaxIterations),
        "KSPSetTolerances");
  switch (preconditioner_) {
    case LinearPreconditioner::gamg:
      check(PCSetType(pc, PCGAMG), "PCSetType");
      // stiff contacts beside soft ones: smoothed prolongation costs more than it saves
      return check(PCGAMGSetNSmooths(pc, 0), "PCGAMGSetNSmooths");
    case LinearPreconditioner::block_jacobi:
      return check(PCSetType(pc, PCPBJACOBI), "PCSetType");
    case LinearPreconditioner::icc:
      break;
  }
  // incomplete factors of each rank's own block
  check(PCSetType(pc, PCBJACOBI), "PCSetType");
  check(KSPSetUp(ksp), "KSPSetUp");
  PetscInt n = 0, first = 0;
  KSP* inner = nullptr;
  check(PCBJacobiGetSubKSP(pc, &n, &first, &inner), "PCBJacobiGetSubKSP");
  for (PetscInt i = 0; i < n; ++i) {
    PC part = nullptr;
    check(KSPGetPC(inner[i], &part), "KSPGetPC");
    check(PCSetType(part, symmetric_ ? PCICC : PCILU), "PCSetType");
    check(PCFactorSetShiftType(part, MAT_SHIFT_POSITIVE_DEFINITE), "PCFactorSetShiftType");
  }
}

void PetscLinearSolver::make_solver(bool symmetric) {
  if (solver_ && symmetric == symmetric_) return;
  symmetric_ = symmetric;
  petsc::Defaults defaults;
  if (!direct_) defaults = [this](KSP ksp) { set_defaults(ksp); };
  solver_.emplace(
      matrix_, petsc::Solver::Settings{symmetric, user_.prefix, user_.unknowns, place_, defaults});
  lagged_ = false;
}

bool PetscLinearSolver::factor(std::span<const double> values, bool symmetric) {
  const petsc::QuietErrors quiet;
  set_values(values);
  check(MatSetOption(matrix_, MAT_SPD, symmetric ? PETSC_TRUE : PETSC_FALSE), "MatSetOption");
  const bool first = !solver_ || symmetric != symmetric_;
  make_solver(symmetric);
  lagged_ = !direct_ && !first && last_ <= 2 * fresh_;
  solver_->keep(lagged_);
  return set_up();
}

/// Symmetric Gauss-Seidel within each rank smooths: half the iterations of the diagonal.
bool PetscLinearSolver::set_up() {
  if (!row_begin_.empty()) return solver_->factor();  // half a matrix leaves it to the options
  const DefaultOption smoother(user_.prefix + "mg_levels_pc_type", PCSOR);
  return solver_->factor();
}

int PetscLinearSolver::solve(std::span<double> x, double absolute) {
  const petsc::QuietErrors quiet;
  for (;;) {
    check(VecPlaceArray(right_, x.data()), "VecPlaceArray");
    const petsc::Solver::Solved solved = solver_->solve(right_, solution_, absolute);
    check(VecResetArray(right_), "VecResetArray");
    if (!lagged_) fresh_ = std::max(1, solved.iterations);
    last_ = solved.iterations;
    if (lagged_ && !solved.settled) {
      // old numbers do not do any more
      lagged_ = false;
      solver_->keep(false);
      if (!set_up()) return -1;
      continue;
    }
    if (!solved.settled && (direct_ || solved.iterations == 0)) return -1;
    const PetscScalar* numbers = nullptr;
    check(VecGetArrayRead(solution_, &numbers), "VecGetArrayRead");
    std::copy(numbers, numbers + x.size(), x.begin());
    check(VecRestoreArrayRead(solution_, &numbers), "VecRestoreArrayRead");
    return solved.iterations;
  }
}

}  // namespace

bool petsc_options_given(const std::string& prefix) { return petsc::options_given(prefix); }

std::unique_ptr<LinearSolver> make_petsc_solver(const Communicator& comm,
                                                const MatrixPattern& pattern, PetscUser user,
                                                bool direct, LinearPreconditioner preconditioner,
                                                const RigidMotions& motions) {
  return std::make_unique<PetscLinearSolver>(comm, pattern, std::move(user), direct, preconditioner,
                                             motions);
}

}  // namespace catena
