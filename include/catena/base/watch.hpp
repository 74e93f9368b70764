// What is asked of a run, and reported of it, while it is in the midst of something long.
#pragma once

#include <exception>
#include <functional>
#include <string>

namespace catena {

/// Handed down to loops that may take long. Every rank has its own; ranks agree by the loops'
/// own reductions (solvers/solve_watch.hpp), so that all leave at the same iteration. Functions
/// that are not set ask for nothing.
struct Watch {
  /// Whether this rank was asked to end the run. Called often.
  std::function<bool()> asked;
  /// Wall time until the run has to end, s.
  std::function<double()> seconds_left;
  /// Takes a line on what goes on, every few seconds of a long solve; of one rank at least.
  std::function<void(const std::string&)> progress;
};

/// Thrown on every rank where work is broken off because the run is to end. What was under way is
/// to be discarded. It is no failure, and so no Error.
class StopAsked : public std::exception {
 public:
  const char* what() const noexcept override { return "the run was asked to end"; }
};

}  // namespace catena
