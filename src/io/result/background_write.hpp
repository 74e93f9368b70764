// A file that a thread completes while the run goes on.
#pragma once

#include <atomic>
#include <exception>
#include <string>
#include <thread>

#include "catena/comm/communicator.hpp"
#include "io/hdf5/pending_rows.hpp"

namespace catena {

/// Writes this rank's rows into a file by a thread of its own, from construction on. Nothing but
/// the rows, which stay as they are until it is done, is shared with other threads.
class BackgroundWrite {
 public:
  BackgroundWrite(std::string path, const hdf5::PendingRows& rows);
  /// Waits for the thread; whether it failed is not said.
  ~BackgroundWrite();
  BackgroundWrite(const BackgroundWrite&) = delete;
  BackgroundWrite& operator=(const BackgroundWrite&) = delete;

  /// Collective. Seconds that writing has taken on the slowest rank, once all ranks are done; they
  /// are waited for if `wait`. Infinite before. Throws Error(input_output) on every rank if
  /// writing has failed on any.
  double settle(const Communicator& comm, bool wait);

 private:
  void write();

  std::string path_;
  const hdf5::PendingRows& rows_;
  std::exception_ptr failure_;  ///< these are the thread's until it is done
  double seconds_ = 0.0;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

}  // namespace catena
