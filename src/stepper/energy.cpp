#include "catena/stepper/energy.hpp"

#include <algorithm>

namespace catena {

EnergyMomentum energy_and_momentum(const Model& model, const Bodies& bodies, const State& state) {
  EnergyMomentum sum;
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    const BodyConstants& body = bodies.constants[i];
    if (body.kind != BodyKind::dynamic) continue;
    const BodyMotionState& s = state.body[i];
    const Vec3 p = body.mass * s.twist.v;
    // L = R I R^T omega about the centre of mass
    const Vec3 w_body = s.pose.q.conjugate() * s.twist.w;
    const Vec3 spin = s.pose.q * body.inertia.cwiseProduct(w_body);
    sum.kinetic += 0.5 * (p.dot(s.twist.v) + w_body.dot(body.inertia.cwiseProduct(w_body)));
    sum.potential -= body.mass * model.gravity.dot(s.pose.p);
    sum.linear += p;
    sum.angular += s.pose.p.cross(p) + spin;
  }
  return sum;
}

namespace {

/// Velocity of body `b` at the contact point, from 6 numbers a body.
Vec3 point_velocity(std::span<const double> twists, Index b, const Vec3& arm) {
  const double* t = twists.data() + 6 * static_cast<std::size_t>(b);
  const Vec3 v(t[0], t[1], t[2]);
  const Vec3 w(t[3], t[4], t[5]);
  return v + w.cross(arm);
}

}  // namespace

ContactWork contact_work(const ConstraintProblem& problem, std::span<const double> impulses,
                         std::span<const double> twists0, std::span<const double> twists,
                         std::span<const char> recovering) {
  ContactWork work;
  for (std::size_t k = 0; k < problem.contacts.size(); ++k) {
    const RigidContact& c = problem.contacts[k];
    const double* lambda = impulses.data() + 3 * k;
    const Vec3 tangent2 = c.normal.cross(c.tangent);
    const Vec3 impulse = lambda[0] * c.normal + lambda[1] * c.tangent + lambda[2] * tangent2;
    const Vec3 after_a = point_velocity(twists, c.body_a, c.arm_a);
    const Vec3 after_b = point_velocity(twists, c.body_b, c.arm_b);
    const Vec3 before_a = point_velocity(twists0, c.body_a, c.arm_a);
    const Vec3 before_b = point_velocity(twists0, c.body_b, c.arm_b);
    const Vec3 mean = 0.5 * ((after_b - after_a) + (before_b - before_a));

    const double normal_work = lambda[0] * c.normal.dot(mean);
    const double all_work = impulse.dot(mean);
    const double recovery =
        recovering[k] != 0 ? std::max(0.0, 0.5 * lambda[0] * c.normal.dot(after_b - after_a)) : 0.0;
    work.friction_dissipation -= all_work - normal_work;
    work.impact_dissipation -= normal_work - recovery;
    work.recovery_work += recovery;

    // u holds the prescribed bodies' velocity too: what they put in is not from the dynamic ones
    const auto kind = [&](Index b) {
      return problem.bodies.mass_kind[static_cast<std::size_t>(b)];
    };
    if (kind(c.body_a) == MassKind::prescribed) {
      work.external_work += 0.5 * impulse.dot(after_a + before_a);
    }
    if (kind(c.body_b) == MassKind::prescribed) {
      work.external_work -= 0.5 * impulse.dot(after_b + before_b);
    }
  }
  return work;
}

}  // namespace catena
