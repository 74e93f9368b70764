// The control laws, one interval at a time.
#pragma once

#include <cstddef>
#include <string>

#include "catena/simulation/controller_settings.hpp"
#include "simulation/control/drive.hpp"

namespace catena::control {

/// What State::controls holds of a controller; NaN: nothing yet.
enum Kept : std::size_t { kOutput, kTime, kMeasure, kIntegral, kChanges, kWays, kNumbers };

/// An interval's end.
struct Sample {
  double time, measure, target;  ///< s, SI
};

/// Within the controller's limits.
double limited(const ControllerSettings& s, double output);

/// offset + kp e + ki (integral of e) - kd (rate of the measure), e = target - measure, with the
/// integral by the error at the end of each interval, and the rate by the last two measures. Within
/// the limits; while it would lie beyond, the integral does not go on that way (anti-windup).
double pid(const ControllerSettings& s, const Sample& sample, double* kept);

/// A velocity that brings a force or stress F to its target by the stiffness k = |dF/dx| of what is
/// pressed: in an interval dt it takes back `gain` of the error, v = u +- gain (target - F)/(k dt),
/// at most max_velocity. u is how fast what is pressed moves or yields, so that no error is left
/// over then: +-gain^2/4 (target - F)/(k dt) summed up, which makes errors decay by 1 - gain/2 in
/// an interval without swinging. k is measured: the line through the changes of F over the ways dx
/// = (v - u) dt of the intervals so far, by least squares, older ones counting less (sum of dx dF
/// over sum of dx^2), so that large ways decide and noise at rest does not. While nothing is
/// pressed (F = 0) the drive goes at max_velocity; until there is a k, at a tenth of it. Throws
/// Error where F has the other sign than the target, by a tenth of it: contacts press, and it would
/// have to pull.
double servo(const ControllerSettings& s, const Sample& sample, double* kept);

/// Throws Error for what is no servo: a drive without velocity, a measure that is no force or
/// stress, a stress that pulls.
void check_servo(const ControllerSettings& s, const Drive& drive, const std::string& unit,
                 double target);

}  // namespace catena::control
