// Energies, momenta, and where a step's energy went.
#pragma once

#include <span>

#include "catena/comm/communicator.hpp"
#include "catena/constraints/constraint_problem.hpp"
#include "catena/math/sum.hpp"
#include "catena/model/state.hpp"
#include "catena/search/contact_search.hpp"

namespace catena {

/// Energy and momentum of this rank's dynamic bodies (sum over ranks for the whole).
struct EnergyMomentum {
  double kinetic = 0.0;         ///< J
  double potential = 0.0;       ///< -m g . x, J; zero at the origin
  Vec3 linear = Vec3::Zero();   ///< kg m/s
  Vec3 angular = Vec3::Zero();  ///< about the world's origin, kg m^2/s
};

/// Whether the body's inertia is the same about all axes: then it has no gyroscopic torque.
inline bool is_isotropic(const BodyConstants& body) {
  return body.inertia.x() == body.inertia.y() && body.inertia.y() == body.inertia.z();
}

/// Local: no messages.
EnergyMomentum energy_and_momentum(const Model& model, const Bodies& bodies, const State& state);
/// Collective. Over all ranks; exactly with Model::deterministic.
EnergyMomentum total_energy_and_momentum(const Communicator& comm, const Model& model,
                                         const Bodies& bodies, const State& state);

/// What a step adds to AuditSums, this rank's part, J.
struct AuditTerms {
  explicit AuditTerms(bool exact)
      : dissipation_friction(exact),
        dissipation_impact(exact),
        recovery_work(exact),
        external_work(exact),
        cohesion_work(exact),
        joint_work(exact),
        motor_work(exact),
        projection_work(exact) {}
  Sum dissipation_friction, dissipation_impact, recovery_work, external_work, cohesion_work,
      joint_work, motor_work, projection_work;
};

/// Adds the work of one step's contact impulses, this rank's contacts. With u- = G V0 and u+ = G V
/// the impulse lambda does the work lambda . (u- + u+)/2 on the pair [exact for the step
/// V0 -> V with M constant]; friction takes -lambda_t . (u_t- + u_t+)/2 (and the same of rolling
/// and spinning couples), an impact -lambda_n (u_n- + u_n+)/2 less the recovery work lambda_n
/// u_n+/2 where a penetration is pushed out; cohesion does lambda_n (u_n- + u_n+)/2 where lambda_n
/// < 0. What prescribed bodies do on the contacts is external work.
///
/// Local. `bodies` have V0, `twists` are V of all bodies of the problem, 6 numbers each.
/// `recovering[k]` is nonzero where block k, a contact, is pushed out of penetration (b < 0 from
/// the gap and not from restitution).
void add_contact_work(const ConstraintProblem& problem, std::span<const double> impulses,
                      const LocalBodies& bodies, std::span<const double> twists,
                      std::span<const char> recovering, AuditTerms& audit);

}  // namespace catena
