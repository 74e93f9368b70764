#include "solvers/joints/chain/chain_factor.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "catena/base/error.hpp"
#include "solvers/joints/chain/cost.hpp"
#include "solvers/joints/chain/odd_even.hpp"
#include "solvers/joints/chain/segment.hpp"

namespace catena {
namespace {

/// What every rank knows of every other.
struct RankEnds {
  std::int64_t blocks = 0;
  std::int64_t first_rows = 0;
  std::int64_t last_rows = 0;
  bool whole = false;  ///< no chain ends between its blocks
  bool right = false;  ///< its last block has a coupling
  double cubes = 0.0;  ///< sum of rows^3
};

Index rows_of(const ChainPart& part, Index i) { return part.row_begin[i + 1] - part.row_begin[i]; }

bool coupled(const ChainPart& part, Index i) {
  return part.coupling_begin[i] != part.coupling_begin[i + 1];
}

void check_part(const ChainPart& part) {
  const std::size_t n = part.size();
  CATENA_CHECK(part.row_begin.size() == n + 1 && part.diagonal_begin.size() == n + 1 &&
                   part.coupling_begin.size() == n + 1,
               "chain's lists have different lengths");
  for (Index i = 0; i < part.size(); ++i) {
    const std::int64_t m = rows_of(part, i);
    CATENA_CHECK(
        m >= 1 && m <= kMaxBlockRows &&
            part.diagonal_begin[i + 1] - part.diagonal_begin[i] == m * m &&
            (!coupled(part, i) || i + 1 == part.size() ||
             part.coupling_begin[i + 1] - part.coupling_begin[i] == m * rows_of(part, i + 1)),
        "chain's blocks are not of 1 to 6 rows, or couplings do not fit them");
  }
}

std::vector<RankEnds> ends_of_all(const Communicator& comm, const ChainPart& part) {
  const Index n = part.size();
  std::int64_t mine[6] = {n, 0, 0, 1, 0, 0};
  if (n > 0) {
    mine[1] = rows_of(part, 0);
    mine[2] = rows_of(part, n - 1);
    mine[4] = coupled(part, n - 1) ? 1 : 0;
  }
  for (Index i = 0; i < n; ++i) {
    if (i + 1 < n && !coupled(part, i)) mine[3] = 0;
    const std::int64_t m = rows_of(part, i);
    mine[5] += m * m * m;
  }
  const std::vector<std::int64_t> all = comm.all_gather(std::span<const std::int64_t>(mine));
  std::vector<RankEnds> ends;
  for (std::size_t k = 0; k < all.size(); k += 6)
    ends.push_back({all[k], all[k + 1], all[k + 2], all[k + 3] != 0, all[k + 4] != 0,
                    static_cast<double>(all[k + 5])});
  return ends;
}

/// The nearest rank before or behind that has blocks, or -1.
int nearest(const std::vector<RankEnds>& ends, int rank, int step) {
  for (int r = rank + step; r >= 0 && r < std::ssize(ends); r += step)
    if (ends[r].blocks > 0) return r;
  return -1;
}

std::vector<ChainRank> chain_ranks(const std::vector<RankEnds>& ends) {
  std::vector<ChainRank> ranks;
  bool right = false;
  for (const RankEnds& e : ends) {
    if (e.blocks == 0) {
      ranks.push_back({});
      continue;
    }
    ranks.push_back({e.blocks, right, e.right, right && e.right && e.whole});
    right = e.right;
  }
  return ranks;
}

ChainGrouping chosen(const std::vector<RankEnds>& ends, const JointSolverSettings& settings) {
  if (settings.grouping != ChainGrouping::automatic) return settings.grouping;
  const std::vector<ChainRank> ranks = chain_ranks(ends);
  double blocks = 0.0;
  double cubes = 0.0;
  for (const RankEnds& e : ends) {
    blocks += static_cast<double>(e.blocks);
    cubes += e.cubes;
  }
  if (blocks == 0.0) return ChainGrouping::rank;
  const double rows = std::cbrt(cubes / blocks);
  const auto seconds = [&](ChainGrouping grouping) {
    const ChainWork work = count_chain(ranks, rows, grouping, settings.cholesky_limit);
    return factor_seconds(work, {}) + solve_seconds(work, {});
  };
  return seconds(ChainGrouping::body) < seconds(ChainGrouping::rank) ? ChainGrouping::body
                                                                     : ChainGrouping::rank;
}

}  // namespace

struct ChainFactor::Impl {
  Impl(const Communicator& comm, ChainPart structure, const JointSolverSettings& settings);
  void make_rank(const Communicator& comm, ChainPart structure, const std::vector<RankEnds>& ends,
                 int after);
  ChainPart& part() { return segment ? segment->part() : levels->first().part; }
  void factor_body(PivotGuard& guard);
  void factor_rank(PivotGuard& guard);
  void solve_rank(std::span<double> x);

