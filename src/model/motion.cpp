// Prescribed motions: where a kinematic body is at a time, and how it moves.
#include <cmath>
#include <numbers>

#include "catena/math/rotation.hpp"
#include "catena/model/model.hpp"

namespace catena {

namespace {

/// Displacement d or rotation vector with its rate.
struct Path {
  Vec3 value = Vec3::Zero();
  Vec3 rate = Vec3::Zero();
};

/// Value and rate of a column at time t, on the piece of the table in which `inside` lies.
Path interpolate(const MotionTable& table, const std::vector<Vec3>& column, double t,
                 double inside) {
  static_assert(sizeof(Vec3) == 3 * sizeof(double), "components stand next to each other");
  Path path;
  if (column.empty()) return path;
  for (int k = 0; k < 3; ++k) {
    const TablePoint point =
        evaluate({table.time, column.front().data() + k, 3, table.interpolation}, t, inside);
    path.value[k] = point.value;
    path.rate[k] = point.slope;
  }
  return path;
}

Path translation_of(const Motion& motion, const MotionStart& start, double t, double inside) {
  Path d = interpolate(motion.table, motion.table.position, t, inside);
  d.value += start.displacement + (t - start.since) * start.velocity;
  d.rate += start.velocity;
  for (const Harmonic& part : motion.harmonics) {
    const double omega = 2.0 * std::numbers::pi * part.frequency;
    d.value += (std::sin(omega * t + part.phase) - std::sin(part.phase)) * part.amplitude;
    d.rate += omega * std::cos(omega * t + part.phase) * part.amplitude;
  }
  return d;
}

/// Rotation vector of harmonics and table.
Path rotation_vector_of(const Motion& motion, double t, double inside) {
  Path theta = interpolate(motion.table, motion.table.rotation, t, inside);
  for (const Harmonic& part : motion.harmonics) {
    const double omega = 2.0 * std::numbers::pi * part.frequency;
    theta.value += (std::sin(omega * t + part.phase) - std::sin(part.phase)) * part.angle_amplitude;
    theta.rate += omega * std::cos(omega * t + part.phase) * part.angle_amplitude;
  }
  return theta;
}

/// Angular velocity of exp(theta(t)): theta' + (1 - cos a)/a^2 theta x theta'
/// + (a - sin a)/a^3 theta x (theta x theta'), a = |theta|.
Vec3 angular_velocity_of(const Path& theta) {
  const double a2 = theta.value.squaredNorm();
  const double a = std::sqrt(a2);
  // by their series where the quotients lose digits
  const bool small = a < 1e-2;
  const double half = small ? 0.0 : std::sin(0.5 * a) / a;
  const double f = small ? 0.5 - a2 / 24.0 + a2 * a2 / 720.0 : 2.0 * half * half;
  const double g = small ? 1.0 / 6.0 - a2 / 120.0 + a2 * a2 / 5040.0 : (a - std::sin(a)) / (a2 * a);
  const Vec3 cross = theta.value.cross(theta.rate);
  return theta.rate + f * cross + g * theta.value.cross(cross);
}

/// Rotation vector of a unit quaternion, at most half a turn.
Vec3 rotation_vector(const Quat& q) {
  const double sign = q.w() < 0.0 ? -1.0 : 1.0;
  const Vec3 axis_part = sign * q.vec();
  const double s = axis_part.norm();
  const double w = sign * q.w();
  // angle / sin(angle / 2), 2 + s^2 / 3 + ... where both are small
  const double factor = s < 1e-4 ? 2.0 + s * s / 3.0 : 2.0 * std::atan2(s, w) / s;
  return factor * axis_part;
}

const Motion* motion_of(const Model& model, const BodyConstants& body) {
  if (body.kind != BodyKind::kinematic || body.motion < 0) return nullptr;
  return &model.motions[body.motion];
}

}  // namespace

MotionStart motion_start(const Motion& motion, const Pose& made) {
  MotionStart start{
      .pose = made, .velocity = motion.velocity, .angular_velocity = motion.angular_velocity};
  if (!motion.absolute) return start;
  // what the table says is all: parts lead on from the origin
  start.pose.p = Vec3::Zero();
  if (!motion.table.rotation.empty()) start.pose.q = Quat::Identity();
  return start;
}

void set_velocity(const Motion& motion, const Vec3& velocity, const Vec3& angular_velocity,
                  double t, MotionStart& start) {
  const double past = t - start.since;
  start.displacement += past * start.velocity;
  // exp(omega_new (t - since)) exp(omega_old past) start: the turn so far goes into the start
  start.pose.q = advance_rotation(start.pose.q, start.angular_velocity, past).normalized();
  if (!motion.about_origin) {
    const Quat turn = rotation_of(start.angular_velocity, past);
    start.pose.p = motion.about + turn * (start.pose.p - motion.about);
  }
  start.since = t;
  start.velocity = velocity;
  start.angular_velocity = angular_velocity;
}

BodyMotionState prescribed_state(const Model& model, const BodyConstants& body, const Pose& pose,
                                 const MotionStart& start, double t, double inside) {
  BodyMotionState now;
  now.pose = pose;
  const Motion* motion = motion_of(model, body);
  if (motion == nullptr) return now;
  const double past = t - start.since;
  now.pose.p = start.pose.p;
  const Path d = translation_of(*motion, start, t, inside);
  const Path theta = rotation_vector_of(*motion, t, inside);
  // R(t) = exp(theta(t)) exp(omega t), about a point that goes along with d
  const Quat late = rotation_of(theta.value, 1.0);
  now.pose.q = (late * advance_rotation(start.pose.q, start.angular_velocity, past)).normalized();
  now.twist.w = angular_velocity_of(theta) + late * start.angular_velocity;
  now.pose.p += d.value;
  now.twist.v = d.rate;
  if (!motion->about_origin) {
    const Quat turn = late * rotation_of(start.angular_velocity, past);
    const Vec3 arm = turn * (start.pose.p - motion->about);
    now.pose.p = motion->about + d.value + arm;
    now.twist.v += now.twist.w.cross(arm);
  }
  return now;
}

Twist mean_twist(const Model& model, const BodyConstants& body, const MotionStart& start, double t,
                 double h) {
  const Motion* motion = motion_of(model, body);
  if (motion == nullptr) return {};
  if (motion->about_origin && motion->harmonics.empty() && motion->table.time.empty()) {
    return {start.velocity, start.angular_velocity};  // without round-off of differences
  }
  const Pose before = prescribed_state(model, body, {}, start, t).pose;
  const Pose after = prescribed_state(model, body, {}, start, t + h).pose;
  return {(after.p - before.p) / h, rotation_vector(after.q * before.q.conjugate()) / h};
}

}  // namespace catena
