// Bodies and joints that a program adds by the keys of a case.
#include "catena/scenarios/additions.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
#include "catena/simulation/simulation.hpp"
#include "simulation/flow/obstacle.hpp"

namespace catena {

namespace {

constexpr std::string_view kWorldName = "world";

void check_free_name(const NameTable& names, const std::string& name, const std::string& place) {
  if (names.ids_of(name).second == 0) return;
  throw Error("the name '" + name + "' is taken", key_at(place, "name"),
              "choose another; those of what has left are not free again");
}

/// Collective. Throws Error where a body that is to come overlaps others by more than round-off,
/// naming the one that it overlaps most.
void check_room(const Communicator& comm, const Model& model, const Bodies& bodies,
                const State& state, const BodyRecord& body, const std::string& place) {
  constexpr double kRoundOff = 1e-6;  // of its size: it may touch
  if (body.constants.shape.type == ShapeType::none) return;
  const PeriodicBox box = box_of(model, state);
  Pose pose = body.state.pose;
  pose.p = box.wrapped(pose.p);
  const Obstacle own = obstacle_of(model, body.constants, pose);
  double depth = kRoundOff * half_extent(body.constants.shape);
  GlobalId deepest = std::numeric_limits<GlobalId>::max();
  std::vector<ContactPoint> scratch;
  const auto meet = [&](const BodyConstants& other, const Pose& at) {
    if (other.shape.type == ShapeType::none) return;
    if (other.kind != BodyKind::dynamic && body.constants.kind != BodyKind::dynamic) return;
    for (const ContactPoint& point :
         overlap_points(model, own, obstacle_of(model, other, at), scratch)) {
      if (-point.gap < depth || (-point.gap == depth && other.id > deepest)) continue;
      depth = -point.gap;
      deepest = other.id;
    }
  };
  for (std::size_t i = 0; i < bodies.constants.size(); ++i)
    for_each_image(box, state.body[i].pose,
                   [&](const Pose& image) { meet(bodies.constants[i], image); });
  for (const BodyRecord& plane : model.unbounded)
    meet(plane.constants, prescribed_state(model, plane.constants, plane.state.pose,
                                           motion_of(state, plane.constants), state.time)
                              .pose);
  const double most = comm.max(depth);
  const GlobalId other = comm.min(depth == most ? deepest : std::numeric_limits<GlobalId>::max());
  if (other == std::numeric_limits<GlobalId>::max()) return;
  throw Error("overlaps " + model.names.name_of(other) + " by " + short_text(most) + " m", place,
              "place it where there is room, or wait until there is");
}

}  // namespace

GlobalId Simulation::add_body(const std::string& text, const std::string& source,
                              const std::string& directory) {
  BodySettings s;
  BodyRecord body;
  all_or_none(comm_, [&] {
    s = parse_body(settings_, text, source, directory);
    check_free_name(model_.names, s.name, s.place);
    body = make_added_body(settings_, model_, s);
  });
  check_room(comm_, model_, bodies_, state_, body, s.place);
  const GlobalId id = model_.names.size() + state_.added_bodies;
  const FlowSums flow = state_.flow;
  const AuditSums audit = state_.audit;
  const BalanceSums balance = state_.balance;
  try {
    scene_.add_body(body.constants, body.state);
  } catch (const Error& error) {
    // it was in already where the search of contacts refuses it: one that leaves the plane
    if (state_.added_bodies == id + 1 - model_.names.size()) {
      scene_.remove_body(id);
      state_.flow = flow;
      state_.audit = audit;
      state_.balance = balance;
      --state_.added_bodies;
    }
    if (!error.where().empty()) throw;
    throw Error(error.found(), s.place, error.fix(), error.code());
  }
  model_.names.add_late(id, s.name);
  return id;
}

GlobalId Simulation::add_joint(const std::string& text, const std::string& source) {
  JointSettings s;
  all_or_none(comm_, [&] {
    s = parse_joint(scene_of_now(settings_, model_), text, source);
    check_free_name(model_.joint_names, s.name, s.place);
  });
  std::vector<JointedBody> bodies;
  try {
    for (const std::string& name : bodies_of(s)) {
      JointedBody& body = bodies.emplace_back();
      if (name == kWorldName) continue;
      body.id = scene_.body(name);
      body.kind = scene_.body_constants(body.id).kind;
      body.pose = scene_.body_state(body.id).pose;
    }
    JointConstants joint;
    all_or_none(comm_, [&] { joint = make_added_joint(model_, s, bodies, settings_.time.step); });
    const GlobalId id = model_.joint_names.size() + state_.added_joints;
    try {
      scene_.add_joint(joint);
    } catch (const Error&) {
      // it was in already where the search of contacts refuses it
      if (state_.added_joints == id + 1 - model_.joint_names.size()) {
        scene_.remove_joint(id);
        --state_.added_joints;
      }
      throw;
    }
    model_.joint_names.add_late(id, s.name);
    return id;
  } catch (const Error& error) {
    if (!error.where().empty()) throw;
    throw Error(error.found(), s.place, error.fix(), error.code());
  }
}

}  // namespace catena
