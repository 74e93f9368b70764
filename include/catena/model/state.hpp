// All that changes in a run, in one list (docs/design/0004-state.md): migration,
// checkpoints, hashes and output walk it, so nothing is forgotten by one of them.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/model/model.hpp"

namespace catena {

/// Identity of a contact point: the two bodies in ascending id, the feature by which
/// the narrow phase numbers the points of a pair, and the periodic image.
struct ContactKey {
  GlobalId a = kNoBody;
  GlobalId b = kNoBody;
  std::int32_t feature = 0;
  std::int32_t image = 0;
  auto operator<=>(const ContactKey&) const = default;
};

/// Impulse of a contact of the last step, kept for the next one's first guess.
struct KeyedImpulse {
  ContactKey key;
  Vec3 impulse = Vec3::Zero();  ///< world frame, on body b, N s
};

/// Sums of the energy audit since the start, J; on each rank the part of its own
/// bodies and contacts. total = initial - dissipated + recovery + residual.
struct AuditSums {
  double dissipation_friction = 0.0;
  double dissipation_impact = 0.0;
  double recovery_work = 0.0;
  double external_work = 0.0;   ///< by kinematic bodies
  double initial_energy = 0.0;  ///< kinetic + potential at the start
};

/// This rank's part of everything that changes. Body columns have one entry per owned
/// body, in the same local order as Bodies; that order is a space-filling curve's,
/// made anew by migration. Prescribed bodies keep their state at t = 0 in `start`.
struct State {
  double time = 0.0;  ///< s
  std::int64_t step = 0;
  std::vector<BodyMotionState> body;
  std::vector<BodyMotionState> start;  ///< at t = 0, for prescribed motion
  std::vector<std::int32_t>
      subdomain;  ///< global number of the subdomain that sweeps the body's rows
  /// Ascending in key; each held by the owner of the contact's home body.
  std::vector<KeyedImpulse> impulses;
  AuditSums audit;
};

/// This rank's owned bodies, constant data, in the local order of State.
struct Bodies {
  std::vector<BodyConstants> constants;
  Index size() const { return static_cast<Index>(constants.size()); }
};

/// The one of a pair whose owner holds their contacts: the dynamic one; of two dynamic
/// bodies the much smaller one, else one of them by the parity of their ids. A pure
/// function of the two constants, so both owners agree without a message.
GlobalId home_of(const BodyConstants& a, const BodyConstants& b);

/// Calls visit(name, column) for every per-body column of constants and state: the one
/// list that migration, checkpoints and hashes walk. Both may be const.
template <class Visit, class SomeBodies, class SomeState>
void for_each_body_column(Visit&& visit, SomeBodies& bodies, SomeState& state) {
  visit("constants", bodies.constants);
  visit("body", state.body);
  visit("start", state.start);
  visit("subdomain", state.subdomain);
}

/// Calls visit(name, value) for everything in the state that is not per body or contact.
template <class Visit, class SomeState>
void for_each_scalar(Visit&& visit, SomeState& state) {
  visit("time", state.time);
  visit("step", state.step);
  visit("dissipation_friction", state.audit.dissipation_friction);
  visit("dissipation_impact", state.audit.dissipation_impact);
  visit("recovery_work", state.audit.recovery_work);
  visit("external_work", state.audit.external_work);
  visit("initial_energy", state.audit.initial_energy);
}

}  // namespace catena
