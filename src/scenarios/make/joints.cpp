// Listed joints and springs: their frames, what acts along them, and whether they fit.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "catena/base/error.hpp"
#include "catena/base/sort_unique.hpp"
#include "catena/base/text.hpp"
#include "constraints/tendon_row.hpp"
#include "scenarios/make/joint_maker.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena::scenarios {

namespace {

bool is_spring(const ForceSettings& s) {
  return s.type == ForceType::spring || s.type == ForceType::damper ||
         s.type == ForceType::torsional_spring;
}

void set_if_given(double& value, double setting) {
  if (!std::isnan(setting)) value = setting;
}

JointAxis axis_of(const AxisSettings& s, JointMaker::AxisTables tables) {
  JointAxis axis;
  set_if_given(axis.lower, s.limits[0]);
  set_if_given(axis.upper, s.limits[1]);
  set_if_given(axis.restitution, s.restitution);
  set_if_given(axis.friction, s.friction);
  if (!s.motor.present) return axis;
  const bool velocity = s.motor.drives_velocity();
  axis.motor = s.motor.gives_force() ? MotorKind::force
               : velocity            ? MotorKind::velocity
                                     : MotorKind::position;
  for (const double target : {s.motor.velocity, s.motor.position, s.motor.force})
    set_if_given(axis.target, target);
  if (s.motor.force_over_speed.present) axis.target = 1.0;
  axis.table = tables.target;
  axis.speed_table = tables.speed;
  set_if_given(axis.max_force, s.motor.max_force);
  if (!std::isnan(s.motor.viscosity)) axis.motor_compliance = 1.0 / s.motor.viscosity;
  set_if_given(axis.motor_compliance, s.motor.compliance);
  set_if_given(axis.motor_damping_time, s.motor.damping_time);
  return axis;
}

/// Points and frames of a joint in the world.
struct Frames {
  std::array<Vec3, 2> point = {Vec3::Zero(), Vec3::Zero()};
  std::array<Quat, 2> axes = {Quat::Identity(), Quat::Identity()};
};

std::array<Vec3, 2> points_of(const std::vector<double>& at) {
  if (at.empty()) return {Vec3::Zero(), Vec3::Zero()};
  const Vec3 a(at[0], at[1], at[2]);
  return {a, at.size() > 3 ? Vec3(at[3], at[4], at[5]) : a};
}

Frames frames_of(const JointSettings& s) {
  Frames f;
  f.point = points_of(s.at);
  const Vec3 z_a = is_set(s.axis) ? Vec3(s.axis.normalized()) : Vec3::UnitZ();
  const Vec3 z_b = is_set(s.axis_b) ? Vec3(s.axis_b.normalized()) : z_a;
  const Vec3 x_a = perpendicular(z_a);
  switch (s.type) {
    case JointType::fixed:
    case JointType::spherical:
    case JointType::distance:
    case JointType::rope:
    case JointType::tendon:
      break;
    case JointType::universal:
      f.axes = {frame_of(z_a, z_b), frame_of(z_b, z_a)};
      break;
    case JointType::knife_edge: {
      const Vec3 z = perpendicular(z_b);  // z_b is the direction y_B across the edge
      const Quat q = frame_of(z, z_b.cross(z));
      f.axes = {q, q};
      break;
    }
    case JointType::bushing: {
      const bool named = is_set(s.axis) || is_set(s.axis_b);
      const Quat q = is_set(s.axis_b) && !is_set(s.axis) ? frame_of(perpendicular(z_b), z_b)
                     : is_set(s.axis_b)                  ? frame_of(z_a, z_b)
                                                         : frame_of(z_a, x_a);
      if (named) f.axes = {q, q};
      break;
    }
    case JointType::point_on_curve:
      break;
    case JointType::rack:
    case JointType::cam:
      f.axes = {frame_of(z_a, z_b), frame_of(z_a, z_b)};
      break;
    case JointType::rolling: {
      f.axes = {frame_of(z_a, x_a), frame_of(z_b, z_a)};
      // one point is the wheel's centre: the plane goes through the lowest point of its rim
      const Vec3 up = z_a - z_a.dot(z_b) * z_b;
      if (s.at.size() == 3) f.point[0] -= s.radius * up.normalized();
      break;
    }
    default:
      f.axes = {frame_of(z_a, x_a), frame_of(z_b, x_a)};
  }
  return f;
}

/// A point of the world and axes as a frame of a body at `pose`, which may be an image of where it
/// is meant.
Pose local(const Pose& pose, const Vec3& point, const Quat& axes, const PeriodicBox& box) {
  Vec3 arm = point - pose.p;
  arm -= box.nearest_shift(arm);
  return {pose.q.conjugate() * arm, (pose.q.conjugate() * axes).normalized()};
}

/// Pulley `part` of a belt and the next one: the first again after the last.
std::array<std::size_t, 2> pulleys_of(const JointSettings& s, std::size_t part) {
  return {part, (part + 1) % s.between.size()};
}

/// What the belt goes on from the first to the next pulley with; both turn the same way, or not.
void set_belt(const JointSettings& s, std::size_t part, JointConstants& joint) {
  const auto [first, next] = pulleys_of(s, part);
  const auto back = [&](std::size_t k) {
    return std::ranges::find(s.reversed, s.between[k]) != s.reversed.end();
  };
  const bool opposite = s.crossed || back(first) != back(next);
  joint.length = s.radii[first];
  joint.ratio = (opposite ? 1.0 : -1.0) * s.radii[next] / s.radii[first];
}

void set_joint(const JointSettings& s, std::size_t part, JointConstants& joint) {
  joint.type = s.type;
  joint.collide = s.collide;
  set_if_given(joint.compliance, s.compliance);
  set_if_given(joint.angular_compliance, s.angular_compliance);
  set_if_given(joint.damping_time, s.damping_time);
  set_if_given(joint.erp, s.erp);
  set_if_given(joint.cfm, s.cfm);
  set_if_given(joint.ratio, s.ratio);
  set_if_given(joint.length, s.radius);
  set_if_given(joint.thread_friction, s.thread_friction);
  if (s.type == JointType::screw) joint.ratio = s.pitch / (2.0 * std::numbers::pi);
  if (s.type == JointType::belt) set_belt(s, part, joint);
  // the gap between a cam and what it pushes
  if (s.lift_off) joint.axis[0].lower = 0.0;
}

/// In the world, the first point of a tendon on its body a (0) or b (1).
Vec3 first_point_of(const Tendon& tendon, std::size_t end, const JointPoses& at) {
  for (const Tendon::Point& point : tendon.points)
    if (std::cmp_equal(point.body, end)) return at.pose[end].p + at.pose[end].q * point.p;
  return tendon.points.front().p;
}

/// Where a curve ends its point stops.
void end_with_curve(const Curve& curve, JointAxis& axis) {
  if (curve.closed()) return;
  axis.lower = std::max(axis.lower, 0.0);
  axis.upper = std::min(axis.upper, curve.length());
}

void set_spring(const ForceSettings& s, JointConstants& joint) {
  joint.type =
      s.type == ForceType::torsional_spring ? JointType::torsion_spring : JointType::spring;
  joint.collide = true;
  set_if_given(joint.stiffness, s.stiffness);
  set_if_given(joint.damping, s.damping);
  set_if_given(joint.length, s.angle);
}

}  // namespace

