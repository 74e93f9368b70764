#include "solvers/joints/chain/chain_factor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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
  bool whole = false;             ///< no chain ends between its blocks
  bool right = false;             ///< its last block has a coupling
  double cubes = 0.0;             ///< sum of rows^3
  std::int64_t through_rows = 0;  ///< of its first segment's separator, if no chain ends in that
};

Index rows_of(const ChainPart& part, Index i) { return part.row_begin[i + 1] - part.row_begin[i]; }

bool coupled(const ChainPart& part, Index i) {
  return part.coupling_begin[i] != part.coupling_begin[i + 1];
}

/// Where the segments begin that grouping by rank or piece makes of a part; its end last.
std::vector<Index> segment_begins(const ChainPart& part) {
  std::vector<Index> begin = {0};
  begin.insert(begin.end(), part.piece_begin.begin(), part.piece_begin.end());
  begin.push_back(part.size());
  return begin;
}

/// The structure of blocks [first, end) of a part.
ChainPart structure_of(const ChainPart& part, Index first, Index end) {
  ChainPart piece;
  for (Index i = first; i < end; ++i) {
    piece.name.push_back(part.name[i]);
    piece.row_begin.push_back(part.row_begin[i + 1] - part.row_begin[first]);
    piece.diagonal_begin.push_back(part.diagonal_begin[i + 1] - part.diagonal_begin[first]);
    piece.coupling_begin.push_back(part.coupling_begin[i + 1] - part.coupling_begin[first]);
  }
  return piece;
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
  Index last = 0;
  for (const Index begin : part.piece_begin) {
    CATENA_CHECK(begin > last && begin < part.size() && coupled(part, begin - 1),
                 "chain's pieces do not ascend, or begin where nothing is coupled");
    last = begin;
  }
}

