// The ranks of a program, and how it ends.
#pragma once

namespace catena {

/// Not collective. Whether MPI has been initialised and not yet finalised: handles that outlive it
/// must be left alone.
bool mpi_is_running();

/// Not collective. Ranks of MPI_COMM_WORLD, while MPI is running.
int size_of_program();

/// Collective: ends this process with `code`. MPI is finalised here, after all that uses it: no
/// Communicator, file or solver may be left, and libraries that rest on MPI have been ended
/// (end_files, end_linear_algebra). Destructors of static objects and handlers of libraries do not
/// run: of a hundred libraries, some with threads of their own, none has anything left to do, and
/// their order among each other is nobody's.
[[noreturn]] void leave_program(int code);

}  // namespace catena
