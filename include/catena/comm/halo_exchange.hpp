// Values of owners travel to fixed places on neighbouring ranks, many times over
// the same paths.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/comm/tags.hpp"

namespace catena {

/// Who sends what to whom: for each neighbour the places to read from and the
/// places to write to, both in units of items, in an order that both sides share.
struct HaloPlan {
  /// What is exchanged with one rank.
  struct Neighbour {
    int rank = 0;
    std::vector<Index> send;     ///< items sent, in this order
    std::vector<Index> receive;  ///< items received, in the sender's order
  };
  std::vector<Neighbour> neighbours;  ///< ascending in rank; never this rank itself

  /// The same paths the other way round.
  HaloPlan reversed() const;
  /// The same where values meet (GhostSum): what several neighbours send for one item arrives in
  /// slots of their own, 0, 1, ... in the order of neighbours; `item[s]` is what slot s is to be
  /// added to.
  HaloPlan reversed_into_slots(std::vector<Index>& item) const;
};

/// Persistent messages along a plan, `width` doubles an item. At most one message
/// per neighbour and direction a call; empty lists send nothing. Nothing is
/// allocated after construction.
class HaloExchange {
 public:
  /// Collective over the neighbours of the plan. `tag` keeps those under way at once apart.
  HaloExchange(const Communicator& comm, HaloPlan plan, int width, Tag tag);
  ~HaloExchange();
  HaloExchange(HaloExchange&&) noexcept;
  HaloExchange& operator=(HaloExchange&&) noexcept;

  /// Neighbours. Posts the receives, packs `source` (items x width) and sends.
  void begin(std::span<const double> source);
  /// Neighbours. Waits, then writes what came into `target` (items x width), the
  /// neighbours in rank order.
  void end(std::span<double> target);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace catena
