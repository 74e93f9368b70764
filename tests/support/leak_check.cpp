// Part of sanitizer builds only: looks for leaks before Open MPI is shut down.
//
// Open MPI loads plug-ins, some of which leak (some kB in a program that only starts and
// ends MPI), and unloads them, the unfit ones in MPI_Init, the others in MPI_Finalize. Such
// leaks are reported with frames in an "<unknown module>", which no suppression can name.
// So what MPI_Init allocates is not looked at, and leaks are looked for at the start of
// MPI_Finalize, while the plug-ins still hold their memory: what is found then is ours.
// MPI's profiling interface allows to replace its functions: tests and programs alike call
// these. lsan.supp names what Open MPI loses in between.
#include <mpi.h>
#include <sanitizer/lsan_interface.h>

extern "C" int MPI_Init(int* argc, char*** argv) {
  const __lsan::ScopedDisabler not_ours;
  return PMPI_Init(argc, argv);
}

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const __lsan::ScopedDisabler not_ours;
  return PMPI_Init_thread(argc, argv, required, provided);
}

extern "C" int MPI_Finalize() {
  __lsan_do_leak_check();  // ends the process with a failure if it finds any
  return PMPI_Finalize();
}
