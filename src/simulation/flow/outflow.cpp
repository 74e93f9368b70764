#include <algorithm>

#include "catena/comm/typed_exchange.hpp"
#include "catena/simulation/flow.hpp"
#include "catena/stepper/energy.hpp"

namespace catena {

namespace {

/// A body that leaves, as all ranks hear of it.
struct Leaving {
  GlobalId id = kNoBody;
  std::int64_t region = 0;
  double mass = 0.0;
};

std::int64_t region_of(const std::vector<OutflowSettings>& regions, const Vec3& p) {
  for (std::size_t k = 0; k < regions.size(); ++k) {
    if ((p.array() >= regions[k].lower.array()).all() &&
        (p.array() <= regions[k].upper.array()).all()) {
      return k;
    }
  }
  return -1;
}

/// Marks the bodies that are in a region for the first time; returns which.
std::vector<char> mark_entering(const std::vector<OutflowSettings>& regions, Bodies& bodies,
                                const State& state) {
  std::vector<char> entered(bodies.constants.size(), 0);
  for (std::size_t i = 0; i < entered.size(); ++i) {
    BodyConstants& body = bodies.constants[i];
    if (body.kind != BodyKind::dynamic || body.passed != 0) continue;
    const std::int64_t region = region_of(regions, state.body[i].pose.p);
    if (region < 0) continue;
    body.passed = narrow<std::int32_t>(1 + region);
    entered[i] = 1;
  }
  return entered;
}

}  // namespace

std::int64_t remove_outflow(const Communicator& comm, const Model& model,
                            const std::vector<OutflowSettings>& regions, Bodies& bodies,
                            State& state, std::vector<StayingMechanism>* staying,
                            bool joints_gone) {
  if (staying != nullptr) staying->clear();
  if (regions.empty()) return 0;
  const std::vector<char> entered = mark_entering(regions, bodies, state);
  const std::int64_t n_entered = std::count(entered.begin(), entered.end(), char{1});
  if (comm.sum(n_entered) == 0 && !joints_gone) return 0;

  Departures departures = find_departures(comm, model, bodies, entered, joints_gone);
  if (staying != nullptr) *staying = std::move(departures.staying);
  std::vector<Leaving> own;
  Bodies out;
  State out_state;
  for (std::size_t i = 0; i < entered.size(); ++i) {
    if (departures.body[i] == 0) continue;
    const BodyConstants& body = bodies.constants[i];
    own.push_back({body.id, body.passed - 1, body.mass});
    out.constants.push_back(body);
    out_state.body.push_back(state.body[i]);
  }
  if (comm.sum(std::ssize(own)) == 0) return 0;

  std::vector<Leaving> all = all_gather_values(comm, own);
  // in the order of ids, so that the sum of masses does not depend on the ranks
  std::sort(all.begin(), all.end(), [](const Leaving& a, const Leaving& b) { return a.id < b.id; });
  std::vector<GlobalId> gone;
  for (const Leaving& body : all) {
    gone.push_back(body.id);
    ++state.outflow[body.region];
    state.flow.removed_mass += body.mass;
  }
  state.flow.removed += std::ssize(gone);
  const EnergyMomentum energy = total_energy_and_momentum(comm, model, out, out_state);
  state.audit[EnergyTerm::flow_energy] -= energy.kinetic + energy.potential;

  take_out(comm, departures, gone, bodies, state);
  return std::ssize(gone);
}

}  // namespace catena