std::vector<RankEnds> ends_of_all(const Communicator& comm, const ChainPart& part) {
  const Index n = part.size();
  std::int64_t mine[7] = {n, 0, 0, 1, 0, 0, 0};
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
  const Index end = segment_begins(part)[1];
  Index whole = 0;
  while (whole < end && coupled(part, whole)) ++whole;
  if (n > 0 && whole == end) mine[6] = rows_of(part, end - 1);
  const std::vector<std::int64_t> all = comm.all_gather(std::span<const std::int64_t>(mine));
  std::vector<RankEnds> ends;
  for (std::size_t k = 0; k < all.size(); k += 7)
    ends.push_back({all[k], all[k + 1], all[k + 2], all[k + 3] != 0, all[k + 4] != 0,
                    static_cast<double>(all[k + 5]), all[k + 6]});
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
  ChainPart& part() {
    if (segments.empty()) return levels->first().part;
    return segments.size() == 1 ? segments.front().part() : whole;
  }
  /// Rows of `x` that are segment k's.
  std::span<double> rows_in(std::span<double> x, std::size_t k) {
    const Index first = part().row_begin[begin[k]];
    return x.subspan(first, part().row_begin[begin[k + 1]] - first);
  }
  void take_numbers();
  void factor_body(PivotGuard& guard);
  void factor_rank(PivotGuard& guard);
  void solve_rank(std::span<double> x);

  ChainGrouping grouping = ChainGrouping::rank;
  Index n = 0;
  Index first_rows = 0, last_rows = 0;
  Index left_rows = 0;   ///< of the block before the first one, if coupled; else 0
  Index right_rows = 0;  ///< of the next rank's first block, if coupled
  Index reach_rows = 0;  ///< grouping rank, piece: of the next rank's first separator, if coupled
  std::optional<PathMessages> couplings, updates, forward, backward;
  // grouping rank, piece: all segments but the last one have a separator, it too if right_rows > 0
  std::vector<ChainSegment> segments;
  std::vector<Index> begin;           ///< of segments, blocks; the part's end last
  ChainPart whole;                    ///< of several segments: the part
  std::vector<double> separators;     ///< right-hand side of the interface system
  std::optional<ChainLevels> levels;  ///< of all blocks, or of the separators
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
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  begin = segment_begins(structure);
  const std::size_t n_segments = begin.size() - 1;
  const auto has_separator = [&](std::size_t k) { return k + 1 < n_segments || right_rows > 0; };
  const auto separator_rows = [&](std::size_t k) { return rows_of(structure, begin[k + 1] - 1); };
  segments.reserve(n_segments);
  for (std::size_t k = 0; k < n_segments; ++k)
    segments.emplace_back(structure_of(structure, begin[k], begin[k + 1]),
                          k == 0 ? left_rows : separator_rows(k - 1), has_separator(k));
  // separators are coupled through the segment between them if that is inner
  if (right_rows > 0) reach_rows = to_index(ends[after].through_rows);
  ChainPart interface;
  for (std::size_t k = 0; k < n_segments; ++k) {
    cost.factor_flops += segments[k].factor_flops();
    cost.solve_flops += segments[k].solve_flops();
    if (!has_separator(k)) continue;
    const Index m = separator_rows(k);
    Index next = reach_rows;
    if (k + 1 < n_segments) next = segments[k + 1].inner() ? separator_rows(k + 1) : 0;
    interface.row_begin.push_back(interface.row_begin.back() + m);
    interface.diagonal_begin.push_back(interface.diagonal_begin.back() + m * m);
    interface.coupling_begin.push_back(interface.coupling_begin.back() + m * next);
    interface.name.push_back(structure.name[begin[k + 1] - 1]);
  }
  separators.resize(interface.row_begin.back());
  levels.emplace(comm, interface, grouping == ChainGrouping::piece ? kAll : 1);

  const int before = nearest(ends, comm.rank(), -1);
  const Index through = segments.front().inner() ? left_rows * separator_rows(0) : 0;
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
  if (n_segments == 1) return;
  whole = std::move(structure);
  whole.diagonal.resize(whole.diagonal_begin.back());
  whole.coupling.resize(whole.coupling_begin.back());
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

/// Gives several segments their numbers.
void ChainFactor::Impl::take_numbers() {
  if (segments.size() == 1) return;
  for (std::size_t k = 0; k < segments.size(); ++k) {
    ChainPart& own = segments[k].part();
    std::copy_n(whole.diagonal.begin() + whole.diagonal_begin[begin[k]], own.diagonal.size(),
                own.diagonal.begin());
    std::copy_n(whole.coupling.begin() + whole.coupling_begin[begin[k]], own.coupling.size(),
                own.coupling.begin());
  }
}

void ChainFactor::Impl::factor_rank(PivotGuard& guard) {
  LevelBlocks& interface = levels->first();
  const ChainPart& among = interface.part;
  take_numbers();
  for (Index k = 0; k < among.size(); ++k) {
    const double* separator = segments[k].separator_block();
    const Index m = rows_of(among, k);
    for (Index j = 0; j < m; ++j)
      interface.scale[among.row_begin[k] + j] = separator[j * m + j] * (1.0 + kJointRegularisation);
  }
  couplings->end();
  for (std::size_t k = 0; k < segments.size(); ++k) {
    const double* coupling = couplings->in(0);
    if (k > 0) coupling = whole.coupling.data() + whole.coupling_begin[begin[k] - 1];
    segments[k].factor({}, kJointRegularisation, coupling, guard);
  }
  const ChainSegment& first = segments.front();
  if (left_rows > 0) {
    double* out = updates->out(0);
    out = std::copy(first.left_update().begin(), first.left_update().end(), out);
    std::copy(first.reduced_coupling().begin(), first.reduced_coupling().end(), out);
  }
  updates->begin();
  updates->end();
  for (Index k = 0; k < among.size(); ++k) {
    const bool here = k + 1 < std::ssize(segments);
    const Index m = rows_of(among, k);
    const double* update = here ? segments[k + 1].left_update().data() : updates->in(1);
    const double* further = here ? segments[k + 1].reduced_coupling().data() : update + m * m;
    const double* block = segments[k].separator_block();
    double* diagonal = interface.part.diagonal.data() + among.diagonal_begin[k];
    for (Index j = 0; j < m * m; ++j) diagonal[j] = block[j] + update[j];
    std::copy_n(further, among.coupling_begin[k + 1] - among.coupling_begin[k],
                interface.part.coupling.data() + among.coupling_begin[k]);
  }
  if (first.inner()) interface.left = first.reduced_coupling();
  levels->factor(guard);
}

void ChainFactor::Impl::solve_rank(std::span<double> x) {
  CATENA_CHECK(std::ssize(x) == part().row_begin.back(), "right-hand side does not fit the chain");
  const ChainPart& among = levels->first().part;
  const auto separator = [&](std::size_t k) {
    const Index m = rows_of(among, to_index(k));
    return rows_in(x, k).last(m);
  };
  double from_next[kMaxBlockRows];
  segments.front().forward(rows_in(x, 0), forward->out(0));
  forward->begin();
  for (std::size_t k = 1; k < segments.size(); ++k) {
    segments[k].forward(rows_in(x, k), from_next);
    const std::span<double> before = separator(k - 1);
    for (std::size_t j = 0; j < before.size(); ++j) before[j] += from_next[j];
  }
  forward->end();
  if (right_rows > 0) {
    const std::span<double> last = x.last(last_rows);
    for (std::size_t j = 0; j < last.size(); ++j) last[j] += forward->in(1)[j];
  }
  for (Index k = 0; k < among.size(); ++k)
    std::ranges::copy(separator(k), separators.begin() + among.row_begin[k]);
  levels->solve(separators);
  for (Index k = 0; k < among.size(); ++k)
    std::copy_n(separators.begin() + among.row_begin[k], rows_of(among, k), separator(k).begin());
  if (right_rows > 0) std::ranges::copy(x.last(last_rows), backward->out(1));
  backward->begin();
  backward->end();
  for (std::size_t k = 0; k < segments.size(); ++k)
    segments[k].backward(rows_in(x, k), k == 0 ? backward->in(0) : separator(k - 1).data());
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
