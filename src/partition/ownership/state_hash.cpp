#include "catena/partition/state_hash.hpp"

#include <array>
#include <bit>
#include <string_view>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/base/random.hpp"

namespace catena {

namespace {

// Takes one value after the other; the order counts.
class Mixer {
 public:
  explicit Mixer(std::uint64_t start) : hash_(mix64(start)) {}
  std::uint64_t hash() const { return hash_; }

  void add(std::uint64_t value) { hash_ = mix64(hash_ ^ value); }
  void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  void add(std::int32_t value) { add(std::int64_t{value}); }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(const Vec3& v) {
    for (const double x : v) add(x);
  }
  void add(const Quat& q) {
    for (const double x : q.coeffs()) add(x);
  }
  void add(const BodyMotionState& s) {
    add(s.pose.p);
    add(s.pose.q);
    add(s.twist.v);
    add(s.twist.w);
  }
  void add(const BodyConstants& b) {
    add(b.id);
    add(static_cast<std::int64_t>(b.kind));
    add(std::int64_t{b.collides ? 1 : 0});
    add(std::int64_t{b.group});
    add(static_cast<std::int64_t>(b.shape.type));
    add(b.shape.size);
    add(b.shape.geometry);
    add(std::int64_t{b.shape.closed_ends});
    add(b.material);
    add(b.motion);
    add(b.mass);
    add(b.inertia);
    if (b.passed != 0) add(std::int64_t{b.passed});
  }
  void add(const JointConstants& j) {
    add(j.id);
    for (const GlobalId body : j.body) add(body);
    add(static_cast<std::int64_t>(j.type));
    add(std::int64_t{j.collide ? 1 : 0});
    for (const Pose& frame : j.frame) {
      add(frame.p);
      add(frame.q);
    }
    for (const double x : {j.length, j.ratio, j.stiffness, j.damping, j.compliance,
                           j.angular_compliance, j.damping_time, j.erp, j.cfm}) {
      add(x);
    }
    for (const JointAxis& axis : j.axis) add(axis);
  }
  void add(const JointAxis& a) {
    add(static_cast<std::int64_t>(a.motor));
    add(std::int64_t{a.table});
    add(std::int64_t{a.speed_table});
    for (const double x : {a.lower, a.upper, a.restitution, a.target, a.max_force,
                           a.motor_compliance, a.motor_damping_time, a.friction}) {
      add(x);
    }
  }
  void add(const JointState& s) {
    for (const double x : s.impulse) add(x);
    for (const auto& axis : s.drive) {
      for (const double x : axis) add(x);
    }
    for (const double x : s.angle) add(x);
    add(s.work);
  }
  void add(const ContactKey& key) {
    add(key.a);
    add(key.b);
    add(key.feature);
    add(key.part);
  }

 private:
  std::uint64_t hash_;
};

// Collective. Sum mod 2^64: halves apart, since signed sums may not overflow.
std::uint64_t wrapping_sum(const Communicator& comm, std::uint64_t value) {
  std::array<std::int64_t, 2> half{narrow<std::int64_t>(value & 0xffffffffU),
                                   narrow<std::int64_t>(value >> 32)};
  comm.sum(half);
  return static_cast<std::uint64_t>(half[0]) + (static_cast<std::uint64_t>(half[1]) << 32);
}

}  // namespace

std::uint64_t state_hash(const Communicator& comm, const Bodies& bodies, const State& state) {
  std::vector<Mixer> of_body;
  for (const BodyConstants& body : bodies.constants) {
    of_body.emplace_back(static_cast<std::uint64_t>(body.id));
  }
  for_each_body_column(
      [&](std::string_view name, const auto& column) {
        if (name == "subdomain") return;  // says where a body is, not how it is
        CATENA_CHECK(column.size() == of_body.size(), name);
        for (std::size_t i = 0; i < column.size(); ++i) of_body[i].add(column[i]);
      },
      bodies, state);
  std::uint64_t sum = 0;
  for (const Mixer& mixer : of_body) sum += mixer.hash();
  constexpr std::uint64_t kImpulseStart = 0x696d70756c7365ULL;
  constexpr std::uint64_t kCoupleStart = 0x636f75706c65ULL;
  for (const KeyedImpulse& i : state.impulses) {
    Mixer mixer(kImpulseStart);
    mixer.add(i.key);
    mixer.add(i.impulse);
    mixer.add(i.stretch);
    mixer.add(i.tangent_compliance);
    mixer.add(i.start_overlap);
    mixer.add(i.shift);
    mixer.add(i.elastic_energy);
    sum += mixer.hash();
  }
  for (const KeyedCouple& c : state.couples) {
    Mixer mixer(kCoupleStart);
    mixer.add(c.key);
    mixer.add(c.couple);
    mixer.add(c.stretch);
    sum += mixer.hash();
  }
  for (const BodyMotion& motion : state.motions) {
    constexpr std::uint64_t kMotionStart = 0x6d6f74696f6eULL;
    Mixer mixer(kMotionStart);
    for_each_motion_number([&](const char*, const auto& x) { mixer.add(x); }, motion);
    sum += mixer.hash();
  }
  for (const BodyLoad& load : state.loads) {
    constexpr std::uint64_t kLoadStart = 0x6c6f6164ULL;
    Mixer mixer(kLoadStart);
    mixer.add(load.body);
    mixer.add(load.force);
    mixer.add(load.torque);
    sum += mixer.hash();
  }
  for (const BrokenJoint& broken : state.broken) {
    constexpr std::uint64_t kBrokenStart = 0x62726f6b656eULL;
    Mixer mixer(kBrokenStart);
    mixer.add(broken.joint);
    mixer.add(broken.step);
    for (const double x : {broken.time, broken.force, broken.torque, broken.energy}) mixer.add(x);
    sum += mixer.hash();
  }
  CATENA_CHECK(state.joints.size() == bodies.joints.size(), "a state for each joint");
  for (std::size_t j = 0; j < state.joints.size(); ++j) {
    constexpr std::uint64_t kJointStart = 0x6a6f696e74ULL;
    Mixer mixer(kJointStart);
    mixer.add(bodies.joints[j]);
    mixer.add(state.joints[j]);
    sum += mixer.hash();
  }
  Mixer whole(wrapping_sum(comm, sum));
  whole.add(state.time);
  whole.add(state.step);
  whole.add(state.stiffness_step);
  for (const InflowProgress& inflow : state.inflow) {
    whole.add(inflow.made);
    whole.add(inflow.owed);
    whole.add(inflow.refused);
    whole.add(inflow.tried);
  }
  for (const auto* numbers : {&state.probes, &state.controls, &state.force_factors, &state.cell})
    for (const double x : *numbers) whole.add(x);
  for (const BodyMotion& motion : state.plane_motions)
    for_each_motion_number([&](const char*, const auto& x) { whole.add(x); }, motion);
  return whole.hash();
}

}  // namespace catena
