// When a run writes a checkpoint, and when it ends early.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "catena/simulation/simulation.hpp"

namespace catena {

/// What all ranks do after a step.
struct RunDecision {
  bool checkpoint = false;
  bool stop = false;   ///< the run ends, with a checkpoint
  std::string reason;  ///< of a stop, or of a checkpoint that was asked for
};

/// Signals, the wall time that a run may take, the stop file and the cadences of checkpoints. Ranks
/// agree after each step by one reduction, in which the step's wall time travels along.
class RunStop {
 public:
  /// Collective. A stop file from before the run is removed; `stale` says whether there was one.
  RunStop(const Communicator& comm, const RunOptions& options, const OutputSettings& output);

  /// Collective. Wall time of the step on the slowest rank, s; after it decide() knows what all
  /// ranks were asked for.
  double agree(double step_wall);
  /// Not collective, in the midst of a step: whether this rank knows that the run is to end now,
  /// and wall time until it has to, s.
  bool must_end();
  double seconds_left() const;
  /// After a step that was broken off, and agree(): why.
  std::string broken_off() const;

  /// After what a step's output took: the same on every rank. `steps_left`: false at the end.
  RunDecision decide(std::int64_t step, bool steps_left);

  /// A checkpoint was written, in `seconds` on the slowest rank.
  void note_checkpoint(double seconds);
  /// A snapshot was written: until a checkpoint is, its time stands for that of one.
  void note_snapshot(double seconds);
  bool stale() const { return stale_; }

 private:
  bool stop_file_seen();
  /// Wall time that must be left for one more step and the end, s.
  double reserve() const;
  /// The part of it for the end.
  double output_reserve() const;

  Communicator comm_;
  const RunOptions& options_;
  const OutputSettings& output_;
  std::filesystem::path stop_file_;
  bool stale_ = false;
  double looked_ = 0.0;     ///< wall time of the last look for the stop file
  bool file_here_ = false;  ///< it was seen, and others do not know yet
  // the same on every rank
  double elapsed_ = 0.0;  ///< since the program's start, s
  double last_elapsed_ = 0.0;
  double last_checkpoint_ = 0.0;  ///< when, in elapsed time
  double longest_turn_ = 0.0;     ///< longest step with its output, checkpoints left out, s
  double turn_checkpoint_ = 0.0;  ///< of the present iteration of the loop
  double checkpoint_seconds_ = 0.0, snapshot_seconds_ = 0.0;
  std::int64_t snapshots_ = 0;
  int asked_ = 0;
  bool file_ = false;
};

}  // namespace catena
