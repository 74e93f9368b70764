#include "catena/comm/halo_exchange.hpp"

#include <algorithm>
#include <utility>

#include "catena/base/error.hpp"
#include "comm/communicator_impl.hpp"

namespace catena {
namespace {

int message_length(std::size_t items, int width) {
  const std::size_t doubles = items * Offset{width};
  CATENA_CHECK(doubles * sizeof(double) <= 2147483647u, "halo message larger than MPI can send");
  return narrow<int>(doubles);
}

/// One more than the largest item named; 0 for none.
std::size_t extent_of(const std::vector<Index>& items) {
  if (items.empty()) return 0;
  const auto [low, high] = std::minmax_element(items.begin(), items.end());
  CATENA_CHECK(*low >= 0, "halo item without a place");
  return (*high) + 1;
}

}  // namespace

HaloPlan HaloPlan::reversed() const {
  HaloPlan plan = *this;
  for (Neighbour& neighbour : plan.neighbours) std::swap(neighbour.send, neighbour.receive);
  return plan;
}

HaloPlan HaloPlan::reversed_into_slots(std::vector<Index>& item) const {
  HaloPlan plan = reversed();
  item.clear();
  for (Neighbour& neighbour : plan.neighbours)
    for (Index& place : neighbour.receive) {
      item.push_back(place);
      place = to_index(item.size()) - 1;
    }
  return plan;
}

struct HaloExchange::Impl {
  Impl(const Communicator& owner, HaloPlan paths, int items_width, Tag tag)
      : comm(owner), plan(std::move(paths)), width(items_width) {
    Communicator::Impl& mpi = *comm.impl();
    CATENA_CHECK(width > 0, "halo without width");
    std::size_t n_send = 0;
    std::size_t n_receive = 0;
    int last = -1;
    for (const HaloPlan::Neighbour& neighbour : plan.neighbours) {
      CATENA_CHECK(neighbour.rank > last && neighbour.rank != mpi.rank && neighbour.rank < mpi.size,
                   "halo neighbours must be other ranks in ascending order");
      last = neighbour.rank;
      n_send += neighbour.send.size();
      n_receive += neighbour.receive.size();
      source_items = std::max(source_items, extent_of(neighbour.send));
      target_items = std::max(target_items, extent_of(neighbour.receive));
    }
    const std::size_t w = width;
    outgoing.resize(n_send * w);
    incoming.resize(n_receive * w);
    make_requests(mpi, static_cast<int>(tag));
  }

  ~Impl() {
    if (!mpi_is_running()) return;
    if (active) abandon();
    for (MPI_Request& request : receives) MPI_Request_free(&request);
    for (MPI_Request& request : sends) MPI_Request_free(&request);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void make_requests(const Communicator::Impl& mpi, int tag) {
    double* out = outgoing.data();
    double* in = incoming.data();
    for (const HaloPlan::Neighbour& neighbour : plan.neighbours) {
      const int n_in = message_length(neighbour.receive.size(), width);
      const int n_out = message_length(neighbour.send.size(), width);
      if (n_in > 0) {
        receives.push_back(MPI_REQUEST_NULL);
        check_mpi(
            MPI_Recv_init(in, n_in, MPI_DOUBLE, neighbour.rank, tag, mpi.comm, &receives.back()),
            "MPI_Recv_init");
      }
      if (n_out > 0) {
        sends.push_back(MPI_REQUEST_NULL);
        check_mpi(
            MPI_Send_init(out, n_out, MPI_DOUBLE, neighbour.rank, tag, mpi.comm, &sends.back()),
            "MPI_Send_init");
      }
      in += n_in;
      out += n_out;
    }
  }

  /// Left between begin and end, by an exception: the receives are withdrawn; the
  /// sends cannot be, so their buffer is given up to MPI.
  void abandon() {
    for (MPI_Request& request : receives) {
      MPI_Cancel(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    new std::vector<double>(std::move(outgoing));
  }

  Communicator comm;
  HaloPlan plan;
  int width;
  std::size_t source_items = 0;
  std::size_t target_items = 0;
  std::vector<double> outgoing, incoming;
  std::vector<MPI_Request> sends, receives;
  bool active = false;
};

HaloExchange::HaloExchange(const Communicator& comm, HaloPlan plan, int width, Tag tag)
    : impl_(std::make_unique<Impl>(comm, std::move(plan), width, tag)) {}
HaloExchange::~HaloExchange() = default;
HaloExchange::HaloExchange(HaloExchange&&) noexcept = default;
HaloExchange& HaloExchange::operator=(HaloExchange&&) noexcept = default;

void HaloExchange::begin(std::span<const double> source) {
  Impl& impl = *impl_;
  const std::size_t width = impl.width;
  CATENA_CHECK(!impl.active, "halo begun twice");
  CATENA_CHECK(source.size() >= impl.source_items * width, "source smaller than the plan's items");
  if (!impl.receives.empty())
    check_mpi(MPI_Startall(narrow<int>(impl.receives.size()), impl.receives.data()),
              "MPI_Startall");
  double* out = impl.outgoing.data();
  for (const HaloPlan::Neighbour& neighbour : impl.plan.neighbours)
    for (const Index item : neighbour.send)
      out = std::copy_n(source.data() + Offset{item} * width, width, out);
  if (!impl.sends.empty())
    check_mpi(MPI_Startall(narrow<int>(impl.sends.size()), impl.sends.data()), "MPI_Startall");
  TrafficCount& traffic = impl.comm.impl()->counts->traffic;
  traffic.messages += std::ssize(impl.sends);
  traffic.bytes += impl.outgoing.size() * sizeof(double);
  impl.active = true;
}

void HaloExchange::end(std::span<double> target) {
  Impl& impl = *impl_;
  const std::size_t width = impl.width;
  CATENA_CHECK(impl.active, "halo ended without begin");
  CATENA_CHECK(target.size() >= impl.target_items * width, "target smaller than the plan's items");
  {
    const Waiting waiting(*impl.comm.impl());
    check_mpi(
        MPI_Waitall(narrow<int>(impl.receives.size()), impl.receives.data(), MPI_STATUSES_IGNORE),
        "MPI_Waitall");
  }
  const double* in = impl.incoming.data();
  for (const HaloPlan::Neighbour& neighbour : impl.plan.neighbours) {
    for (const Index item : neighbour.receive) {
      std::copy_n(in, width, target.data() + Offset{item} * width);
      in += width;
    }
  }
  const Waiting waiting(*impl.comm.impl());
  check_mpi(MPI_Waitall(narrow<int>(impl.sends.size()), impl.sends.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");
  impl.active = false;
}

}  // namespace catena