  ChainGrouping grouping = ChainGrouping::rank;
  Index n = 0;
  Index first_rows = 0, last_rows = 0;
  Index left_rows = 0;   ///< of the block before the first one, if coupled; else 0
  Index right_rows = 0;  ///< of the next rank's first block, if coupled
  Index reach_rows = 0;  ///< grouping rank: of the next separator, if coupled
  std::optional<PathMessages> couplings, updates, forward, backward;
  std::optional<ChainSegment> segment;  ///< grouping rank
  std::optional<ChainLevels> levels;    ///< of all blocks, or of the separators
  FactorReport report;
  ChainCost cost;
};

ChainFactor::Impl::Impl(const Communicator& comm, ChainPart structure,
                        const JointSolverSettings& settings) {
  all_or_none(comm, [&] { check_part(structure); });
  const std::vector<RankEnds> ends = ends_of_all(comm, structure);
  const int before = nearest(ends, comm.rank(), -1);
  const int after = nearest(ends, comm.rank(), 1);
  const RankEnds& mine = ends[comm.rank()];
  n = structure.size();
  first_rows = to_index(mine.first_rows);
  last_rows = to_index(mine.last_rows);
  if (n > 0 && before >= 0 && ends[before].right) left_rows = to_index(ends[before].last_rows);
  if (mine.right) {
    CATENA_CHECK(after >= 0, "the last block of all has a coupling");
    right_rows = to_index(ends[after].first_rows);
  }
  couplings.emplace(comm,
                    std::vector<MessagePath>{{before, 0, left_rows * first_rows},
                                             {after, last_rows * right_rows, 0}},
                    Tag::chain_couplings);
  cost.messages = couplings->sent_messages();

  grouping = chosen(ends, settings);
  if (grouping == ChainGrouping::body) {
    levels.emplace(comm, structure, settings.cholesky_limit);
  } else {
    make_rank(comm, std::move(structure), ends, after);
  }
  const ChainCost& further = levels->cost();
  cost.factor_flops += further.factor_flops;
  cost.solve_flops += further.solve_flops;
  cost.messages += further.messages;
  cost.rounds += further.rounds;
  cost.levels = further.levels;
  cost.cholesky_blocks = further.cholesky_blocks;
}

void ChainFactor::Impl::make_rank(const Communicator& comm, ChainPart structure,
                                  const std::vector<RankEnds>& ends, int after) {
  segment.emplace(std::move(structure), left_rows, right_rows > 0);
  cost.factor_flops = segment->factor_flops();
  cost.solve_flops = segment->solve_flops();
  // the separators of two ranks are coupled through the second one's segment if that is inner
  ChainPart separators;
  if (right_rows > 0) {
    const RankEnds& next = ends[after];
    if (next.whole && next.right) reach_rows = to_index(next.last_rows);
    separators.row_begin.push_back(last_rows);
    separators.diagonal_begin.push_back(last_rows * last_rows);
    separators.coupling_begin.push_back(last_rows * reach_rows);
    separators.name.push_back(part().name.back());
  }
  levels.emplace(comm, separators, 1);

  const int before = nearest(ends, comm.rank(), -1);
  const Index through = segment->inner() ? left_rows * last_rows : 0;
  updates.emplace(comm,
                  std::vector<MessagePath>{
                      {before, left_rows * left_rows + through, 0},
                      {after, 0, right_rows > 0 ? last_rows * (last_rows + reach_rows) : 0}},
                  Tag::chain_updates);
  const std::vector<MessagePath> paths = {{before, left_rows, 0},
                                          {after, 0, right_rows > 0 ? last_rows : 0}};
  forward.emplace(comm, paths, Tag::chain_forward);
  backward.emplace(comm, reversed(paths), Tag::chain_backward);
  cost.messages += updates->sent_messages() + forward->sent_messages() + backward->sent_messages();
  cost.rounds += comm.max(std::int64_t{left_rows}) > 0 ? 2 : 0;
}

void ChainFactor::Impl::factor_body(PivotGuard& guard) {
  LevelBlocks& first = levels->first();
  for (Index i = 0; i < n; ++i) {
    const Index m = rows_of(first.part, i);
    double* block = first.part.diagonal.data() + first.part.diagonal_begin[i];
    double* scale = first.scale.data() + first.part.row_begin[i];
    for (Index j = 0; j < m; ++j) scale[j] = block[j * m + j] *= 1.0 + kJointRegularisation;
  }
  couplings->end();
  std::copy_n(couplings->in(0), left_rows * first_rows, first.left.data());
  levels->factor(guard);
}

void ChainFactor::Impl::factor_rank(PivotGuard& guard) {
  couplings->end();
  LevelBlocks& interface = levels->first();
  if (right_rows > 0) {
    const double* separator = segment->separator_block();
    for (Index j = 0; j < last_rows; ++j)
      interface.scale[j] = separator[j * last_rows + j] * (1.0 + kJointRegularisation);
  }
  segment->factor({}, kJointRegularisation, couplings->in(0), guard);
  if (left_rows > 0) {
    double* out = updates->out(0);
    out = std::copy(segment->left_update().begin(), segment->left_update().end(), out);
    std::copy(segment->reduced_coupling().begin(), segment->reduced_coupling().end(), out);
  }
  updates->begin();
  updates->end();
  if (right_rows > 0) {
    const double* in = updates->in(1);
    const Index m = last_rows;
    const double* block = segment->separator_block();
    for (Index j = 0; j < m * m; ++j) interface.part.diagonal[j] = block[j] + in[j];
    std::copy_n(in + m * m, m * reach_rows, interface.part.coupling.data());
    if (segment->inner()) interface.left = segment->reduced_coupling();
  }
  levels->factor(guard);
}

void ChainFactor::Impl::solve_rank(std::span<double> x) {
  segment->forward(x, forward->out(0));
  forward->begin();
  forward->end();
  const std::size_t m = right_rows > 0 ? last_rows : 0;
  const std::span<double> separator = x.last(m);
  for (std::size_t j = 0; j < m; ++j) separator[j] += forward->in(1)[j];
  levels->solve(separator);
  std::copy(separator.begin(), separator.end(), backward->out(1));
  backward->begin();
  backward->end();
  segment->backward(x, backward->in(0));
}

ChainFactor::ChainFactor(const Communicator& comm, ChainPart structure,
                         const JointSolverSettings& settings)
    : impl_(std::make_unique<Impl>(comm, std::move(structure), settings)) {}
ChainFactor::~ChainFactor() = default;
ChainFactor::ChainFactor(ChainFactor&&) noexcept = default;

ChainPart& ChainFactor::part() { return impl_->part(); }
const ChainPart& ChainFactor::part() const { return impl_->part(); }

void ChainFactor::factor() {
  Impl& impl = *impl_;
  const ChainPart& a = impl.part();
  CATENA_CHECK(std::ssize(a.diagonal) == a.diagonal_begin.back() &&
                   std::ssize(a.coupling) == a.coupling_begin.back(),
               "chain's numbers do not fit the structure");
  impl.report = {};
  impl.report.regularisation = impl.n > 0 ? kJointRegularisation : 0.0;
  impl.report.flops = impl.cost.factor_flops;
  PivotGuard guard(impl.report);
  if (impl.right_rows > 0)
    std::copy_n(a.coupling.data() + a.coupling_begin[impl.n - 1], impl.last_rows * impl.right_rows,
                impl.couplings->out(1));
  impl.couplings->begin();
  if (impl.grouping == ChainGrouping::body) {
    impl.factor_body(guard);
  } else {
    impl.factor_rank(guard);
  }
  guard.finish();
}

void ChainFactor::solve(std::span<double> x) {
  if (impl_->grouping == ChainGrouping::body) {
    impl_->levels->solve(x);
  } else {
    impl_->solve_rank(x);
  }
}

ChainGrouping ChainFactor::grouping() const { return impl_->grouping; }
const FactorReport& ChainFactor::report() const { return impl_->report; }
const ChainCost& ChainFactor::cost() const { return impl_->cost; }

}  // namespace catena
