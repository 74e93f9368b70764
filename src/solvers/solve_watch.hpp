// The clock of one solve: its time limit, and whether the run is to end meanwhile.
#pragma once

#include <array>
#include <limits>
#include <string>

#include "catena/base/watch.hpp"
#include "catena/comm/communicator.hpp"

namespace catena {

/// Thrown on every rank where a solve's time limit ends it in the midst of an iteration. Solvers
/// catch it and return their best iterate.
struct OutOfTime {};

/// Looks at the clock and at a Watch over all ranks, so that all take the same decision:
///
///   look(), call()      collective, now; call() before what cannot be broken off
///   turn(i)             in loops: collective where about a quarter of a second has passed since
///                       the last check, by the rate of the calls so far, on which ranks agree
///   local(), note()     where a loop reduces maxima anyway: these two travel along
///
/// Where the run is to end, StopAsked is thrown on every rank. Without a limit and a Watch nothing
/// is communicated. Iterates never depend on when it looks, but for what a limit cuts off.
class SolveWatch {
 public:
  /// `watch` may be null and must outlive this; `time_limit`, s, NaN: none; `started`: the wall
  /// clock at the begin, s.
  SolveWatch(const Communicator& comm, const Watch* watch, double time_limit, double started);

  /// Whether the time limit was over at the last look, or is too near for what was to come.
  bool late() const { return late_; }
  double started() const { return started_; }

  /// Collective. Looks; returns late().
  bool look();
  /// Collective where a look is due. Turns are counted by the caller; returns late().
  bool turn(int turn);
  /// Collective. A look before a call that cannot be broken off and is predicted to take `seconds`
  /// (0: unknown, of the slowest rank): throws OutOfTime where the limit is over or would be then,
  /// and StopAsked where the run would have to end before.
  void call(double seconds = 0.0);

  /// Not collective. Wall time of this solve, s, and 1 if this rank was asked to end the run.
  std::array<double, 2> local() const;
  /// Takes the largest of local() over all ranks, as they were after `turn`. Does not throw.
  void note(int turn, double wall, double asked);
  /// Throws StopAsked if the last look saw that the run is to end.
  void obey() const;

  /// Not collective. Whether a line on the progress is due (every five seconds), and the line.
  bool shows_progress();
  void show(const std::string& text) const;

 private:
  bool idle() const { return watch_ == nullptr && time_limit_ == kForever; }
  double left() const;

  static constexpr double kForever = std::numeric_limits<double>::infinity();
  Communicator comm_;
  const Watch* watch_;
  double time_limit_;
  double started_;
  // the same on every rank, as the next iteration that checks follows from them
  bool late_ = false, asked_ = false;
  int last_turn_ = 0, interval_ = 1;
  double last_wall_ = 0.0;
  // of this rank
  double shown_ = 0.0;
};

/// Collective. One look, before work that has no SolveWatch: throws StopAsked on every rank where
/// the run is to end. `watch` may be null.
void obey(const Communicator& comm, const Watch* watch);

}  // namespace catena