JointMaker::JointMaker(const SceneSettings& scene, const scenarios::BodyMaker& bodies,
                       const Model& model)
    : scene_(scene), bodies_(bodies), model_(model), names_(scene) {
  int table = 0, n_breaking = 0;
  const auto next = [&](const FactorSettings& entry) { return entry.present ? table++ : -1; };
  for (std::size_t i = 0; i < scene.joints.size(); ++i) {
    const JointSettings& s = scene.joints[i];
    const auto parts = static_cast<std::size_t>(scenarios::n_joints(s));
    for (std::size_t part = 0; part < parts; ++part) listed_.push_back({i, false, part});
    breaking_.push_back(s.breaking.given() ? n_breaking++ : -1);
    std::array<AxisTables, kJointAxes>& of = tables_.emplace_back();
    for (std::size_t k = 0; k < kJointAxes; ++k) {
      const MotorSettings& motor = (k == 0 ? s.first : s.second).motor;
      of[k].target = next(motor.table);
      of[k].speed = next(motor.force_over_speed);
    }
    lifts_.push_back(next(s.lift.table));
  }
  for (std::size_t i = 0; i < scene.forces.size(); ++i) {
    if (is_spring(scene.forces[i])) listed_.push_back({i, true, 0});
    force_tables_.push_back(next(scene.forces[i].table));
  }
}

