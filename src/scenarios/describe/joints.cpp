// The description of `joints:` and what its types do not use.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <set>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "catena/scenarios/factor.hpp"
#include "scenarios/flow_parts.hpp"
#include "scenarios/joint_parts.hpp"

namespace catena {

namespace {

using scenarios::BodyNames;
using scenarios::is_set;
using scenarios::numbers;

/// In the order of JointType, without springs: these stand under forces.
constexpr std::string_view kTypes[] = {
    "fixed",           "spherical", "revolute",      "prismatic",      "cylindrical",
    "universal",       "planar",    "point_on_line", "distance",       "gear",
    "knife_edge",      "rolling",   "rope",          "bushing",        "screw",
    "rack_and_pinion", "belt",      "cam",           "point_on_curve", "tendon"};

/// Words of other programs for these types.
constexpr Synonym kSynonyms[] = {
    {"hinge", "revolute"},
    {"pin", "revolute"},
    {"pivot", "revolute"},
    {"rotational", "revolute"},
    {"continuous", "revolute"},
    {"slider", "prismatic"},
    {"slide", "prismatic"},
    {"sliding", "prismatic"},
    {"piston", "prismatic"},
    {"translational", "prismatic"},
    {"ball", "spherical"},
    {"ball_and_socket", "spherical"},
    {"socket", "spherical"},
    {"point", "spherical"},
    {"weld", "fixed"},
    {"welded", "fixed"},
    {"rigid", "fixed"},
    {"lock", "fixed"},
    {"cardan", "universal"},
    {"hooke", "universal"},
    {"wheel", "rolling"},
    {"rod", "distance"},
    {"link", "distance"},
    {"cable", "rope"},
    {"cord", "rope"},
    {"string", "rope"},
    {"tether", "rope"},
    {"helical", "screw"},
    {"leadscrew", "screw"},
    {"pulley", "belt"},
    {"pulleys", "tendon"},
    {"block_and_tackle", "tendon"},
    {"cam_follower", "cam"},
    {"wire", "point_on_curve"},
    {"track", "point_on_curve"},
    {"rail", "point_on_curve"},
    {"rack", "rack_and_pinion"},
    {"pinion", "rack_and_pinion"},
    {"winch", "a winch is a rope with a motor: type rope"},
    {"free", "bodies move freely without a joint: leave it out"},
    {"floating", "bodies move freely without a joint: leave it out"},
    {"spring", "springs and dampers stand under forces"},
    {"damper", "springs and dampers stand under forces"},
    {"motor", "a motor is a key of a joint that can move, such as revolute"},
};

using Types = std::uint32_t;  ///< a set of joint types

constexpr Types set_of(std::initializer_list<JointType> types) {
  Types set = 0;
  for (const JointType t : types) set |= 1U << static_cast<unsigned>(t);
  return set;
}
constexpr bool has(Types set, JointType type) {
  return (set >> static_cast<unsigned>(type) & 1U) != 0;
}

using enum JointType;
constexpr Types kLinear =
    set_of({fixed, spherical, revolute, prismatic, cylindrical, universal, planar, point_on_line,
            distance, rolling, rope, screw, rack, belt, cam, point_on_curve, tendon});
constexpr Types kAngular =
    set_of({fixed, revolute, prismatic, cylindrical, universal, planar, gear, screw});
constexpr Types kAxis = set_of({revolute, prismatic, cylindrical, universal, planar, point_on_line,
                                gear, rolling, bushing, screw, rack, belt, cam});
constexpr Types kAxisB = set_of({revolute, cylindrical, universal, planar, gear, knife_edge,
                                 rolling, bushing, rack, belt, cam});
constexpr Types kNeedsAxisB = set_of({universal, knife_edge, rolling, rack, cam});
constexpr Types kPlaced = ~set_of({gear, belt, tendon});
constexpr Types kFree =
    set_of({revolute, prismatic, cylindrical, universal, point_on_line, screw, point_on_curve});
constexpr Types kRopes = set_of({rope, tendon});
/// Radii that wheels, racks and threads have.
constexpr Types kRadius = set_of({rolling, rack, screw});
constexpr Types kTwoFree = set_of({cylindrical, universal});

std::string words(Types set) {
  std::string text;
  for (std::size_t i = 0; i < std::size(kTypes); ++i) {
    if (has(set, static_cast<JointType>(i)))
      text += (text.empty() ? "" : ", ") + std::string(kTypes[i]);
  }
  return text;
}

/// Rejects a key that the type has no use for.
void check_use(SettingsVisitor& visit, JointType type, std::string_view key, bool given,
               Types uses) {
  if (!given || has(uses, type)) return;
  visit.reject(key, "the type " + std::string(kTypes[ordinal(type)]) + " has no use for it",
               "it is for " + words(uses));
}

void check_needed(SettingsVisitor& visit, JointType type, std::string_view key, bool given,
                  Types needs, const std::string& what) {
  if (given || !has(needs, type)) return;
  visit.reject(key, "missing", "the type " + std::string(kTypes[ordinal(type)]) + " needs " + what);
}

bool given(double value) { return !std::isnan(value); }

/// Exactly one target; angles beyond some turns are hardly meant.
void check_target(SettingsVisitor& visit, bool angular, const MotorSettings& s) {
  const bool velocity = given(s.velocity), position = given(s.position);
  const int targets = (velocity ? 1 : 0) + (position ? 1 : 0) + (given(s.force) ? 1 : 0) +
                      (s.force_over_speed.present ? 1 : 0);
  const bool own = s.table.present && s.table.values != TableValues::factor;
  if (own && targets > 0) {
    visit.reject(velocity         ? "velocity"
                 : position       ? "position"
                 : given(s.force) ? "force"
                                  : "force_over_speed",
                 "stands beside a table of targets", "leave it out, or give table.values: factor");
  } else if (!own && targets != 1) {
    visit.reject(
        "", targets > 0 ? "has more than one target" : "has no target",
        "give one of velocity, position, force and force_over_speed, or a table with values: "
        "position");
  }
  if (!angular || !position || own) return;
  double most = 0.0;
  for (std::size_t i = 1; i < s.table.rows.size(); i += 2)
    most = std::max(most, std::abs(s.table.rows[i]));
  constexpr double kTurn = 2.0 * std::numbers::pi, kMaxTurns = 2.0;
  if (most <= 1.0 || std::abs(s.position) > kMaxTurns * kTurn ||
      most * std::abs(s.position) <= kMaxTurns * kTurn)
    return;
  char text[120];
  std::snprintf(text, sizeof text,
                "times position is up to %.3g rad, %.3g turns; write position: 1 deg if degrees "
                "are meant",
                most * std::abs(s.position), most * std::abs(s.position) / kTurn);
  visit.hint("table", text);
}

void describe_motor(SettingsVisitor& visit, bool angular, MotorSettings& s) {
  visit.optional_section(
      "motor", s.present, {.help = "drives the coordinate to a velocity or to a position"}, [&] {
        visit.visit("velocity", s.velocity,
                    {.unit = angular ? "rad/s" : "m/s", .help = "of the coordinate"});
        visit.visit("position", s.position,
                    {.unit = angular ? "rad" : "m", .help = "of the coordinate, a servo"});
        visit.visit("force", s.force,
                    {.unit = angular ? "N m" : "N",
                     .help = "that it gives, whatever the coordinate does: a drive's torque"});
        scenarios::describe_speed_table(visit, angular, s.force_over_speed);
        scenarios::describe_motor_table(visit, angular, s.table);
        visit.visit("max_force", s.max_force,
                    {.unit = angular ? "N m" : "N",
                     .min = 0,
                     .min_open = true,
                     .help = "bound of force or torque; else there is none"});
        visit.visit("viscosity", s.viscosity,
                    {.unit = angular ? "N m s/rad" : "N s/m",
                     .min = 0,
                     .min_open = true,
                     .help = "of a velocity motor: force per lag; else it is held exactly"});
        visit.visit("compliance", s.compliance,
                    {.unit = angular ? "rad/(N m)" : "m/N",
                     .min = 0,
                     .help = "of a position motor: lag per force; else 0"});
        visit.visit("damping_time", s.damping_time,
                    {.unit = "s", .min = 0, .help = "of a position motor; else two time steps"});
        check_target(visit, angular, s);
        const bool force = s.gives_force();
        if (force && (given(s.max_force) || given(s.viscosity) || given(s.compliance) ||
                      given(s.damping_time)))
          visit.reject(s.force_over_speed.present ? "force_over_speed" : "force",
                       "is given: bounds, viscosity and compliance have no effect",
                       "leave them out");
        const bool velocity = s.drives_velocity(), position = !velocity;
        if (force) return;
        if (position && given(s.viscosity)) {
          visit.reject("viscosity", "is for velocity motors", "give compliance and damping_time");
        }
        if (velocity && (given(s.compliance) || given(s.damping_time))) {
          visit.reject(given(s.compliance) ? "compliance" : "damping_time",
                       "is for position motors", "give viscosity");
        }
      });
}

void describe_axis(SettingsVisitor& visit, bool angular, AxisSettings& s) {
  visit.visit("limits", s.limits,
              {.unit = angular ? "rad" : "m",
               .finite = false,
               .help = "of the coordinate, lower and upper; .inf for none"});
  visit.visit("restitution", s.restitution, {.min = 0, .max = 1, .help = "at the limits; else 0"});
  describe_motor(visit, angular, s.motor);
  visit.visit("friction", s.friction,
              {.unit = angular ? "N m" : "N",
               .min = 0,
               .help = "largest force or torque of dry friction; else 0"});
  const bool limited = given(s.limits[0]);
  if (limited && !(s.limits[0] < s.limits[1])) {
    visit.reject("limits", "the lower is not below the upper",
                 "for a coordinate that cannot move take another type of joint");
  }
  if (given(s.restitution) && !limited) {
    visit.reject("restitution", "there are no limits", "give limits, or remove it");
  }
}

void check_direction(SettingsVisitor& visit, std::string_view key, const Vec3& axis) {
  if (is_set(axis) && !(axis.norm() > 0.0)) {
    visit.reject(key, "the axis has no length", "give a direction such as [0, 0, 1]");
  }
}

void describe_place(SettingsVisitor& visit, JointSettings& s) {
  std::size_t width = 3;
  visit.rows(
      "at", s.at, width,
      {.unit = "m",
       .row_alone = true,
       .help = "where the joint is at the start, world frame: one point, or two, one of "
               "each body (distance, rope: its ends; rolling: the wheel's centre, or a point of "
               "the plane and the centre)"});
  visit.visit("axis", numbers(s.axis),
              {.help = "direction at the start, world frame: of the hinge or guide, of universal "
                       "joints and gears that of a, the normal of a plane"});
  visit.visit("axis_b", numbers(s.axis_b),
              {.help = "the same of b: second axis of a universal joint, axle of a wheel or gear; "
                       "of a knife edge the direction in which it does not slide"});
  if (s.at.size() > 6) visit.reject("at", "more than two points", "give one, or one of each body");
  check_direction(visit, "axis", s.axis);
  check_direction(visit, "axis_b", s.axis_b);
}

void describe_softness(SettingsVisitor& visit, JointSettings& s) {
  visit.visit("compliance", s.compliance,
              {.unit = "m/N", .min = 0, .help = "of what holds points together; else 0"});
  visit.visit("angular_compliance", s.angular_compliance,
              {.unit = "rad/(N m)", .min = 0, .help = "of what holds directions; else 0"});
  visit.visit("damping_time", s.damping_time,
              {.unit = "s",
               .min = 0,
               .help = "in which misfits fade away; else two time steps. Without compliance "
                       "at least a quarter of a step"});
  visit.visit("erp", s.erp,
              {.min = 0,
               .max = 1,
               .help = "ODE's error reduction per step, with cfm, in place of compliance and "
                       "damping time; 0: velocities only"});
  visit.visit("cfm", s.cfm, {.min = 0, .help = "ODE's constraint force mixing, SI"});
  if (given(s.erp) != given(s.cfm)) {
    visit.reject(given(s.erp) ? "erp" : "cfm", "stands alone", "give erp and cfm, or neither");
  } else if (given(s.erp) &&
             (given(s.compliance) || given(s.angular_compliance) || given(s.damping_time))) {
    visit.reject("erp", "stands beside compliance or damping_time", "give one or the other");
  }
}

void check_keys(SettingsVisitor& visit, const JointSettings& s) {
  const JointType type = s.type;
  check_use(visit, type, "at", !s.at.empty(), kPlaced);
  check_use(visit, type, "axis", is_set(s.axis), kAxis);
  check_use(visit, type, "axis_b", is_set(s.axis_b), kAxisB);
  check_use(visit, type, "compliance", given(s.compliance), kLinear);
  check_use(visit, type, "angular_compliance", given(s.angular_compliance), kAngular);
  check_use(visit, type, "damping_time", given(s.damping_time), kLinear | kAngular);
  check_use(visit, type, "erp", given(s.erp), kLinear | kAngular);
  check_use(visit, type, "length", given(s.length), kRopes | set_of({distance}));
  check_use(visit, type, "radius", given(s.radius), kRadius);
  check_use(visit, type, "ratio", given(s.ratio), set_of({gear}));
  check_use(visit, type, "carrier", !s.carrier.empty(), set_of({gear, belt}));
  check_use(visit, type, "limits", given(s.first.limits[0]), kFree | kRopes);
  check_use(visit, type, "motor", s.first.motor.present, kFree | kRopes);
  check_use(visit, type, "friction", given(s.first.friction), kFree);
  check_use(visit, type, "second", s.has_second, kTwoFree);
  check_needed(visit, type, "at", !s.at.empty(), kPlaced, "a point, at");
  check_needed(visit, type, "axis", is_set(s.axis), kAxis & ~set_of({bushing}),
               "a direction, axis");
  check_needed(visit, type, "axis_b", is_set(s.axis_b), kNeedsAxisB, "a direction, axis_b");
  check_needed(visit, type, "radius", given(s.radius), set_of({rolling, rack}),
               "the wheel's radius");
  check_needed(visit, type, "ratio", given(s.ratio), set_of({gear}), "ratio");
  if ((type == distance || type == rope) && s.at.size() == 3) {
    visit.reject("at", "one point is at no distance from itself", "give two, one of each body");
  }
}

/// What a joint must keep to in the x-z plane of two dimensions.
void check_in_plane(SettingsVisitor& visit, const SceneSettings& scene, const JointSettings& s) {
  if (scene.dimension != 2 || !is_set(s.axis)) return;
  const Vec3 axis = s.axis.normalized();
  if (s.type == revolute && std::abs(axis[1]) < 1.0 - 1e-12) {
    visit.reject("axis", "two dimensions have hinges about y only", "give [0, 1, 0]");
  } else if (s.type == cam && std::abs(axis[1]) < 1.0 - 1e-12) {
    visit.reject("axis", "two dimensions have cams about y only", "give [0, 1, 0]");
  } else if (s.type == screw) {
    visit.reject("type", "a screw leaves the plane of two dimensions", "set dimension to 3");
  } else if (has(set_of({prismatic, point_on_line}), s.type) && axis[1] != 0.0) {
    visit.reject("axis", "leaves the plane of two dimensions", "choose it in x and z");
  }
}

void describe_joint(SettingsVisitor& visit, const SceneSettings& scene, const BodyNames& names,
                    JointSettings& s) {
  visit.visit("name", s.name, {.required = true, .help = "unique among joints and forces"});
  visit.choose("type", s.type, kTypes,
               {.required = true, .synonyms = kSynonyms, .help = "see \"Joints\" above"});
  scenarios::describe_bodies(visit, names, s);
  describe_place(visit, s);
  describe_softness(visit, s);
  scenarios::describe_breaking(visit, s.breaking);
  visit.visit("collide", s.collide,
              {.help = "whether both bodies make contacts, as those of a tendon always do"});
  visit.visit(
      "length", s.length,
      {.unit = "m",
       .min = 0,
       .min_open = true,
       .help =
           "of a rod (`distance`), or the largest one of a rope or tendon; else as at the start"});
  visit.visit("radius", s.radius,
              {.unit = "m",
               .min = 0,
               .min_open = true,
               .help = "of a rolling wheel, a pinion's pitch circle, or a screw's thread"});
  visit.visit("ratio", s.ratio,
              {.help = "of a gear: angle of a + ratio * angle of b stays the same"});
  visit.visit("carrier", s.carrier,
              {.help = "of a gear or belt: body that its angles are relative to; else the world"});
  scenarios::describe_element(visit, s);
  // the first coordinate of these is a displacement
  describe_axis(
      visit, !has(kRopes | set_of({prismatic, cylindrical, point_on_line, point_on_curve}), s.type),
      s.first);
  visit.optional_section("second", s.has_second,
                         {.help = "the second coordinate: the angle of a cylindrical joint, that "
                                  "about axis_b of a universal one"},
                         [&] { describe_axis(visit, true, s.second); });
  s.place = visit.where("");
  check_keys(visit, s);
  scenarios::check_element(visit, s);
  scenarios::check_breaking(visit, s.breaking, s.type, s.compliance, s.angular_compliance);
  if (s.breaking.given() && s.type == belt && s.between.size() > 2)
    visit.reject("break_torque", "a belt over more than two pulleys does not break",
                 "remove it, or give belts of two pulleys");
  check_in_plane(visit, scene, s);
  if (given(s.ratio) && s.ratio == 0.0) visit.reject("ratio", "is zero", "a gear couples two");
  if (s.carrier.empty() || s.carrier == scenarios::kWorld) return;
  scenarios::check_body_name(visit, names, "carrier", s.carrier, true);
  for (const std::string& name : s.between) {
    if (name == s.carrier) visit.reject("carrier", "is one of the gear's two bodies", "");
  }
}

/// Among joints and forces, those of chains and nets included.
void check_unique(SettingsVisitor& visit, const SceneSettings& scene, std::set<std::string>& names,
                  const std::string& name) {
  if (name.empty()) return;
  if (!names.insert(name).second) {
    visit.reject("name", "the name '" + name + "' is taken", "choose another");
    return;
  }
  for (std::size_t i = 0; i < scene.generators.size(); ++i) {
    const GeneratorSettings& g = scene.generators[i];
    const std::string stem = scenarios::stem_of(g, i);
    const GlobalId number = scenarios::number_in(name, stem);
    if (number < 0 || number >= scenarios::n_joints(g)) continue;
    visit.reject("name", "the name '" + name + "' is taken by a joint of generator " + stem,
                 "choose another");
    return;
  }
}

/// The name of a joint and, where it is several, those of its parts.
std::vector<std::string> names_of(const JointSettings& joint) {
  std::vector<std::string> names = {joint.name};
  const GlobalId n = scenarios::n_joints(joint);
  for (GlobalId k = 0; n > 1 && k < n; ++k) names.push_back(joint.name + "-" + std::to_string(k));
  return names;
}

/// Whether rows of this kind are damped too fast.
bool too_fast(double damping_time, double compliance, double step) {
  return damping_time < 0.25 * step && !(compliance > 0.0);
}

void refuse_damping(const std::string& place, double step) {
  throw Error("less than a quarter of the time step, without compliance: marginally unstable",
              place, "give at least " + std::to_string(0.25 * step) + " s, or a compliance");
}

/// What a chain or a net says of its joints, and their type.
template <class Check>
void for_joints_of(const GeneratorSettings& g, const Check& check) {
  std::visit(
      [&](const auto& s) {
        if constexpr (requires { s.joints; }) check(s.joints, s.joint);
      },
      g.kind);
}

}  // namespace

void check_contact_damping(const SceneSettings& scene, double step) {
  if (scene.contact.damping_time < 0.25 * step)
    throw Error("less than a quarter of the time step: contacts would gain energy",
                scene.contact_place + ".damping_time",
                "give at least " + std::to_string(0.25 * step) + " s, or auto");
}

void check_damping_times(const SceneSettings& scene, double step) {
  for (const JointSettings& s : scene.joints) {
    if ((has(kLinear, s.type) && too_fast(s.damping_time, s.compliance, step)) ||
        (has(kAngular, s.type) && too_fast(s.damping_time, s.angular_compliance, step)))
      refuse_damping(s.place + ".damping_time", step);
    for (const AxisSettings* axis : {&s.first, &s.second}) {
      if (too_fast(axis->motor.damping_time, axis->motor.compliance, step))
        refuse_damping(s.place + ".motor.damping_time", step);
    }
  }
  for (const GeneratorSettings& g : scene.generators) {
    for_joints_of(g, [&](const ChainJointSettings& s, JointType type) {
      if (too_fast(s.damping_time, s.compliance, step) ||
          (has(kAngular, type) && too_fast(s.damping_time, s.angular_compliance, step)))
        refuse_damping(g.place + ".damping_time", step);
    });
  }
}

void check_inertias(const SceneSettings& scene) {
  const auto refuse = [](const std::string& place) {
    throw Error("a moment of inertia is 0: a rod or a point", place,
                "use time.stepper: natural, or give all three moments");
  };
  for (const BodySettings& s : scene.bodies)
    if (s.inertia.minCoeff() == 0.0) refuse(s.inertia_place);
  for (const GeneratorSettings& g : scene.generators) {
    const auto* chain = std::get_if<ChainSettings>(&g.kind);
    if (chain != nullptr && chain->inertia.minCoeff() == 0.0) refuse(g.place + ".inertia");
  }
}

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr const char* kSpook = "remove it, or use time.stepper: spook";

void check_smooth(const AxisSettings& axis, const std::string& place) {
  const auto refuse = [&](const char* key, const char* what) {
    throw Error(std::string(what) + ", which time.stepper: natural does not have", place + key,
                kSpook);
  };
  if (axis.limits[0] > -kUnlimited || axis.limits[1] < kUnlimited)
    refuse(".limits", "limits are inequalities");
  if (axis.friction > 0.0) refuse(".friction", "dry friction is an inequality");
  const MotorSettings& motor = axis.motor;
  if (!motor.present) return;
  if (motor.max_force < kUnlimited) refuse(".motor.max_force", "a bound is an inequality");
  if (motor.gives_force())
    throw Error("time.stepper: natural has no motors of a given force", place + ".motor.force",
                "give a force or torque in forces, or use time.stepper: spook");
  if (given(motor.viscosity) || motor.compliance > 0.0)
    throw Error("motors hold their coordinate exactly with time.stepper: natural",
                place + (given(motor.viscosity) ? ".motor.viscosity" : ".motor.compliance"),
                "remove it, or give a spring, damper or torsional_spring in forces");
}

void refuse_rope(const std::string& place) {
  throw Error("a rope or tendon is an inequality, which time.stepper: natural does not have", place,
              "use distance, or time.stepper: spook");
}

void refuse_breaking(const std::string& place) {
  throw Error("joints do not break with time.stepper: natural", place,
              "remove break_force, break_torque and break_energy, or use time.stepper: spook");
}

void check_smooth(double compliance, double angular, double erp, const std::string& place) {
  const char* key = nullptr;
  if (compliance > 0.0) key = ".compliance";
  if (angular > 0.0) key = ".angular_compliance";
  if (given(erp)) key = ".erp";
  if (key == nullptr) return;
  throw Error("joints hold exactly with time.stepper: natural", place + key,
              "remove it, give a spring in forces, or use time.stepper: spook");
}

}  // namespace

