// The pivots of BoundedLcp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "catena/math/types.hpp"
#include "solvers/pivoting/bounded_lcp.hpp"

namespace catena {
namespace {

/// Rows appended to the factor at once.
constexpr Eigen::Index kPanel = 64;
/// A flop of a rank-one update costs as much as so many of a blocked factorisation [measured].
constexpr double kUpdateCost = 6.0;
/// Block pivots in a row that may leave the number of wrong rows where it is.
constexpr int kBlockPatience = 6;
/// Single pivots after which x and w are made anew.
constexpr std::int64_t kRefreshInterval = 64;
/// Rounds of single pivots; one is enough but for rounding.
constexpr int kMaxRounds = 6;

}  // namespace

/// Whether a row that is not free asks to move, or a free one has left its bounds.
bool BoundedLcp::is_wrong(Eigen::Index row) const {
  switch (place_[row]) {
    case Place::free:
      return now_.x[row] < now_.lo[row] - now_.tolerance ||
             now_.x[row] > now_.hi[row] + now_.tolerance;
    case Place::lower:
      return now_.w[row] < -now_.tolerance;
    case Place::upper:
      return now_.w[row] > now_.tolerance;
    case Place::between:
      return true;
    case Place::fixed:
      return false;
  }
  return false;
}

void BoundedLcp::append_rows(const std::vector<Index>& rows, LcpResult& result) {
  const Eigen::Index all = free_.order.size() + rows.size();
  free_.factor.reserve(all + (all < n_ && rows.size() > 1 ? (n_ - all) / 4 : 0));
  for (std::size_t begin = 0; begin < rows.size(); begin += kPanel) {
    const std::size_t end = std::min(rows.size(), begin + kPanel);
    const Eigen::Index k = free_.factor.size();
    for (std::size_t r = begin; r < end; ++r) {
      free_.position[rows[r]] = to_index(free_.order.size());
      free_.order.push_back(rows[r]);
    }
    const Eigen::Index height = free_.order.size();
    const Eigen::Index width = end - begin;
    if (free_.panel.rows() < height) free_.panel.resize(std::min(n_, height + height / 2), kPanel);
    auto panel = free_.panel.topLeftCorner(height, width);
    panel.setZero();
    Eigen::Index first = k;
    for (Eigen::Index c = 0; c < panel.cols(); ++c) {
      const std::size_t row = free_.order[k + c];
      for (auto e = a_.row_begin[row]; e < a_.row_begin[row + 1]; ++e) {
        const Index place = free_.position[a_.column[e]];
        if (place < 0) continue;
        panel(place, c) = a_.value[e];
        first = std::min<Eigen::Index>(first, place);
      }
      panel(k + c, c) += settings_.regularisation;
    }
    free_.factor.append(panel, first);
    result.appended_rows += width;
    if (out_of_time(result)) return;
  }
}

/// Makes the factor that of the free rows: removals one by one, or everything behind the first of
/// them anew, whichever is less work.
void BoundedLcp::update_factor(LcpResult& result) {
  std::vector<Eigen::Index> gone;
  double updates = 0.0;
  const Eigen::Index k = free_.factor.size();
  for (Eigen::Index p = 0; p < k; ++p) {
    if (place_[free_.order[p]] == Place::free) continue;
    gone.push_back(p);
    const auto behind = static_cast<double>(k - p);
    updates += 2.0 * kUpdateCost * behind * behind;
  }
  if (!gone.empty()) {
    const auto all = static_cast<double>(k), kept = static_cast<double>(gone.front());
    if (updates > (all * all * all - kept * kept * kept) / 3.0) {
      for (Eigen::Index p = gone.front(); p < k; ++p) free_.position[free_.order[p]] = -1;
      free_.order.resize(gone.front());
      free_.factor.truncate(gone.front());
    } else {
      for (auto p = gone.rbegin(); p != gone.rend() && !out_of_time(result); ++p) {
        free_.factor.remove(*p);
        free_.position[free_.order[*p]] = -1;
        free_.order.erase(free_.order.begin() + *p);
      }
      for (std::size_t p = gone.front(); p < free_.order.size(); ++p)
        free_.position[free_.order[p]] = to_index(p);
      result.removed_rows += std::ssize(gone);
    }
  }
  std::vector<Index> rows;
  for (const Index i : sequence_)
    if (place_[i] == Place::free && free_.position[i] < 0) rows.push_back(i);
  append_rows(rows, result);
}

/// x of the free rows with w = 0 there, and w of all rows.
void BoundedLcp::solve_free() {
  refresh();
  move_.free.resize(free_.factor.size());
  // the second time for what an ill-conditioned factor leaves
  for (int round = 0; round < 2; ++round) {
    double largest = 0.0;
    for (std::size_t p = 0; p < free_.order.size(); ++p) {
      move_.free[p] = -now_.w[free_.order[p]];
      largest = std::max(largest, std::abs(now_.w[free_.order[p]]));
    }
    if (largest <= now_.tolerance) return;
    free_.factor.solve(move_.free);
    for (std::size_t p = 0; p < free_.order.size(); ++p) now_.x[free_.order[p]] += move_.free[p];
    refresh();
  }
}

bool BoundedLcp::block_pivots(LcpResult& result) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  int patience = kBlockPatience;
  std::vector<Place> best = place_;
  while (!out_of_time(result)) {
    update_factor(result);
    solve_free();
    std::int64_t wrong = 0;
    for (Eigen::Index i = 0; i < n_; ++i) wrong += is_wrong(i) ? 1 : 0;
    if (wrong < least) {
      least = wrong;
      patience = kBlockPatience;
      best = place_;
    } else if (--patience < 0) {
      break;
    }
    if (wrong == 0) {
      // within the tolerance outside is outside still
      for (const Index i : free_.order)
        now_.x[i] = std::min(std::max(now_.x[i], now_.lo[i]), now_.hi[i]);
      return true;
    }
    ++result.block_pivots;
    result.exchanges += wrong;
    for (Eigen::Index i = 0; i < n_; ++i) {
      if (!is_wrong(i)) continue;
      Place& place = place_[i];
      if (place != Place::free) {
        place = Place::free;
        continue;
      }
      place = now_.x[i] < now_.lo[i] ? Place::lower : Place::upper;
      now_.x[i] = place == Place::lower ? now_.lo[i] : now_.hi[i];
    }
  }
  place_ = best;
  for (Eigen::Index i = 0; i < n_; ++i) {
    if (place_[i] == Place::lower) now_.x[i] = now_.lo[i];
    if (place_[i] == Place::upper) now_.x[i] = now_.hi[i];
  }
  return false;
}