std::vector<JointMaker::Factor> JointMaker::factors(const SceneSettings& scene) {
  std::vector<Factor> out;
  const auto add = [&](const FactorSettings& entry, double times, const std::string& place) {
    if (entry.present) out.push_back({&entry, times, place, false});
  };
  for (const JointSettings& s : scene.joints) {
    for (const AxisSettings* axis : {&s.first, &s.second}) {
      const MotorSettings& motor = axis->motor;
      double target = motor.force_over_speed.present ? 1.0 : motor.force;
      set_if_given(target, motor.position);
      set_if_given(target, motor.velocity);
      add(motor.table, motor.table.values == TableValues::factor ? target : 1.0, s.place);
      add(motor.force_over_speed, 1.0, s.place);
    }
    if (s.lift.table.present) out.push_back({&s.lift.table, 1.0, s.lift.place, true});
  }
  for (const ForceSettings& s : scene.forces) add(s.table, 1.0, s.place);
  return out;
}

GlobalId n_joints(const JointSettings& s) {
  if (s.type != JointType::belt) return 1;
  // without slip the last run follows from the others; where runs give, each has its own stretch
  const auto pulleys = static_cast<GlobalId>(s.between.size());
  return pulleys > 2 && s.compliance > 0.0 ? pulleys : pulleys - 1;
}

GlobalId n_joints(const GeneratorSettings& g) {
  if (g.held()) return 0;
  return std::visit(
      [](const auto& s) -> GlobalId {
        // bonds are made when bodies have their places
        if constexpr (requires { n_joints(s); }) return n_joints(s);
        return 0;
      },
      g.kind);
}

std::vector<GlobalId> JointMaker::first_of_generators() const {
  std::vector<GlobalId> first = {n_listed()};
  for (const GeneratorSettings& g : scene_.generators) {
    first.push_back(first.back() + scenarios::n_joints(g));
  }
  return first;
}

const JointSettings* JointMaker::joint_entry(GlobalId joint) const {
  const Listed& of = listed_[joint];
  return of.spring ? nullptr : &scene_.joints[of.entry];
}

const ForceSettings& JointMaker::spring_entry(GlobalId joint) const {
  return scene_.forces[listed_[joint].entry];
}

/// Names of a and b.
std::array<std::string, 2> JointMaker::ends_of(GlobalId joint) const {
  const JointSettings* s = joint_entry(joint);
  if (s == nullptr) {
    const std::vector<std::string>& between = spring_entry(joint).between;
    return {between[0], between[1]};
  }
  if (s->type == JointType::tendon) {
    // b moves freely
    std::vector<std::string> names = bodies_of_tendon(*s);
    const auto free = std::ranges::find_if(
        names, [&](const std::string& name) { return names_.dynamic(names_.find(name)); });
    const std::string b = *free;
    names.erase(free);
    return {names.empty() ? std::string(kWorld) : names.front(), b};
  }
  const auto [a, b] = pulleys_of(*s, listed_[joint].part);
  return {s->between[a], s->between[b]};
}

