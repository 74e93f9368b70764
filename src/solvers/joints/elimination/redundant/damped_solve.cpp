#include "solvers/joints/elimination/redundant/damped_solve.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "solvers/joints/elimination/redundant/null_values.hpp"

namespace catena {
namespace {

/// More candidates than these, each of which takes ten solves, are projected out without null
/// vectors where that is possible.
constexpr std::size_t kFewCandidates = 5;
/// Pivots of such rows are below this, of epsilon: 1/n_r^2 of their null vectors.
constexpr double kSmallPivot = 300.0;
constexpr std::uint64_t kSeedOfDirections = 7;
/// Times that contradictions are taken out of b at most, and twice that those and moves of x.
constexpr int kMostTaken = 4;
constexpr int kTerms = 8;

}  // namespace

bool DampedSolve::is_possible(const MechanismRows& joints, const SuspiciousRows& suspicious) {
  return rows_->n_mechanisms() == 1 && suspicious.most() > kFewCandidates && !rows_->has_drives() &&
         !stalled_ && !joints.ordered && !factor_->cholesky().costly_pivots() &&
         !rows_->any(factor_->cholesky().raised() > 0) && have_small_pivots(suspicious) &&
         is_distinct(joints, suspicious);
}

/// Collective where there are guests. Whether all candidates have pivots of the regularisation's
/// size, so that they are the redundant rows: none is small for another reason, which the spectrum
/// would have to tell.
bool DampedSolve::have_small_pivots(const SuspiciousRows& suspicious) const {
  return !rows_->any(!std::ranges::all_of(suspicious.candidates()[0], [&](Index row) {
    return row == kNoIndex || suspicious.pivots()[row] < kSmallPivot * factor_->epsilon();
  }));
}

/// Collective where there are guests. Whether what the regularisation takes for null is null,
/// whichever vectors those are. Asked of two combinations of them, theta of random vectors that are
/// the same on any ranks: a direction of the value sigma adds sigma theta^2 times the square of its
/// part, 1 in the mean as of each null vector, and shows between kNull and epsilon^2/kNull.
bool DampedSolve::is_distinct(const MechanismRows& joints, const SuspiciousRows& suspicious) {
  std::vector<std::vector<double>> x(2);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = rows_->random_direction(kSeedOfDirections + i);
    factor_->damp(x[i]);
  }
  const Index count = to_index(x.size());
  const std::vector<double> product = rows_->products(joints, x, {&count, 1})[0];
  const auto null = static_cast<double>(suspicious.most());
  bool all = true;
  for (std::size_t i = 0; i < x.size(); ++i)
    all &= product[i * (x.size() + 1)] <= kNull * rows_->square_of(x[i]) / null;
  return all;
}

/// x <- (A + E)^-1 (1 - theta^T)^n x, with n as long as that finds less and less of what is
/// contradictory, and would be large against x over epsilon. Returns n; asked_ is then what was
/// taken out.
int DampedSolve::take_contradictions(std::span<double> x) {
  constexpr double kSmall = 1e-10, kFalls = 0.25;
  b_.assign(x.begin(), x.end());
  asked_ = b_;
  delta_.resize(x.size());
  int n = 0;
  double least = std::numeric_limits<double>::infinity();
  while (true) {
    factor_->solve(x);
    for (std::size_t i = 0; i < x.size(); ++i) delta_[i] = factor_->added()[i] * x[i];
    const double found = rows_->energy_of(delta_);
    // what does not fall is no contradiction: theta of soft directions
    if (n == kMostTaken || found <= kSmall * kSmall * rows_->energy_of(b_) ||
        !(found < kFalls * kFalls * least))
      break;
    least = found;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = b_[i] -= delta_[i];
    ++n;
  }
  for (std::size_t i = 0; i < x.size(); ++i) asked_[i] -= b_[i];
  return n;
}

/// Of asked_, which also holds what soft directions have lost, a part theta of theirs that the
/// series gives back. theta leaves round-off over epsilon of null vectors, so what it leaves is
/// looked through again.
double DampedSolve::energy_taken() {
  constexpr int kLooks = 3;
  std::vector<double> null(asked_.size(), 0.0);
  for (int round = 0; round < kLooks; ++round) {
    std::copy(asked_.begin(), asked_.end(), delta_.begin());
    factor_->solve(delta_);
    for (std::size_t i = 0; i < delta_.size(); ++i) {
      delta_[i] *= factor_->added()[i];
      null[i] += delta_[i];
      asked_[i] -= delta_[i];
    }
  }
  return rows_->energy_of(null);
}

/// 1 - theta takes null vectors out but for round-off over epsilon. It is applied to b, and to x
/// until it changes nothing; the series of (1 - theta)^-(n + 1) gives back what all other vectors
/// have lost by n times of it and by the solve.
double DampedSolve::solve(std::span<double> x) {
  constexpr double kTaken = 1e-6, kSettled = 1e-3;
  int n = take_contradictions(x);
  const double contradiction = n > 0 ? energy_taken() : 0.0;
  bool large = true;
  for (; large && n < 2 * kMostTaken; ++n) {
    std::copy(x.begin(), x.end(), delta_.begin());
    factor_->damp(delta_);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= delta_[i];
    large = rows_->square_of(delta_) > kTaken * kTaken * rows_->square_of(x);
  }
  stalled_ |= large;
  std::copy(x.begin(), x.end(), delta_.begin());
  const double size = std::sqrt(rows_->square_of(x));
  double before = 0.0, change = 0.0, weight = 1.0;
  for (int round = 1; round <= kTerms; ++round) {
    factor_->damp(delta_);
    weight *= static_cast<double>(n + round) / round;
    change = weight * std::sqrt(rows_->square_of(delta_));
    // what is left of null vectors: round-off
    if (round > 1 && !(change < 0.9 * before)) break;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += weight * delta_[i];
    before = change;
    if (factor_->epsilon() * change <= 1e-16 * size) break;
  }
  stalled_ |= change > kSettled * size;
  return contradiction;
}

}  // namespace catena
