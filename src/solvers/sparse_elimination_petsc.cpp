#include "sparse_elimination_petsc.hpp"

#include <dlfcn.h>
#include <petscmat.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "catena/base/error.hpp"

namespace catena {
namespace {

/// INFOG(1) of MUMPS: singular; INFOG(12): how many pivots were negative.
constexpr int kSingular = -10, kNegativePivots = 12;
/// INFOG(1): the work arrays were too small; ICNTL(14) makes room.
constexpr int kWorkTooSmall = -9, kIntegerWorkTooSmall = -8;
constexpr int kMoreRoom = 14;

/// Throws Error if a call of PETSc failed.
void check(PetscErrorCode code, const char* call) {
  if (code == 0) return;
  const char* text = nullptr;
  PetscErrorMessage(code, &text, nullptr);
  throw Error(std::string(call) + " failed: " + (text != nullptr ? text : "unknown error") +
                  " (PETSc's error " + std::to_string(code) + ")",
              "sparse elimination of joints",
              "use solver.joints.method: iterative, or break the mechanism into smaller ones",
              ExitCode::runtime_error);
}

/// PETSc reports errors by codes alone while this lives; it prints nothing.
class QuietErrors {
 public:
  QuietErrors() { PetscPushErrorHandler(PetscIgnoreErrorHandler, nullptr); }
  ~QuietErrors() { PetscPopErrorHandler(); }
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;
};

/// Called by MPI_Finalize, while MPI still works.
int finalize_petsc(MPI_Comm, int, void*, void*) {
  PetscBool done = PETSC_FALSE;
  PetscFinalized(&done);
  if (done == PETSC_FALSE) PetscFinalize();
  return MPI_SUCCESS;
}

void one_blas_thread() {
  // OpenBLAS starts a thread per core of the machine, on every rank
  void* const set = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (set != nullptr) reinterpret_cast<void (*)(int)>(set)(1);
}

void initialize_petsc() {
  PetscBool done = PETSC_FALSE;
  PetscInitialized(&done);
  if (done == PETSC_TRUE) return;
  PetscFinalized(&done);
  CATENA_CHECK(done == PETSC_FALSE, "PETSc is not used after MPI_Finalize");
  one_blas_thread();
  unsetenv("PETSC_OPTIONS");  // it is read even with -skip_petscrc
  PETSC_COMM_WORLD = MPI_COMM_SELF;
  std::string words[] = {"catena", "-skip_petscrc", "-no_signal_handler"};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  char** list = arguments;
  int count = 3;
  check(PetscInitialize(&count, &list, nullptr, nullptr), "PetscInitialize");
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalize_petsc, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  MPI_Comm_free_keyval(&key);
}

}  // namespace

struct PetscCholesky::Impl {
  std::vector<PetscInt> row_begin, column;
  std::vector<double> value;
  Mat matrix = nullptr, factor = nullptr;
  Vec right = nullptr, solution = nullptr;
  std::vector<double> right_value;
  int room = 30;  ///< ICNTL(14), %

