// What the elimination of a chain costs on its critical path, counted without doing it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catena/solvers/joint_solver_settings.hpp"

namespace catena {

/// One rank's part of a chain.
struct ChainRank {
  std::int64_t blocks = 0;
  bool left = false;   ///< its first block couples to a rank before
  bool right = false;  ///< its last block couples to a rank behind
  bool inner = false;  ///< both, and without a border of chains between
};

/// Counts on the critical path: the longest sum over levels of the largest rank's share.
struct ChainWork {
  double factor_flops = 0.0;  ///< multiply-adds
  double solve_flops = 0.0;   ///< of one solve
  int levels = 0;
  std::int64_t cholesky_blocks = 0;  ///< that one rank eliminates at the end
  int factor_rounds = 0;             ///< of messages that wait for each other
  int solve_rounds = 0;
  std::int64_t gathered_messages = 0;  ///< that one rank takes in the round of the gathering
  double factor_doubles = 0.0;         ///< that travel on the path
  double solve_doubles = 0.0;
};

/// Speed of a machine: t = flops / rate + rounds * latency + doubles / bandwidth
/// + gathered messages * overhead.
struct ChainMachine {
  double rate = 1.5e9;       ///< multiply-adds per s
  double latency = 2e-6;     ///< s per message
  double bandwidth = 1e9;    ///< doubles per s
  double overhead = 0.5e-6;  ///< s per further message that a rank takes in one round
};

/// One chain of `blocks` blocks, dealt evenly.
std::vector<ChainRank> deal_evenly(std::int64_t blocks, int ranks);

/// `grouping`: body or rank. `rows`: of a block; all blocks are counted with this number.
ChainWork count_chain(std::span<const ChainRank> ranks, double rows, ChainGrouping grouping,
                      std::int64_t cholesky_limit);
double factor_seconds(const ChainWork& work, const ChainMachine& machine);
double solve_seconds(const ChainWork& work, const ChainMachine& machine);  ///< one solve

}  // namespace catena