const std::string& JointMaker::place_of(GlobalId joint) const {
  const JointSettings* s = joint_entry(joint);
  return s != nullptr ? s->place : spring_entry(joint).place;
}

GlobalId JointMaker::id_of(const std::string& name, const std::string& place) const {
  const NamedBody body = names_.find(name);
  switch (body.kind) {
    case NamedBody::Kind::world:
      return kNoBody;
    case NamedBody::Kind::body:
      return static_cast<GlobalId>(body.index);
    case NamedBody::Kind::generated: {
      const scenarios::Block& block = bodies_.blocks()[body.index];
      if (body.number < block.count) return block.first + body.number;
      throw Error("there is no body '" + name + "'", place,
                  "the table has " + std::to_string(block.count) + " rows");
    }
    case NamedBody::Kind::unknown:
      break;
  }
  throw Error("there is no body '" + name + "'", place, "name a body of the case, or world");
}

std::array<GlobalId, kJointBodies> JointMaker::bodies_of(GlobalId joint) const {
  const JointSettings* s = joint_entry(joint);
  const std::string& place = place_of(joint);
  const auto [a, b] = ends_of(joint);
  std::array<GlobalId, kJointBodies> ids = {id_of(a, place), id_of(b, place), kNoBody};
  if (s != nullptr && !s->carrier.empty()) ids[2] = id_of(s->carrier, place);
  if (s != nullptr && s->type == JointType::tendon)
    for (const std::string& name : bodies_of_tendon(*s))
      if (name != a && name != b) ids[2] = id_of(name, place);
  return ids;
}

GlobalId JointMaker::home_of(GlobalId joint) const {
  JointConstants ends;
  ends.body = bodies_of(joint);
  return joint_home(ends, names_.dynamic(names_.find(ends_of(joint)[1])));
}

std::vector<JointPoses> JointMaker::poses_of(const std::vector<GlobalId>& joints) const {
  std::vector<GlobalId> ids;
  for (const GlobalId joint : joints) {
    for (const GlobalId id : bodies_of(joint)) {
      if (id != kNoBody) ids.push_back(id);
    }
  }
  sort_unique(ids);
  const std::vector<MadeBody> bodies = bodies_.some(ids);
  std::vector<JointPoses> poses(joints.size());
  for (std::size_t i = 0; i < joints.size(); ++i) {
    const std::array<GlobalId, kJointBodies> of = bodies_of(joints[i]);
    for (std::size_t k = 0; k < kJointBodies; ++k) {
      if (of[k] == kNoBody) continue;
      const auto at = std::lower_bound(ids.begin(), ids.end(), of[k]) - ids.begin();
      poses[i].pose[k] = bodies[at].state.pose;
    }
  }
  return poses;
}

JointConstants JointMaker::constants_of(GlobalId joint, const JointPoses& at) const {
  JointConstants out;
  out.id = joint;
  out.body = bodies_of(joint);
  Frames frames;
  double length = kNone;
  const JointSettings* s = joint_entry(joint);
  if (s != nullptr) {
    const auto& [entry, spring, part] = listed_[joint];
    const std::array<AxisTables, kJointAxes>& tables = tables_[entry];
    out.axis = {axis_of(s->first, tables[0]), axis_of(s->second, tables[1])};
    set_joint(*s, part, out);
    out.law = law_of(entry);
    out.breaking = breaking_[entry];
    if (s->type == JointType::point_on_curve) end_with_curve(model_.curves[out.law], out.axis[0]);
    frames = frames_of(*s);
    length = s->length;
  } else {
    const ForceSettings& spring = spring_entry(joint);
    set_spring(spring, out);
    frames.point = points_of(spring.at);
    if (is_set(spring.axis)) {
      const Quat q = frame_of(spring.axis, perpendicular(spring.axis));
      frames.axes = {q, q};
    }
    length = spring.length;
  }
  if (out.type == JointType::distance || out.type == JointType::rope ||
      out.type == JointType::spring) {
    out.length = std::isnan(length) ? (frames.point[1] - frames.point[0]).norm() : length;
  }
  if (out.type == JointType::tendon)
    out.length = std::isnan(length) ? tendon_way(out, at, model_).length : length;
  if (is_winch(out) && out.axis[0].motor == MotorKind::position)
    out.length = model_.tables[out.axis[0].table].at(0.0);
  for (std::size_t k = 0; k < 2; ++k) {
    if (out.type == JointType::tendon)
      frames.point[k] = first_point_of(model_.tendons[out.law], k, at);
    out.frame[k] = out.body[k] == kNoBody
                       ? Pose{frames.point[k], frames.axes[k]}
                       : local(at.pose[k], frames.point[k], frames.axes[k], model_.periodic);
  }
  if (out.type == JointType::gear || out.type == JointType::belt) zero_gear_angles(out, at);
  return out;
}

