#include "catena/comm/split.hpp"

#include "catena/base/error.hpp"
#include "comm/communicator_impl.hpp"

namespace catena {

Communicator split(const Communicator& comm, int part) {
  CATENA_CHECK(part >= 0, "every rank is in a part");
  MPI_Comm mpi = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(comm.impl()->comm, part, comm.rank(), &mpi), "MPI_Comm_split");
  Communicator some = Communicator::from_fortran(MPI_Comm_c2f(mpi));
  check_mpi(MPI_Comm_free(&mpi), "MPI_Comm_free");
  some.impl()->counts = comm.impl()->counts;
  return some;
}

}  // namespace catena
