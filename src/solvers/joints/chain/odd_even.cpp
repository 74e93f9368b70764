#include "solvers/joints/chain/odd_even.hpp"

#include <algorithm>
#include <array>

#include "catena/base/error.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "solvers/joints/chain/odd_even_level.hpp"

namespace catena {
namespace {

/// What every rank knows of a rank: where its blocks stand in the chain, and the first and last
/// place behind which a chain ends.
struct RankSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t first_break = -1;  ///< -1: none
  std::int64_t last_break = -1;
};

std::vector<RankSpan> spans_of(const Communicator& comm, const ChainPart& part) {
  std::int64_t mine[3] = {part.size(), -1, -1};
  for (Index i = 0; i < part.size(); ++i) {
    if (part.coupling_begin[i] != part.coupling_begin[i + 1]) continue;
    if (mine[1] < 0) mine[1] = i;
    mine[2] = i;
  }
  const std::vector<std::int64_t> all = comm.all_gather(std::span<const std::int64_t>(mine));
  std::vector<RankSpan> spans(all.size() / 3);
  std::int64_t begin = 0;
  for (std::size_t r = 0; r < spans.size(); ++r) {
    spans[r] = {begin, begin + all[3 * r], -1, -1};
    if (all[3 * r + 1] >= 0) spans[r].first_break = begin + all[3 * r + 1];
    if (all[3 * r + 2] >= 0) spans[r].last_break = begin + all[3 * r + 2];
    begin += all[3 * r];
  }
  return spans;
}

/// Whether a chain ends between ranks a < b at places [from, to), `from` on a and `to` on b.
bool broken(const std::vector<RankSpan>& spans, std::size_t a, std::int64_t from, std::size_t b,
            std::int64_t to) {
  if (spans[a].last_break >= from) return true;
  for (std::size_t r = a + 1; r < b; ++r)
    if (spans[r].first_break >= 0) return true;
  return spans[b].first_break >= 0 && spans[b].first_break < to;
}

/// The next rank before (step -1) or after (1) this one that has blocks at a level, if its nearest
/// one is coupled to this rank's; else -1.
int neighbour_at(const std::vector<RankSpan>& spans, int rank, int level, int step) {
  const std::size_t me = rank;
  const auto has = [&](std::size_t r) { return spans[r].begin >> level < spans[r].end >> level; };
  if (!has(me)) return -1;
  for (int r = rank + step; r >= 0 && r < std::ssize(spans); r += step) {
    const std::size_t other = r;
    if (!has(other)) continue;
    const std::size_t a = std::min(me, other);
    const std::size_t b = std::max(me, other);
    // block j of a level was block (j + 1) 2^level - 1 of the chain
    const std::int64_t from = ((spans[a].end >> level) << level) - 1;
    const std::int64_t to = (((spans[b].begin >> level) + 1) << level) - 1;
    return broken(spans, a, from, b, to) ? -1 : r;
  }
  return -1;
}

}  // namespace

/// What is left after the levels, on its way to one rank and there.
struct ChainLevels::Gathered {
  bool root = false;
  std::vector<std::size_t> blocks_before;  ///< root: per rank that has some, and the total
  std::size_t own = 0;                     ///< root: this rank's place among them
  std::vector<double> scale, rhs;          ///< root
  std::optional<ChainSegment> segment;     ///< root
  std::optional<PathMessages> factor_messages, forward_messages, backward_messages;
};

ChainLevels::~ChainLevels() = default;
ChainLevels::ChainLevels(ChainLevels&&) noexcept = default;
LevelBlocks& ChainLevels::first() { return levels_.front().blocks; }

