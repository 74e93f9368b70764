#include <algorithm>
#include <cmath>
#include <limits>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "comm/communicator_impl.hpp"

namespace catena {
namespace {

/// One sum and one maximum, so that both travel in one message.
struct SumAndMax {
  double sum;
  double max;
};

void combine(void* in, void* in_out, int* length, MPI_Datatype*) {
  const auto* first = static_cast<const SumAndMax*>(in);
  auto* second = static_cast<SumAndMax*>(in_out);
  for (int i = 0; i < *length; ++i) {
    second[i].sum = first[i].sum + second[i].sum;
    const bool nan = std::isnan(first[i].max) || std::isnan(second[i].max);
    second[i].max =
        nan ? std::numeric_limits<double>::quiet_NaN() : std::max(first[i].max, second[i].max);
  }
}

}  // namespace

struct PendingReduction::Impl {
  explicit Impl(const Communicator& owner) : comm(owner) {
    check_mpi(MPI_Type_contiguous(2, MPI_DOUBLE, &type), "MPI_Type_contiguous");
    check_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
    // Declared as not commutative: MPI then keeps the operands in rank order, and its
    // tree depends on the ranks and sizes alone, never on who arrives first.
    check_mpi(MPI_Op_create(&combine, 0, &op), "MPI_Op_create");
  }
  ~Impl() {
    if (!mpi_is_running()) return;
    // a posted collective cannot be withdrawn: the buffers must live until it is done
    if (pending) MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Communicator comm;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  bool pending = false;
  std::size_t n_sums = 0;
  std::size_t n_maxima = 0;
  std::vector<SumAndMax> sent, received;
};

PendingReduction::PendingReduction(const Communicator& comm)
    : impl_(std::make_unique<Impl>(comm)) {}
PendingReduction::~PendingReduction() = default;
PendingReduction::PendingReduction(PendingReduction&&) noexcept = default;
PendingReduction& PendingReduction::operator=(PendingReduction&&) noexcept = default;

void PendingReduction::begin(std::span<const double> sums, std::span<const double> maxima) {
  Impl& impl = *impl_;
  CATENA_CHECK(!impl.pending, "a reduction is pending already");
  const std::size_t n = std::max(sums.size(), maxima.size());
  impl.n_sums = sums.size();
  impl.n_maxima = maxima.size();
  impl.sent.assign(n, {0.0, -std::numeric_limits<double>::infinity()});
  impl.received.resize(n);
  for (std::size_t i = 0; i < sums.size(); ++i) impl.sent[i].sum = sums[i];
  for (std::size_t i = 0; i < maxima.size(); ++i) impl.sent[i].max = maxima[i];
  check_mpi(MPI_Iallreduce(impl.sent.data(), impl.received.data(), narrow<int>(n), impl.type,
                           impl.op, impl.comm.impl()->comm, &impl.request),
            "MPI_Iallreduce");
  ++impl.comm.impl()->counts->collectives.posted;
  impl.pending = true;
}

bool PendingReduction::pending() const { return impl_->pending; }

void PendingReduction::end(std::span<double> sums, std::span<double> maxima) {
  Impl& impl = *impl_;
  CATENA_CHECK(impl.pending, "no reduction was begun");
  CATENA_CHECK(sums.size() == impl.n_sums && maxima.size() == impl.n_maxima,
               "sizes differ from those given to begin");
  {
    const Waiting waiting(*impl.comm.impl());
    check_mpi(MPI_Wait(&impl.request, MPI_STATUS_IGNORE), "MPI_Wait");
  }
  impl.pending = false;
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = impl.received[i].sum;
  for (std::size_t i = 0; i < maxima.size(); ++i) maxima[i] = impl.received[i].max;
}

}  // namespace catena
