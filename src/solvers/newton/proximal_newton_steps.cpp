#include "solvers/newton/proximal_newton_steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace catena {
namespace {

constexpr double kMinWeight = 1e-11, kLargestWeight = 1e4;
/// Newton steps that a proximal problem gets.
constexpr int kStepsEach = 25;
/// A proximal problem is solved when |F| has fallen by this factor.
constexpr double kReduction = 0.1;
/// Newton steps are halved down to this part while |F| is above the largest of its last values.
constexpr double kShortest = 0.25, kDescent = 1e-4;
constexpr std::size_t kMemory = 4;
/// What the proximal weight is multiplied by where Newton takes at most kQuickSteps (kQuick), at
/// most kSlowSteps, or fails. After a failure the first is kWary, and comes back with every
/// success.
constexpr double kSlow = 0.5, kFailed = 3.0, kWary = 0.7, kTrust = 0.8;
constexpr int kQuickSteps = 7, kSlowSteps = 17;
/// A proximal step that leaves more than kDull of |F| is made longer by this part.
constexpr double kDull = 0.6, kLonger = 0.7;
/// Failures in a row after which nothing is to be hoped for.
constexpr int kFailures = 12;

}  // namespace

void ProximalWeight::adapt(bool reached, int steps, double before, double after) {
  if (reached) {
    failures = 0;
    if (steps <= kQuickSteps) {
      value = std::max(value * fall, kMinWeight);
      fall = std::max(kQuick, kTrust * fall);
    } else if (steps <= kSlowSteps) {
      value = std::max(value * std::max(kSlow, fall), kMinWeight);
    }
  } else if (after < 0.5 * before) {
    failures = 0;
  } else {
    value = std::min(value * kFailed, kLargestWeight);
    fall = kWary;
    ++failures;
  }
}

ProximalNewtonSteps::ProximalNewtonSteps(const ConstraintProblem& problem, DelassusOperator& op,
                                         const LawFunction& law, NewtonSystem& system,
                                         const StopRule& rule, std::span<double> impulses,
                                         int first)
    : problem_(problem),
      op_(op),
      law_(law),
      rule_(rule),
      impulses_(impulses),
      newton_(problem, op, law, system),
      now_{{impulses.begin(), impulses.end()}, {}},
      steps_(first) {
  for (std::vector<double>* v :
       {&now_.w, &centre_.lambda, &centre_.w, &from_.lambda, &from_.w, &free_residual_, &f_})
    v->resize(impulses.size());
}

bool ProximalNewtonSteps::stuck() const { return weight_.failures >= kFailures; }

std::string ProximalNewtonSteps::remark() const {
  std::array<char, 32> weight{};
  std::snprintf(weight.data(), weight.size(), "%.0e", weight_.value);
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
    weight_.adapt(outcome == Approach::reached, steps_ - steps, before, after);
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

/// Newton steps towards F(lambda, w + weight D (lambda - centre)) = 0 from the centre.
ProximalNewtonSteps::Approach ProximalNewtonSteps::approach() {
  past_.assign(1, norm(newton_.differentiate(now_.lambda, now_.w, f_)));
  for (int step = 0; step < kStepsEach; ++step) {
    if (steps_ >= rule_.max_iterations) return Approach::limit;
    if (!newton_.find(weight_.value, f_)) return Approach::failed;
    ++steps_;
    take_step();
    past_.push_back(norm(newton_.differentiate(now_.lambda, now_.w, f_)));
    if (!std::isfinite(past_.back())) return Approach::failed;
    if (past_.back() <= kReduction * past_.front()) return Approach::reached;
  }
  return Approach::failed;
}

/// lambda and w so far along the direction; |F| there.
double ProximalNewtonSteps::at_step(double length) {
  for (std::size_t i = 0; i < now_.lambda.size(); ++i) {
    now_.lambda[i] = from_.lambda[i] + length * newton_.lambda()[i];
    now_.w[i] = from_.w[i] + length * newton_.w()[i];
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
