#include "solvers/newton/proximal_newton_steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace catena {
namespace {

constexpr double kFirstWeight = 1e-3, kMinWeight = 1e-11, kLargestWeight = 1e4;
/// Newton steps that a proximal problem gets.
constexpr int kStepsEach = 25;
/// A proximal problem is solved when |F| has fallen by this factor.
constexpr double kReduction = 0.1;
/// Newton steps are halved down to this part while |F| is above the largest of its last values.
constexpr double kShortest = 0.25, kDescent = 1e-4;
constexpr std::size_t kMemory = 4;
/// What the proximal weight is multiplied by where Newton takes at most kQuickSteps, at most
/// kSlowSteps, or fails. After a failure the first is kWary, and comes back with every success.
constexpr double kQuick = 0.2, kSlow = 0.5, kFailed = 3.0, kWary = 0.7, kTrust = 0.8;
constexpr int kQuickSteps = 7, kSlowSteps = 17;
/// A proximal step that leaves more than kDull of |F| is made longer by this part.
constexpr double kDull = 0.6, kLonger = 0.7;
/// Failures in a row after which nothing is to be hoped for.
constexpr int kFailures = 12;
constexpr double kLinearTolerance = 1e-6;

}  // namespace

ProximalNewtonSteps::ProximalNewtonSteps(const ConstraintProblem& problem, DelassusOperator& op,
                                         const LawFunction& law, NewtonSystem& system,
                                         const StopRule& rule, std::span<double> impulses,
                                         int first)
    : problem_(problem),
      op_(op),
      law_(law),
      system_(system),
      rule_(rule),
      impulses_(impulses),
      a_(problem),
      b_(problem),
      c_(problem),
      now_{{impulses.begin(), impulses.end()}, {}},
      weight_(kFirstWeight),
      fall_(kQuick),
      steps_(first) {
  for (std::vector<double>* v : {&now_.w, &centre_.lambda, &centre_.w, &from_.lambda, &from_.w,
                                 &free_residual_, &f_, &right_, &direction_, &slope_})
    v->resize(impulses.size());
}

bool ProximalNewtonSteps::stuck() const { return failures_ >= kFailures; }

std::string ProximalNewtonSteps::remark() const {
  std::array<char, 32> weight{};
  std::snprintf(weight.data(), weight.size(), "%.0e", weight_);
  return std::to_string(problems_) + " proximal problems, last weight " + weight.data();
}

/// 2-norm over all ranks.
double ProximalNewtonSteps::norm(double local_square) const {
  return std::sqrt(problem_.comm.sum(local_square));
}

/// w at lambda; |F| there.
double ProximalNewtonSteps::renew_slips() {
  op_.apply(now_.lambda, now_.w);
  for (std::size_t i = 0; i < now_.w.size(); ++i) now_.w[i] += free_residual_[i];
  return norm(law_.evaluate(now_.lambda, now_.w, f_));
}

void ProximalNewtonSteps::run(StopMonitor& monitor) {
  try {
    iterate(monitor);
  } catch (const OutOfTime&) {
    monitor.begin(steps_, 0.0, true);
    monitor.end();
  }
}

void ProximalNewtonSteps::iterate(StopMonitor& monitor) {
  op_.free_residual(free_residual_);
  double before = renew_slips();
  while (true) {
    const int steps = steps_;
    centre_ = now_;
    const Approach outcome = approach();
    ++problems_;
    const double after = renew_slips();
    adapt(outcome, steps_ - steps, before, after);
    const bool taken = outcome == Approach::reached || after < 0.5 * before;
    if (!std::isfinite(after)) now_.lambda = centre_.lambda;
    if (taken || outcome == Approach::limit || stuck()) {
      std::copy(now_.lambda.begin(), now_.lambda.end(), impulses_.begin());
      law_.make_admissible(impulses_);
      monitor.begin(steps_, 0.0, steps_ >= rule_.max_iterations);
      if (monitor.end()) return;
    }
    if (taken) {
      before = after > kDull * before && after < before ? lengthen() : after;
    } else {
      now_ = centre_;
    }
  }
}

