// The description of machine elements among the joints: bushings, screws,
// racks, belts, winches.
#include <algorithm>
#include <cmath>

#include "scenarios/joint_parts.hpp"

namespace catena::scenarios {

namespace {

using enum JointType;

bool given(double value) { return !std::isnan(value); }
bool given(std::span<const double> values) {
  return std::ranges::any_of(values, [](double x) { return !std::isnan(x); });
}

/// Rejects a key that only `type` has, and a missing one that it needs.
void check_own(SettingsVisitor &visit, const JointSettings &s, JointType type,
               std::string_view word, std::string_view key, bool is_given, bool needed) {
  if (is_given && s.type != type)
    visit.reject(key, "is for the type " + std::string(word), "leave it out");
  else if (!is_given && s.type == type && needed)
    visit.reject(key, "missing", "the type " + std::string(word) + " needs " + std::string(key));
}

void check_winch(SettingsVisitor &visit, const JointSettings &s) {
  const MotorSettings &motor = s.first.motor;
  if (!motor.present) {
    if (given(s.first.limits[0]))
      visit.reject("limits", "are those of a winch's rope", "give it a motor, or a length alone");
    return;
  }
  const bool bounded = given(motor.max_force) || motor.gives_force();
  if (bounded || given(motor.viscosity) || given(motor.compliance) || given(motor.damping_time))
    visit.reject("motor", "a winch's rope has the length that it is given",
                 "give velocity, or a table; the rope's own compliance stands "
                 "beside motor");
  if (given(motor.position) ||
      (motor.table.present && motor.table.values == TableValues::position)) {
    if (!motor.table.present)
      visit.reject("motor", "one position is no way for a rope",
                   "give its length instead, or a table");
    else if (given(s.length))
      visit.reject("length", "stands beside a table of lengths", "leave it out");
  }
}

}  // namespace

void describe_element(SettingsVisitor &visit, JointSettings &s) {
  visit.visit("pitch", s.pitch,
              {.unit = "m",
               .help = "of a screw: way of b along the axis in a turn; > 0: a "
                       "right-handed thread"});
  visit.visit("thread_friction", s.thread_friction,
              {.min = 0, .help = "of a screw: Coulomb's coefficient on the thread; needs radius"});
  visit.visit("radii", s.radii,
              {.unit = "m",
               .min = 0,
               .min_open = true,
               .help = "of a belt's pulleys, that of a and that of b"});
  visit.visit("crossed", s.crossed, {.help = "whether the belt turns its pulleys opposite ways"});
  const auto bushing = [&](std::string_view key, std::array<double, 3> &values,
                           std::string_view unit, std::string_view help) {
    visit.visit(key, std::span<double>(values),
                {.unit = unit, .min = 0, .scalar_fills = true, .help = help});
  };
  bushing("stiffness", s.stiffness, "N/m", "of a bushing, along x, y, z of its axes; else 0");
  bushing("angular_stiffness", s.angular_stiffness, "N m/rad", "the same about them; else 0");
  bushing("damping", s.damping, "N s/m", "of a bushing, along x, y, z of its axes; else 0");
  bushing("angular_damping", s.angular_damping, "N m s/rad", "the same about them; else 0");
}

void check_element(SettingsVisitor &visit, const JointSettings &s) {
  check_own(visit, s, screw, "screw", "pitch", given(s.pitch), true);
  check_own(visit, s, screw, "screw", "thread_friction", given(s.thread_friction), false);
  check_own(visit, s, belt, "belt", "radii", given(s.radii), true);
  check_own(visit, s, belt, "belt", "crossed", s.crossed, false);
  check_own(visit, s, bushing, "bushing", "stiffness", given(s.stiffness), false);
  check_own(visit, s, bushing, "bushing", "angular_stiffness", given(s.angular_stiffness), false);
  check_own(visit, s, bushing, "bushing", "damping", given(s.damping), false);
  check_own(visit, s, bushing, "bushing", "angular_damping", given(s.angular_damping), false);
  if (s.type == screw && s.pitch == 0.0)
    visit.reject("pitch", "is zero", "a screw that does not advance is a revolute joint");
  if (s.type == screw && (s.thread_friction > 0.0) != given(s.radius))
    visit.reject("radius", given(s.radius) ? "has no use without friction" : "missing",
                 given(s.radius) ? "give thread_friction, or leave it out"
                                 : "thread_friction acts at the mean radius of the thread");
  if (s.type == bushing && !given(s.stiffness) && !given(s.angular_stiffness) &&
      !given(s.damping) && !given(s.angular_damping))
    visit.reject("", "the bushing holds nothing", "give stiffness, angular_stiffness or dampings");
  if (s.type == rack || (s.type == bushing && is_set(s.axis_b))) {
    constexpr double kRight = 1e-9;
    if (is_set(s.axis) && is_set(s.axis_b) &&
        std::abs(s.axis.normalized().dot(s.axis_b.normalized())) > kRight)
      visit.reject("axis_b", "is not at right angles to axis",
                   s.type == rack ? "the rack runs across the pinion's axle"
                                  : "they are z and x of the bushing");
  }
  if (s.type == rope) check_winch(visit, s);
}

}  // namespace catena::scenarios
