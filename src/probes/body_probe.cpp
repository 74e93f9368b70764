// Pose and motion of a point of a body.
#include <cmath>
#include <limits>

#include "catena/base/error.hpp"
#include "catena/model/body_group.hpp"
#include "probes/probe.hpp"

namespace catena::probes {

namespace {

class BodyProbe : public Probe {
 public:
  BodyProbe(const ProbeSettings& s, const ProbeScene& scene) : at_(s.at), h_(scene.step) {
    const std::string where = s.place + ".body";
    const BodyGroup known({s.body}, scene.model, where);
    const auto [first, count] = scene.model.names.ids_of(s.body);
    if (count > 1)
      throw Error("'" + s.body + "' has " + std::to_string(count) + " bodies", where,
                  "name one of them, " + scene.model.names.name_of(first));
    id_ = first;
    add_vector("position", "m");
    add_vector("velocity", "m/s");
    add_vector("acceleration", "m/s^2");
    add_vector("angular_velocity", "rad/s");
    for (const char* part : {"_w", "_x", "_y", "_z"})
      quantities_.push_back({std::string("orientation") + part, "1", Kept::nothing});
  }

  std::size_t n_sums() const override { return 1 + quantities_.size(); }
  bool needs_start() const override { return true; }

  /// The body's owner gives all numbers, the others zeros.
  void add(const StepView& step, Sums sums) override {
    const std::vector<BodyConstants>& all = step.bodies.constants;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].id == id_) return add(step, all[i], step.before[i], step.state.body[i], sums);
    if (step.comm.rank() != 0) return;
    for (const BodyRecord& body : step.model.unbounded) {
      if (body.constants.id != id_) continue;
      const auto state_at = [&](double t) {
        return prescribed_state(step.model, body.constants, body.state.pose,
                                motion_of(step.state, body.constants), t);
      };
      const double t = step.state.time;
      add(step, body.constants, state_at(t - h_), state_at(t), sums);
    }
  }

  void evaluate(std::span<const double> totals, std::span<double> values) const override {
    const bool there = totals[0] > 0.0;  // it may come later, or have left
    for (std::size_t k = 0; k < values.size(); ++k)
      values[k] = there ? totals[1 + k] : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  void add(const StepView& step, const BodyConstants& body, const BodyMotionState& before,
           const BodyMotionState& now, Sums sums) const {
    // axes of the shape as the case gives them
    const Quat written = body.shape.geometry < 0
                             ? Quat::Identity()
                             : step.model.geometries[body.shape.geometry].written.q;
    const auto arm = [&](const BodyMotionState& s) -> Vec3 { return s.pose.q * (written * at_); };
    const auto velocity = [&](const BodyMotionState& s) -> Vec3 {
      return s.twist.v + s.twist.w.cross(arm(s));
    };
    const Vec3 v = velocity(now);
    const Quat q = (now.pose.q * written).normalized();
    sums[0] += 1.0;
    add_to(sums, 1, now.pose.p + arm(now));
    add_to(sums, 4, v);
    add_to(sums, 7, (v - velocity(before)) / h_);
    add_to(sums, 10, now.twist.w);
    sums[13] += q.w();
    add_to(sums, 14, q.vec());
  }

  GlobalId id_ = kNoBody;
  Vec3 at_;
  double h_;
};

}  // namespace

std::unique_ptr<Probe> make_body_probe(const ProbeSettings& s, const ProbeScene& scene) {
  return std::make_unique<BodyProbe>(s, scene);
}

}  // namespace catena::probes
