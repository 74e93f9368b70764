#include "solvers/solve_watch.hpp"

#include <algorithm>
#include <cmath>

#include "catena/base/timer.hpp"

namespace catena {
namespace {

/// Between checks in loops, s: the half second promised leaves room for iterations that get slower.
constexpr double kLookInterval = 0.25;
/// The same short of a time limit: a part of what is left, s.
constexpr double kLate = 0.1, kMinInterval = 1e-5;
constexpr double kMaxTurns = 1e6;
/// Between lines on the progress, s.
constexpr double kProgressInterval = 5.0;

}  // namespace

SolveWatch::SolveWatch(const Communicator& comm, const Watch* watch, double time_limit,
                       double started)
    : comm_(comm),
      watch_(watch),
      time_limit_(std::isnan(time_limit) ? kForever : time_limit),
      started_(started),
      shown_(started) {}

std::array<double, 2> SolveWatch::local() const {
  const bool asked = watch_ != nullptr && watch_->asked && watch_->asked();
  return {wall_seconds() - started_, asked ? 1.0 : 0.0};
}

/// What is left of the run's time on this rank, s.
double SolveWatch::left() const {
  return watch_ != nullptr && watch_->seconds_left ? watch_->seconds_left() : kForever;
}

void SolveWatch::note(int turn, double wall, double asked) {
  late_ = late_ || wall >= time_limit_;
  asked_ = asked_ || asked > 0.0;
  if (const int turns = turn - last_turn_; turns > 0) {
    const double each = (wall - last_wall_) / turns;
    const double wait = std::clamp(kLate * (time_limit_ - wall), kMinInterval, kLookInterval);
    interval_ = each > 0.0 ? static_cast<int>(std::clamp(wait / each, 1.0, kMaxTurns)) : 1;
  }
  last_turn_ = turn;
  last_wall_ = wall;
}

void SolveWatch::obey() const {
  if (asked_) throw StopAsked();
}

bool SolveWatch::look() {
  if (idle()) return false;
  std::array<double, 2> largest = local();
  if (comm_.size() > 1) comm_.max(largest);
  note(last_turn_, largest[0], largest[1]);
  obey();
  return late_;
}

bool SolveWatch::turn(int turn) {
  if (idle() || turn - last_turn_ < interval_) return late_;
  std::array<double, 2> largest = local();
  if (comm_.size() > 1) comm_.max(largest);
  note(turn, largest[0], largest[1]);
  obey();
  return late_;
}

void SolveWatch::call(double seconds) {
  if (idle()) return;
  const std::array<double, 2> own = local();
  std::array<double, 4> largest = {own[0], own[1], seconds, -left()};
  if (comm_.size() > 1) comm_.max(largest);
  note(last_turn_, largest[0], largest[1]);
  asked_ = asked_ || largest[2] > -largest[3];
  obey();
  late_ = late_ || largest[0] + largest[2] > time_limit_;
  if (late_) throw OutOfTime();
}

bool SolveWatch::shows_progress() {
  if (watch_ == nullptr || !watch_->progress) return false;
  const double now = wall_seconds();
  if (now - shown_ < kProgressInterval) return false;
  shown_ = now;
  return true;
}

void SolveWatch::show(const std::string& text) const { watch_->progress(text); }

void obey(const Communicator& comm, const Watch* watch) {
  if (watch == nullptr) return;
  SolveWatch(comm, watch, std::numeric_limits<double>::quiet_NaN(), wall_seconds()).look();
}

}  // namespace catena
