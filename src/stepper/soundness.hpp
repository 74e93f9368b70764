// Whether a state is still mechanics, and which body spoils it.
#pragma once

#include <limits>

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// Speeds beyond these are run-away, not mechanics, m/s and rad/s.
inline constexpr double kRunAwaySpeed = 1e8;
inline constexpr double kRunAwaySpin = 1e10;

/// Speed over what is still mechanics; infinite for a state with infinity or NaN.
inline double speed_ratio(const BodyMotionState& s) {
  if (!(s.pose.p.allFinite() && s.pose.q.coeffs().allFinite() && s.twist.v.allFinite() &&
        s.twist.w.allFinite())) {
    return std::numeric_limits<double>::infinity();
  }
  return std::max(s.twist.v.stableNorm() / kRunAwaySpeed, s.twist.w.stableNorm() / kRunAwaySpin);
}

inline bool is_sound(const Pose& pose, const Twist& twist) {
  // squares that overflow, and NaN, are no less
  return twist.v.squaredNorm() < kRunAwaySpeed * kRunAwaySpeed &&
         twist.w.squaredNorm() < kRunAwaySpin * kRunAwaySpin && pose.p.allFinite() &&
         pose.q.coeffs().allFinite();
}

/// Collective. The least id of the ranks on which it `holds`; one of them has it.
inline GlobalId least_id(const Communicator& comm, bool holds, GlobalId id) {
  return comm.min(holds ? id : std::numeric_limits<GlobalId>::max());
}

/// Collective. Id of the body with the largest measure(index) >= 0, the lowest of equals;
/// kNoBody if all are negative.
template <class Measure>
GlobalId worst_body(const Communicator& comm, const Bodies& bodies, const Measure& measure) {
  constexpr GlobalId kLast = std::numeric_limits<GlobalId>::max();
  double worst = -1.0;
  GlobalId id = kLast;
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    const double value = measure(i);
    if (value < 0.0 || value < worst) continue;
    id = value > worst ? bodies.constants[i].id : std::min(id, bodies.constants[i].id);
    worst = value;
  }
  const double worst_of_all = comm.max(worst);
  id = least_id(comm, worst == worst_of_all, id);
  return id == kLast ? kNoBody : id;
}

}  // namespace catena
