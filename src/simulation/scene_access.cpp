#include "catena/simulation/scene_access.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/base/id_index.hpp"
#include "catena/base/suggest.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/joint_rows.hpp"
#include "catena/partition/departures.hpp"
#include "catena/partition/joint_links.hpp"
#include "catena/simulation/change_velocity.hpp"
#include "catena/stepper/energy.hpp"

namespace catena {

namespace {

GlobalId find_name(const NameTable& names, std::string_view name, const char* what) {
  const auto [first, count] = names.ids_of(name);
  if (count == 1) return first;
  if (count > 1)
    throw Error("'" + std::string(name) + "' are " + std::to_string(count) + " " + what + "s", "",
                "name one of them, " + std::string(name) + "-0, " + std::string(name) + "-1, ...");
  const std::string near = nearest_word(name, names.texts());
  throw Error("there is no " + std::string(what) + " '" + std::string(name) + "'", "",
              near.empty() ? "" : "did you mean " + near + "?");
}

bool finite(const Vec3& v) { return v.array().isFinite().all(); }

/// Frame with z along an axis, world.
Quat axis_frame(const Vec3& axis) {
  if (!(axis.norm() > 0.0) || !finite(axis))
    throw Error("a joint's axis has no direction", "", "give a vector that is not zero");
  return Quat::FromTwoVectors(Vec3::UnitZ(), axis);
}

/// Collective. The value of the one rank that has it, on every rank.
template <class T>
T of_owner(const Communicator& comm, const T* own) {
  return all_gather_values(comm, own == nullptr ? std::vector<T>() : std::vector<T>{*own}).front();
}

void check_new_body(const Model& model, const BodyConstants& body, const BodyMotionState& state) {
  const auto refuse = [](const std::string& found, const std::string& fix) {
    throw Error("a body to be added " + found, "", fix);
  };
  if (body.kind == BodyKind::kinematic || body.shape.type == ShapeType::plane)
    refuse("is kinematic or a plane", "only dynamic and fixed bounded ones are added");
  if (body.kind == BodyKind::dynamic && !(body.mass > 0.0 && body.inertia.minCoeff() > 0.0))
    refuse("has no mass or no inertia", "give both, or copy them by body_constants()");
  const auto n_materials = std::ssize(model.materials.materials());
  if (body.shape.type != ShapeType::none && (body.material < 0 || body.material >= n_materials))
    refuse("has a material that the case does not have", "give its place in the model's list");
  if (body.shape.geometry >= std::ssize(model.geometries) || body.group >= model.n_groups)
    refuse("has a geometry or group that the case does not have", "copy those of another body");
  const ShapeType type = body.shape.type;
  const bool has_geometry =
      is_surface(type) || type == ShapeType::hull || type == ShapeType::compound;
  if (has_geometry &&
      (body.shape.geometry < 0 || model.geometries[body.shape.geometry].type != type))
    refuse("has a shape that is not that of its geometry", "copy the shape of another body");
  if (is_surface(type) && body.kind == BodyKind::dynamic)
    refuse("is a surface that moves freely", "surfaces are fixed; take hulls or a compound");
  if (!(bounding_radius(body.shape) < std::numeric_limits<double>::infinity()) ||
      (type != ShapeType::none && !(half_extent(body.shape) > 0.0)))
    refuse("has a shape without a size, or an infinite one", "give lengths above 0");
  if (!std::isfinite(body.mass) || !finite(body.inertia))
    refuse("has an infinite mass or inertia", "fix it, or give numbers");
  if (!finite(state.pose.p) || !(std::abs(state.pose.q.norm() - 1.0) < 1e-6) ||
      !finite(state.twist.v) || !finite(state.twist.w))
    refuse("has no finite state with a unit quaternion", "check position, orientation, velocities");
}

void check_new_joint(const Model& model, const JointConstants& joint) {
  const auto refuse = [](const std::string& found) {
    throw Error("a joint to be added " + found, "",
                "copy the numbers of a joint of the case (joint_constants)");
  };
  const auto n_tables = std::ssize(model.tables);
  const auto lacks = [&](JointType type, std::ptrdiff_t n_laws) {
    return joint.type == type && (joint.law < 0 || joint.law >= n_laws);
  };
  if (lacks(JointType::bushing, std::ssize(model.bushings)))
    refuse("is a bushing whose stiffnesses the case does not have");
  if (lacks(JointType::cam, n_tables)) refuse("is a cam whose lift the case does not have");
  if (lacks(JointType::point_on_curve, std::ssize(model.curves)))
    refuse("is on a curve that the case does not have");
  if (lacks(JointType::tendon, std::ssize(model.tendons)))
    refuse("is a tendon whose points the case does not have");
  if (joint.breaking >= std::ssize(model.break_limits))
    refuse("has break limits that the case does not have");
  for (const JointAxis& axis : joint.axis) {
    if (axis.table >= n_tables || axis.speed_table >= n_tables)
      refuse("has a table that the case does not have");
    if (is_winch(joint) && axis.motor != MotorKind::none && axis.motor != MotorKind::velocity &&
        axis.table < 0)
      refuse("is a winch without the table of its lengths");
  }
}

}  // namespace

SceneAccess::SceneAccess(const Communicator& comm, const Model& model, bool natural, Bodies& bodies,
                         State& state, std::function<void()> changed)
    : comm_(comm),
      model_(model),
      natural_(natural),
      bodies_(bodies),
      state_(state),
      changed_(std::move(changed)) {}

GlobalId SceneAccess::body(std::string_view name) const {
  return find_name(model_.names, name, "body");
}

GlobalId SceneAccess::joint(std::string_view name) const {
  return find_name(model_.joint_names, name, "joint");
}

Index SceneAccess::owned(GlobalId body) const {
  const auto at = std::ranges::find(bodies_.constants, body, &BodyConstants::id);
  return at == bodies_.constants.end() ? kNoIndex : to_index(at - bodies_.constants.begin());
}

Index SceneAccess::held(GlobalId joint) const {
  const auto at = std::ranges::lower_bound(bodies_.joints, joint, {}, &JointConstants::id);
  if (at == bodies_.joints.end() || at->id != joint) return kNoIndex;
  return to_index(at - bodies_.joints.begin());
}

/// Throws where no rank has it.
void SceneAccess::need(bool here, std::string_view what, GlobalId id) const {
  if (comm_.sum(std::int64_t{here ? 1 : 0}) > 0) return;
  const NameTable& names = what == "joint" ? model_.joint_names : model_.names;
  throw Error("the " + std::string(what) + " " +
                  (names.text_of(id).empty() ? std::string(what) + "-" + std::to_string(id)
                                             : names.name_of(id)) +
                  " (id " + std::to_string(id) + ") is not there",
              "", "it has left the run, has not come yet, or never was");
}

BodyConstants SceneAccess::body_constants(GlobalId body) const {
  for (const BodyRecord& plane : model_.unbounded)
    if (plane.constants.id == body) return plane.constants;
  const Index i = owned(body);
  need(i != kNoIndex, "body", body);
  return of_owner(comm_, i == kNoIndex ? nullptr : &bodies_.constants[i]);
}

BodyMotionState SceneAccess::body_state(GlobalId body) const {
  for (const BodyRecord& plane : model_.unbounded)
    if (plane.constants.id == body)
      return prescribed_state(model_, plane.constants, plane.state.pose,
                              motion_of(state_, plane.constants), state_.time);
  const Index i = owned(body);
  need(i != kNoIndex, "body", body);
  return of_owner(comm_, i == kNoIndex ? nullptr : &state_.body[i]);
}

JointConstants SceneAccess::joint_constants(GlobalId joint) const {
  const Index j = held(joint);
  need(j != kNoIndex, "joint", joint);
  return of_owner(comm_, j == kNoIndex ? nullptr : &bodies_.joints[j]);
}

void SceneAccess::may_set() const {
  if (natural_)
    throw Error("nothing can be set between steps", "time.stepper: natural",
                "use time.stepper: spook or dvi");
}

void SceneAccess::need_open() const {
  may_set();
  if (closed_)
    throw Error(
        "bodies and joints cannot come or go in a callback after a step, whose contacts "
        "are still to be written",
        "", "add and remove them in a callback before a step, or between steps");
}

void SceneAccess::set_loads(std::span<const BodyLoad> loads) {
  may_set();
  const IdIndex given(loads.size(), [&](std::size_t k) { return loads[k].body; });
  std::vector<std::int64_t> there(loads.size(), 0);
  all_or_none(comm_, [&] {
    for (std::size_t k = 0; k < loads.size(); ++k) {
      if (given.find(loads[k].body) != to_index(k))
        throw Error("body " + std::to_string(loads[k].body) + " is loaded twice", "",
                    "give the sum of its forces");
      if (!finite(loads[k].force) || !finite(loads[k].torque))
        throw Error("a load on body " + std::to_string(loads[k].body) + " is not finite", "", "");
    }
    for (const BodyConstants& body : bodies_.constants) {
      const Index k = given.find(body.id);
      if (k == kNoIndex) continue;
      there[k] = 1;
      if (body.kind != BodyKind::dynamic)
        throw Error("body " + model_.names.name_of(body.id) + " takes no forces", "",
                    "load a dynamic body: this one is fixed or has a prescribed motion");
    }
  });
  std::vector<BodyLoad> own;
  for (std::size_t k = 0; k < loads.size(); ++k)
    if (there[k] == 1 && !(loads[k].force.isZero(0.0) && loads[k].torque.isZero(0.0)))
      own.push_back(loads[k]);
  comm_.sum(std::span(there));
  for (std::size_t k = 0; k < loads.size(); ++k)
    if (there[k] == 0) need(false, "body", loads[k].body);
  std::erase_if(state_.loads,
                [&](const BodyLoad& load) { return given.find(load.body) != kNoIndex; });
  state_.loads.insert(state_.loads.end(), own.begin(), own.end());
  std::ranges::sort(state_.loads, {}, &BodyLoad::body);
}

void SceneAccess::set_motor_target(GlobalId joint, double target, std::size_t axis) {
  may_set();
  const Index j = held(joint);
  need(j != kNoIndex, "joint", joint);
  all_or_none(comm_, [&] {
    if (!std::isfinite(target) || axis >= kJointAxes)
      throw Error("a motor's target is not finite, or its axis none of 0 and 1", "", "");
    if (j == kNoIndex) return;
    JointAxis& of = bodies_.joints[j].axis[axis];
    if (of.motor == MotorKind::none || of.table >= 0)
      throw Error("joint " + joint_name(model_, joint) + " has " +
                      (of.table >= 0 ? "a motor that follows a table" : "no motor along this axis"),
                  "", "give it a motor with a number, for example motor: {velocity: 0}");
    of.target = target;
  });
}

void SceneAccess::set_velocity(GlobalId body, const Vec3& velocity, const Vec3& angular_velocity) {
  may_set();
  if (!finite(velocity) || !finite(angular_velocity))
    throw Error("a velocity is not finite", "", "");
  const Twist twist{velocity, angular_velocity};
  const bool here = change_velocities(
      model_, body, 1, [&](const Twist&) { return twist; }, bodies_, state_);
  if (comm_.sum(std::int64_t{here ? 1 : 0}) > 0) return;
  need(owned(body) != kNoIndex, "body", body);
  throw Error("body " + model_.names.name_of(body) + " has no motion", "",
              "give it one in the case, for example motion: {velocity: [0, 0, 0]}");
}

void SceneAccess::set_material(GlobalId body, std::string_view material) {
  may_set();
  const int place = model_.materials.find(std::string(material));
  if (place < 0)
    throw Error("there is no material '" + std::string(material) + "'", "", "name one of the case");
  const Index i = owned(body);
  need(i != kNoIndex, "body", body);
  if (i != kNoIndex) bodies_.constants[i].material = place;
}

/// Squared distance and index of this rank's nearest dynamic body, the smallest id of equally near
/// ones.
std::pair<double, Index> SceneAccess::nearest_dynamic(const Vec3& p) const {
  std::pair<double, Index> nearest(std::numeric_limits<double>::infinity(), kNoIndex);
  for (Index i = 0; i < bodies_.size(); ++i) {
    if (bodies_.constants[i].kind != BodyKind::dynamic) continue;
    const double d = (state_.body[i].pose.p - p).squaredNorm();
    if (d < nearest.first ||
        (d == nearest.first && bodies_.constants[i].id < bodies_.constants[nearest.second].id))
      nearest = {d, i};
  }
  return nearest;
}

/// Collective. Counts a body that comes (sign 1) or leaves (-1), on the rank that has it.
void SceneAccess::note_flow(const BodyConstants& body, const BodyMotionState& state, double sign) {
  if (body.kind != BodyKind::dynamic) return;
  Bodies one;
  State of_one;
  one.constants.push_back(body);
  of_one.body.push_back(state);
  of_one.time = state_.time;
  const EnergyMomentum e = energy_and_momentum(model_, one, of_one);
  state_.audit[EnergyTerm::flow_energy] += sign * (e.kinetic + e.potential);
  FlowSums& flow = state_.flow;
  (sign > 0.0 ? flow.inserted : flow.removed) += 1;
  (sign > 0.0 ? flow.inserted_mass : flow.removed_mass) += body.mass;
  ++state_.balance.flowed;
}

GlobalId SceneAccess::add_body(BodyConstants constants, const BodyMotionState& given) {
  need_open();
  check_new_body(model_, constants, given);
  if (model_.cell_deforms() && constants.kind == BodyKind::fixed)
    throw Error("a fixed body would not follow the sides of a periodic box that deforms", "",
                "add one that moves freely");
  constants.id = model_.names.size() + state_.added_bodies++;
  constants.jointed = false;
  constants.passed = 0;
  constants.motion = -1;
  if (constants.kind == BodyKind::fixed) {
    constants.mass = 0.0;
    constants.inertia = Vec3::Zero();
  }
  BodyMotionState state = given;
  if (constants.kind == BodyKind::fixed) state.twist = {};
  state.pose.p = box_of(model_, state_).wrapped(state.pose.p);
  const auto [own, place] = nearest_dynamic(state.pose.p);
  const double nearest = comm_.min(own);
  constexpr GlobalId kNone = std::numeric_limits<GlobalId>::max();
  const bool near = place != kNoIndex && own == nearest;
  const GlobalId neighbour = comm_.min(near ? bodies_.constants[place].id : kNone);
  // without any dynamic body rank 0 takes it
  const bool mine =
      neighbour == kNone ? comm_.rank() == 0 : near && bodies_.constants[place].id == neighbour;
  if (mine) {
    bodies_.constants.push_back(constants);
    state_.body.push_back(state);
    state_.subdomain.push_back(neighbour == kNone ? 0 : state_.subdomain[place]);
  }
  note_flow(constants, state, 1.0);
  changed_();
  return constants.id;
}

std::vector<std::string> SceneAccess::joints_on(GlobalId body) const {
  std::vector<GlobalId> ids;
  for (const JointConstants& joint : bodies_.joints)
    if (std::ranges::find(joint.body, body) != joint.body.end()) ids.push_back(joint.id);
  ids = all_gather_values(comm_, ids);
  std::ranges::sort(ids);
  std::vector<std::string> names;
  for (const GlobalId id : ids) names.push_back(joint_name(model_, id));
  return names;
}

void SceneAccess::remove_body(GlobalId body) {
  need_open();
  const BodyConstants constants = body_constants(body);
  if (constants.shape.type == ShapeType::plane)
    throw Error("body " + model_.names.name_of(body) + " is a plane, which every rank knows", "",
                "planes stay");
  note_flow(constants, body_state(body), -1.0);
  Departures leaving;
  leaving.body.assign(bodies_.constants.size(), 0);
  leaving.joint.assign(bodies_.joints.size(), 0);
  if (const Index i = owned(body); i != kNoIndex) leaving.body[i] = 1;
  for (std::size_t j = 0; j < bodies_.joints.size(); ++j)
    if (std::ranges::find(bodies_.joints[j].body, body) != bodies_.joints[j].body.end())
      leaving.joint[j] = 1;
  take_out(comm_, leaving, std::array<GlobalId, 1>{body}, bodies_, state_);
  changed_();
}

Pose SceneAccess::pose_of(GlobalId body) const {
  return body == kNoBody ? Pose{Vec3::Zero(), Quat::Identity()} : body_state(body).pose;
}

JointConstants SceneAccess::joint_at(JointType type, GlobalId a, GlobalId b,
                                     const std::array<Vec3, 2>& point, const Vec3& axis) const {
  JointConstants joint;
  joint.type = type;
  joint.body = {a, b, kNoBody};
  const Quat q = axis_frame(axis);
  for (std::size_t k = 0; k < 2; ++k) {
    const Pose at = pose_of(joint.body[k]);
    Vec3 arm = point[k] - at.p;
    if (joint.body[k] != kNoBody) arm -= model_.periodic.nearest_shift(arm);  // nearest image
    const Quat back = at.q.conjugate();
    joint.frame[k] = {back * arm, (back * q).normalized()};
  }
  if (type == JointType::distance || type == JointType::rope || type == JointType::spring)
    joint.length = (point[1] - point[0]).norm();
  return joint;
}

GlobalId SceneAccess::add_joint(JointConstants joint) {
  need_open();
  check_new_joint(model_, joint);
  if (!state_.cell.empty())
    throw Error("joints are not available in a periodic box whose images move", "",
                "add it in a case without periodic.shear and periodic.deform");
  JointPoses poses;
  std::array<bool, kJointBodies> dynamic{};
  for (std::size_t k = 0; k < kJointBodies; ++k) {
    if (joint.body[k] == kNoBody) continue;
    dynamic[k] = body_constants(joint.body[k]).kind == BodyKind::dynamic;
    poses.pose[k] = body_state(joint.body[k]).pose;
  }
  if (joint.body[0] == joint.body[1] || (!dynamic[0] && !dynamic[1]))
    throw Error("a joint to be added is between one and the same body, or none that moves freely",
                "", "one of its two bodies must be dynamic");
  joint.id = model_.joint_names.size() + state_.added_joints++;
  if (owned(joint_home(joint, dynamic[1])) != kNoIndex) {
    JointState state;
    state.angle = start_angles(joint, poses, model_);
    bodies_.joints.push_back(joint);  // its id is the largest
    state_.joints.push_back(state);
  }
  link_joints(comm_, bodies_);
  changed_();
  return joint.id;
}

void SceneAccess::remove_joint(GlobalId joint) {
  need_open();
  const Index j = held(joint);
  need(j != kNoIndex, "joint", joint);
  Departures leaving;
  leaving.body.assign(bodies_.constants.size(), 0);
  leaving.joint.assign(bodies_.joints.size(), 0);
  if (j != kNoIndex) leaving.joint[j] = 1;
  take_out(comm_, leaving, {}, bodies_, state_);
  changed_();
}

}  // namespace catena
