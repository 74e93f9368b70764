// Signals that ask a run to write a checkpoint or to stop.
#pragma once

#include <csignal>
#include <cstdint>

namespace catena {

/// Listens from its making to its end: SIGUSR1 asks for a checkpoint, SIGUSR2, SIGTERM and SIGINT
/// (Ctrl-C) for a checkpoint and an end. The handlers set a flag and nothing else, but for the
/// second of SIGTERM and SIGINT, which ends the process at once with exit code 1. SIGINT is
/// listened to even where it was ignored before, as a shell leaves it to what runs in the
/// background. One at a time in a process.
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
  /// Whether this process was asked to end; stays so.
  static bool end_asked();

 private:
  struct sigaction usr1_ = {}, usr2_ = {}, term_ = {}, int_ = {};  ///< what was there before
};

}  // namespace catena
