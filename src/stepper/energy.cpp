#include "catena/stepper/energy.hpp"

#include <algorithm>
#include <array>

#include "catena/comm/sums.hpp"
#include "stepper/body_kernels.hpp"

namespace catena {

namespace {

/// Angular momenta of the bodies from `first` on, of those whose inertia differs by axis.
void find_momenta_from(std::size_t first, const Bodies& bodies, const State& state,
                       EightBodies& group) {
  const std::size_t end = std::min(first + EightBodies::kLanes, bodies.constants.size());
  bool any = false;
  for (std::size_t i = first; i < end; ++i) {
    const BodyConstants& body = bodies.constants[i];
    if (body.kind != BodyKind::dynamic || is_isotropic(body)) continue;
    group.set(i - first, state.body[i].pose.q, body.inertia, state.body[i].twist.w);
    any = true;
  }
  if (any) find_angular_momenta(group);
}

/// Adds each owned body's kinetic and potential energy, momentum and angular momentum to eight
/// sums, in this order.
template <class Sums>
void add_bodies(const Model& model, const Bodies& bodies, const State& state, Sums& sums) {
  const Vec3 gravity = model.gravity_at(state.time);
  EightBodies group;
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    const std::size_t lane = i % EightBodies::kLanes;
    if (lane == 0) find_momenta_from(i, bodies, state, group);
    const BodyConstants& body = bodies.constants[i];
    if (body.kind != BodyKind::dynamic) continue;
    const BodyMotionState& s = state.body[i];
    const Vec3 p = body.mass * s.twist.v;
    // L = R I R^T omega about the centre of mass
    const Vec3 spin =
        is_isotropic(body) ? Vec3(body.inertia.x() * s.twist.w) : group.vector(group.after, lane);
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
