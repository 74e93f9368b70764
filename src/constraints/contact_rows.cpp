#include "catena/constraints/contact_rows.hpp"

#include <algorithm>

#include "catena/math/rotation.hpp"

namespace catena {

double spook_upsilon(double damping_time, double step) {
  return 1.0 / (1.0 + 4.0 * damping_time / step);
}

double contact_bias(StepperKind kind, double gap, double normal_speed, double restitution,
                    double step, const ContactParameters& parameters) {
  double b = gap / step;
  if (gap <= 0.0) {
    if (kind == StepperKind::spook) b *= 4.0 * spook_upsilon(2.0 * step, step);
    b = std::max(b, -parameters.recovery_speed);
  }
  const bool impact = restitution > 0.0 && normal_speed < -parameters.rest_speed &&
                      gap + step * normal_speed <= 0.0;
  // w_n = u_n + e u_n0 >= 0 is Newton's law u_n >= -e u_n0
  if (impact) b = std::min(b, restitution * normal_speed);
  return b;
}

RigidContact make_contact_rows(const Contact& contact, const Pose& pose_a, const Pose& pose_b,
                               const Twist& twist0_a, const Twist& twist0_b,
                               const PairMaterial& material, StepperKind kind, double step,
                               const ContactParameters& parameters) {
  RigidContact rows;
  rows.body_a = contact.body_a;
  rows.body_b = contact.body_b;
  rows.key = contact.key;
  rows.normal = contact.normal;
  Vec3 second_tangent;
  tangents_of(contact.normal, rows.tangent, second_tangent);
  rows.arm_a = contact.point - pose_a.p;
  rows.arm_b = contact.point - pose_b.p;
  rows.friction = material.friction;
  const Vec3 relative =
      twist0_b.v + twist0_b.w.cross(rows.arm_b) - twist0_a.v - twist0_a.w.cross(rows.arm_a);
  rows.bias = contact_bias(kind, contact.gap, rows.normal.dot(relative), material.restitution, step,
                           parameters);
  return rows;
}

}  // namespace catena