ChainLevels::ChainLevels(const Communicator& comm, const ChainPart& structure, std::int64_t limit) {
  const std::vector<RankSpan> spans = spans_of(comm, structure);
  const std::size_t me = comm.rank();
  cost_.cholesky_blocks = spans.back().end;
  for (; cost_.cholesky_blocks > limit; cost_.cholesky_blocks /= 2) ++cost_.levels;
  levels_.resize(cost_.levels + 1);

  for (int l = 0; l <= cost_.levels; ++l) {
    Level& level = levels_[l];
    level.parity = to_index((spans[me].begin >> l) & 1);
    level.left_rank = neighbour_at(spans, comm.rank(), l, -1);
    level.right_rank = neighbour_at(spans, comm.rank(), l, 1);
    ChainPart& part = level.blocks.part;
    const ChainPart& above = l > 0 ? levels_[l - 1].blocks.part : structure;
    const Index first = l > 0 ? 1 - levels_[l - 1].parity : 0;
    const Index stride = l > 0 ? 2 : 1;
    for (Index i = first; i < above.size(); i += stride) {
      const Index rows = above.row_begin[i + 1] - above.row_begin[i];
      part.name.push_back(above.name[i]);
      part.row_begin.push_back(part.row_begin.back() + rows);
      part.diagonal_begin.push_back(part.diagonal_begin.back() + rows * rows);
    }
  }
  link(comm);
  lay_out(structure);
  make_messages(comm);
  make_gathered(comm);
}

/// Sizes of the neighbours on other ranks at every level, and the couplings.
void ChainLevels::link(const Communicator& comm) {
  // per neighbouring rank and level: the level and the rows of the block next to it
  std::vector<ValueParcel<std::array<std::int64_t, 2>>> parcels;
  const auto tell = [&](int rank, std::int64_t level, std::int64_t rows) {
    if (rank < 0) return;
    auto found = std::ranges::find_if(parcels, [rank](const auto& p) { return p.rank == rank; });
    if (found == parcels.end()) found = parcels.insert(found, {rank, {}});
    found->values.push_back({level, rows});
  };
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    const Level& level = levels_[l];
    if (level.size() == 0) continue;
    tell(level.left_rank, narrow<std::int64_t>(l), level.rows(0));
    tell(level.right_rank, narrow<std::int64_t>(l), level.rows(level.size() - 1));
  }
  for (const auto& [from, items] : exchange_values(comm, std::move(parcels))) {
    for (const auto& [l, rows] : items) {
      Level& level = levels_[l];
      (from < comm.rank() ? level.blocks.left_rows : level.right_rows) = to_index(rows);
    }
  }
}

/// Room for the numbers of every level, now that all sizes are known.
void ChainLevels::lay_out(const ChainPart& structure) {
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    Level& level = levels_[l];
    ChainPart& part = level.blocks.part;
    const Index n = level.size();
    level.uniform = n > 0 ? level.rows(0) : 0;
    for (Index i = -1; i <= n; ++i)
      if (level.rows(i) != level.uniform && level.rows(i) != 0) level.uniform = 0;
    for (Index i = 0; i < n; ++i) {
      bool coupled = level.right_rows > 0;
      if (i + 1 < n && l == 0) {
        coupled = structure.coupling_begin[i] != structure.coupling_begin[i + 1];
      } else if (i + 1 < n) {
        const Level& above = levels_[l - 1];
        const Index j = 2 * i + 1 - above.parity;
        coupled = above.coupled(j) && above.coupled(j + 1);
      }
      part.coupling_begin.push_back(part.coupling_begin.back() +
                                    (coupled ? level.rows(i) * level.rows(i + 1) : 0));
    }
    const std::size_t rows = part.row_begin.back();
    part.diagonal.resize(part.diagonal_begin.back());
    part.coupling.resize(part.coupling_begin.back());
    if (n > 0) level.blocks.left.resize(level.rows(-1) * level.rows(0));
    level.blocks.scale.resize(rows);
    level.rhs.resize(rows);
  }
  CATENA_CHECK(levels_.front().blocks.part.coupling_begin == structure.coupling_begin,
               "couplings between ranks do not fit their blocks");
}

