// Bodies that come and go during a run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"
#include "catena/partition/departures.hpp"
#include "catena/scenarios/insertion.hpp"

namespace catena {

/// The insertions of a case, over all ranks. Which bodies come in, when and where depends neither
/// on the number of ranks nor on who owns what, as long as the other bodies' states do not.
class Inflow {
 public:
  /// Collective. `scene` and `model` must outlive it. Throws Error for a region too small.
  Inflow(const Communicator& comm, const SceneSettings& scene, const Model& model);
  ~Inflow();

  bool none() const { return insertions_.empty(); }
  const std::vector<Insertion>& insertions() const { return insertions_; }

  /// Collective. Adds the bodies due in [t, t + h), each to the rank and the part (of `n_parts`) of
  /// the nearest dynamic body (at equal distance, or without any: the lowest rank); in
  /// deterministic runs to the nearest tile (nearest_own_tiles). New ones stand last in the rank's
  /// lists. Returns their number.
  ///
  /// An insertion inserts in the order of its numbers while one is owed: rate times time, carried
  /// over. A place is taken if collide() finds the body overlapping any other (or the image of
  /// one in a periodic box), where the two may collide at all; being wholly inside a closed mesh
  /// is not seen. If all attempts of a step are taken the body waits, and those behind it.
  /// Memory on each rank: O(own bodies in the region + bodies inserted in the step).
  std::int64_t insert(double h, int n_parts, Bodies& bodies, State& state);

 private:
  struct Search;
  /// Inserts for one insertion; returns the new bodies, the same on every rank.
  std::vector<BodyRecord> accept(const Insertion& insertion, InflowProgress& progress,
                                 Search& search) const;
  /// Collective. The subdomain of each new body that this rank is to own, beside its nearest
  /// dynamic body; -1 for those that others own.
  std::vector<std::int32_t> parts_by_neighbour(const std::vector<BodyRecord>& fresh, int n_parts,
                                               const State& state) const;

  Communicator comm_;
  const Model& model_;
  std::vector<Insertion> insertions_;
  std::unique_ptr<Search> search_;  ///< scratch
};

/// Collective. Removes the dynamic bodies whose centre lies in one of the regions (sides
/// included; the first one counts) with the impulses of their contacts, and counts them. Bodies on
/// which joints act leave with their whole mechanism and its joints, once each of its bodies has
/// been in a region and if nothing holds it (find_departures); a body counts for the region in
/// which it has been first. Links of joints are made anew where bodies leave. Returns the number of
/// bodies over all ranks; `staying`, if given, receives the mechanisms that stay and of which
/// bodies lie in a region for the first time; `joints_gone` as in find_departures. Memory O(bodies
/// removed in the step).
std::int64_t remove_outflow(const Communicator& comm, const Model& model,
                            const std::vector<OutflowSettings>& regions, Bodies& bodies,
                            State& state, std::vector<StayingMechanism>* staying = nullptr,
                            bool joints_gone = false);

}  // namespace catena
