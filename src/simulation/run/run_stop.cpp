#include "simulation/run/run_stop.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "catena/base/text.hpp"
#include "catena/base/timer.hpp"

namespace catena {

namespace {

/// Seconds between looks for the stop file: a question to the file system that others wait for.
constexpr double kLookInterval = 0.2;
/// Longest steps that are kept in reserve.
constexpr double kReservedSteps = 1.5;
/// Making the index opens every snapshot, s each.
constexpr double kIndexPerSnapshot = 2e-3;

}  // namespace

RunStop::RunStop(const Communicator& comm, const RunOptions& options, const OutputSettings& output)
    : comm_(comm), options_(options), output_(output), stop_file_(options.directory + "/stop") {
  std::int64_t found = 0;
  if (comm_.rank() == 0) {
    std::error_code none;
    found = std::filesystem::remove(stop_file_, none) ? 1 : 0;
  }
  stale_ = comm_.max(found) > 0;
  last_checkpoint_ = last_elapsed_ = elapsed_ = comm_.max(wall_seconds() - options_.started);
}

/// Rank 0 alone; the file is gone then.
bool RunStop::stop_file_seen() {
  const double now = wall_seconds();
  if (comm_.rank() != 0 || now - looked_ < kLookInterval) return false;
  looked_ = now;
  std::error_code none;
  return std::filesystem::remove(stop_file_, none);
}

bool RunStop::must_end() {
  file_here_ = file_here_ || stop_file_seen();
  return file_here_ || (options_.signals != nullptr && StopSignals::end_asked()) ||
         seconds_left() < 0.0;
}

double RunStop::seconds_left() const {
  return options_.max_wall - (wall_seconds() - options_.started) - output_reserve();
}

double RunStop::agree(double step_wall) {
  const auto asked = options_.signals != nullptr ? static_cast<int>(options_.signals->take()) : 0;
  std::array<double, 4> largest = {step_wall, wall_seconds() - options_.started,
                                   static_cast<double>(asked),
                                   file_here_ || stop_file_seen() ? 1.0 : 0.0};
  comm_.max(largest);
  last_elapsed_ = elapsed_;
  elapsed_ = largest[1];
  asked_ = static_cast<int>(largest[2]);
  file_ = file_ || largest[3] > 0.0;
  // what the last iteration's output took lies between the two agreements
  longest_turn_ =
      std::max({longest_turn_, largest[0], elapsed_ - last_elapsed_ - turn_checkpoint_});
  turn_checkpoint_ = 0.0;
  return largest[0];
}

double RunStop::reserve() const { return kReservedSteps * longest_turn_ + output_reserve(); }

double RunStop::output_reserve() const {
  const double checkpoint =
      checkpoint_seconds_ > 0.0 ? checkpoint_seconds_ : 2.0 * snapshot_seconds_;
  return checkpoint + snapshot_seconds_ + kIndexPerSnapshot * static_cast<double>(snapshots_);
}

std::string RunStop::broken_off() const {
  if (asked_ == static_cast<int>(StopSignals::Request::stop)) return "a signal";
  if (file_) return "the stop file " + stop_file_.string();
  return "--max-wall, " + short_text(options_.max_wall) + " s: " + short_text(elapsed_) +
         " s have passed, and what the step needs next does not fit before the last output";
}

RunDecision RunStop::decide(std::int64_t step, bool steps_left) {
  using Request = StopSignals::Request;
  RunDecision decision;
  if (asked_ == static_cast<int>(Request::stop)) {
    decision.stop = true;
    decision.reason = "a signal";
  } else if (file_) {
    decision.stop = true;
    decision.reason = "the stop file " + stop_file_.string();
  } else if (elapsed_ + reserve() > options_.max_wall) {
    decision.stop = true;
    decision.reason =
        "--max-wall, " + short_text(options_.max_wall) + " s: " + short_text(elapsed_) +
        " s have passed, and a step and the last output may take " + short_text(reserve()) + " s";
  } else if (asked_ == static_cast<int>(Request::checkpoint)) {
    decision.checkpoint = true;
    decision.reason = "a signal";
  }
  decision.stop = decision.stop && steps_left;
  const bool by_wall = elapsed_ - last_checkpoint_ >= output_.checkpoint_wall_interval;
  const bool by_step = output_.checkpoint_steps > 0 && step % output_.checkpoint_steps == 0;
  // a run that ends keeps a checkpoint, so that time.end may be moved on
  const bool at_end = !steps_left && (std::isfinite(output_.checkpoint_wall_interval) ||
                                      output_.checkpoint_steps > 0);
  decision.checkpoint = decision.checkpoint || decision.stop || by_wall || by_step || at_end;
  return decision;
}

void RunStop::note_checkpoint(double seconds) {
  checkpoint_seconds_ = std::max(checkpoint_seconds_, seconds);
  turn_checkpoint_ += seconds;
  last_checkpoint_ = elapsed_ + seconds;
}

void RunStop::note_snapshot(double seconds) {
  snapshot_seconds_ = std::max(snapshot_seconds_, seconds);
  ++snapshots_;
}

}  // namespace catena
