#include "solvers/joints/chain/cost.hpp"

#include <algorithm>

#include "solvers/joints/chain/block_kernels.hpp"

namespace catena {
namespace {

/// Blocks that are taken out on one rank, one after the other, with 0 to 2 neighbours each.
void add_blocks(ChainWork& work, double blocks, double rows, int neighbours) {
  const double l = neighbours > 1 ? rows : 0.0;
  const double r = neighbours > 0 ? rows : 0.0;
  work.factor_flops += blocks * elimination_flops(rows, l, r);
  work.solve_flops += blocks * substitution_flops(rows, l, r);
}

/// A round of messages each way: a block's update with a new coupling; a block's rows.
void add_rounds(ChainWork& work, double rows) {
  work.factor_rounds += 1;
  work.solve_rounds += 2;
  work.factor_doubles += 2.0 * rows * rows;
  work.solve_doubles += 2.0 * rows;
}

ChainWork count_body(std::span<const ChainRank> ranks, double rows, std::int64_t limit) {
  ChainWork work;
  std::int64_t left = 0;
  bool linked = false;  // ranks are coupled
  for (const ChainRank& rank : ranks) {
    left += rank.blocks;
    linked |= rank.left;
  }
  // the first couplings between ranks are sent to the rank behind
  if (linked) {
    work.factor_rounds += 1;
    work.factor_doubles += rows * rows;
  }
  std::int64_t holders = 0;
  std::int64_t most = 0;
  for (;; ++work.levels, left /= 2) {
    holders = 0;
    most = 0;
    std::int64_t largest = 0;
    std::int64_t begin = 0;
    for (const ChainRank& rank : ranks) {
      const std::int64_t from = begin >> work.levels;
      const std::int64_t to = (begin + rank.blocks) >> work.levels;
      most = std::max(most, to - from);
      largest = std::max(largest, (to + 1) / 2 - (from + 1) / 2);  // of even places
      holders += to > from ? 1 : 0;
      begin += rank.blocks;
    }
    if (left <= limit) break;
    add_blocks(work, static_cast<double>(largest), rows, 2);
    if (linked && holders > 1) add_rounds(work, rows);
  }
  work.cholesky_blocks = left;
  add_blocks(work, static_cast<double>(left), rows, 1);
  if (holders > 1) {
    add_rounds(work, rows);
    work.gathered_messages = holders - 1;
    const auto sent = static_cast<double>(left - most);
    work.factor_doubles += sent * (2.0 * rows * rows + rows);
    work.solve_doubles += sent * 2.0 * rows;
  }
  return work;
}

ChainWork count_rank(std::span<const ChainRank> ranks, double rows) {
  ChainWork work;
  std::int64_t separators = 0;
  bool linked = false;
  bool joined = false;  // separators are coupled
  for (const ChainRank& rank : ranks) {
    ChainWork own;
    const double blocks = static_cast<double>(rank.blocks - (rank.right ? 1 : 0));
    add_blocks(own, blocks, rows, rank.inner ? 2 : 1);
    work.factor_flops = std::max(work.factor_flops, own.factor_flops);
    work.solve_flops = std::max(work.solve_flops, own.solve_flops);
    separators += rank.right ? 1 : 0;
    linked |= rank.left;
    joined |= rank.inner;
  }
  if (!linked) return work;
  add_rounds(work, rows);
  work.factor_rounds += 1;
  work.factor_doubles += rows * rows;
  for (; separators > 1; separators /= 2) {
    ++work.levels;
    add_blocks(work, 1.0, rows, joined ? 2 : 0);
    if (joined) add_rounds(work, rows);
  }
  work.cholesky_blocks = separators;
  add_blocks(work, static_cast<double>(separators), rows, 0);
  return work;
}

}  // namespace

std::vector<ChainRank> deal_evenly(std::int64_t blocks, int ranks) {
  std::vector<ChainRank> result(ranks);
  for (std::int64_t r = 0; r < ranks; ++r) {
    ChainRank& rank = result[r];
    const std::int64_t begin = blocks * r / ranks;
    const std::int64_t end = blocks * (r + 1) / ranks;
    rank.blocks = end - begin;
    rank.left = rank.blocks > 0 && begin > 0;
    rank.right = rank.blocks > 0 && end < blocks;
    rank.inner = rank.left && rank.right;
  }
  return result;
}

ChainWork count_chain(std::span<const ChainRank> ranks, double rows, ChainGrouping grouping,
                      std::int64_t cholesky_limit) {
  return grouping == ChainGrouping::body ? count_body(ranks, rows, cholesky_limit)
                                         : count_rank(ranks, rows);
}

double factor_seconds(const ChainWork& work, const ChainMachine& machine) {
  return work.factor_flops / machine.rate + work.factor_rounds * machine.latency +
         work.factor_doubles / machine.bandwidth +
         static_cast<double>(work.gathered_messages) * machine.overhead;
}

double solve_seconds(const ChainWork& work, const ChainMachine& machine) {
  return work.solve_flops / machine.rate + work.solve_rounds * machine.latency +
         work.solve_doubles / machine.bandwidth +
         static_cast<double>(work.gathered_messages) * machine.overhead;
}

}  // namespace catena
