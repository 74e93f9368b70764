#include "catena/comm/communicator.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "comm/communicator_impl.hpp"

namespace catena {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(std::string(call) + ": " + std::string(text, length), "MPI", {},
              ExitCode::runtime_error);
}

bool mpi_is_running() {
  int initialised = 0;
  int finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  return initialised != 0 && finalised == 0;
}

int size_of_program() {
  int size = 0;
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  return size;
}

namespace {

/// Whether another program started this process as one of several, or may have.
bool is_launched() {
  for (const char* name :
       {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMIX_NAMESPACE", "PMI_RANK", "PMI_SIZE", "PMI_FD",
        "SLURM_STEP_ID", "SLURM_STEPID", "PALS_RANKID", "FLUX_TASK_RANK", "JSM_NAMESPACE_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

/// While it lives, a process on its own starts Open MPI without its daemon, which only spawned
/// processes would need, and without a search for fast networks: 0.03 in place of 0.35 s; and
/// without a look for graphics cards at the X displays of this machine, of which those that ask
/// for a cookie complain. What users have set stays. Other MPI libraries do not know these names.
class QuickStart {
 public:
  QuickStart() {
    if (is_launched()) return;
    for (const auto& [name, value] : kSettings) {
      if (std::getenv(name) != nullptr) continue;
      setenv(name, value, 1);
      set_.push_back(name);
    }
    // Asked for with each file, long after the start: without a session directory `sm` would
    // complain. Without any of these components no file can be opened at all.
    setenv("OMPI_MCA_sharedfp", "^sm", 0);
  }
  ~QuickStart() {
    for (const char* name : set_) unsetenv(name);  // not for programs that this one starts
  }
  QuickStart(const QuickStart&) = delete;
  QuickStart& operator=(const QuickStart&) = delete;

 private:
  // isolated processes would all share one session directory, which the first to end removes
  static constexpr std::array<std::pair<const char*, const char*>, 4> kSettings = {
      {{"HWLOC_COMPONENTS", "-gl"},
       {"OMPI_MCA_ess_singleton_isolated", "1"},
       {"OMPI_MCA_orte_create_session_dirs", "0"},
       {"OMPI_MCA_pml", "ob1"}}};
  std::vector<const char*> set_;
};

void initialise_mpi() {
  int initialised = 0;
  MPI_Initialized(&initialised);
  if (initialised != 0) return;
  const QuickStart quick;
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  std::atexit([] {
    if (mpi_is_running()) MPI_Finalize();
  });
}

int count_of(std::size_t n) {
  if (n > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Error("message of " + std::to_string(n) + " items is larger than MPI can send", "MPI",
                "use more ranks", ExitCode::runtime_error);
  return narrow<int>(n);
}

double larger(double a, double b) {
  // std::max would drop NaN
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return a < b ? b : a;
}

double added(double a, double b) { return a + b; }

/// Reduces `values` over all ranks by a fixed tree whose operands stand in rank
/// order: the same bits on every rank and in every run, which MPI_Allreduce only
/// recommends. Recursive doubling; of a number of ranks that is no power of two,
/// the first ones pair up before and after. Cost: log2(ranks) messages.
template <class Combine>
void ordered_reduce(Communicator::Impl& impl, std::span<double> values, Combine combine) {
  const CollectiveCall call(impl);
  const int count = count_of(values.size());
  impl.incoming.resize(values.size());
  double* const mine = values.data();
  double* const theirs = impl.incoming.data();
  const int doubled = narrow<int>(std::bit_floor(static_cast<unsigned>(impl.size)));
  const int paired = 2 * (impl.size - doubled);

  if (impl.rank < paired && impl.rank % 2 == 1) {
    check_mpi(MPI_Send(mine, count, MPI_DOUBLE, impl.rank - 1, kReduceTag, impl.comm), "MPI_Send");
    check_mpi(
        MPI_Recv(mine, count, MPI_DOUBLE, impl.rank - 1, kReduceTag, impl.comm, MPI_STATUS_IGNORE),
        "MPI_Recv");
    return;
  }
  if (impl.rank < paired) {
    check_mpi(MPI_Recv(theirs, count, MPI_DOUBLE, impl.rank + 1, kReduceTag, impl.comm,
                       MPI_STATUS_IGNORE),
              "MPI_Recv");
    for (int i = 0; i < count; ++i) mine[i] = combine(mine[i], theirs[i]);
  }
  const int place = impl.rank < paired ? impl.rank / 2 : impl.rank - paired / 2;
  for (int step = 1; step < doubled; step *= 2) {
    const int other_place = place ^ step;
    const int other = 2 * other_place < paired ? 2 * other_place : other_place + paired / 2;
    check_mpi(MPI_Sendrecv(mine, count, MPI_DOUBLE, other, kReduceTag, theirs, count, MPI_DOUBLE,
                           other, kReduceTag, impl.comm, MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
    for (int i = 0; i < count; ++i)
      mine[i] = place < other_place ? combine(mine[i], theirs[i]) : combine(theirs[i], mine[i]);
  }
  if (impl.rank < paired)
    check_mpi(MPI_Send(mine, count, MPI_DOUBLE, impl.rank + 1, kReduceTag, impl.comm), "MPI_Send");
}

std::int64_t integer_reduce(Communicator::Impl& impl, std::int64_t value, MPI_Op op) {
  const CollectiveCall call(impl);
  std::int64_t result = 0;
  check_mpi(MPI_Allreduce(&value, &result, 1, MPI_INT64_T, op, impl.comm), "MPI_Allreduce");
  return result;
}

/// Exclusive prefix sums of `counts` as MPI wants them; the total must fit too.
std::vector<int> offsets_of(const std::vector<int>& counts) {
  std::vector<int> offsets(counts.size(), 0);
  std::size_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    offsets[i] = count_of(total);
    total += counts[i];
  }
  count_of(total);
  return offsets;
}

/// A list of bytes or characters, whose length other ranks do not know.
void broadcast_items(int root, MPI_Comm comm, auto& items) {
  std::int64_t size = std::ssize(items);
  check_mpi(MPI_Bcast(&size, 1, MPI_INT64_T, root, comm), "MPI_Bcast");
  const int count = count_of(size);
  items.resize(size);
  check_mpi(MPI_Bcast(items.data(), count, MPI_BYTE, root, comm), "MPI_Bcast");
}

void report_counts(const std::vector<int>& counts, std::vector<std::size_t>* out) {
  if (out != nullptr) out->assign(counts.begin(), counts.end());
}

}  // namespace

Communicator::Impl::Impl(MPI_Comm parent) {
  check_mpi(MPI_Comm_dup(parent, &comm), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
}

Communicator::Impl::~Impl() {
  if (comm != MPI_COMM_NULL && mpi_is_running()) MPI_Comm_free(&comm);
}

Communicator Communicator::self() {
  initialise_mpi();
  return Communicator(std::make_shared<Impl>(MPI_COMM_SELF));
}

Communicator Communicator::world() {
  initialise_mpi();
  return Communicator(std::make_shared<Impl>(MPI_COMM_WORLD));
}

Communicator Communicator::from_fortran(int handle) {
  return Communicator(std::make_shared<Impl>(MPI_Comm_f2c(handle)));
}

int Communicator::rank() const { return impl_->rank; }
int Communicator::size() const { return impl_->size; }
int Communicator::fortran_handle() const { return MPI_Comm_c2f(impl_->comm); }

void Communicator::barrier() const {
  const CollectiveCall call(*impl_);
  check_mpi(MPI_Barrier(impl_->comm), "MPI_Barrier");
}

double Communicator::sum(double value) const {
  ordered_reduce(*impl_, {&value, 1}, added);
  return value;
}

std::int64_t Communicator::sum(std::int64_t value) const {
  return integer_reduce(*impl_, value, MPI_SUM);
}

double Communicator::max(double value) const {
  ordered_reduce(*impl_, {&value, 1}, larger);
  return value;
}

double Communicator::min(double value) const { return -max(-value); }

std::int64_t Communicator::max(std::int64_t value) const {
  return integer_reduce(*impl_, value, MPI_MAX);
}

std::int64_t Communicator::min(std::int64_t value) const {
  return integer_reduce(*impl_, value, MPI_MIN);
}

void Communicator::sum(std::span<double> values) const { ordered_reduce(*impl_, values, added); }
void Communicator::max(std::span<double> values) const { ordered_reduce(*impl_, values, larger); }

void Communicator::sum(std::span<std::int64_t> values) const {
  const CollectiveCall call(*impl_);
  std::int64_t* const in_place = values.data();  // clang-tidy sees its type so, but not the span's
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, in_place, count_of(values.size()), MPI_INT64_T, MPI_SUM,
                          impl_->comm),
            "MPI_Allreduce");
}

std::int64_t Communicator::exclusive_sum(std::int64_t value) const {
  const CollectiveCall call(*impl_);
  std::int64_t before = 0;
  check_mpi(MPI_Exscan(&value, &before, 1, MPI_INT64_T, MPI_SUM, impl_->comm), "MPI_Exscan");
  return impl_->rank == 0 ? 0 : before;  // MPI leaves rank 0's result undefined
}

std::vector<double> Communicator::all_gather(std::span<const double> values) const {
  const CollectiveCall call(*impl_);
  const int count = count_of(values.size());
  std::vector<double> result(values.size() * Offset{impl_->size});
  check_mpi(MPI_Allgather(values.data(), count, MPI_DOUBLE, result.data(), count, MPI_DOUBLE,
                          impl_->comm),
            "MPI_Allgather");
  impl_->counts->collectives.gathered_bytes += result.size() * sizeof(double);
  return result;
}

std::vector<std::int64_t> Communicator::all_gather(std::span<const std::int64_t> values) const {
  const CollectiveCall call(*impl_);
  const int count = count_of(values.size());
  std::vector<std::int64_t> result(values.size() * Offset{impl_->size});
  const std::int64_t* const send = values.data();  // the types as clang-tidy can see them
  std::int64_t* const receive = result.data();
  check_mpi(MPI_Allgather(send, count, MPI_INT64_T, receive, count, MPI_INT64_T, impl_->comm),
            "MPI_Allgather");
  impl_->counts->collectives.gathered_bytes += result.size() * sizeof(std::int64_t);
  return result;
}

std::vector<std::byte> Communicator::all_gather_bytes(std::span<const std::byte> values,
                                                      std::vector<std::size_t>* counts) const {
  const CollectiveCall call(*impl_, 2);
  const int count = count_of(values.size());
  std::vector<int> sizes(impl_->size);
  check_mpi(MPI_Allgather(&count, 1, MPI_INT, sizes.data(), 1, MPI_INT, impl_->comm),
            "MPI_Allgather");
  const std::vector<int> offsets = offsets_of(sizes);
  std::vector<std::byte> result(offsets.back() + sizes.back());
  check_mpi(MPI_Allgatherv(values.data(), count, MPI_BYTE, result.data(), sizes.data(),
                           offsets.data(), MPI_BYTE, impl_->comm),
            "MPI_Allgatherv");
  impl_->counts->collectives.gathered_bytes += sizes.size() * sizeof(int) + result.size();
  report_counts(sizes, counts);
  return result;
}

std::vector<std::byte> Communicator::gather_bytes(int root, std::span<const std::byte> values,
                                                  std::vector<std::size_t>* counts) const {
  const CollectiveCall call(*impl_, 2);
  const int count = count_of(values.size());
  const bool is_root = impl_->rank == root;
  // the total is checked on every rank, so that all of them fail together; sum() counts itself
  if (sum(std::int64_t{count}) > std::numeric_limits<int>::max())
    count_of(std::numeric_limits<std::size_t>::max());
  std::vector<int> sizes(is_root ? static_cast<std::size_t>(impl_->size) : 0);
  check_mpi(MPI_Gather(&count, 1, MPI_INT, sizes.data(), 1, MPI_INT, root, impl_->comm),
            "MPI_Gather");
  const std::vector<int> offsets = offsets_of(sizes);
  std::vector<std::byte> result(is_root ? static_cast<std::size_t>(offsets.back() + sizes.back())
                                        : 0);
  check_mpi(MPI_Gatherv(values.data(), count, MPI_BYTE, result.data(), sizes.data(), offsets.data(),
                        MPI_BYTE, root, impl_->comm),
            "MPI_Gatherv");
  report_counts(sizes, counts);
  return result;
}

void Communicator::broadcast(int root, std::vector<std::byte>& bytes) const {
  const CollectiveCall call(*impl_, 2);
  broadcast_items(root, impl_->comm, bytes);
}

void Communicator::broadcast(int root, std::string& text) const {
  const CollectiveCall call(*impl_, 2);
  broadcast_items(root, impl_->comm, text);
}

const TrafficCount& Communicator::traffic() const { return impl_->counts->traffic; }

const CollectiveCount& collective_count(const Communicator& comm) {
  return comm.impl()->counts->collectives;
}

void Communicator::abort(int code, const std::string& message) const {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::fflush(nullptr);
  MPI_Abort(impl_->comm, code);
  std::_Exit(code);
}

void leave_program(int code) {
  std::fflush(nullptr);
  if (mpi_is_running()) MPI_Finalize();
#if defined(__SANITIZE_ADDRESS__)
  std::exit(code);  // leaks are looked for there
#else
  std::_Exit(code);
#endif
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  std::string version(text, length);
  // some libraries count the terminating zero
  while (!version.empty() && version.back() == '\0') version.pop_back();
  return version;
}

}  // namespace catena
