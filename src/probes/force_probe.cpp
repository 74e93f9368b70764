// Forces that contacts and joints exert on bodies.
#include <array>

#include "catena/base/error.hpp"
#include "catena/model/body_group.hpp"
#include "probes/probe.hpp"

namespace catena::probes {

namespace {

class ForceProbe : public Probe {
 public:
  ForceProbe(const ProbeSettings& s, const ProbeScene& scene)
      : on_(s.on, scene.model, s.place + ".on"),
        from_(s.from, scene.model, s.place + ".from", true),
        about_(s.about),
        h_(scene.step) {
    if (on_.overlaps(from_))
      throw Error("names a body of `on` as well", s.place + ".from",
                  "forces between two groups need two groups");
    add_vector("force", "N");
    add_vector("contact_force", "N");
    add_vector("joint_force", "N");
    add_vector("torque", "N m");
  }

  std::size_t n_sums() const override { return kSums; }
  bool needs_contacts() const override { return true; }

  void add_contact(const ContactRecord& c, std::size_t k, const StepView& step,
                   Sums sums) override {
    const bool on_a = acts(c.key.a, c.key.b), on_b = acts(c.key.b, c.key.a);
    if (on_a == on_b) return;  // neither, or within the group
    const double sign = on_b ? 1.0 : -1.0;
    const ContactArms arms = step.stepper.contact_arms(k);
    Vec3 point = on_b ? arms.point_b : arms.point_a;
    // where b is, not its image
    if (on_b && image_of(c.key) != kNoImage) point -= step.box_before.shift(image_of(c.key));
    add_to(sums, kContact, sign * c.impulse);
    add_to(sums, kTorque, sign * ((point - about_).cross(c.impulse) + c.couple));
  }

  void add(const StepView& step, Sums sums) override {
    const std::vector<JointConstants>& joints = step.bodies.joints;
    for (std::size_t j = 0; j < joints.size(); ++j) {
      const std::array<GlobalId, kJointBodies>& body = joints[j].body;
      const bool carried = body[2] != kNoBody;
      const auto is_on = [&](std::size_t i) {
        if (i == 2) return carried && (acts(body[2], body[0]) || acts(body[2], body[1]));
        return acts(body[i], body[1 - i]) || (carried && acts(body[i], body[2]));
      };
      const bool a = is_on(0), b = is_on(1), c = is_on(2);
      if (!a && !b && !c) continue;
      // within the group; what points of the world take of a tendon is not
      if (a && b && (c || !carried) && joints[j].type != JointType::tendon) continue;
      const JointReaction r = step.stepper.joint_reaction(j);
      Vec3 impulse = Vec3::Zero(), couple = Vec3::Zero();
      if (b) {
        impulse += r.impulse;
        couple += r.couple;
      }
      if (a) {
        impulse += r.impulse_on_a;
        couple += r.couple_on_a;
      }
      if (c) {
        impulse += r.impulse_on_third;
        couple += r.couple_on_third;
      }
      add_to(sums, kJoint, impulse);
      add_to(sums, kTorque, couple + (r.point - about_).cross(impulse));
    }
  }

  void evaluate(std::span<const double> totals, std::span<double> values) const override {
    for (std::size_t k = 0; k < 3; ++k) {
      values[k] = (totals[kContact + k] + totals[kJoint + k]) / h_;
      values[3 + k] = totals[kContact + k] / h_;
      values[6 + k] = totals[kJoint + k] / h_;
      values[9 + k] = totals[kTorque + k] / h_;
    }
  }

 private:
  static constexpr std::size_t kContact = 0, kJoint = 3, kTorque = 6, kSums = 9;

  /// Whether what `other` does to `id` counts.
  bool acts(GlobalId id, GlobalId other) const {
    return id != kNoBody && on_.contains(id) && (from_.empty() || from_.contains(other));
  }

  BodyGroup on_, from_;
  Vec3 about_;
  double h_;
};

}  // namespace

std::unique_ptr<Probe> make_force_probe(const ProbeSettings& s, const ProbeScene& scene) {
  return std::make_unique<ForceProbe>(s, scene);
}

}  // namespace catena::probes
