// Bodies and joints of a running simulation, seen and changed by a program between its steps.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// All functions are collective: every rank calls them, in the same order, with the same arguments;
/// what they return is the same on every rank. Mistakes throw Error on every rank. What they set
/// is part of the state: it is in checkpoints, moves with bodies between ranks, and gives the same
/// bits on any number of ranks where the run is deterministic.
///
/// Bodies and joints are known by their ids, which are never reused. Those of the case have
/// names; those that a program adds here are called `body-<id>` and `joint-<id>`
/// (Simulation::add_body and add_joint give them names).
class SceneAccess {
 public:
  /// All must outlive it. `natural`: of stepper natural, which takes nothing but what its case says
  /// (only the first step brings velocities to what joints allow): then all that sets is an Error.
  /// `changed` is called where bodies or joints have come or gone.
  SceneAccess(const Communicator& comm, const Model& model, bool natural, Bodies& bodies,
              State& state, std::function<void()> changed);

  /// Throws Error for a name that the case does not have.
  GlobalId body(std::string_view name) const;
  /// As body().
  GlobalId joint(std::string_view name) const;

  /// Throw Error where the body or the joint is not there (any more). An unbounded body is there.
  BodyConstants body_constants(GlobalId body) const;
  /// Pose and twist, on every rank; throws as body_constants().
  BodyMotionState body_state(GlobalId body) const;
  /// Of a joint; throws as body_constants().
  JointConstants joint_constants(GlobalId joint) const;

  /// Force (N) and torque about the centre of mass (N m), world frame, on dynamic bodies in all
  /// steps from the next one on, in place of what was set before; zeros end it. No body twice.
  void set_loads(std::span<const BodyLoad> loads);
  /// set_loads() of one body.
  void set_load(GlobalId body, const Vec3& force, const Vec3& torque = Vec3::Zero()) {
    set_loads(std::array<BodyLoad, 1>{BodyLoad{body, force, torque}});
  }
  /// Target of the motor along an axis of a joint: a velocity, position or force, as the motor has
  /// it. A motor that follows a table is refused.
  void set_motor_target(GlobalId joint, double target, std::size_t axis = 0);
  /// Constant part of the prescribed motion of a body with `motion`, from now on: m/s and rad/s,
  /// world frame.
  void set_velocity(GlobalId body, const Vec3& velocity, const Vec3& angular_velocity);
  /// Another of the case's materials for contacts of a bounded body; its mass stays.
  void set_material(GlobalId body, std::string_view material);

  /// Adds a bounded dynamic or fixed body; its `id` and `jointed` do not count. It joins the
  /// subdomain of the nearest dynamic body. Geometry, material and group are places in the model's
  /// lists: body_constants() of a like one is a start. Returns its id.
  GlobalId add_body(BodyConstants constants, const BodyMotionState& state);
  /// Names of the joints that act on a body, those of the smallest ids first.
  std::vector<std::string> joints_on(GlobalId body) const;
  /// Removes a bounded body, with the joints that act on it.
  void remove_body(GlobalId body);
  /// A joint of bodies where they are now (kNoBody: the world), not yet added: frames at
  /// `point[0]` in a and `point[1]` in b, m, world, z along `axis`; of distance, rope and spring
  /// the length between the points.
  JointConstants joint_at(JointType type, GlobalId a, GlobalId b, const std::array<Vec3, 2>& point,
                          const Vec3& axis = Vec3::UnitZ()) const;
  /// Adds a joint of which one of a and b is dynamic; its `id` does not count. Returns its id.
  GlobalId add_joint(JointConstants constants);
  /// Removes a joint.
  void remove_joint(GlobalId joint);
  /// Local. While closed, bodies and joints neither come nor go: Error.
  void close(bool closed) { closed_ = closed; }

 private:
  void may_set() const;
  void need_open() const;
  Index owned(GlobalId body) const;  ///< kNoIndex: not here
  Index held(GlobalId joint) const;  ///< the same
  void need(bool here, std::string_view what, GlobalId id) const;
  Pose pose_of(GlobalId body) const;
  std::pair<double, Index> nearest_dynamic(const Vec3& p) const;
  void note_flow(const BodyConstants& body, const BodyMotionState& state, double sign);

  Communicator comm_;
  const Model& model_;
  bool natural_;
  Bodies& bodies_;
  State& state_;
  std::function<void()> changed_;
  bool closed_ = false;
};

}  // namespace catena
