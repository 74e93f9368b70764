// Contacts of a step over all ranks: ghosts, the halo plan, and each contact once.
#pragma once

#include <memory>
#include <vector>

#include "catena/collision/contact.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// The local bodies of a rank in a step: owned, then ghosts (ascending in owner rank,
/// then in the owner's order), then the model's unbounded bodies. Poses and twists of
/// ghosts are those of the step's start.
struct LocalBodies {
  std::vector<BodyConstants> constants;
  std::vector<BodyMotionState> state;
  std::vector<int> owner;  ///< rank of each
  Index n_owned = 0;
  Index n_ghost = 0;
  Index size() const { return static_cast<Index>(constants.size()); }
};

struct ContactSet {
  LocalBodies bodies;
  std::vector<Contact> contacts;  ///< held by this rank, ascending in key
  HaloPlan ghosts;                ///< owned dynamic bodies to their ghosts (prescribed left out)
};

/// Finds ghosts and contacts. Memory O(own bodies + ghosts + ranks).
class ContactSearch {
 public:
  ContactSearch(const Communicator& comm, const Model& model);
  ~ContactSearch();
  ContactSearch(ContactSearch&&) noexcept;

  /// Collective. Ranks exchange boxes (O(ranks)), then bodies whose box, grown by the
  /// contact margin and by the way it goes in `step`, overlaps; a ghost is kept where a pair with
  /// an owned body has its home (home_of) on this rank. Contacts with gap below the margin, or
  /// closing fast enough to touch within `step` (dynamic bodies with v + h g), are made, ascending
  /// in key.
  void find(const Bodies& bodies, const State& state, double step, ContactSet& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace catena
