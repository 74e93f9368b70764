#include "solvers/joints/elimination/petsc_cholesky.hpp"

#include <algorithm>

#include "catena/base/error.hpp"
#include "solvers/linear/petsc_runtime.hpp"

namespace catena {
namespace {

const petsc::Place& place() {
  static const petsc::Place kPlace = {
      "sparse elimination of joints",
      "use solver.joints.method: iterative, or break the mechanism into smaller ones"};
  return kPlace;
}

void check(PetscErrorCode code, const char* call) { petsc::check(code, call, place()); }

}  // namespace

struct PetscCholesky::Impl {
  std::vector<PetscInt> row_begin, column;
  std::vector<double> value;
  Mat matrix = nullptr;
  Vec right = nullptr, solution = nullptr;
  std::vector<double> right_value;
  std::unique_ptr<petsc::Solver> solver;
};

PetscCholesky::PetscCholesky(std::vector<int> row_begin, std::vector<int> column)
    : impl_(std::make_unique<Impl>()) {
  petsc::initialize();
  const petsc::QuietErrors quiet;
  Impl& i = *impl_;
  i.row_begin.assign(row_begin.begin(), row_begin.end());
  i.column.assign(column.begin(), column.end());
  i.value.assign(column.size(), 0.0);
  const auto n = static_cast<PetscInt>(row_begin.size() - 1);
  check(MatCreateSeqSBAIJWithArrays(PETSC_COMM_SELF, 1, n, n, i.row_begin.data(), i.column.data(),
                                    i.value.data(), &i.matrix),
        "MatCreateSeqSBAIJWithArrays");
  check(MatSetOption(i.matrix, MAT_SPD, PETSC_TRUE), "MatSetOption");
  i.right_value.resize(n);
  check(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, i.right_value.data(), &i.right),
        "VecCreateSeqWithArray");
  check(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, nullptr, &i.solution),
        "VecCreateSeqWithArray");
  i.solver = std::make_unique<petsc::Solver>(
      i.matrix, petsc::Solver::Settings{true, "catena_joint_", "joint rows", place(), {}});
}

PetscCholesky::~PetscCholesky() {
  impl_->solver.reset();
  if (!petsc::is_running()) return;
  VecDestroy(&impl_->right);
  VecDestroy(&impl_->solution);
  MatDestroy(&impl_->matrix);
}

bool PetscCholesky::factor(std::span<const double> values) {
  const petsc::QuietErrors quiet;
  Impl& i = *impl_;
  std::copy(values.begin(), values.end(), i.value.begin());
  // the matrix reads the array; this tells it that the numbers are new
  check(MatAssemblyBegin(i.matrix, MAT_FINAL_ASSEMBLY), "MatAssemblyBegin");
  check(MatAssemblyEnd(i.matrix, MAT_FINAL_ASSEMBLY), "MatAssemblyEnd");
  return i.solver->factor();
}

void PetscCholesky::solve(std::span<double> x) {
  const petsc::QuietErrors quiet;
  Impl& i = *impl_;
  std::copy(x.begin(), x.end(), i.right_value.begin());
  check(VecPlaceArray(i.solution, x.data()), "VecPlaceArray");
  const bool solved = i.solver->solve(i.right, i.solution).settled;
  check(VecResetArray(i.solution), "VecResetArray");
  if (!solved) {
    throw Error("the solver that the options name did not settle", place().where,
                "change solver.petsc's joint_ options", ExitCode::runtime_error);
  }
}

std::int64_t PetscCholesky::flops() const { return impl_->solver->flops() / 2; }

}  // namespace catena
