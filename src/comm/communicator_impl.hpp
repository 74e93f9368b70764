// What a Communicator holds; the only place where MPI types stand in this module's
// shared code.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "catena/base/timer.hpp"
#include "catena/comm/collective_count.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/comm/leave_program.hpp"
#include "catena/comm/tags.hpp"

namespace catena {

inline constexpr int kReduceTag = static_cast<int>(Tag::reduction);

/// Throws Error(runtime_error) naming the call where `code` is not MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// What a communicator has counted, together with the parts that it was split into.
struct Counts {
  TrafficCount traffic;
  CollectiveCount collectives;
  int waiting = 0;  ///< depth of Waiting
};

struct Communicator::Impl {
  explicit Impl(MPI_Comm parent);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  int exchanges = 0;
  std::shared_ptr<Counts> counts = std::make_shared<Counts>();
  std::vector<double> incoming;  ///< scratch of the ordered reductions
};

/// Adds the time until its end of life to TrafficCount::waited_s; within another one, nothing.
class Waiting {
 public:
  explicit Waiting(Communicator::Impl& impl) : counts_(*impl.counts) {
    if (counts_.waiting++ == 0) start_ = wall_seconds();
  }
  ~Waiting() {
    if (--counts_.waiting == 0) counts_.traffic.waited_s += wall_seconds() - start_;
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Counts& counts_;
  double start_ = 0.0;
};

/// The wait in `n` operations of all ranks, which are counted.
class CollectiveCall : public Waiting {
 public:
  explicit CollectiveCall(Communicator::Impl& impl, int n = 1) : Waiting(impl) {
    impl.counts->collectives.blocking += n;
  }
};

}  // namespace catena
