#include "catena/simulation/change_velocity.hpp"

#include <algorithm>

namespace catena {

bool change_velocities(const Model& model, GlobalId first, GlobalId count,
                       const std::function<Twist(const Twist&)>& change, const Bodies& bodies,
                       State& state) {
  const auto within = [&](const BodyConstants& body) {
    return body.kind == BodyKind::kinematic && body.motion >= 0 && body.id >= first &&
           body.id < first + count;
  };
  bool any = false;
  const auto set = [&](std::vector<BodyMotion>& list, const BodyConstants& body) {
    MotionStart& start = std::ranges::lower_bound(list, body.id, {}, &BodyMotion::body)->start;
    const Twist twist = change({start.velocity, start.angular_velocity});
    set_velocity(model.motions[body.motion], twist.v, twist.w, state.time, start);
    any = true;
    return &start;
  };
  for (const BodyRecord& plane : model.unbounded)
    if (within(plane.constants)) set(state.plane_motions, plane.constants);
  const auto at = std::ranges::lower_bound(state.motions, first, {}, &BodyMotion::body);
  if (at == state.motions.end() || at->body >= first + count) return any;
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    const BodyConstants& body = bodies.constants[i];
    if (!within(body)) continue;
    const MotionStart* start = set(state.motions, body);
    // the pose is where it was but for round-off
    state.body[i].twist = prescribed_state(model, body, {}, *start, state.time).twist;
  }
  return any;
}

}  // namespace catena
