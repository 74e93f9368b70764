#include "simulation/control/laws.hpp"

#include <algorithm>
#include <cmath>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"

namespace catena::control {

double limited(const ControllerSettings& s, double output) {
  if (output < s.limits[0]) return s.limits[0];
  if (output > s.limits[1]) return s.limits[1];
  return output;  // limits that are not given are no numbers
}

double pid(const ControllerSettings& s, const Sample& sample, double* kept) {
  const double error = sample.target - sample.measure;
  const bool first = std::isnan(kept[kTime]);
  const double dt = first ? 0.0 : sample.time - kept[kTime];
  const double rate = dt > 0.0 ? (sample.measure - kept[kMeasure]) / dt : 0.0;
  const double before = first ? 0.0 : kept[kIntegral];
  const double integral = before + error * dt;
  const auto output_with = [&](double i) {
    return s.offset + s.kp * error + s.ki * i - s.kd * rate;
  };
  const double asked = output_with(integral);
  const double beyond = asked - limited(s, asked);
  const bool winds_up = beyond * (s.ki * error) > 0.0;
  kept[kIntegral] = winds_up ? before : integral;
  kept[kTime] = sample.time;
  kept[kMeasure] = sample.measure;
  return limited(s, output_with(kept[kIntegral]));
}

double servo(const ControllerSettings& s, const Sample& sample, double* kept) {
  /// What an interval leaves of the weight of those before, and the share of the largest speed
  /// while no stiffness is known.
  constexpr double kRemembered = 0.98, kCautious = 0.1;
  /// Share of the target by which a measure may have the other sign.
  constexpr double kBrushed = 0.1;
  const double sign = s.response == ServoResponse::rises ? 1.0 : -1.0;
  const double error = sample.target - sample.measure;
  const double dt = std::isnan(kept[kTime]) ? 0.0 : sample.time - kept[kTime];
  // what is brushed from behind is no pull
  if (sample.measure * sample.target < 0.0 &&
      std::abs(sample.measure) > kBrushed * std::abs(sample.target))
    throw Error("the servo '" + s.name + "' would have to pull: it measures " +
                    short_text(sample.measure) + " where its target is " +
                    short_text(sample.target),
                s.place + ".target",
                "turn the sign of the target, or of the measure's component; of a body that the "
                "drive moves measure contact_force, since force holds the drive's own");
  if (std::isnan(kept[kWays])) kept[kChanges] = kept[kWays] = kept[kIntegral] = 0.0;
  double& along = kept[kIntegral];
  if (dt > 0.0 && kept[kMeasure] != 0.0 && sample.measure != 0.0) {
    const double way = (kept[kOutput] - along) * dt;
    kept[kChanges] = kRemembered * kept[kChanges] + sign * way * (sample.measure - kept[kMeasure]);
    kept[kWays] = kRemembered * kept[kWays] + way * way;
  }
  const double stiffness = kept[kChanges] / kept[kWays];
  kept[kTime] = sample.time;
  kept[kMeasure] = sample.measure;
  const double towards = sign * std::copysign(s.max_velocity, error);
  const auto output_with = [&](double v) {
    return limited(s, std::clamp(v, -s.max_velocity, s.max_velocity));
  };
  if (sample.measure == 0.0 || !(stiffness > 0.0) || dt == 0.0) {
    along = 0.0;
    return output_with(sample.measure == 0.0 ? towards : kCautious * towards);
  }
  const double whole = sign * error / (stiffness * dt);
  const double further = along + 0.25 * s.gain * s.gain * whole;
  const double asked = further + s.gain * whole;
  const bool winds_up = (asked - output_with(asked)) * error * sign > 0.0;
  if (!winds_up) along = further;
  return output_with(along + s.gain * whole);
}

void check_servo(const ControllerSettings& s, const Drive& drive, const std::string& unit,
                 double target) {
  if (!drive.velocity)
    throw Error("a servo drives velocities, and '" + s.drive + "' has none", s.place + ".drive",
                "name a joint whose motor has a velocity, motor: {velocity: 0}, or what has a "
                "motion");
  if (unit != "N" && unit != "N m" && unit != "Pa")
    throw Error("a servo holds a force, a torque or a stress, and " + s.measure + " is in " + unit,
                s.place + ".measure", "use the type pid");
  if (unit == "Pa" && target < 0.0)
    throw Error("a servo cannot pull: stress is positive where it presses", s.place + ".target",
                "give a positive target");
}

}  // namespace catena::control
