// One mechanism cut over ranks, for tests and benchmarks of its elimination.
#pragma once

#include <memory>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "solvers/joints/across/tree_nodes.hpp"

namespace catena::test {

/// A mechanism that every rank knows as a whole, cut in 2^levels parts and dealt to ranks as
/// PartTree says.
class DealtMechanism {
 public:
  /// Collective. `whole` must outlive it; `exact` as for Guests.
  DealtMechanism(const Communicator& comm, const MechanismRows& whole, int levels, bool exact);

  /// Neighbours. G of own blocks from the whole, and of guests from their ranks.
  void take_jacobians();
  const PartTree& tree() const { return guests_->tree(); }
  /// Blocks of the whole, in the order in which they stand here.
  const std::vector<Index>& own() const { return own_; }
  /// Own blocks, then guests.
  const MechanismRows& rows() const { return rows_; }
  const BlockNodes& nodes() const { return nodes_; }

 private:
  void append(Index k);

  const MechanismRows& whole_;
  std::vector<Index> own_;
  std::vector<Index> body_;  ///< of the whole: its number here
  MechanismRows rows_;
  BlockNodes nodes_;
  std::unique_ptr<Guests> guests_;
};

}  // namespace catena::test