/// JointConstants::law of an entry of `joints`.
int JointMaker::law_of(std::size_t entry) const {
  const JointType type = scene_.joints[entry].type;
  if (type == JointType::cam) return lifts_[entry];
  if (type != JointType::bushing && type != JointType::point_on_curve && type != JointType::tendon)
    return -1;
  return narrow<int>(std::count_if(scene_.joints.begin(),
                                   scene_.joints.begin() + narrow<std::ptrdiff_t>(entry),
                                   [&](const JointSettings& other) { return other.type == type; }));
}

std::vector<Tendon> JointMaker::tendons() const {
  std::vector<Tendon> tendons;
  for (GlobalId joint = 0; joint < n_listed(); ++joint) {
    const JointSettings* s = joint_entry(joint);
    if (s == nullptr || s->type != JointType::tendon) continue;
    if (scene_.initial.present)
      throw Error("a tendon is not available in a case that begins with the end of another",
                  s->place, "its points are those of the bodies as the case places them");
    const std::array<GlobalId, kJointBodies> ids = bodies_of(joint);
    const JointPoses at = poses_of({joint}).front();
    Tendon& tendon = tendons.emplace_back();
    for (const TendonPointSettings& point : s->through) {
      if (point.body == kWorld) {
        tendon.points.push_back({-1, point.at});
        continue;
      }
      const auto slot = std::ranges::find(ids, id_of(point.body, s->place)) - ids.begin();
      tendon.points.push_back(
          {narrow<int>(slot), local(at.pose[slot], point.at, Quat::Identity(), model_.periodic).p});
    }
  }
  return tendons;
}

std::vector<JointMaker::Made> JointMaker::make(const std::vector<GlobalId>& joints,
                                               const std::vector<JointPoses>& poses) const {
  std::vector<Made> made;
  for (std::size_t i = 0; i < joints.size(); ++i) {
    Made one;
    one.constants = constants_of(joints[i], poses[i]);
    one.state.angle = start_angles(one.constants, poses[i], model_);
    made.push_back(one);
  }
  return made;
}

std::string JointMaker::frames_text(GlobalId joint) const {
  std::string text;
  const auto words = [&](const std::vector<std::string>& list) {
    for (const std::string& word : list) text += "'" + word + "'";
  };
  const auto numbers = [&](std::span<const double> list) {
    for (const double x : list) text += " " + exact_text(x);
    text += ";";
  };
  const auto direction = [&](const Vec3& v) { numbers({v.data(), 3}); };
  if (const JointSettings* s = joint_entry(joint); s != nullptr) {
    text = "joint " + std::to_string(static_cast<int>(s->type));
    const auto [a, b] = ends_of(joint);
    words({a, b});
    words({s->carrier});
    numbers(s->at);
    direction(s->axis);
    direction(s->axis_b);
    const std::array<double, 2> sizes = {s->radius, s->ratio};
    numbers(sizes);
    numbers(s->curve.points);
    words({s->curve.file, s->curve.closed ? "closed" : "open", s->crossed ? "crossed" : ""});
    numbers(s->radii);
    words(s->reversed);
    const std::array<double, 1> pitch = {s->pitch};
    numbers(pitch);
    numbers(s->lift.table.rows);
    words({s->lift.table.file});
    return text;
  }
  const ForceSettings& s = spring_entry(joint);
  text = "force " + std::to_string(static_cast<int>(s.type));
  words(s.between);
  numbers(s.at);
  direction(s.axis);
  return text;
}