void ChainLevels::make_messages(const Communicator& comm) {
  std::vector<std::int64_t> speaks(levels_.size(), 0);
  for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
    Level& level = levels_[l];
    level.make_messages(comm, levels_[l + 1], l);
    level.count(cost_);
    speaks[l] = level.forward_messages->any() ? 1 : 0;
  }
  comm.sum(speaks);
  for (const std::int64_t ranks : speaks) cost_.rounds += ranks > 0 ? 2 : 0;
}

/// Whose blocks are left, and their sizes and couplings on the rank that holds most of them.
void ChainLevels::make_gathered(const Communicator& comm) {
  gathered_ = std::make_unique<Gathered>();
  Gathered& all = *gathered_;
  const Level& last = levels_.back();
  const ChainPart& mine = last.blocks.part;
  const std::int64_t count = mine.size();
  const std::vector<std::int64_t> counts = comm.all_gather(std::span(&count, 1));
  const int root = narrow<int>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  all.root = comm.rank() == root;

  std::vector<ValueParcel<std::int64_t>> parcels;
  if (count > 0) {
    std::vector<std::int64_t> items;  // per block: rows, rows it is coupled to, name
    for (Index i = 0; i < mine.size(); ++i) {
      items.push_back(last.rows(i));
      items.push_back(last.coupled(i) ? last.rows(i + 1) : 0);
      items.push_back(mine.name[i]);
    }
    parcels.push_back({root, std::move(items)});
  }
  std::vector<MessagePath> factor_paths, solve_paths;
  ChainPart part;  // root
  for (const auto& [from, items] : exchange_values(comm, std::move(parcels))) {
    if (from == root) all.own = all.blocks_before.size();
    all.blocks_before.push_back(part.name.size());
    const std::int64_t before = part.diagonal_begin.back() + part.coupling_begin.back();
    const Index rows_before = part.row_begin.back();
    for (std::size_t k = 0; k < items.size(); k += 3) {
      part.row_begin.push_back(part.row_begin.back() + to_index(items[k]));
      part.diagonal_begin.push_back(part.diagonal_begin.back() + items[k] * items[k]);
      part.coupling_begin.push_back(part.coupling_begin.back() + items[k] * items[k + 1]);
      part.name.push_back(items[k + 2]);
    }
    const Index rows = part.row_begin.back() - rows_before;
    const auto numbers =
        static_cast<Index>(part.diagonal_begin.back() + part.coupling_begin.back() - before + rows);
    if (from == root) continue;
    factor_paths.push_back({from, 0, numbers});
    solve_paths.push_back({from, 0, rows});
  }
  if (all.root) {
    all.blocks_before.push_back(part.name.size());
    all.scale.resize(part.row_begin.back());
    all.rhs.resize(all.scale.size());
    all.segment.emplace(std::move(part), 0, false);
    cost_.factor_flops += all.segment->factor_flops();
    cost_.solve_flops += all.segment->solve_flops();
  } else if (count > 0) {
    const std::size_t rows = last.blocks.scale.size();
    const std::size_t numbers = mine.diagonal.size() + mine.coupling.size() + rows;
    factor_paths.push_back({root, to_index(numbers), 0});
    solve_paths.push_back({root, to_index(rows), 0});
  }
  all.factor_messages.emplace(comm, factor_paths, Tag::chain_gathered_factor);
  all.forward_messages.emplace(comm, solve_paths, Tag::chain_gathered_forward);
  all.backward_messages.emplace(comm, reversed(solve_paths), Tag::chain_gathered_backward);
  cost_.messages += all.factor_messages->sent_messages() + all.forward_messages->sent_messages() +
                    all.backward_messages->sent_messages();
  const auto holders = std::count_if(counts.begin(), counts.end(), [](auto c) { return c > 0; });
  cost_.rounds += holders > 1 ? 2 : 0;
}

void ChainLevels::factor(PivotGuard& guard) {
  for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
    levels_[l].eliminate(guard);
    levels_[l].send_updates();
    levels_[l].update(levels_[l + 1]);
    levels_[l].receive_updates(levels_[l + 1]);
  }
  factor_gathered(guard);
}

