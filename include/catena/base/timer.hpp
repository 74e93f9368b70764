// Wall clocks per phase.
#pragma once

#include <chrono>

namespace catena {

/// Seconds on a monotonic clock.
inline double wall_seconds() {
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

/// Adds the time until its end of life to `total`, s.
class ScopedTimer {
 public:
  explicit ScopedTimer(double& total) : total_(total), start_(wall_seconds()) {}
  ~ScopedTimer() { total_ += wall_seconds() - start_; }
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

 private:
  double& total_;
  double start_;
};

}  // namespace catena
