// Which ranks' boxes may reach this rank's bodies.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "search/periodic_images.hpp"
#include "search/ranks/rank_boxes.hpp"

namespace catena::search {

/// Finds the boxes of the ranks near this one without every rank hearing of every other one.
///
/// Ranks are in groups of `group_size`, one after the other, as they lie along the curve. Within a
/// group every rank tells its boxes to every other one. Between groups the first rank of each
/// speaks for all: it tells one box around all bodies of its group, hears those of the others, and
/// sends to each group whose box they reach the boxes of those ranks that reach it; what it hears
/// itself it hands on to its group. One group is one gather of all.
///
/// Messages of a group's first rank: one to each group near it, and two operations of all first
/// ranks, of 48 bytes a group. Memory O(group_size + ranks near); of the first rank O(ranks /
/// group_size), too.
class NearRanks {
 public:
  static constexpr int kGroupSize = 64;

  /// Local.
  explicit NearRanks(const Communicator& comm, int group_size = kGroupSize);

  /// Collective. What the ranks published whose boxes, or images of them, may overlap a box of this
  /// rank, ascending in rank: all ranks of this group, this one among them, and those of other
  /// groups that reach this group. Good until the next call.
  std::span<const RankRow> find(const RankBoxes& own, const PeriodicImages& images);

 private:
  std::vector<Parcel> rows_for_others(const Aabb& own_group, const PeriodicImages& images) const;
  void hear_other_groups(const Aabb& own_rank, const PeriodicImages& images);

  Communicator comm_;
  int group_size_;
  std::optional<Communicator> group_;  ///< from the first find() on
  std::optional<Communicator> peers_;  ///< the ranks at this one's place in all groups, if several
  std::vector<RankRow> rows_;
};

}  // namespace catena::search
