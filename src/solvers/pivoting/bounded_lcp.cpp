#include "solvers/pivoting/bounded_lcp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace catena {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
/// What is aimed at, as a part of the largest |b|.
constexpr double kGoal = 1e-14;
/// What counts as solved.
constexpr double kSolved = 1e-13;
/// Columns of a response solved at once.
constexpr Eigen::Index kColumns = 64;
/// A residual above this is no round-off any more: rows contradict each other.
constexpr double kContradicts = 1e-7;
/// Proximal steps; each without new pivots costs one solve with the factor.
constexpr int kMaxRefinements = 30;
/// Such steps in a row that may not halve the residual.
constexpr int kPatience = 4;

double clamp(double x, double lo, double hi) { return std::min(std::max(x, lo), hi); }

}  // namespace

BoundedLcp::BoundedLcp(const SymmetricRows& a, const LcpSettings& settings)
    : settings_(settings),
      n_(a.size()),
      free_{LdlFactor(0.5 * settings.regularisation + kEps), {}, {}, {}} {
  scale(a);
  find_sequence();
  place_.assign(n_, Place::between);
  free_.position.assign(n_, -1);
  for (Vector* v : {&now_.b, &now_.lo, &now_.hi, &now_.x, &now_.w, &now_.shift, &move_.x, &move_.w})
    v->setZero(n_);
}

void BoundedLcp::scale(const SymmetricRows& a) {
  a_ = a;
  scale_.setZero(n_);
  for (Eigen::Index i = 0; i < n_; ++i)
    for (auto e = a.row_begin[i]; e < a.row_begin[i + 1]; ++e)
      if (a.column[e] == i && a.value[e] > 0.0) scale_[i] = 1.0 / std::sqrt(a.value[e]);
  for (Eigen::Index i = 0; i < n_; ++i)
    for (auto e = a.row_begin[i]; e < a.row_begin[i + 1]; ++e)
      a_.value[e] *= scale_[i] * scale_[a.column[e]];
}

/// Cuthill and McKee's order: breadth first from a row of few neighbours, neighbours of few first.
/// Rows of the factor then begin with zeros, which append passes over.
void BoundedLcp::find_sequence() {
  const auto degree = [&](Index i) { return a_.row_begin[i + 1] - a_.row_begin[i]; };
  const auto fewer = [&](Index i, Index j) {
    return degree(i) != degree(j) ? degree(i) < degree(j) : i < j;
  };
  std::vector<Index> starts(n_);
  std::iota(starts.begin(), starts.end(), Index{0});
  std::sort(starts.begin(), starts.end(), fewer);
  std::vector<std::uint8_t> seen(n_, 0);
  for (const Index start : starts) {
    if (seen[start] != 0) continue;
    seen[start] = 1;
    sequence_.push_back(start);
    for (std::size_t head = sequence_.size() - 1; head < sequence_.size(); ++head) {
      const std::size_t row = sequence_[head];
      const auto found = sequence_.size();
      for (auto e = a_.row_begin[row]; e < a_.row_begin[row + 1]; ++e) {
        if (seen[a_.column[e]] != 0) continue;
        seen[a_.column[e]] = 1;
        sequence_.push_back(a_.column[e]);
      }
      std::sort(sequence_.begin() + found, sequence_.end(), fewer);
    }
  }
}

void BoundedLcp::replace(const SymmetricRows& a) {
  scale(a);
  free_.factor.truncate(0);
  for (const Index row : free_.order) free_.position[row] = -1;
  free_.order.clear();
}

double BoundedLcp::row_product(Eigen::Index row, const Vector& v) const {
  double sum = 0.0;
  for (auto e = a_.row_begin[row]; e < a_.row_begin[row + 1]; ++e)
    sum += a_.value[e] * v[a_.column[e]];
  return sum;
}

void BoundedLcp::multiply(const Vector& v, Vector& y) const {
  for (Eigen::Index i = 0; i < n_; ++i) y[i] = row_product(i, v);
}

void BoundedLcp::refresh() {
  multiply(now_.x, now_.w);
  now_.w += now_.shift + settings_.regularisation * now_.x;
}

bool BoundedLcp::out_of_time(LcpResult& result) const {
  if (settings_.progress) settings_.progress(result, free_.factor.size());
  if (!result.stopped && settings_.stop && settings_.stop()) result.stopped = true;
  return result.stopped;
}

/// No more than a small part of what a factorisation costs.
int BoundedLcp::sweeps() const {
  const double n = static_cast<double>(n_);
  const double entries = static_cast<double>(std::max<std::size_t>(a_.value.size(), 1));
  return std::min(settings_.sweeps, static_cast<int>(n * n * n / (10.0 * entries)) + 2);
}

/// Projected Gauss-Seidel, forward and backward in turns.
void BoundedLcp::sweep(int sweeps) {
  for (int s = 0; s < sweeps && !(settings_.stop && settings_.stop()); ++s)
    for (Eigen::Index step = 0; step < n_; ++step) {
      const Eigen::Index i = s % 2 == 0 ? step : n_ - 1 - step;
      if (!(scale_[i] > 0.0)) continue;
      now_.x[i] = clamp(now_.x[i] - row_product(i, now_.x) - now_.b[i], now_.lo[i], now_.hi[i]);
    }
}

