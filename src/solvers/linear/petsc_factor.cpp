#include <petscksp.h>

#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "solvers/linear/petsc_runtime.hpp"

namespace catena::petsc {
namespace {

/// INFOG(1) of MUMPS: singular; INFOG(12): how many pivots were negative.
constexpr int kSingular = -10, kNegativePivots = 12;
/// INFOG(1): the work arrays were too small; ICNTL(14) makes room.
constexpr int kWorkTooSmall = -9, kIntegerWorkTooSmall = -8, kNoMemory = -13;
constexpr int kMoreRoom = 14;
constexpr int kAttempts = 4;

}  // namespace

Solver::Solver(Mat matrix, Settings settings) : matrix_(matrix), settings_(std::move(settings)) {}

Solver::~Solver() {
  if (is_running()) KSPDestroy(&ksp_);
}

Mat Solver::factored() const {
  PC pc = nullptr;
  Mat factor = nullptr;
  check(KSPGetPC(ksp_, &pc), "KSPGetPC", settings_.place);
  check(PCFactorGetMatrix(pc, &factor), "PCFactorGetMatrix", settings_.place);
  return factor;
}

PetscInt Solver::info(PetscInt which) const {
  PetscInt value = 0;
  check(MatMumpsGetInfog(factored(), which, &value), "MatMumpsGetInfog", settings_.place);
  return value;
}

void Solver::failed(const char* stage) const {
  PetscInt rows = 0;
  check(MatGetSize(matrix_, &rows, nullptr), "MatGetSize", settings_.place);
  throw Error(std::string("MUMPS's ") + stage + " of " + std::to_string(rows) + " " +
                  settings_.what + " failed: INFOG(1) = " + std::to_string(info(1)) +
                  ", INFOG(2) = " + std::to_string(info(2)) +
                  (info(1) == kNoMemory ? " (not enough memory)" : ""),
              settings_.place.where, settings_.place.fix, ExitCode::runtime_error);
}

void Solver::make() {
  check(KSPDestroy(&ksp_), "KSPDestroy", settings_.place);
  check(KSPCreate(PetscObjectComm(reinterpret_cast<PetscObject>(matrix_)), &ksp_), "KSPCreate",
        settings_.place);
  check(KSPSetOptionsPrefix(ksp_, settings_.prefix.c_str()), "KSPSetOptionsPrefix",
        settings_.place);
  check(KSPSetOperators(ksp_, matrix_, matrix_), "KSPSetOperators", settings_.place);
  PC pc = nullptr;
  check(KSPGetPC(ksp_, &pc), "KSPGetPC", settings_.place);
  if (settings_.defaults) {
    settings_.defaults(ksp_);
  } else {
    check(KSPSetType(ksp_, KSPPREONLY), "KSPSetType", settings_.place);
    check(PCSetType(pc, settings_.symmetric ? PCCHOLESKY : PCLU), "PCSetType", settings_.place);
    check(PCFactorSetMatSolverType(pc, MATSOLVERMUMPS), "PCFactorSetMatSolverType",
          settings_.place);
  }
  check(KSPSetFromOptions(ksp_), "KSPSetFromOptions", settings_.place);
  make_mumps(pc);
}

/// Where options left MUMPS as the factor: room in its work arrays.
void Solver::make_mumps(PC pc) {
  PetscBool factor = PETSC_FALSE;
  check(PetscObjectTypeCompareAny(reinterpret_cast<PetscObject>(pc), &factor, PCCHOLESKY, PCLU, ""),
        "PetscObjectTypeCompareAny", settings_.place);
  mumps_ = false;
  if (factor == PETSC_FALSE) return;
  MatSolverType type = nullptr;
  check(PCFactorGetMatSolverType(pc, &type), "PCFactorGetMatSolverType", settings_.place);
  mumps_ = type != nullptr && std::string(type) == MATSOLVERMUMPS;
  if (!mumps_) return;
  check(PCFactorSetUpMatSolverType(pc), "PCFactorSetUpMatSolverType", settings_.place);
  check(MatMumpsSetIcntl(factored(), kMoreRoom, room_), "MatMumpsSetIcntl", settings_.place);
}

bool Solver::factor() {
  const QuietErrors quiet;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (ksp_ == nullptr) make();
    // says that the numbers are new
    check(KSPSetOperators(ksp_, matrix_, matrix_), "KSPSetOperators", settings_.place);
    check(KSPSetUp(ksp_), "KSPSetUp", settings_.place);
    PC pc = nullptr;
    check(KSPGetPC(ksp_, &pc), "KSPGetPC", settings_.place);
    PCFailedReason reason = PC_NOERROR;
    check(PCGetFailedReason(pc, &reason), "PCGetFailedReason", settings_.place);
    if (!mumps_) {
      if (reason == PC_NOERROR) return true;
      check(KSPDestroy(&ksp_), "KSPDestroy", settings_.place);
      return false;
    }
    const PetscInt status = info(1);
    if (status >= 0 && reason == PC_NOERROR)
      return !settings_.symmetric || info(kNegativePivots) == 0;
    const bool small = status == kWorkTooSmall || status == kIntegerWorkTooSmall;
    if (!small && status != kSingular) failed("factorisation");
    if (small && attempt + 1 == kAttempts) failed("factorisation");
    // a factor that failed once does not start again
    check(KSPDestroy(&ksp_), "KSPDestroy", settings_.place);
    if (!small) return false;
    room_ *= 4;
  }
  return false;
}

