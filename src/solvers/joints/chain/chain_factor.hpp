// Chains: block tridiagonal systems, eliminated serially, by odd/even levels, or by segments of
// ranks ([MV] (3)-(6); docs/theory.md, "Chains").
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/solvers/joint_solver_settings.hpp"
#include "solvers/joints/elimination/elimination.hpp"

namespace catena {

/// This rank's contiguous part of a symmetric positive definite block tridiagonal matrix. Blocks of
/// 1 to 6 rows; the parts of all ranks in order make the matrix; parts may be empty. Chains that
/// follow each other have zero couplings.
struct ChainPart {
  std::vector<Index> row_begin = {0};              ///< n + 1
  std::vector<std::int64_t> diagonal_begin = {0};  ///< n + 1, into `diagonal`
  std::vector<double> diagonal;                    ///< A_ii, m_i x m_i, row by row
  std::vector<std::int64_t> coupling_begin = {0};  ///< n + 1, into `coupling`
  /// A_i,i+1, m_i x m_i+1, row by row; of zero size where nothing follows or a chain ends. The last
  /// block's couples to the first block of the next rank that has any.
  std::vector<double> coupling;
  std::vector<std::int64_t> name;  ///< per block, for reports
  /// Grouping `piece`: blocks with which a piece begins, ascending, without those at the part's
  /// start; each is coupled to the one before.
  std::vector<Index> piece_begin;
  Index size() const { return to_index(name.size()); }
};

/// Counts of one factorisation and one solve. Rounds, levels and what is left are the same on every
/// rank, the others are this rank's.
struct ChainCost {
  std::int64_t factor_flops = 0;  ///< multiply-adds
  std::int64_t solve_flops = 0;
  std::int64_t messages = 0;         ///< sent in factor and one solve
  int rounds = 0;                    ///< of messages that wait for each other, in one solve
  int levels = 0;                    ///< of odd/even elimination
  std::int64_t cholesky_blocks = 0;  ///< left after these levels, over all ranks
};

/// Factors of a block tridiagonal matrix; made for a structure (sizes and parts), factored anew for
/// new numbers.
class ChainFactor {
 public:
  /// Collective. `structure`: sizes and which couplings there are.
  /// grouping `body`: odd/even elimination of all blocks level by level until at most
  /// settings.cholesky_limit are left, which are gathered on one rank and solved by Cholesky there;
  /// `rank`: each rank eliminates its segment (nothing before it, or nothing behind: from the free
  /// end inward; both: with fill), so that one block for each border between ranks is left: the
  /// last one before it. These go through odd/even elimination in log2(ranks) rounds, whatever the
  /// limit; on one rank it is the block Cholesky from end to end; `piece`: as by rank, with the
  /// borders of pieces (ChainPart::piece_begin and the borders between ranks) in place of those
  /// between ranks, and what is left of all is gathered on one rank: where the ranks' borders are
  /// borders of pieces, the bits do not depend on the ranks. automatic: the one with the
  /// smaller counted cost on the critical path (cost.hpp).
  ChainFactor(const Communicator& comm, ChainPart structure, const JointSolverSettings& settings);
  ~ChainFactor();
  ChainFactor(ChainFactor&&) noexcept;

  /// This rank's part: its numbers are to be filled in anew before each factor().
  ChainPart& part();
  const ChainPart& part() const;
  /// Neighbours, and the ranks of the interface system. Regularises row by row,
  /// A_ii (1 + epsilon), epsilon = kJointRegularisation; where a pivot all the same falls below
  /// round-off of its row's diagonal, it is raised and reported; `redundant` also names
  /// rows of pivots below 1e-8 where segments are eliminated from a free end.
  void factor();
  /// The same. x = A^-1 b in place, rows of this rank's blocks; A as regularised. Backward error
  /// |b - A x| / (|A||x| + |b|) at most 1e-13.
  void solve(std::span<double> x);

  ChainGrouping grouping() const;      ///< body or rank, as chosen
  const FactorReport& report() const;  ///< this rank's
  const ChainCost& cost() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace catena