/// The last proximal step, longer; |F| there.
double ProximalNewtonSteps::lengthen() {
  for (std::size_t i = 0; i < now_.lambda.size(); ++i)
    now_.lambda[i] += kLonger * (now_.lambda[i] - centre_.lambda[i]);
  return renew_slips();
}

/// The proximal weight that the next problem gets.
void ProximalNewtonSteps::adapt(Approach outcome, int steps, double before, double after) {
  if (outcome == Approach::reached) {
    failures_ = 0;
    if (steps <= kQuickSteps) {
      weight_ = std::max(weight_ * fall_, kMinWeight);
      fall_ = std::max(kQuick, kTrust * fall_);
    } else if (steps <= kSlowSteps) {
      weight_ = std::max(weight_ * std::max(kSlow, fall_), kMinWeight);
    }
  } else if (after < 0.5 * before) {
    failures_ = 0;
  } else {
    weight_ = std::min(weight_ * kFailed, kLargestWeight);
    fall_ = kWary;
    ++failures_;
  }
}

/// Newton steps towards F(lambda, w + weight D (lambda - centre)) = 0 from the centre.
ProximalNewtonSteps::Approach ProximalNewtonSteps::approach() {
  past_.assign(1, norm(law_.differentiate(now_.lambda, now_.w, f_, a_, b_)));
  for (int step = 0; step < kStepsEach; ++step) {
    if (steps_ >= rule_.max_iterations) return Approach::limit;
    if (!find_direction()) return Approach::failed;
    ++steps_;
    take_step();
    past_.push_back(norm(law_.differentiate(now_.lambda, now_.w, f_, a_, b_)));
    if (!std::isfinite(past_.back())) return Approach::failed;
    if (past_.back() <= kReduction * past_.front()) return Approach::reached;
  }
  return Approach::failed;
}

/// (A + weight B D) d + B N d = -F, and the change of w along d.
bool ProximalNewtonSteps::find_direction() {
  const std::span<const double> scales = law_.scales();
  const Index n = problem_.n_blocks();
  std::size_t row = 0;
  for (Index k = 0; k < n; ++k) {
    const std::size_t m = block_view(problem_, k).rows;
    const double* const a = a_.block(k);
    const double* const b = b_.block(k);
    double* const c = c_.block(k);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < m; ++j)
        c[i * m + j] = a[i * m + j] + weight_ * b[i * m + j] * scales[row + j];
    row += m;
  }
  if (!system_.factor(c_, &b_)) return false;
  for (std::size_t i = 0; i < f_.size(); ++i) right_[i] = -f_[i];
  const LinearReport report = system_.solve(right_, direction_, {}, kLinearTolerance);
  linear_iterations_ += report.iterations;
  if (!report.ok) return false;
  op_.apply(direction_, slope_);
  for (std::size_t i = 0; i < slope_.size(); ++i) slope_[i] += weight_ * scales[i] * direction_[i];
  return true;
}

/// lambda and w so far along the direction; |F| there.
double ProximalNewtonSteps::at_step(double length) {
  for (std::size_t i = 0; i < now_.lambda.size(); ++i) {
    now_.lambda[i] = from_.lambda[i] + length * direction_[i];
    now_.w[i] = from_.w[i] + length * slope_[i];
  }
  return norm(law_.evaluate(now_.lambda, now_.w, f_));
}

/// The longest step that brings |F| below the largest of its last values, or the shortest.
void ProximalNewtonSteps::take_step() {
  from_ = now_;
  const std::size_t first = past_.size() - std::min(past_.size(), kMemory);
  const double largest = *std::max_element(past_.begin() + first, past_.end());
  double length = 1.0;
  while (at_step(length) > largest * (1.0 - kDescent * length) && length > kShortest) length *= 0.5;
}

}  // namespace catena
