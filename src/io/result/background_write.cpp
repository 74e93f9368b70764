#include "io/result/background_write.hpp"

#include <pthread.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <system_error>
#include <utility>

#include "catena/base/timer.hpp"

namespace catena {
namespace {

/// While it lives, threads that are started take no signals: those that end a run are to break
/// into system calls of the thread that asks for them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

BackgroundWrite::BackgroundWrite(std::string path, const hdf5::PendingRows& rows)
    : path_(std::move(path)), rows_(rows) {
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { write(); });
  } catch (const std::system_error&) {
    write();  // no thread is to be had: the caller waits
  }
}

BackgroundWrite::~BackgroundWrite() {
  if (thread_.joinable()) thread_.join();
}

void BackgroundWrite::write() {
  const double start = wall_seconds();
  try {
    rows_.write(path_);
  } catch (...) {
    failure_ = std::current_exception();
  }
  seconds_ = wall_seconds() - start;
  done_ = true;
}

double BackgroundWrite::settle(const Communicator& comm, bool wait) {
  if (wait && thread_.joinable()) thread_.join();
  const double seconds = comm.max(done_ ? seconds_ : std::numeric_limits<double>::infinity());
  if (std::isinf(seconds)) return seconds;
  if (thread_.joinable()) thread_.join();
  all_or_none(comm, [&] {
    if (failure_) std::rethrow_exception(failure_);
  });
  return seconds;
}

}  // namespace catena
