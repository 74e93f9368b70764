// A part of the ranks, to write on some and read on others.
#pragma once

#include <mpi.h>

#include <optional>

#include "catena/comm/communicator.hpp"

namespace catena::test {

/// Collective on all ranks. The first `n` of them; nothing on the others.
inline std::optional<Communicator> first_ranks(int n) {
  const Communicator world = Communicator::world();
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(MPI_Comm_f2c(world.fortran_handle()), world.rank() < n ? 0 : MPI_UNDEFINED,
                 world.rank(), &some);
  if (some == MPI_COMM_NULL) return std::nullopt;
  Communicator comm = Communicator::from_fortran(MPI_Comm_c2f(some));
  MPI_Comm_free(&some);
  return comm;
}

}  // namespace catena::test
