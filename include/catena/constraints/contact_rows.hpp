// From contact points to constraint rows: frames, arms, and the bias b.
#pragma once

#include "catena/collision/contact.hpp"
#include "catena/constraints/constraint_problem.hpp"
#include "catena/model/model.hpp"

namespace catena {

enum class StepperKind : std::uint8_t { spook, dvi };

/// Upsilon of SPOOK [L11 (2)]: 1 / (1 + 4 tau/h).
double spook_upsilon(double damping_time, double step);

/// Bias b of a contact's normal row, m/s (w_n = u_n + b; docs/theory.md, "Contact rows"):
///   gap > 0:   b = gap/h
///   gap <= 0:  b = max(gap/h (dvi) or 4 Upsilon gap/h (spook, tau = 2h), -recovery speed)
///   where e > 0, u_n0 < -rest speed and gap + h u_n0 <= 0:  b = min(b, e u_n0)
/// `normal_speed` is u_n0, the normal row of G V0.
double contact_bias(StepperKind kind, double gap, double normal_speed, double restitution,
                    double step, const ContactParameters& parameters);

/// Rows of one contact. `pose` and `twist0` (V0, before the step) of both bodies.
RigidContact make_contact_rows(const Contact& contact, const Pose& pose_a, const Pose& pose_b,
                               const Twist& twist0_a, const Twist& twist0_b,
                               const PairMaterial& material, StepperKind kind, double step,
                               const ContactParameters& parameters);

}  // namespace catena
