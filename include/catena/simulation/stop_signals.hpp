// Signals that ask a run to write a checkpoint or to stop.
#pragma once

#include <csignal>
#include <cstdint>

namespace catena {

/// Listens from its making to its end: SIGUSR1 asks for a checkpoint, SIGUSR2 and SIGTERM for a
/// checkpoint and an end. The handlers set a flag and nothing else, but for a second SIGTERM, which
/// ends the process at once with exit code 1. One at a time in a process.
class StopSignals {
 public:
  enum class Request : std::uint8_t { none, checkpoint, stop };

  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// What this process was asked for since the last call, the stronger of several; a stop is asked
  /// for until the end.
  Request take();

 private:
  struct sigaction usr1_ = {}, usr2_ = {}, term_ = {};  ///< what was there before
};

}  // namespace catena