bool JointMaker::gives_length(GlobalId joint) const {
  const JointSettings* s = joint_entry(joint);
  return !std::isnan(s != nullptr ? s->length : spring_entry(joint).length);
}

void JointMaker::check(const std::vector<GlobalId>& joints,
                       const std::vector<JointPoses>& poses) const {
  constexpr double kTolerance = 1e-6;
  for (std::size_t i = 0; i < joints.size(); ++i) {
    const JointConstants joint = constants_of(joints[i], poses[i]);
    const std::string& place = place_of(joints[i]);
    const std::array<double, 2> angle = start_angles(joint, poses[i], model_);
    const JointGeometry geometry = joint_geometry(joint, poses[i], angle, model_);
    double arm = 1.0;
    for (std::size_t k = 0; k < 2; ++k) {
      if (joint.body[k] != kNoBody) arm = std::max(arm, joint.frame[k].p.norm());
    }
    const JointMisfit misfit = joint_misfit(geometry);
    if (!(misfit.linear <= kTolerance * arm && misfit.angular <= kTolerance)) {
      throw Error("its frames disagree at the start by " + short_text(misfit.linear, 3) +
                      " m and " + short_text(misfit.angular, 3) + " rad",
                  place, "place the bodies, or the joint, so that they meet");
    }
    for (Index k = 0; k < geometry.axes; ++k) {
      const JointAxis& axis = joint.axis[k];
      const double x = geometry.coordinate[k];
      if (!axis.limited() || (x >= axis.lower - kTolerance && x <= axis.upper + kTolerance))
        continue;
      throw Error("its coordinate is " + short_text(x, 3) +
                      (geometry.axis_angular[k] ? " rad" : " m") +
                      " at the start, outside its limits of " + short_text(axis.lower, 3) +
                      " and " + short_text(axis.upper, 3),
                  place, "move a limit, or the bodies");
    }
  }
}

std::vector<AppliedForce> JointMaker::applied_forces() const {
  std::vector<AppliedForce> out;
  for (std::size_t i = 0; i < scene_.forces.size(); ++i) {
    const ForceSettings& s = scene_.forces[i];
    if (is_spring(s)) continue;
    AppliedForce force;
    force.name = s.name;
    force.body = id_of(s.body, s.place);
    const BodyRecord body = bodies_.some({force.body}).front();
    const Quat turn = s.body_frame ? bodies_.written(body.constants.shape) : Quat::Identity();
    force.body_frame = s.body_frame;
    force.table = force_tables_[i];
    if (is_set(s.force)) force.force = turn * s.force;
    if (is_set(s.torque)) force.torque = turn * s.torque;
    if (!s.at.empty()) {
      force.at = local(body.state.pose, points_of(s.at)[0], Quat::Identity(), model_.periodic).p;
    }
    out.push_back(force);
  }
  return out;
}

std::vector<Bushing> bushings_of(const SceneSettings& scene) {
  std::vector<Bushing> bushings;
  for (const JointSettings& s : scene.joints) {
    if (s.type != JointType::bushing) continue;
    Bushing& out = bushings.emplace_back();
    for (std::size_t k = 0; k < 3; ++k) {
      set_if_given(out.stiffness[k], s.stiffness[k]);
      set_if_given(out.stiffness[k + 3], s.angular_stiffness[k]);
      set_if_given(out.damping[k], s.damping[k]);
      set_if_given(out.damping[k + 3], s.angular_damping[k]);
    }
  }
  return bushings;
}

}  // namespace catena::scenarios
