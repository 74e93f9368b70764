// The description of machine elements among the joints: bushings, screws,
// racks, belts, winches, cams, curves, tendons.
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

/// Radii for all pulleys, and which way they turn said in one way.
void check_belt(SettingsVisitor &visit, const JointSettings &s) {
  const std::size_t n = s.between.size();
  if (!s.radii.empty() && s.radii.size() != n)
    visit.reject("radii",
                 "has " + std::to_string(s.radii.size()) + " numbers, not " + std::to_string(n),
                 "give one for each pulley of between, such as [5 cm, 20 cm]");
  if (n == 2) {
    if (!s.reversed.empty())
      visit.reject("reversed", "is for three pulleys or more", "give crossed: true");
    return;
  }
  if (s.crossed)
    visit.reject("crossed", "is for two pulleys", "name those that turn back under reversed");
  if (is_set(s.axis_b))
    visit.reject("axis_b", "is for two pulleys", "leave it out: all turn about axis");
  for (const std::string &name : s.reversed) {
    if (std::ranges::find(s.between, name) == s.between.end())
      visit.reject("reversed", "'" + name + "' is no pulley of the belt", "name one of between");
    else if (name == s.between.front())
      visit.reject("reversed", "names the first pulley, which the others are compared with",
                   "name those that turn the other way than it");
  }
}

void check_tendon(SettingsVisitor &visit, const BodyNames &names, const JointSettings &s) {
  constexpr std::size_t kFewest = 3;
  if (s.through.size() < kFewest)
    return visit.reject("through",
                        "needs three points or more, found " + std::to_string(s.through.size()),
                        "give its ends and what it runs over between them; two points are a rope");
  const std::vector<std::string> bodies = bodies_of_tendon(s);
  const bool fast = std::ranges::any_of(
      s.through, [](const TendonPointSettings &point) { return point.body == kWorld; });
  if (bodies.size() > kJointBodies)
    visit.reject("through",
                 "runs over " + std::to_string(bodies.size()) +
                     " bodies besides the world, of three at most",
                 "let it end on one of them, or take more tendons");
  else if (std::ranges::none_of(
               bodies, [&](const std::string &name) { return names.dynamic(names.find(name)); }))
    visit.reject("through", "none of its bodies can move freely",
                 "one of them must be neither the world, nor fixed, nor given a motion");
  else if (bodies.size() == 1 && !fast)
    visit.reject("through", "all its points are of one body", "name another body, or world");
}

void describe_curve(SettingsVisitor &visit, CurveSettings &s) {
  visit.optional_section(
      "curve", s.present, {.help = "on which a point stays: a smooth one through given points"},
      [&] {
        s.place = visit.where("");
        std::size_t width = 3;
        visit.visit("file", s.file, {.help = "CSV with the columns x, y, z, in m"});
        visit.rows("points", s.points, width,
                   {.unit = "m", .help = "in their order, at the start, world frame"});
        visit.visit("closed", s.closed,
                    {.help = "whether it leads from the last point back to the first; else the "
                             "coordinate has limits at both ends"});
        if (s.file.empty() == s.points.empty())
          visit.reject("", s.file.empty() ? "nothing is given" : "has a file and points",
                       "give points or file");
      });
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

std::vector<std::string> bodies_of_tendon(const JointSettings &s) {
  std::vector<std::string> names;
  for (const TendonPointSettings &point : s.through)
    if (point.body != kWorld && std::ranges::find(names, point.body) == names.end())
      names.push_back(point.body);
  return names;
}

void describe_bodies(SettingsVisitor &visit, const BodyNames &names, JointSettings &s) {
  visit.visit("between", s.between,
              {.help = "two bodies, a and b, of a belt two or more, of a tendon none (`through`); "
                       "NAME-12 of a generator, `world` for one of them"});
  const bool over_points = s.type == tendon;
  if (over_points) {
    s.collide = true;
    if (!s.between.empty())
      visit.reject("between", "is not for a tendon", "name bodies with their points under through");
  } else {
    check_between(visit, names, s.type == belt, s.between);
  }
  visit.list(
      "through", s.through.size(),
      {.help = "points over which a tendon runs without friction, in their order: its ends first "
               "and last; the same body may come again"},
      [&](std::size_t n) { s.through.assign(n, {}); },
      [&](std::size_t i) {
        TendonPointSettings &point = s.through[i];
        visit.visit("body", point.body, {.required = true, .help = "a body, or `world`"});
        visit.visit("at", numbers(point.at),
                    {.unit = "m", .required = true, .help = "at the start, world frame"});
        if (!point.body.empty()) check_body_name(visit, names, "body", point.body, true);
      });
  if (over_points)
    check_tendon(visit, names, s);
  else if (!s.through.empty())
    visit.reject("through", "is for the type tendon", "leave it out");
}

void describe_element(SettingsVisitor &visit, JointSettings &s) {
  visit.visit("pitch", s.pitch,
              {.unit = "m",
               .help = "of a screw: way of b along the axis in a turn; > 0: a "
                       "right-handed thread"});
  visit.visit("thread_friction", s.thread_friction,
              {.min = 0, .help = "of a screw: Coulomb's coefficient on the thread; needs radius"});
  std::size_t width = s.radii.size();
  visit.rows("radii", s.radii, width,
             {.unit = "m",
              .min = 0,
              .min_open = true,
              .row_alone = true,
              .help = "of a belt's pulleys, in the order of `between`"});
  visit.visit("crossed", s.crossed,
              {.help = "whether a belt of two pulleys turns them opposite ways"});
  visit.visit("reversed", s.reversed,
              {.row_alone = true,
               .help = "of a belt of three pulleys or more: those that turn the other way than the "
                       "first, as the belt's back runs over them or its runs cross"});
  describe_lift(visit, s.lift);
  visit.visit("lift_off", s.lift_off,
              {.help = "whether a cam only pushes its follower, which may lift off; else a groove "
                       "takes it along both ways"});
  describe_curve(visit, s.curve);
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
  check_own(visit, s, belt, "belt", "radii", !s.radii.empty(), true);
  check_own(visit, s, belt, "belt", "crossed", s.crossed, false);
  check_own(visit, s, belt, "belt", "reversed", !s.reversed.empty(), false);
  check_own(visit, s, cam, "cam", "lift", s.lift.table.present, true);
  check_own(visit, s, cam, "cam", "lift_off", s.lift_off, false);
  check_own(visit, s, point_on_curve, "point_on_curve", "curve", s.curve.present, true);
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
  if (s.type == rack || s.type == cam || (s.type == bushing && is_set(s.axis_b))) {
    constexpr double kRight = 1e-9;
    if (is_set(s.axis) && is_set(s.axis_b) &&
        std::abs(s.axis.normalized().dot(s.axis_b.normalized())) > kRight)
      visit.reject("axis_b", "is not at right angles to axis",
                   s.type == rack  ? "the rack runs across the pinion's axle"
                   : s.type == cam ? "the follower moves across the cam's axle"
                                   : "they are z and x of the bushing");
  }
  if (s.type == tendon && !s.collide)
    visit.reject("collide", "bodies of a tendon make contacts", "leave it out");
  if (is_rope(s.type)) check_winch(visit, s);
  if (s.type == belt) check_belt(visit, s);
}

}  // namespace catena::scenarios
