// Energies, momenta, and where a step's energy went.
#pragma once

#include "catena/comm/communicator.hpp"
#include "catena/math/sum.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// Energy and momentum of this rank's dynamic bodies (sum over ranks for the whole).
struct EnergyMomentum {
  double kinetic = 0.0;         ///< J
  double potential = 0.0;       ///< -m g(t) . x, J; zero at the origin
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
using AuditTerms = EnergyTerms<Sum>;

}  // namespace catena
