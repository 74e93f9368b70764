// Odd/even elimination of a chain, level by level over all ranks ([MV] (5), (6)).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "catena/comm/path_messages.hpp"
#include "solvers/joints/chain/block_kernels.hpp"
#include "solvers/joints/chain/chain_factor.hpp"
#include "solvers/joints/chain/segment.hpp"

namespace catena {

/// One rank's part of a chain as the levels see it.
struct LevelBlocks {
  ChainPart part;
  Index left_rows = 0;        ///< of the block before the first one, if coupled to it; else 0
  std::vector<double> left;   ///< A_left,0, left_rows x m_0
  std::vector<double> scale;  ///< per row: the diagonal of A as regularised, before elimination
};

/// Every level eliminates the first, third, fifth ... block that is left over all ranks (counted
/// from the first block of all, over the borders of chains, where no couplings are) until at most
/// `limit` are left; those go to the rank that holds most of them, which eliminates them end to
/// end. A level costs at most one message from each end of a rank's part, factor and forward, and
/// one back; a rank that has no blocks left takes no part.
class ChainLevels {
 public:
  /// Collective. Sizes and couplings of `structure`.
  ChainLevels(const Communicator& comm, const ChainPart& structure, std::int64_t limit);
  ~ChainLevels();
  ChainLevels(ChainLevels&&) noexcept;

  /// The first level, to be filled with numbers before factor(), which overwrites them.
  LevelBlocks& first();
  /// Neighbours.
  void factor(PivotGuard& guard);
  void solve(std::span<double> x);
  /// This rank's; rounds (the same everywhere) and messages of one solve and one factorisation.
  const ChainCost& cost() const { return cost_; }

 private:
  struct Level;
  struct Gathered;
  void link(const Communicator& comm);
  void lay_out(const ChainPart& structure);
  void make_messages(const Communicator& comm);
  void make_gathered(const Communicator& comm);
  void factor_gathered(PivotGuard& guard);
  void solve_gathered();

  std::vector<Level> levels_;  ///< the last one holds what is left
  std::unique_ptr<Gathered> gathered_;
  ChainCost cost_;
};

}  // namespace catena
