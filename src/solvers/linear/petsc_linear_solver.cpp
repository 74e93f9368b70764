// Newton systems on PETSc: any number of ranks, direct or by conjugate gradients.
#include <algorithm>
#include <limits>
#include <optional>

#include "catena/base/error.hpp"
#include "solvers/linear/linear_solver.hpp"
#include "solvers/linear/petsc_runtime.hpp"

namespace catena {
namespace {

/// Options of contact systems begin with this.
constexpr const char* kPrefix = "catena_contact_";
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

class PetscMatrix : public NewtonMatrix {
 public:
  PetscMatrix(const Communicator& comm, CondensedSystem& form, const LinearSettings& settings,
              bool direct, std::string where);
  ~PetscMatrix() override;

  bool factor(std::span<const double> values, bool symmetric) override;
  int solve(std::span<double> x, double absolute) override;
  std::string description() override {
    make_solver(symmetric_);
    return solver_->description();
  }

 private:
  void check(PetscErrorCode code, const char* call) const { petsc::check(code, call, place_); }
  void set_near_null(CondensedSystem& form);
  void make_solver(bool symmetric);
  void set_defaults(KSP ksp) const;
  bool set_up();

  petsc::Place place_;
  LinearSettings settings_;
  bool direct_, symmetric_ = true;
  Mat matrix_ = nullptr;
  Vec right_ = nullptr, solution_ = nullptr;
  std::optional<petsc::Solver> solver_;
  bool lagged_ = false;       ///< the preconditioner is of earlier numbers
  int fresh_ = 0, last_ = 0;  ///< iterations with it when it was new, and of the last solve
};

PetscMatrix::PetscMatrix(const Communicator& comm, CondensedSystem& form,
                         const LinearSettings& settings, bool direct, std::string where)
    : place_{std::move(where),
             direct ? "set linear_system to cg, or use more ranks" : "set linear_system to direct"},
      settings_(settings),
      direct_(direct) {
  petsc::initialize();
  const petsc::QuietErrors quiet;
  const MatrixPattern& pattern = form.pattern();
  if (pattern.total > std::numeric_limits<PetscInt>::max()) {
    throw Error(std::to_string(pattern.total) + " unknowns are more than PETSc counts",
                place_.where, "use gauss_seidel or apgd", ExitCode::runtime_error);
  }
  const MPI_Comm ranks = MPI_Comm_f2c(comm.fortran_handle());
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
  // the rank's own part does not inherit it, and the bodies' own blocks are looked for there
  Mat own = nullptr;
  check(MatGetDiagonalBlock(matrix_, &own), "MatGetDiagonalBlock");
  check(MatSetBlockSize(own, pattern.block_size), "MatSetBlockSize");
  check(VecCreateMPIWithArray(ranks, 1, pattern.owned, total, nullptr, &right_),
        "VecCreateMPIWithArray");
  check(MatCreateVecs(matrix_, &solution_, nullptr), "MatCreateVecs");
  if (!direct_ && settings_.preconditioner == LinearPreconditioner::gamg) set_near_null(form);
}

PetscMatrix::~PetscMatrix() {
  solver_.reset();
  if (!petsc::is_running()) return;
  VecDestroy(&right_);
  VecDestroy(&solution_);
  MatDestroy(&matrix_);
}

/// The fields that an elastic solid's multigrid keeps: motions of the whole as a rigid body.
void PetscMatrix::set_near_null(CondensedSystem& form) {
  const std::vector<std::vector<double>> fields = form.rigid_motions();
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

void PetscMatrix::set_defaults(KSP ksp) const {
  PC pc = nullptr;
  check(KSPGetPC(ksp, &pc), "KSPGetPC");
  check(KSPSetType(ksp, symmetric_ ? KSPCG : KSPBCGS), "KSPSetType");
  check(KSPSetNormType(ksp, symmetric_ ? KSP_NORM_UNPRECONDITIONED : KSP_NORM_PRECONDITIONED),
        "KSPSetNormType");
  check(KSPSetTolerances(ksp, kRelative, PETSC_DEFAULT, PETSC_DEFAULT, kMaxIterations),
        "KSPSetTolerances");
  switch (settings_.preconditioner) {
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

void PetscMatrix::make_solver(bool symmetric) {
  if (solver_ && symmetric == symmetric_) return;
  symmetric_ = symmetric;
  petsc::Defaults defaults;
  if (!direct_) defaults = [this](KSP ksp) { set_defaults(ksp); };
  solver_.emplace(matrix_,
                  petsc::Solver::Settings{symmetric, kPrefix, "unknowns", place_, defaults});
  lagged_ = false;
}

bool PetscMatrix::factor(std::span<const double> values, bool symmetric) {
  const petsc::QuietErrors quiet;
  check(MatSetValuesCOO(matrix_, values.data(), INSERT_VALUES), "MatSetValuesCOO");
  check(MatSetOption(matrix_, MAT_SPD, symmetric ? PETSC_TRUE : PETSC_FALSE), "MatSetOption");
  const bool first = !solver_ || symmetric != symmetric_;
  make_solver(symmetric);
  lagged_ = !direct_ && !first && last_ <= 2 * fresh_;
  solver_->keep(lagged_);
  return set_up();
}

/// Symmetric Gauss-Seidel within each rank smooths: half the iterations of the diagonal.
bool PetscMatrix::set_up() {
  const DefaultOption smoother(std::string(kPrefix) + "mg_levels_pc_type", PCSOR);
  return solver_->factor();
}

int PetscMatrix::solve(std::span<double> x, double absolute) {
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

std::unique_ptr<NewtonMatrix> make_petsc_matrix(const Communicator& comm, CondensedSystem& form,
                                                const LinearSettings& settings, bool direct,
                                                std::string where) {
  return std::make_unique<PetscMatrix>(comm, form, settings, direct, std::move(where));
}

}  // namespace catena