/// Holds free rows that have left their bounds until none has.
bool BoundedLcp::settle_free(LcpResult& result) {
  while (!out_of_time(result)) {
    update_factor(result);
    solve_free();
    bool held = false;
    for (const Index i : free_.order) {
      if (!is_wrong(i)) continue;
      place_[i] = now_.x[i] < now_.lo[i] ? Place::lower : Place::upper;
      now_.x[i] = place_[i] == Place::lower ? now_.lo[i] : now_.hi[i];
      held = true;
    }
    if (!held) return true;
  }
  return false;
}

void BoundedLcp::free_row(Eigen::Index row, LcpResult& result) {
  place_[row] = Place::free;
  append_rows({to_index(row)}, result);
}

void BoundedLcp::hold_row(Eigen::Index row, Place place, LcpResult& result) {
  place_[row] = place;
  now_.x[row] = place == Place::lower ? now_.lo[row] : now_.hi[row];
  const Index p = free_.position[row];
  if (p < 0) return;
  free_.factor.remove(p);
  free_.position[row] = -1;
  free_.order.erase(free_.order.begin() + p);
  for (std::size_t q = p; q < free_.order.size(); ++q) free_.position[free_.order[q]] = to_index(q);
  ++result.removed_rows;
}

/// The changes of x and w per unit of x of `row`, the free rows following.
void BoundedLcp::find_direction(Eigen::Index row, double sign) {
  // A_CC dx_C = -A_Ci dx_i
  move_.x.setZero();
  move_.x[row] = sign;
  move_.free.setZero(free_.factor.size());
  for (auto e = a_.row_begin[row]; e < a_.row_begin[row + 1]; ++e)
    if (free_.position[a_.column[e]] >= 0)
      move_.free[free_.position[a_.column[e]]] = -sign * a_.value[e];
  free_.factor.solve(move_.free);
  for (std::size_t p = 0; p < free_.order.size(); ++p) move_.x[free_.order[p]] = move_.free[p];
  multiply(move_.x, move_.w);
  move_.w += settings_.regularisation * move_.x;
}