void ChainLevels::factor_gathered(PivotGuard& guard) {
  Gathered& all = *gathered_;
  const LevelBlocks& last = levels_.back().blocks;
  if (!all.root) {
    if (last.part.size() > 0) {
      double* out = all.factor_messages->out(0);
      out = std::copy(last.part.diagonal.begin(), last.part.diagonal.end(), out);
      out = std::copy(last.part.coupling.begin(), last.part.coupling.end(), out);
      std::copy(last.scale.begin(), last.scale.end(), out);
    }
    all.factor_messages->begin();
    all.factor_messages->end();
    return;
  }
  all.factor_messages->begin();
  all.factor_messages->end();
  ChainPart& part = all.segment->part();
  std::size_t path = 0;
  for (std::size_t r = 0; r + 1 < all.blocks_before.size(); ++r) {
    const std::size_t first = all.blocks_before[r];
    const std::size_t end = all.blocks_before[r + 1];
    const bool own = r == all.own;
    const double* in = own ? nullptr : all.factor_messages->in(path++);
    const auto take = [&](const auto& begin, const std::vector<double>& mine,
                          std::vector<double>& to) {
      const std::size_t count = begin[end] - begin[first];
      std::copy_n(own ? mine.data() : in, count, to.data() + begin[first]);
      if (!own) in += count;
    };
    take(part.diagonal_begin, last.part.diagonal, part.diagonal);
    take(part.coupling_begin, last.part.coupling, part.coupling);
    take(part.row_begin, last.scale, all.scale);
  }
  all.segment->factor(all.scale, 0.0, nullptr, guard);
}

void ChainLevels::solve_gathered() {
  Gathered& all = *gathered_;
  std::vector<double>& mine = levels_.back().rhs;
  if (!all.root) {
    if (!mine.empty()) std::copy(mine.begin(), mine.end(), all.forward_messages->out(0));
    all.forward_messages->begin();
    all.forward_messages->end();
    all.backward_messages->begin();
    all.backward_messages->end();
    if (!mine.empty()) std::copy_n(all.backward_messages->in(0), mine.size(), mine.data());
    return;
  }
  const std::vector<Index>& row_begin = all.segment->part().row_begin;
  // each rank's rows of `rhs`: visit(rank's place, rows, its path or the number of paths)
  const auto for_each_rank = [&](const auto& visit) {
    std::size_t path = 0;
    for (std::size_t r = 0; r + 1 < all.blocks_before.size(); ++r) {
      const std::size_t first = row_begin[all.blocks_before[r]];
      const std::size_t end = row_begin[all.blocks_before[r + 1]];
      visit(r == all.own, std::span(all.rhs).subspan(first, end - first), path);
      if (r != all.own) ++path;
    }
  };
  all.forward_messages->begin();
  all.forward_messages->end();
  for_each_rank([&](bool own, std::span<double> rows, std::size_t path) {
    std::copy_n(own ? mine.data() : all.forward_messages->in(path), rows.size(), rows.data());
  });
  all.segment->forward(all.rhs, nullptr);
  all.segment->backward(all.rhs, nullptr);
  for_each_rank([&](bool own, std::span<double> rows, std::size_t path) {
    std::copy_n(rows.data(), rows.size(), own ? mine.data() : all.backward_messages->out(path));
  });
  all.backward_messages->begin();
  all.backward_messages->end();
}

void ChainLevels::solve(std::span<double> x) {
  CATENA_CHECK(x.size() == levels_.front().rhs.size(), "right-hand side does not fit the chain");
  std::copy(x.begin(), x.end(), levels_.front().rhs.begin());
  for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
    levels_[l].forward();
    levels_[l].hand_down(levels_[l + 1]);
  }
  solve_gathered();
  for (std::size_t l = levels_.size() - 1; l-- > 0;) {
    levels_[l].take_back(levels_[l + 1]);
    levels_[l].backward();
  }
  std::copy(levels_.front().rhs.begin(), levels_.front().rhs.end(), x.begin());
}

}  // namespace catena
