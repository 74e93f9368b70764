// What ghosts contribute to a body is added at its owner.
#pragma once

#include <span>
#include <vector>

#include "catena/comm/halo_exchange.hpp"

namespace catena {

/// Sums over all ranks of values at local items, `width` doubles an item. Contributions of several
/// neighbours are added in the order of their ranks, so that sums are the same in every run. One
/// message per neighbour; nothing is allocated after construction.
class GhostSum {
 public:
  /// Collective over the neighbours. `ghosts` is the plan by which owners' values come to ghosts.
  GhostSum(const Communicator& comm, const HaloPlan& ghosts, int width, Tag tag);

  /// Neighbours. Sends what ghosts hold in `values` (items x width).
  void begin(std::span<const double> values);
  /// Neighbours. Waits, then adds what other ranks' ghosts hold to the owned items of `values`;
  /// those of ghosts stay as they are.
  void end(std::span<double> values);
  /// Neighbours. Both at once.
  void complete(std::span<double> values) {
    begin(values);
    end(values);
  }

 private:
  std::vector<Index> item_;    ///< that each slot is added to
  std::vector<double> slots_;  ///< as they come from the neighbours
  int width_;
  HaloExchange to_owners_;
};

/// Collective over the neighbours. A GhostSum with tag `there`, whose sums then go to all ghosts
/// with tag `back`: for once.
void sum_with_ghosts(const Communicator& comm, const HaloPlan& ghosts, int width, Tag there,
                     Tag back, std::span<double> values);

}  // namespace catena
