// Other ranks' bodies that may be needed here, and which of them are.
#pragma once

#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/search/contact_search.hpp"
#include "search/joint_ghosts.hpp"
#include "search/probes.hpp"
#include "search/ranks/near_ranks.hpp"
#include "search/ranks/rank_boxes.hpp"
#include "search/wide_boxes.hpp"

namespace catena::search {

/// The way of bodies from candidates to ghosts, over all ranks.
class Candidates {
 public:
  explicit Candidates(const Communicator& comm) : comm_(comm), near_ranks_(comm) {}

  /// Collective. Owned bodies go to the ranks whose boxes they reach or whose joints need them;
  /// theirs come here, all as ghosts for the time being.
  void exchange(const Bodies& bodies, const State& state, const WideBoxes& wide, Probes& probes,
                LocalBodies& local);
  /// Local. Drops the candidates that touch nothing here and that no joint needs, and renumbers the
  /// rest.
  void keep_needed(const JointLinks& links, ContactSet& out);
  /// Collective. Owners learn which of the bodies that they offered are needed where.
  void plan_halo(ContactSet& out) const;

 private:
  void choose_offers(const Bodies& bodies, std::span<const Aabb> boxes, const Probes& probes);

  Communicator comm_;
  RankBoxes rank_boxes_;
  NearRanks near_ranks_;
  /// Owned bodies sent to other ranks as candidates, ascending in rank; by their boxes alone.
  Offers offered_, by_box_;
  std::vector<Index> place_;     ///< in the parcel of its owner
  std::vector<Index> moved_to_;  ///< new place of bodies that are not owned; kNoIndex: dropped
};

}  // namespace catena::search
