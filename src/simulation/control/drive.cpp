#include "simulation/control/drive.hpp"

#include <algorithm>

#include "catena/base/error.hpp"
#include "catena/base/suggest.hpp"
#include "catena/constraints/joint_rows.hpp"

namespace catena::control {

namespace {

bool is_load(const ForceSettings& force) {
  return force.type == ForceType::force || force.type == ForceType::torque;
}

/// Whether a coordinate of a joint that may have a motor is an angle.
bool is_angle(JointType type, std::size_t axis) {
  return type == JointType::revolute || type == JointType::universal || type == JointType::screw ||
         type == JointType::torsion_spring || (type == JointType::cylindrical && axis == 1);
}

Drive drive_of(const JointSettings& joint, GlobalId id, const ControllerSettings& s) {
  const std::string where = s.place + ".drive";
  const auto axis = static_cast<std::size_t>(s.axis - 1);
  const MotorSettings& motor = axis == 0 ? joint.first.motor : joint.second.motor;
  if (s.axis > joint_axes(joint.type))
    throw Error("the joint '" + s.drive + "' has " + std::to_string(joint_axes(joint.type)) +
                    " coordinates with motors",
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
  if (motor.gives_force()) drive.unit = angle ? "N m" : "N";
  return drive;
}

std::string nearest_drive(const std::string& name, const SceneSettings& scene) {
  std::vector<std::string> known;
  for (const JointSettings& joint : scene.joints) known.push_back(joint.name);
  for (const ForceSettings& force : scene.forces)
    if (is_load(force)) known.push_back(force.name);
  return nearest_word(name, known);
}

}  // namespace

Drive find_drive(const ControllerSettings& s, const SceneSettings& scene) {
  const std::string where = s.place + ".drive";
  // joints have the first ids, in the case's order
  for (std::size_t k = 0; k < scene.joints.size(); ++k)
    if (scene.joints[k].name == s.drive)
      return drive_of(scene.joints[k], static_cast<GlobalId>(k), s);
  std::ptrdiff_t load = 0;
  for (const ForceSettings& force : scene.forces) {
    if (force.name == s.drive) {
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
  for (const BodySettings& body : scene.bodies)
    if (body.name == s.drive)
      throw Error("'" + s.drive + "' is a body" +
                      (body.fixed       ? ", and fixed"
                       : body.kinematic ? ", moved as it is told"
                                        : ""),
                  where,
                  "drive a force on it, or the motor of a joint that holds it (one that is to be "
                  "moved is a dynamic body on a prismatic or revolute joint to the world)");
  const std::string near = nearest_drive(s.drive, scene);
  throw Error("there is no joint or force '" + s.drive + "'", where,
              near.empty() ? "name a joint with a motor, a force or a torque"
                           : "did you mean " + near + "?");
}

std::size_t count_loads(const SceneSettings& scene) {
  return static_cast<std::size_t>(std::ranges::count_if(scene.forces, is_load));
}

}  // namespace catena::control
