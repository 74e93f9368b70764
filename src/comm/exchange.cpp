// Sparse all-to-all by nonblocking consensus: T. Hoefler, C. Siebert, A. Lumsdaine,
// "Scalable communication protocols for dynamic sparse data exchange", PPoPP 2010.
#include <algorithm>
#include <limits>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "comm/communicator_impl.hpp"

namespace catena {
namespace {

/// Receives one parcel of `tag` if one is there.
bool take_parcel(MPI_Comm comm, int tag, std::vector<Parcel>& incoming) {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check_mpi(MPI_Improbe(MPI_ANY_SOURCE, tag, comm, &found, &message, &status), "MPI_Improbe");
  if (found == 0) return false;
  int size = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &size), "MPI_Get_count");
  Parcel parcel{status.MPI_SOURCE, std::vector<std::byte>(size)};
  check_mpi(MPI_Mrecv(parcel.bytes.data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE),
            "MPI_Mrecv");
  incoming.push_back(std::move(parcel));
  return true;
}

/// Refuses what cannot be sent while nothing is on its way yet: an exception later
/// would free buffers that MPI still reads.
void check_parcels(const std::vector<Parcel>& parcels, int rank, int n_ranks) {
  std::vector<int> targets;
  for (const Parcel& parcel : parcels) {
    CATENA_CHECK(parcel.rank >= 0 && parcel.rank < n_ranks, "parcel to a rank that is not there");
    targets.push_back(parcel.rank);
    if (parcel.rank != rank && std::ssize(parcel.bytes) > std::numeric_limits<int>::max())
      throw Error(
          "parcel of " + std::to_string(parcel.bytes.size()) + " bytes is larger than MPI can send",
          "MPI", "use more ranks", ExitCode::runtime_error);
  }
  std::sort(targets.begin(), targets.end());
  CATENA_CHECK(std::adjacent_find(targets.begin(), targets.end()) == targets.end(),
               "two parcels to one rank");
}

}  // namespace

std::vector<Parcel> Communicator::exchange(std::vector<Parcel> outgoing) const {
  Impl& impl = *impl_;
  check_parcels(outgoing, impl.rank, impl.size);
  // A rank may leave this exchange and post the next one while another still probes
  // for this one, but no rank is ever two ahead: two tags in turn keep them apart.
  const auto tag = static_cast<int>(impl.exchanges == 0 ? Tag::exchange : Tag::next_exchange);
  impl.exchanges = 1 - impl.exchanges;

  std::vector<Parcel> incoming;
  std::vector<MPI_Request> sends;
  for (Parcel& parcel : outgoing) {
    if (parcel.rank == impl.rank) {
      incoming.push_back({impl.rank, std::move(parcel.bytes)});
      continue;
    }
    // synchronous: complete only once matched, so that "all sends complete" means "all arrived"
    sends.push_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Issend(parcel.bytes.data(), narrow<int>(parcel.bytes.size()), MPI_BYTE,
                         parcel.rank, tag, impl.comm, &sends.back()),
              "MPI_Issend");
    ++impl.counts->traffic.messages;
    impl.counts->traffic.bytes += std::ssize(parcel.bytes);
  }

  const CollectiveCall call(impl);
  MPI_Request barrier = MPI_REQUEST_NULL;
  bool in_barrier = false;
  for (int done = 0; done == 0;) {
    while (take_parcel(impl.comm, tag, incoming)) {
    }
    if (in_barrier) {
      check_mpi(MPI_Test(&barrier, &done, MPI_STATUS_IGNORE), "MPI_Test");
      continue;
    }
    int all_arrived = 0;
    check_mpi(
        MPI_Testall(narrow<int>(sends.size()), sends.data(), &all_arrived, MPI_STATUSES_IGNORE),
        "MPI_Testall");
    if (all_arrived != 0) {
      check_mpi(MPI_Ibarrier(impl.comm, &barrier), "MPI_Ibarrier");
      in_barrier = true;
    }
  }
  std::ranges::sort(incoming, [](const Parcel& a, const Parcel& b) { return a.rank < b.rank; });
  return incoming;
}

}  // namespace catena