void check_smooth(const SceneSettings& scene) {
  const BodyNames names(scene);
  for (const JointSettings& s : scene.joints) {
    if (s.type == JointType::gear || s.type == JointType::rolling)
      throw Error(std::string(s.type == JointType::gear ? "gear" : "rolling") +
                      " is not for time.stepper: natural: its equation is neither linear nor "
                      "quadratic in natural coordinates",
                  s.place + ".type", "use time.stepper: spook");
    if (s.type == JointType::knife_edge && names.dynamic(names.find(s.between[0])))
      throw Error(
          "with time.stepper: natural a knife edge slides on the world or on a body with a "
          "given motion",
          s.place + ".between", "name one of these first, or use time.stepper: spook");
    if (has(kRopes, s.type)) refuse_rope(s.place + ".type");
    if (has(set_of({bushing, screw, rack, belt, cam, point_on_curve}), s.type))
      throw Error("is not for time.stepper: natural, which has no equations for it",
                  s.place + ".type", "use time.stepper: spook");
    if (s.breaking.given()) refuse_breaking(s.place);
    check_smooth(s.compliance, s.angular_compliance, s.erp, s.place);
    check_smooth(s.first, s.place);
    check_smooth(s.second, s.place + ".second");
  }
  for (const GeneratorSettings& g : scene.generators) {
    for_joints_of(g, [&](const ChainJointSettings& s, JointType type) {
      if (type == JointType::rope) refuse_rope(g.place + ".joint");
      if (s.breaking.given()) refuse_breaking(g.place);
      check_smooth(s.compliance, s.angular_compliance, kNone, g.place);
      if (s.friction > 0.0)
        throw Error("dry friction is an inequality, which time.stepper: natural does not have",
                    g.place + ".friction", kSpook);
    });
  }
}