/// How far row i can follow; infinite where it does not mind.
double BoundedLcp::way_to_event(Eigen::Index i) const {
  const double dx = move_.x[i], dw = move_.w[i];
  double way = kInfinity;
  switch (place_[i]) {
    case Place::free:
      if (dx < 0.0) way = (now_.x[i] - now_.lo[i]) / -dx;
      if (dx > 0.0) way = (now_.hi[i] - now_.x[i]) / dx;
      break;
    case Place::lower:
      if (dw < 0.0 && !is_wrong(i)) way = -now_.w[i] / dw;  // a wrong row is next
      break;
    case Place::upper:
      if (dw > 0.0 && !is_wrong(i)) way = -now_.w[i] / dw;
      break;
    case Place::between:
    case Place::fixed:
      break;
  }
  return std::max(way, 0.0);
}

/// Moves x of a wrong row against its w, rows that are right staying right, until w = 0 or x is at
/// the bound. False: stopped, no end to the way, or more than `most` pivots (under round-off rows
/// can take turns for ever).
bool BoundedLcp::drive(Eigen::Index row, std::int64_t most, LcpResult& result) {
  const double sign = now_.w[row] < 0.0 ? 1.0 : -1.0;
  while (result.pivots < most && !out_of_time(result)) {
    ++result.pivots;
    find_direction(row, sign);
    // the first event along the way; ties: the driven row, then the least one
    const double curvature = sign * move_.w[row];
    const double to_bound = sign > 0.0 ? now_.hi[row] - now_.x[row] : now_.x[row] - now_.lo[row];
    const double to_zero =
        curvature > 0.0 ? std::max(0.0, -sign * now_.w[row]) / curvature : kInfinity;
    double step = std::min(to_bound, to_zero);
    Eigen::Index blocking = row;
    for (Eigen::Index i = 0; i < n_; ++i) {
      const double way = i == row ? kInfinity : way_to_event(i);
      if (way >= step) continue;
      step = way;
      blocking = i;
    }
    if (std::isinf(step)) {
      result.end = LcpEnd::no_solution;
      return false;
    }
    now_.x += step * move_.x;
    now_.w += step * move_.w;
    if (blocking == row) {
      if (to_zero <= to_bound)
        free_row(row, result);
      else
        hold_row(row, sign > 0.0 ? Place::upper : Place::lower, result);
      return true;
    }
    if (place_[blocking] == Place::free)
      hold_row(blocking, move_.x[blocking] < 0.0 ? Place::lower : Place::upper, result);
    else
      free_row(blocking, result);
    if (result.pivots % kRefreshInterval == 0) solve_free();
  }
  return false;
}

bool BoundedLcp::single_pivots(LcpResult& result) {
  // no more than a few times what nearly all problems take
  const std::int64_t most = result.pivots + 50 * n_ + 1000;
  for (int round = 0; round < kMaxRounds; ++round) {
    if (!settle_free(result)) return false;
    bool wrong = false;
    for (Eigen::Index i = 0; i < n_; ++i) {
      if (!is_wrong(i)) continue;
      wrong = true;
      if (!drive(i, most, result)) return false;
    }
    if (!wrong) {
      for (const Index i : free_.order)
        now_.x[i] = std::min(std::max(now_.x[i], now_.lo[i]), now_.hi[i]);
      return true;
    }
  }
  return false;
}

}  // namespace catena
