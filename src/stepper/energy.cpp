#include "catena/stepper/energy.hpp"

#include <array>

#include "catena/comm/sums.hpp"

namespace catena {

namespace {

/// Adds each owned body's kinetic and potential energy, momentum and angular momentum to eight
/// sums, in this order.
template <class Sums>
void add_bodies(const Model& model, const Bodies& bodies, const State& state, Sums& sums) {
  const Vec3 gravity = model.gravity_at(state.time);
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    const BodyConstants& body = bodies.constants[i];
    if (body.kind != BodyKind::dynamic) continue;
    const BodyMotionState& s = state.body[i];
    const Vec3 p = body.mass * s.twist.v;
    // L = R I R^T omega about the centre of mass
    Vec3 spin = body.inertia.x() * s.twist.w;
    if (!is_isotropic(body)) {
      spin = s.pose.q * body.inertia.cwiseProduct(s.pose.q.conjugate() * s.twist.w);
    }
    sums[0] += 0.5 * (p.dot(s.twist.v) + spin.dot(s.twist.w));
    sums[1] -= body.mass * gravity.dot(s.pose.p);
    const Vec3 angular = s.pose.p.cross(p) + spin;
    for (int k = 0; k < 3; ++k) {
      sums[2 + k] += p[k];
      sums[5 + k] += angular[k];
    }
  }
}

template <class Numbers>
EnergyMomentum energy_momentum_of(const Numbers& n) {
  return {n[0], n[1], Vec3(n[2], n[3], n[4]), Vec3(n[5], n[6], n[7])};
}

}  // namespace

EnergyMomentum energy_and_momentum(const Model& model, const Bodies& bodies, const State& state) {
  std::array<double, 8> sums{};
  add_bodies(model, bodies, state, sums);
  return energy_momentum_of(sums);
}

EnergyMomentum total_energy_and_momentum(const Communicator& comm, const Model& model,
                                         const Bodies& bodies, const State& state) {
  std::array<Sum, 8> sums;
  sums.fill(Sum(model.deterministic));
  add_bodies(model, bodies, state, sums);
  SumWords words(model.deterministic);
  for (const Sum& sum : sums) words.add(sum);
  comm.sum(words.words());
  return energy_momentum_of(words);
}

}  // namespace catena