Solver::Solved Solver::solve(Vec right, Vec solution, double absolute) {
  const QuietErrors quiet;
  CATENA_CHECK(ksp_ != nullptr, "factor() comes before solve()");
  PetscReal relative = 0.0, diverged = 0.0;
  PetscInt iterations = 0;
  check(KSPGetTolerances(ksp_, &relative, nullptr, &diverged, &iterations), "KSPGetTolerances",
        settings_.place);
  check(KSPSetTolerances(ksp_, relative, absolute, diverged, iterations), "KSPSetTolerances",
        settings_.place);
  check(KSPSolve(ksp_, right, solution), "KSPSolve", settings_.place);
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  check(KSPGetConvergedReason(ksp_, &reason), "KSPGetConvergedReason", settings_.place);
  check(KSPGetIterationNumber(ksp_, &iterations), "KSPGetIterationNumber", settings_.place);
  if (mumps_ && info(1) < 0) failed("solve");
  return {reason > 0, narrow<int>(iterations)};
}

void Solver::keep(bool preconditioner) {
  if (ksp_ == nullptr) return;
  check(KSPSetReusePreconditioner(ksp_, preconditioner ? PETSC_TRUE : PETSC_FALSE),
        "KSPSetReusePreconditioner", settings_.place);
}

std::string Solver::description() {
  const QuietErrors quiet;
  if (ksp_ == nullptr) return settings_.defaults ? "Krylov" : "MUMPS";
  KSPType method = nullptr;
  PCType preconditioner = nullptr;
  PC pc = nullptr;
  check(KSPGetType(ksp_, &method), "KSPGetType", settings_.place);
  check(KSPGetPC(ksp_, &pc), "KSPGetPC", settings_.place);
  check(PCGetType(pc, &preconditioner), "PCGetType", settings_.place);
  const std::string factor = mumps_ ? "MUMPS" : preconditioner;
  return std::string(method) == KSPPREONLY ? factor : std::string(method) + " with " + factor;
}

std::int64_t Solver::flops() const {
  if (ksp_ == nullptr || !mumps_) return 0;
  const QuietErrors quiet;
  PetscReal operations = 0.0;
  // RINFOG(3): floating point operations of the elimination
  check(MatMumpsGetRinfog(factored(), 3, &operations), "MatMumpsGetRinfog", settings_.place);
  return static_cast<std::int64_t>(operations);
}

}  // namespace catena::petsc