  PetscInt info(PetscInt which) const {
    PetscInt value_of = 0;
    check(MatMumpsGetInfog(factor, which, &value_of), "MatMumpsGetInfog");
    return value_of;
  }
  void make_factor();
  [[noreturn]] void failed(const char* stage) const;
};

void PetscCholesky::Impl::failed(const char* stage) const {
  throw Error(std::string("MUMPS's ") + stage + " of " + std::to_string(row_begin.size() - 1) +
                  " joint rows failed: INFOG(1) = " + std::to_string(info(1)) + ", INFOG(2) = " +
                  std::to_string(info(2)) + (info(1) == -13 ? " (not enough memory)" : ""),
              "sparse elimination of joints",
              "use solver.joints.method: iterative, or break the mechanism into smaller ones",
              ExitCode::runtime_error);
}

/// Symbolic analysis.
void PetscCholesky::Impl::make_factor() {
  check(MatDestroy(&factor), "MatDestroy");
  check(MatGetFactor(matrix, MATSOLVERMUMPS, MAT_FACTOR_CHOLESKY, &factor), "MatGetFactor(mumps)");
  check(MatMumpsSetIcntl(factor, kMoreRoom, room), "MatMumpsSetIcntl");
  MatFactorInfo options;
  check(MatFactorInfoInitialize(&options), "MatFactorInfoInitialize");
  check(MatCholeskyFactorSymbolic(factor, matrix, nullptr, &options), "MatCholeskyFactorSymbolic");
  if (info(1) < 0) failed("symbolic analysis");
}

PetscCholesky::PetscCholesky(std::vector<int> row_begin, std::vector<int> column)
    : impl_(std::make_unique<Impl>()) {
  initialize_petsc();
  const QuietErrors quiet;
  Impl& i = *impl_;
  i.row_begin.assign(row_begin.begin(), row_begin.end());
  i.column.assign(column.begin(), column.end());
  i.value.assign(column.size(), 0.0);
  const auto n = static_cast<PetscInt>(row_begin.size() - 1);
  check(MatCreateSeqSBAIJWithArrays(PETSC_COMM_SELF, 1, n, n, i.row_begin.data(), i.column.data(),
                                    i.value.data(), &i.matrix),
        "MatCreateSeqSBAIJWithArrays");
  check(MatSetOption(i.matrix, MAT_SPD, PETSC_TRUE), "MatSetOption");
  i.right_value.resize(static_cast<std::size_t>(n));
  check(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, i.right_value.data(), &i.right),
        "VecCreateSeqWithArray");
  check(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, nullptr, &i.solution),
        "VecCreateSeqWithArray");
}

PetscCholesky::~PetscCholesky() {
  PetscBool done = PETSC_FALSE;
  PetscFinalized(&done);
  if (done == PETSC_TRUE) return;
  VecDestroy(&impl_->right);
  VecDestroy(&impl_->solution);
  MatDestroy(&impl_->factor);
  MatDestroy(&impl_->matrix);
}

bool PetscCholesky::factor(std::span<const double> values) {
  const QuietErrors quiet;
  Impl& i = *impl_;
  std::copy(values.begin(), values.end(), i.value.begin());
  // the matrix reads the array; this tells it that the numbers are new
  check(MatAssemblyBegin(i.matrix, MAT_FINAL_ASSEMBLY), "MatAssemblyBegin");
  check(MatAssemblyEnd(i.matrix, MAT_FINAL_ASSEMBLY), "MatAssemblyEnd");
  MatFactorInfo options;
  check(MatFactorInfoInitialize(&options), "MatFactorInfoInitialize");
  if (i.factor == nullptr) i.make_factor();
  for (int attempt = 0;; ++attempt) {
    check(MatFactorClearError(i.factor), "MatFactorClearError");
    check(MatCholeskyFactorNumeric(i.factor, i.matrix, &options), "MatCholeskyFactorNumeric");
    const PetscInt status = i.info(1);
    if (status >= 0) return i.info(kNegativePivots) == 0;
    if (status == kSingular) return false;
    if ((status != kWorkTooSmall && status != kIntegerWorkTooSmall) || attempt == 3) {
      i.failed("factorisation");
    }
    i.room *= 4;
    i.make_factor();
  }
}

void PetscCholesky::solve(std::span<double> x) {
  const QuietErrors quiet;
  Impl& i = *impl_;
  CATENA_CHECK(i.factor != nullptr, "factor() comes before solve()");
  std::copy(x.begin(), x.end(), i.right_value.begin());
  check(VecPlaceArray(i.solution, x.data()), "VecPlaceArray");
  const PetscErrorCode code = MatSolve(i.factor, i.right, i.solution);
  check(VecResetArray(i.solution), "VecResetArray");
  check(code, "MatSolve");
  if (i.info(1) < 0) i.failed("solve");
}

std::int64_t PetscCholesky::flops() const {
  PetscReal operations = 0.0;
  const QuietErrors quiet;
  if (impl_->factor == nullptr) return 0;
  // RINFOG(3): floating point operations of the elimination
  check(MatMumpsGetRinfog(impl_->factor, 3, &operations), "MatMumpsGetRinfog");
  return static_cast<std::int64_t>(operations / 2.0);
}

}  // namespace catena