void BoundedLcp::guess_places() {
  for (Eigen::Index i = 0; i < n_; ++i) {
    Place& place = place_[i];
    if (!(scale_[i] > 0.0) || now_.lo[i] == now_.hi[i]) {
      place = Place::fixed;
      continue;
    }
    const bool unbounded = std::isinf(now_.lo[i]) && std::isinf(now_.hi[i]);
    if (!warm_ || place == Place::fixed) {
      place = Place::between;
      if (now_.x[i] == now_.lo[i]) place = Place::lower;
      if (now_.x[i] == now_.hi[i]) place = Place::upper;
      if (place == Place::between && settings_.block_pivots) place = Place::free;
    }
    if ((place == Place::lower && std::isinf(now_.lo[i])) ||
        (place == Place::upper && std::isinf(now_.hi[i])) || unbounded)
      place = Place::free;
    if (place == Place::lower) now_.x[i] = now_.lo[i];
    if (place == Place::upper) now_.x[i] = now_.hi[i];
  }
}

/// Largest |x - P(x - w)| with the true A and b.
double BoundedLcp::residual() {
  multiply(now_.x, now_.w);
  now_.w += now_.b;
  double largest = 0.0;
  for (Eigen::Index i = 0; i < n_; ++i)
    if (scale_[i] > 0.0)
      largest = std::max(
          largest, std::abs(now_.x[i] - clamp(now_.x[i] - now_.w[i], now_.lo[i], now_.hi[i])));
  return largest;
}

bool BoundedLcp::run_pivots(LcpResult& result) {
  if (settings_.block_pivots && block_pivots(result)) return true;
  return !result.stopped && single_pivots(result);
}

int BoundedLcp::held(Eigen::Index row) const {
  if (place_[row] == Place::upper) return 1;
  return place_[row] == Place::lower ? -1 : 0;
}

Eigen::MatrixXd BoundedLcp::response(
    const std::vector<std::vector<std::pair<Eigen::Index, double>>>& moves) const {
  const Eigen::Index columns = moves.size();
  Eigen::MatrixXd part = Eigen::MatrixXd::Zero(free_.factor.size(), columns);
  for (Eigen::Index c = 0; c < columns; ++c)
    for (const auto& [row, amount] : moves[c])
      for (auto e = a_.row_begin[row]; e < a_.row_begin[row + 1]; ++e)
        if (const Index p = free_.position[a_.column[e]]; p >= 0)
          part(p, c) -= a_.value[e] * amount / scale_[row];
  for (Eigen::Index c = 0; c < columns; c += kColumns) {
    if (settings_.stop && settings_.stop()) return {};
    Eigen::MatrixXd some = part.middleCols(c, std::min(kColumns, columns - c));
    free_.factor.solve_columns(some);
    part.middleCols(c, some.cols()) = some;
  }
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(n_, columns);
  for (Eigen::Index p = 0; p < free_.factor.size(); ++p)
    out.row(free_.order[p]) = scale_[free_.order[p]] * part.row(p);
  return out;
}

LcpResult BoundedLcp::solve(const Vector& b, const Vector& lo, const Vector& hi, Vector& x) {
  LcpResult result;
  for (Eigen::Index i = 0; i < n_; ++i) {
    const double s = scale_[i];
    const double unit = s > 0.0 ? 1.0 / s : 1.0;
    now_.b[i] = s * b[i];
    now_.lo[i] = lo[i] * unit;
    now_.hi[i] = hi[i] * unit;
    now_.x[i] = clamp(s > 0.0 ? x[i] * unit : 0.0, now_.lo[i], now_.hi[i]);
  }
  const double size = n_ > 0 ? now_.b.cwiseAbs().maxCoeff() : 0.0;
  // rows that the last solve had no choice for are guessed anew
  std::int64_t unknown = 0;
  for (Eigen::Index i = 0; i < n_; ++i)
    unknown += place_[i] == Place::fixed && scale_[i] > 0.0 && now_.lo[i] < now_.hi[i] ? 1 : 0;
  if (!warm_ || 8 * unknown > n_) {
    std::fill(place_.begin(), place_.end(), Place::between);
    warm_ = false;
    sweep(sweeps());
  }
  guess_places();
  warm_ = true;
  Vector best = now_.x;
  double least = std::numeric_limits<double>::infinity();
  int in_vain = 0;
  for (int step = 0; step <= kMaxRefinements && !result.stopped; ++step) {
    now_.shift = now_.b - settings_.regularisation * now_.x;
    // w is rounded to this much whatever x is
    const double rounding = kEps * (4.0 * size + 8.0 * now_.x.cwiseAbs().maxCoeff());
    now_.tolerance = std::max(kGoal * size, rounding);
    result.end = LcpEnd::pivot_limit;
    const bool settled = run_pivots(result);
    const double found = residual();
    result.solved = settled && found <= std::max(kSolved * size, rounding);
    if (settled)
      result.end = result.solved                  ? LcpEnd::solved
                   : found <= kContradicts * size ? LcpEnd::round_off
                                                  : LcpEnd::no_solution;
    if (result.stopped) result.end = LcpEnd::stopped;
    in_vain = found < 0.5 * least ? 0 : in_vain + 1;
    if (found < least) {
      least = found;
      best = now_.x;
    }
    if (found <= now_.tolerance || in_vain >= kPatience) break;
    ++result.refinements;
  }
  now_.x = best;
  result.residual = size > 0.0 ? least / size : least;
  if (free_.factor.size() > 0) result.smallest_pivot = free_.factor.pivots().minCoeff();
  for (Eigen::Index i = 0; i < n_; ++i)
    x[i] = clamp(scale_[i] > 0.0 ? now_.x[i] * scale_[i] : now_.x[i], lo[i], hi[i]);
  return result;
}

}  // namespace catena
