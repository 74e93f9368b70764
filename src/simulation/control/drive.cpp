#include "simulation/control/drive.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "catena/base/error.hpp"
#include "catena/base/suggest.hpp"
#include "catena/constraints/joint_rows.hpp"

namespace catena::control {

namespace {

bool is_load(const ForceSettings& force) {
  return force.type == ForceType::force || force.type == ForceType::torque;
}

bool is_given(const Vec3& v) { return !std::isnan(v[0]); }

/// Whether a coordinate of a joint that may have a motor is an angle.
bool is_angle(JointType type, std::size_t axis) {
  return type == JointType::revolute || type == JointType::universal || type == JointType::screw ||
         type == JointType::torsion_spring || (type == JointType::cylindrical && axis == 1);
}

Drive drive_of(const JointSettings& joint, GlobalId id, const ControllerSettings& s) {
  const std::string where = s.place + ".drive";
  const auto axis = static_cast<std::size_t>(s.axis - 1);
  const MotorSettings& motor = axis == 0 ? joint.first.motor : joint.second.motor;
  // a winch changes its rope's length
  const int n_axes = is_rope(joint.type) ? 1 : joint_axes(joint.type);
  if (s.axis > n_axes)
    throw Error(
        "the joint '" + s.drive + "' has " + std::to_string(n_axes) + " coordinates with motors",
        s.place + ".axis", "name another");
  if (!motor.present)
    throw Error("the joint '" + s.drive + "' has no motor along this coordinate", where,
                "give it one, for example motor: {velocity: 0} or {force: 0}");
  if (motor.table.present)
    throw Error("the motor of '" + s.drive + "' follows a table", where,
                "leave out the motor's table");
  Drive drive;
  drive.joint = id;
  drive.axis = axis;
  drive.velocity = motor.drives_velocity();
  const bool angle = is_angle(joint.type, axis);
  drive.unit = angle ? "rad" : "m";
  if (drive.velocity) drive.unit += "/s";
  if (motor.force_over_speed.present)
    drive.unit = {};  // a factor
  else if (motor.gives_force())
    drive.unit = angle ? "N m" : "N";
  return drive;
}

/// A motion's velocity along, or angular velocity about, the direction that the controller gives.
Drive drive_of_motion(const MotionSettings& motion, const ControllerSettings& s,
                      const Model& model) {
  if (is_given(s.along) == is_given(s.about))
    throw Error("'" + s.drive + "' has a motion, which is driven in one direction", s.place,
                "give one of along, of its velocity, and about, of its angular velocity");
  Drive drive;
  std::tie(drive.body, drive.n_bodies) = model.names.ids_of(s.drive);
  drive.angular = is_given(s.about);
  drive.direction = (drive.angular ? s.about : s.along).normalized();
  drive.velocity = true;
  drive.unit = drive.angular ? "rad/s" : "m/s";
  if (motion.parts.absolute)
    throw Error("the motion of '" + s.drive + "' is a table of places", s.place + ".drive",
                "leave out values: absolute");
  return drive;
}

/// `motion:` of the body or generator; nullptr: there is no such one.
const MotionSettings* motion_named(const std::string& name, const SceneSettings& scene) {
  for (const BodySettings& body : scene.bodies)
    if (body.name == name) return &body.motion;
  for (const GeneratorSettings& g : scene.generators)
    if (!g.name().empty() && g.name() == name) return &g.motion;
  return nullptr;
}

std::string nearest_drive(const std::string& name, const SceneSettings& scene) {
  std::vector<std::string> known;
  for (const JointSettings& joint : scene.joints) known.push_back(joint.name);
  for (const ForceSettings& force : scene.forces)
    if (is_load(force)) known.push_back(force.name);
  for (const BodySettings& body : scene.bodies)
    if (body.motion.present) known.push_back(body.name);
  for (const GeneratorSettings& g : scene.generators)
    if (g.motion.present) known.push_back(g.name());
  return nearest_word(name, known);
}

}  // namespace

bool Drive::meets(const Drive& other) const {
  constexpr double kAcross = 1e-9;
  if (body != kNoBody && other.body != kNoBody)
    return body < other.body + other.n_bodies && other.body < body + n_bodies &&
           angular == other.angular && std::abs(direction.dot(other.direction)) > kAcross;
  return body == other.body && joint == other.joint && axis == other.axis && force == other.force;
}

Drive find_drive(const ControllerSettings& s, const SceneSettings& scene, const Model& model) {
  const std::string where = s.place + ".drive";
  const MotionSettings* motion = motion_named(s.drive, scene);
  const bool other = std::ranges::count(scene.joints, s.drive, &JointSettings::name) > 0 ||
                     std::ranges::count(scene.forces, s.drive, &ForceSettings::name) > 0;
  if ((motion == nullptr || other) && (is_given(s.along) || is_given(s.about)))
    throw Error("along and about are of motions, and '" + s.drive + "' is " +
                    (other ? "a joint or force" : "no body or generator"),
                s.place, "leave them out");
  const auto refuse_axis = [&] {
    if (s.axis != 1)
      throw Error("axis is of joints, and '" + s.drive + "' is none", s.place + ".axis",
                  "leave it out");
  };
  for (const JointSettings& joint : scene.joints)
    if (joint.name == s.drive) return drive_of(joint, model.joint_names.ids_of(s.drive).first, s);
  std::ptrdiff_t load = 0;
  for (const ForceSettings& force : scene.forces) {
    if (force.name == s.drive) {
      refuse_axis();
      if (!is_load(force))
        throw Error("'" + s.drive + "' is a spring or damper", where,
                    "drive a force, a torque, or the motor of a joint");
      if (force.table.present)
        throw Error("the force '" + s.drive + "' follows a table", where,
                    "leave out the force's table");
      Drive drive;
      drive.force = load;
      return drive;
    }
    if (is_load(force)) ++load;
  }
  if (motion != nullptr) {
    refuse_axis();
    if (motion->present) return drive_of_motion(*motion, s, model);
    const bool body = std::ranges::count(scene.bodies, s.drive, &BodySettings::name) > 0;
    throw Error("'" + s.drive + "' is a " + (body ? "body" : "generator") + " without motion",
                where,
                "drive a force on it, or the motor of a joint that holds it, or give it a motion: "
                "{velocity: [0, 0, 0]}");
  }
  const std::string near = nearest_drive(s.drive, scene);
  throw Error("there is no joint, force or motion '" + s.drive + "'", where,
              near.empty() ? "name a joint with a motor, a force, a torque, or a body or generator "
                             "with a motion"
                           : "did you mean " + near + "?");
}

std::size_t count_loads(const SceneSettings& scene) {
  return static_cast<std::size_t>(std::ranges::count_if(scene.forces, is_load));
}

}  // namespace catena::control
