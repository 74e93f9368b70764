#include "solvers/linear/petsc_runtime.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "catena/base/error.hpp"

namespace catena::petsc {
namespace {

/// Called by MPI_Finalize, while MPI still works.
int finalize(MPI_Comm, int, void*, void*) {
  end();
  return MPI_SUCCESS;
}

void one_blas_thread() {
  // OpenBLAS starts a thread per core of the machine, on every rank
  void* const set = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (set != nullptr) reinterpret_cast<void (*)(int)>(set)(1);
}

void initialize_on(MPI_Comm world) {
  PetscBool done = PETSC_FALSE;
  PetscFinalized(&done);
  CATENA_CHECK(done == PETSC_FALSE, "PETSc is not used after MPI_Finalize");
  one_blas_thread();
  unsetenv("PETSC_OPTIONS");  // it is read even with -skip_petscrc
  PETSC_COMM_WORLD = world;
  std::string words[] = {"catena", "-skip_petscrc", "-no_signal_handler"};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  char** list = arguments;
  int count = 3;
  check(PetscInitialize(&count, &list, nullptr, nullptr), "PetscInitialize", {});
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalize, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  MPI_Comm_free_keyval(&key);
}

}  // namespace

bool is_running() {
  PetscBool begun = PETSC_FALSE, done = PETSC_FALSE;
  PetscInitialized(&begun);
  PetscFinalized(&done);
  return begun == PETSC_TRUE && done == PETSC_FALSE;
}

void initialize() {
  if (!is_running()) initialize_on(MPI_COMM_SELF);
}

void initialize(const Communicator& comm) {
  if (is_running()) return;
  // `comm` may be gone when PETSc is finalised; this copy lives as long as MPI does
  MPI_Comm world = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_Comm_f2c(comm.fortran_handle()), &world);
  initialize_on(world);
}

void end() {
  if (is_running()) PetscFinalize();
}

void check(PetscErrorCode code, const char* call, const Place& place) {
  if (code == 0) return;
  const char* text = nullptr;
  PetscErrorMessage(code, &text, nullptr);
  throw Error(std::string(call) + " failed: " + (text != nullptr ? text : "unknown error") +
                  " (PETSc's error " + std::to_string(code) + ")",
              place.where, place.fix, ExitCode::runtime_error);
}

bool options_given(std::string_view prefix) {
  if (!is_running()) return false;
  char* all = nullptr;
  check(PetscOptionsGetAll(nullptr, &all), "PetscOptionsGetAll", {});
  const std::string_view words(all);
  bool given = false;
  for (std::size_t at = words.find('-'); at != words.npos && !given; at = words.find('-', at + 1))
    given = words.substr(at + 1).starts_with(prefix);
  check(PetscFree(all), "PetscFree", {});
  return given;
}

}  // namespace catena::petsc
