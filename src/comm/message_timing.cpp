#include "catena/comm/message_timing.hpp"

#include <vector>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "catena/base/timer.hpp"
#include "comm/communicator_impl.hpp"

namespace catena {
namespace {

constexpr int kTimingTag = static_cast<int>(Tag::timing);

/// Collective. Rank `a`'s value on all ranks.
double from_rank(const Communicator& comm, int a, double value) {
  return comm.sum(comm.rank() == a ? value : 0.0);
}

void check_pair(const Communicator& comm, int a, int b) {
  CATENA_CHECK(a >= 0 && b >= 0 && a != b && a < comm.size() && b < comm.size(),
               "two ranks of the communicator");
}

}  // namespace

double ping_pong_seconds(const Communicator& comm, int a, int b, std::size_t bytes, int rounds) {
  check_pair(comm, a, b);
  const MPI_Comm mpi = comm.impl()->comm;
  std::vector<char> buffer(bytes, 0);
  const int count = narrow<int>(bytes);
  const auto send = [&](int to) {
    check_mpi(MPI_Send(buffer.data(), count, MPI_BYTE, to, kTimingTag, mpi), "MPI_Send");
  };
  const auto receive = [&](int from) {
    check_mpi(MPI_Recv(buffer.data(), count, MPI_BYTE, from, kTimingTag, mpi, MPI_STATUS_IGNORE),
              "MPI_Recv");
  };
  comm.barrier();
  const double start = wall_seconds();
  for (int k = 0; k < rounds; ++k) {
    if (comm.rank() == a) {
      send(b);
      receive(b);
    } else if (comm.rank() == b) {
      receive(a);
      send(a);
    }
  }
  return from_rank(comm, a, (wall_seconds() - start) / (2.0 * rounds));
}

double message_overhead_seconds(const Communicator& comm, int a, int b, int count) {
  check_pair(comm, a, b);
  const MPI_Comm mpi = comm.impl()->comm;
  std::vector<double> buffer(count, 0.0);
  std::vector<MPI_Request> requests;
  comm.barrier();
  const double start = wall_seconds();
  if (comm.rank() == a || comm.rank() == b) {
    for (double& item : buffer) {
      requests.push_back(MPI_REQUEST_NULL);
      const int code = comm.rank() == a
                           ? MPI_Isend(&item, 1, MPI_DOUBLE, b, kTimingTag, mpi, &requests.back())
                           : MPI_Irecv(&item, 1, MPI_DOUBLE, a, kTimingTag, mpi, &requests.back());
      check_mpi(code, "MPI_Isend");
    }
    check_mpi(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }
  return from_rank(comm, b, (wall_seconds() - start) / count);
}

}  // namespace catena