void describe_one(SettingsVisitor& visit, const SceneSettings& scene, JointSettings& s) {
  describe_joint(visit, scene, BodyNames(scene), s);
}

void describe_joints(SettingsVisitor& visit, SceneSettings& s) {
  const BodyNames bodies(s);
  std::set<std::string> names;
  visit.list(
      "joints", s.joints.size(), {.help = "what holds bodies together"},
      [&](std::size_t n) { s.joints.assign(n, {}); },
      [&](std::size_t i) {
        describe_joint(visit, s, bodies, s.joints[i]);
        for (const std::string& name : names_of(s.joints[i])) check_unique(visit, s, names, name);
      });
}

void describe_forces(SettingsVisitor& visit, SceneSettings& s) {
  const BodyNames bodies(s);
  std::set<std::string> names;
  for (const JointSettings& joint : s.joints)
    for (const std::string& name : names_of(joint)) names.insert(name);
  visit.list(
      "forces", s.forces.size(), {.help = "springs, dampers, given forces and torques"},
      [&](std::size_t n) { s.forces.assign(n, {}); },
      [&](std::size_t i) {
        scenarios::describe_force(visit, s, bodies, s.forces[i]);
        check_unique(visit, s, names, s.forces[i].name);
      });
}

}  // namespace catena
