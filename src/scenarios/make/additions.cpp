#include "catena/scenarios/additions.hpp"

#include <algorithm>
#include <utility>

#include "catena/base/error.hpp"
#include "scenarios/make/body_maker.hpp"
#include "scenarios/make/joint_maker.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena {

namespace {

constexpr const char* kBesides = "list it in the case";

void refuse(const std::string& found, const std::string& place, const std::string& key,
            const std::string& fix = kBesides) {
  throw Error(found, key_at(place, key), fix);
}

void check_axis(const AxisSettings& s, const std::string& place, const std::string& motor) {
  if (s.motor.table.present)
    refuse("a joint that is added has no table", place, motor + ".table",
           "set its target in each step (set_motor_target), or list the joint in the case");
  if (s.motor.force_over_speed.present)
    refuse("a joint that is added has no table", place, motor + ".force_over_speed");
}

}  // namespace

std::string key_at(const std::string& place, const std::string& key) {
  const bool joined = place.empty() || key.empty() || place.ends_with(' ');
  return place + (joined ? "" : ".") + key;
}

BodyRecord make_added_body(const SceneSettings& scene, const Model& model, const BodySettings& s) {
  if (s.shape.type == ShapeType::plane)
    refuse("planes are bodies of the case", s.shape.place, "", kBesides);
  if (s.motion.present)
    refuse("a body that is added follows no motion", s.place, "motion",
           "let it move freely, fix it, or list it in the case");
  if (!s.surface_velocity.isZero(0.0))
    refuse("a body that is added has a surface at rest", s.place, "surface_velocity");
  const std::vector<std::string> groups = scenarios::group_names(scene);
  if (std::ranges::find(groups, s.group) == groups.end())
    refuse("no body of the case is of the group '" + s.group + "'", s.place, "group",
           "name one of the case's groups, or leave it out");
  SceneSettings one;
  one.bodies = {s};
  check_inertias(one);
  const scenarios::GeometryPlan plan(scene);
  return scenarios::body_of(0, s, plan.shape_like(s, model), -1, groups, model);
}

std::vector<std::string> bodies_of(const JointSettings& s) {
  std::vector<std::string> names = s.between;
  if (!s.carrier.empty()) names.push_back(s.carrier);
  return names;
}

JointConstants make_added_joint(const Model& model, const JointSettings& s,
                                const std::vector<JointedBody>& bodies, double step) {
  using enum JointType;
  for (const JointType type : {bushing, cam, point_on_curve, tendon, belt})
    if (s.type == type)
      refuse("joints of this type are not added to a run", s.place, "type",
             "list it in the case; other types can be added");
  if (s.type == rope && s.first.motor.present && !s.first.motor.drives_velocity())
    refuse("a winch that is added has a velocity", s.place, "motor");
  if (s.breaking.given())
    refuse("a joint that is added does not break", s.place, "",
           "remove it by remove_joint, or list it in the case");
  check_axis(s.first, s.place, "motor");
  check_axis(s.second, s.place, "second.motor");

  // a scene of this joint and its bodies alone
  SceneSettings scene;
  scene.joints = {s};
  check_damping_times(scene, step);
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    if (bodies[k].id == kNoBody) continue;
    BodySettings& body = scene.bodies.emplace_back();
    body.name = bodies_of(s)[k];
    body.fixed = bodies[k].kind != BodyKind::dynamic;
    body.mass = 1.0;
    body.inertia = Vec3::Ones();
  }
  const scenarios::BodyMaker maker(scene, {}, model);
  const scenarios::JointMaker joints(scene, maker, model);
  JointPoses at;
  for (std::size_t k = 0; k < bodies.size(); ++k) at.pose[k] = bodies[k].pose;
  joints.check({0}, {at});
  JointConstants made = joints.make({0}, {at}).front().constants;
  for (std::size_t k = 0; k < kJointBodies; ++k)
    made.body[k] = k < bodies.size() ? bodies[k].id : kNoBody;
  return made;
}

SceneSettings scene_of_now(const SceneSettings& scene, const Model& model) {
  SceneSettings now = scene;
  for (const auto& [id, name] : model.names.late()) {
    BodySettings& body = now.bodies.emplace_back();
    body.name = name;
  }
  for (GeneratorSettings& g : now.generators) {
    if (!g.is<InsertionSettings>() && !g.is<PackSettings>()) continue;
    TableSettings rows;  // any number of bodies of this name
    rows.name = g.name();
    g.kind = rows;
  }
  return now;
}

}  // namespace catena
