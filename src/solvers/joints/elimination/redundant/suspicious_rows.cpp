#include "solvers/joints/elimination/redundant/suspicious_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>

#include "catena/base/error.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "solvers/joints/elimination/redundant/null_values.hpp"
#include "solvers/joints/elimination/row_products.hpp"

namespace catena {
namespace {

constexpr std::size_t kMostDoubtful = 4;
/// A row may be redundant where pivots are below this without regularisation: round-off leaves a
/// redundant row's pivot some 1e-15, over the square of its part in the null vector. In long loops
/// that part is small, and round-off adds up: of n rows, as n^(3/2).
constexpr double kClear = 1e-9;
/// x^T A x of unit vectors, as a sum of squares, up to which A^-1 has met a null vector: round-off
/// of the factor, and of what it leaves of other vectors, stays below it.
constexpr double kMetNull = 1e-14;
constexpr std::uint64_t kSeedOfDirection = 11;
constexpr double kClearPerRow = 1e-12;
/// candidates^2 rows up to which null vectors are sought anew at every factorisation: some 10 ms.
constexpr double kMaxWork = 1e6;

}  // namespace

SuspiciousRows::SuspiciousRows(const MechanismRows& structure, OwnRows& rows)
    : rows_(&rows),
      tree_held_once_(
          trees_held_once(structure, rows.mechanism(), rows.n_mechanisms(), rows.guests())),
      clear_(kClear),
      pivot_(rows.size(), 1.0),
      genuine_(rows.n_mechanisms(), kSuspicious) {
  std::vector<double> looped(rows.n_mechanisms(), 0.0);
  for (const Index m : rows.mechanism())
    if (tree_held_once_[m] == 0) looped[m] += 1.0;
  for (const double n : looped)
    clear_ = std::max(clear_, kClearPerRow * (rows.guests() ? std::min(n, 1.0) * rows.all() : n));
  clear_ = rows.largest(clear_);
}

void SuspiciousRows::forget() { std::ranges::fill(genuine_, kSuspicious); }

bool SuspiciousRows::are_too_many() const {
  const auto k = static_cast<double>(most_);
  return k * k * rows_->all() > kMaxWork;
}

void SuspiciousRows::read_pivots(const RegularisedFactor& factor) {
  factor.cholesky().pivots(pivot_);
  smallest_.assign(rows_->n_mechanisms(), 1.0);
  for (std::size_t i = 0; i < pivot_.size(); ++i) {
    pivot_[i] /= rows_->diagonal()[i];
    double& smallest = smallest_[rows_->mechanism()[i]];
    smallest = std::min(smallest, pivot_[i]);
  }
  smallest_pivot_ = 1.0;
  for (double& smallest : smallest_) {
    smallest = -rows_->largest(-smallest);
    smallest_pivot_ = std::min(smallest_pivot_, smallest);
  }
}

/// Collective where there are guests. No candidates of mechanisms whose rows are independent,
/// however small their pivots: the arms of a tree may be so long, and what hangs on them so heavy,
/// that pivots are as small against the diagonal as the regularisation.
void SuspiciousRows::pass_independent(const MechanismRows& joints) {
  std::vector<char> independent(rows_->n_mechanisms());
  for (std::size_t m = 0; m < independent.size(); ++m)
    independent[m] = tree_held_once_[m] != 0 && rows_->any(!candidates_[m].empty()) ? 1 : 0;
  if (std::ranges::count(independent, 1) == 0) return;
  const std::span<const Index> row_begin = rows_->row_begin();
  for (std::size_t k = 0; k + 1 < row_begin.size(); ++k) {
    char& all = independent[rows_->mechanism()[row_begin[k]]];
    if (all != 0 && !moves_each_body(joints, to_index(k))) all = 0;
  }
  for (std::size_t m = 0; m < independent.size(); ++m)
    if (!rows_->any(independent[m] == 0)) candidates_[m].clear();
}

bool SuspiciousRows::may_be_clear(const MechanismRows& joints) const {
  return smallest_pivot_ > std::max(clear_, 10.0 * null_by_misfit(joints.misfit));
}

bool SuspiciousRows::find_none(const MechanismRows& joints, RegularisedFactor& factor) {
  read_pivots(factor);
  candidates_.assign(rows_->n_mechanisms(), {});
  most_ = 0;
  return may_be_clear(joints) && !any_null(joints, factor);
}

/// Collective where there are guests. Whether A^-1 takes a random vector to a null one of some
/// mechanism with doubtful pivots: these alone do not tell of a null vector with little on the rows
/// that come last.
bool SuspiciousRows::any_null(const MechanismRows& joints, RegularisedFactor& factor) {
  std::vector<Index> asked(smallest_.size());
  for (std::size_t m = 0; m < asked.size(); ++m)
    asked[m] = tree_held_once_[m] == 0 && smallest_[m] < kDoubtful ? 1 : 0;
  if (std::ranges::count(asked, 1) == 0) return false;
  std::vector<std::vector<double>> x = {rows_->random_direction(kSeedOfDirection)};
  for (std::size_t r = 0; r < x[0].size(); ++r) x[0][r] *= rows_->diagonal()[r];
  factor.solve(x[0]);
  const std::vector<std::vector<double>> energy = rows_->products(joints, x, asked);
  std::vector<double> weighted = x[0];
  for (std::size_t r = 0; r < weighted.size(); ++r) weighted[r] *= rows_->diagonal()[r];
  const std::span<const double> square = rows_->products(weighted, x[0]);
  bool any = false;
  for (std::size_t m = 0; m < asked.size(); ++m)
    any |= asked[m] != 0 && !(energy[m][0] > kMetNull * square[m]);
  return any;
}

void SuspiciousRows::find(const MechanismRows& joints, const RegularisedFactor& factor) {
  read_pivots(factor);
  candidates_.assign(rows_->n_mechanisms(), {});
  most_ = 0;
  const double suspicious = std::max(kSuspicious, 10.0 * null_by_misfit(joints.misfit));
  if (std::ranges::equal(smallest_, genuine_, std::greater_equal())) return;
  for (std::size_t i = 0; i < pivot_.size(); ++i) {
    const Index m = rows_->mechanism()[i];
    if (smallest_[m] < genuine_[m] && pivot_[i] < std::max(suspicious, kDoubtful))
      candidates_[m].push_back(to_index(i));
  }
  pass_independent(joints);
  for (std::vector<Index>& rows : candidates_) {
    std::ranges::stable_sort(rows, [this](Index a, Index b) { return pivot_[a] < pivot_[b]; });
    const auto end = std::find_if(rows.begin(), rows.end(),
                                  [&](Index row) { return !(pivot_[row] < suspicious); });
    const std::size_t n = end - rows.begin();
    if (rows_->guests()) {
      gather(n);
      continue;
    }
    rows.resize(n == 0 ? 0 : std::min(rows.size(), n + kMostDoubtful));
    most_ = std::max(most_, rows.size());
  }
  std::vector<char> asked(rows_->n_mechanisms());
  for (std::size_t m = 0; m < asked.size(); ++m) asked[m] = !candidates_[m].empty();
  note_genuine(asked);
}

void SuspiciousRows::note_genuine(std::span<const char> but) {
  for (std::size_t m = 0; m < but.size(); ++m)
    if (!rows_->any(but[m] != 0) && smallest_[m] < genuine_[m]) genuine_[m] = 0.3 * smallest_[m];
}

/// Collective. Candidates of all ranks in one order, unless they are too many for null vectors; the
/// first `suspicious` of those here are more than doubtful.
void SuspiciousRows::gather(std::size_t suspicious) {
  const Communicator& comm = rows_->guests()->comm();
  std::vector<Index>& rows = candidates_[0];
  const std::size_t all = comm.sum(narrow<std::int64_t>(suspicious));
  most_ = all == 0 ? 0 : all + kMostDoubtful;
  if (all == 0 || are_too_many()) {
    rows.resize(suspicious);
    return;
  }
  rows.resize(std::min(rows.size(), suspicious + kMostDoubtful));
  struct Candidate {
    double pivot;
    std::int64_t name;
    Index row_of_block;
    int rank;
    Index row;
  };
  std::vector<Candidate> own;
  const std::span<const Index> row_begin = rows_->row_begin();
  for (const Index row : rows) {
    const auto k = std::ranges::upper_bound(row_begin, row) - row_begin.begin() - 1;
    own.push_back({pivot_[row], rows_->name()[k], row - row_begin[k], comm.rank(), row});
  }
  own = all_gather_values(comm, own);
  std::ranges::sort(own, {},
                    [](const Candidate& c) { return std::tuple(c.pivot, c.name, c.row_of_block); });
  if (own.size() > most_) own.resize(most_);
  most_ = own.size();
  rows.clear();
  for (const Candidate& c : own) rows.push_back(c.rank == comm.rank() ? c.row : kNoIndex);
}

}  // namespace catena
