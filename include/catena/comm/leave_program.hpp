// How a program ends.
#pragma once

namespace catena {

/// Collective: ends this process with `code`. MPI is finalised here, after all that uses it: no
/// Communicator, file or solver may be left, and libraries that rest on MPI have been ended
/// (end_files, end_linear_algebra). Destructors of static objects and handlers of libraries do not
/// run: of a hundred libraries, some with threads of their own, none has anything left to do, and
/// their order among each other is nobody's.
[[noreturn]] void leave_program(int code);

}  // namespace catena
