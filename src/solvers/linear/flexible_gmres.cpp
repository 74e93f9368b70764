#include "solvers/linear/flexible_gmres.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace catena {
namespace {

constexpr int kRestart = 20, kCycles = 5;
/// The residual no longer falls: by less than this in so many steps, or in a whole cycle.
constexpr double kStepsFall = 0.7, kCycleFall = 0.5;
constexpr int kSteps = 4;

}  // namespace

double FlexibleGmres::norm(std::span<const double> v) const {
  return std::sqrt(comm_.sum(std::inner_product(v.begin(), v.end(), v.begin(), 0.0)));
}

/// x += what `kRestart` steps from residual_ give. False: the preconditioner failed.
bool FlexibleGmres::cycle(Operator& a, const Precondition& precondition, double goal,
                          std::span<double> x, Report& report) {
  const std::size_t n = x.size();
  basis_.resize(kRestart + 1);
  directions_.resize(kRestart);
  Eigen::MatrixXd h = Eigen::MatrixXd::Zero(kRestart + 1, kRestart);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(kRestart + 1), y;
  const double start = norm(residual_);
  right[0] = start;
  basis_[0] = residual_;
  for (double& v : basis_[0]) v /= start;
  std::vector<double> estimate = {start};
  std::vector<double> projections;
  int steps = 0;
  while (steps < kRestart) {
    const std::size_t j = steps;
    directions_[j].resize(n);
    basis_[j + 1].resize(n);
    // the basis vector stands for a residual of the size still left
    if (!precondition(basis_[j], goal / estimate.back(), directions_[j])) return false;
    std::vector<double>& w = basis_[j + 1];
    a.apply(directions_[j], w);
    for (int pass = 0; pass < 2; ++pass) {  // twice is enough
      projections.assign(j + 1, 0.0);
      for (std::size_t i = 0; i <= j; ++i)
        projections[i] = std::inner_product(w.begin(), w.end(), basis_[i].begin(), 0.0);
      comm_.sum(projections);
      for (std::size_t i = 0; i <= j; ++i) {
        h(i, steps) += projections[i];
        for (std::size_t k = 0; k < n; ++k) w[k] -= projections[i] * basis_[i][k];
      }
    }
    const double length = norm(w);
    if (!std::isfinite(length)) return false;
    h(steps + 1, steps) = length;
    ++steps;
    ++report.iterations;
    const auto part = h.topLeftCorner(steps + 1, steps);
    y = part.colPivHouseholderQr().solve(right.head(steps + 1));
    estimate.push_back((right.head(steps + 1) - part * y).norm());
    const bool idle =
        steps >= kSteps &&
        estimate.back() > kStepsFall * estimate[estimate.size() - 1 - std::size_t{kSteps}];
    if (estimate.back() <= goal || idle || length == 0.0) break;
    for (double& v : w) v /= length;
  }
  for (int j = 0; j < steps; ++j)
    for (std::size_t k = 0; k < n; ++k) x[k] += y[j] * directions_[j][k];
  return true;
}

FlexibleGmres::Report FlexibleGmres::solve(Operator& a, const Precondition& precondition,
                                           std::span<const double> g, std::span<double> x,
                                           double tolerance) {
  Report report;
  std::fill(x.begin(), x.end(), 0.0);
  const double size = norm(g);
  report.finite = std::isfinite(size);
  if (!report.finite || size == 0.0) return report;
  report.residual = 1.0;
  residual_.assign(g.begin(), g.end());
  std::vector<double> best(x.begin(), x.end());
  for (int i = 0; i < kCycles; ++i) {
    if (!cycle(a, precondition, tolerance * size, x, report)) {
      report.finite = false;
      break;
    }
    trial_.resize(x.size());
    a.apply(x, trial_);
    for (std::size_t k = 0; k < g.size(); ++k) residual_[k] = g[k] - trial_[k];
    const double left = norm(residual_) / size;
    if (!(left < report.residual)) break;
    const bool falls = left <= kCycleFall * report.residual;
    report.residual = left;
    std::copy(x.begin(), x.end(), best.begin());
    if (left <= tolerance || !falls) break;
  }
  std::copy(best.begin(), best.end(), x.begin());
  return report;
}

}  // namespace catena
