// From contact points to constraint rows: frames, arms, and the bias b.
#pragma once

#include "catena/collision/contact.hpp"
#include "catena/constraints/constraint_problem.hpp"
#include "catena/math/rotation.hpp"
#include "catena/model/model.hpp"

namespace catena {

/// How a step is made. spook, dvi: semi-implicit, velocities first; the two differ in the share of
/// an overlap or a joint's misfit that a step undoes (contact_bias, JointBlockWriter). natural:
/// mechanisms without contacts in natural coordinates, explicit and of high order
/// (NaturalStepper).
enum class StepperKind : std::uint8_t { spook, dvi, natural };

/// Upsilon of SPOOK [L11 (2)]: 1 / (1 + 4 tau/h).
inline double spook_upsilon(double damping_time, double step) {
  return 1.0 / (1.0 + 4.0 * damping_time / step);
}

/// Bias b of a contact's normal row, m/s (w_n = u_n + b; docs/theory.md, "Contact rows"):
///   gap > 0:   b = gap/h
///   gap <= 0:  b = max(gap/h (dvi) or 4 Upsilon gap/h (spook, tau = 2h), -recovery speed)
///   where e > 0, u_n0 < -rest speed and gap + h u_n0 <= 0:  b = min(b, e u_n0)
/// `normal_speed` is u_n0, the normal row of G V0.
double contact_bias(StepperKind kind, double gap, double normal_speed, double restitution,
                    double step, const ContactParameters& parameters);

/// Makes new rows those of a contact but for bias and compliance: frame, arms, friction and
/// cohesion, which acts as far as cohesion_range. Centres of mass `p_a`, `p_b` of both bodies; b in
/// the periodic image in which it touches. Inline, and in the place where they stay, for loops over
/// all contacts.
inline void place_contact_rows(const Contact& contact, const Vec3& p_a, const Vec3& p_b,
                               const PairMaterial& material, double step,
                               const ContactParameters& parameters, RigidContact& rows) {
  rows.body_a = contact.body_a;
  rows.body_b = contact.body_b;
  rows.key = contact.key;
  rows.normal = contact.normal;
  Vec3 second_tangent;
  tangents_of(contact.normal, rows.tangent, second_tangent);
  rows.arm_a = contact.point - p_a;
  rows.arm_b = contact.point - p_b;
  rows.friction = material.friction;
  if (contact.gap <= parameters.cohesion_range) rows.cohesion = step * material.cohesion;
}

/// The same with the bias of a rigid contact. `twist0`: V0, before the step.
void make_contact_rows(const Contact& contact, const Vec3& p_a, const Vec3& p_b,
                       const Twist& twist0_a, const Twist& twist0_b, const PairMaterial& material,
                       StepperKind kind, double step, const ContactParameters& parameters,
                       RigidContact& rows);

/// How far from a contact's point, which is halfway across its gap, the impulse acts on each body,
/// m: on A by so much against the normal, on B along it. Where one body is prescribed it acts on
/// the bodies' own surfaces, since friction acts once they touch; where both are free at the point
/// itself, as angular momentum would else not be kept.
inline double surface_shift(double gap, const ProblemBodies& bodies, const RigidContact& rows) {
  const bool held = bodies.is_prescribed(rows.body_a) || bodies.is_prescribed(rows.body_b);
  return held && gap > 0.0 ? 0.5 * gap : 0.0;
}

/// Moves the points that the arms reach by `shift` (m) as surface_shift() says.
inline void shift_arms(double shift, RigidContact& rows) {
  rows.arm_a -= shift * rows.normal;
  rows.arm_b += shift * rows.normal;
}

/// Motion in the x-z plane: takes y from the arms and turns t1 into the plane (t1 = e_y x n, so
/// that t2 = e_y), for a contact whose normal lies in it. Nothing then moves along t2.
void make_planar(RigidContact& rows);

/// Appends the contact as a general block (kind contact) with explicit Jacobians: the rows of
/// `rows`, then, where `rolling` >= 0, the relative angular velocity about t1 and t2, and, where
/// `spinning` >= 0, about n (m, as GeneralBlocks says). Bodies have 6 velocities each.
void add_contact_block(const RigidContact& rows, double rolling, double spinning,
                       GeneralBlocks& blocks);

}  // namespace catena
