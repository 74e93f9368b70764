// What stands of each record in a checkpoint: its members one after the other, without the
// compiler's padding, filled up with zeros to whole words of 8 bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include "catena/model/state.hpp"

namespace catena::records {

// The members below are all that these types have: a new one changes the size.
static_assert(sizeof(Shape) == 56 && sizeof(BodyConstants) == 112);
static_assert(sizeof(BodyMotionState) == 112);
static_assert(sizeof(MotionStart) == 144 && sizeof(BodyMotion) == 160 && sizeof(BodyLoad) == 56);
static_assert(sizeof(JointAxis) == 80 && sizeof(JointConstants) == 432);
static_assert(sizeof(JointState) == 120 && sizeof(BrokenJoint) == 48);
static_assert(sizeof(ContactKey) == 24 && sizeof(KeyedImpulse) == 104 && sizeof(KeyedCouple) == 72);

/// Calls visit(member) for every number of a record; `R` may be const.
template <class R, class Visit>
void each_member(R& r, Visit&& visit) {
  using T = std::remove_const_t<R>;
  const auto vector = [&](auto& v) {
    for (int i = 0; i < 3; ++i) visit(v[i]);
  };
  const auto pose = [&](auto& p) {
    vector(p.p);
    auto& q = p.q.coeffs();
    for (int i = 0; i < 4; ++i) visit(q[i]);
  };
  const auto key = [&](auto& k) {
    visit(k.a);
    visit(k.b);
    visit(k.feature);
    visit(k.part);
  };
  if constexpr (std::is_arithmetic_v<T>) {
    visit(r);
  } else if constexpr (std::is_same_v<T, BodyConstants>) {
    visit(r.id);
    visit(r.kind);
    visit(r.collides);
    visit(r.group);
    visit(r.jointed);
    visit(r.shape.type);
    visit(r.shape.closed_ends);
    visit(r.shape.geometry);
    visit(r.material);
    visit(r.motion);
    vector(r.shape.size);
    visit(r.shape.geometry_radius);
    visit(r.mass);
    vector(r.inertia);
    visit(r.passed);  // where older checkpoints are filled up with zeros
  } else if constexpr (std::is_same_v<T, BodyMotionState>) {
    pose(r.pose);
    vector(r.twist.v);
    vector(r.twist.w);
  } else if constexpr (std::is_same_v<T, BodyMotion>) {
    for_each_motion_number([&](const char*, auto& number) { visit(number); }, r);
  } else if constexpr (std::is_same_v<T, BodyLoad>) {
    visit(r.body);
    vector(r.force);
    vector(r.torque);
  } else if constexpr (std::is_same_v<T, JointConstants>) {
    visit(r.id);
    for (auto& body : r.body) visit(body);
    visit(r.type);
    visit(r.collide);
    for (auto& frame : r.frame) pose(frame);
    for (auto* x : {&r.length, &r.ratio, &r.thread_friction, &r.stiffness, &r.damping,
                    &r.compliance, &r.angular_compliance, &r.damping_time, &r.erp, &r.cfm})
      visit(*x);
    visit(r.law);
    visit(r.breaking);
    for (auto& a : r.axis) {
      for (auto* x : {&a.lower, &a.upper, &a.restitution, &a.target, &a.max_force,
                      &a.motor_compliance, &a.motor_damping_time, &a.friction})
        visit(*x);
      visit(a.motor);
      visit(a.table);
      visit(a.speed_table);
    }
  } else if constexpr (std::is_same_v<T, JointState>) {
    for (auto& x : r.impulse) visit(x);
    for (auto& axis : r.drive)
      for (auto& x : axis) visit(x);
    for (auto& x : r.angle) visit(x);
    visit(r.work);
  } else if constexpr (std::is_same_v<T, BrokenJoint>) {
    visit(r.joint);
    visit(r.step);
    for (auto* x : {&r.time, &r.force, &r.torque, &r.energy}) visit(*x);
  } else if constexpr (std::is_same_v<T, KeyedImpulse>) {
    key(r.key);
    vector(r.impulse);
    vector(r.stretch);
    visit(r.tangent_compliance);
    visit(r.start_overlap);
    visit(r.shift);
    visit(r.elastic_energy);
  } else {
    static_assert(std::is_same_v<T, KeyedCouple>);
    key(r.key);
    vector(r.couple);
    vector(r.stretch);
  }
}

inline std::size_t whole_words(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

/// Bytes of one record.
template <class T>
std::size_t width_of() {
  std::size_t bytes = 0;
  T r{};
  each_member(r, [&](auto& member) { bytes += sizeof member; });
  return whole_words(bytes);
}

template <class T>
void pack(const T& r, std::span<std::byte> out) {
  std::size_t at = 0;
  each_member(r, [&](const auto& member) {
    std::memcpy(out.data() + at, &member, sizeof member);
    at += sizeof member;
  });
  std::memset(out.data() + at, 0, out.size() - at);
}

template <class T>
void unpack(std::span<const std::byte> in, T& r) {
  std::size_t at = 0;
  each_member(r, [&](auto& member) {
    using Member = std::remove_reference_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, bool>) {
      member = in[at] != std::byte{0};  // any other byte is no bool
    } else {
      std::memcpy(&member, in.data() + at, sizeof member);
    }
    at += sizeof member;
  });
}

}  // namespace catena::records
