#include "solvers/pivoting/friction_passes.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "catena/constraints/contact_cone.hpp"

namespace catena {
namespace {

/// Newton's step is taken where it changes the radii by no more than this part.
constexpr double kNearby = 0.3;
/// Radii are the same if they differ by no more than this part of the largest.
constexpr double kSame = 1e-12;
/// Newton's step for more discs at their bounds takes too much memory.
constexpr std::size_t kMaxNewtonDiscs = 2000;

}  // namespace

FrictionPasses::FrictionPasses(const ConstraintProblem& problem, DelassusOperator& op,
                               const RowBounds& bounds, const LcpSettings& settings)
    : bounds_(bounds),
      operator_(sparse_operator(problem)),
      free_residual_(problem.n_rows()),
      diagonal_(Vector::Zero(problem.n_rows())),
      discs_(law_form(problem.law).shifted),
      axes_(bounds.discs.size()) {
  op.free_residual(std::span(free_residual_.data(), free_residual_.size()));
  const SymmetricRows& n = operator_.symmetric;
  for (Eigen::Index i = 0; i < n.size(); ++i)
    for (std::int64_t e = n.row_begin[i]; e < n.row_begin[i + 1]; ++e)
      if (n.column[e] == i) diagonal_[i] = n.value[e];
  lcp_ = std::make_unique<BoundedLcp>(n, settings);
}

FrictionPasses::Vector FrictionPasses::multiply(const std::vector<double>& values,
                                                const Vector& x) const {
  const SymmetricRows& n = operator_.symmetric;
  Vector y = Vector::Zero(x.size());
  for (Eigen::Index i = 0; i < x.size(); ++i)
    for (std::int64_t e = n.row_begin[i]; e < n.row_begin[i + 1]; ++e)
      y[i] += values[e] * x[n.column[e]];
  return y;
}

void FrictionPasses::to_axes(Vector& v) const {
  for (std::size_t d = 0; d < axes_.size(); ++d) {
    if (bounds_.discs[d].rows != 2) continue;
    double& v1 = v[bounds_.discs[d].first];
    double& v2 = v[bounds_.discs[d].first + 1];
    const double along = axes_[d].cos * v1 + axes_[d].sin * v2;
    v2 = axes_[d].cos * v2 - axes_[d].sin * v1;
    v1 = along;
  }
}

void FrictionPasses::from_axes(Vector& v) const {
  for (std::size_t d = 0; d < axes_.size(); ++d) {
    if (bounds_.discs[d].rows != 2) continue;
    double& v1 = v[bounds_.discs[d].first];
    double& v2 = v[bounds_.discs[d].first + 1];
    const double first = axes_[d].cos * v1 - axes_[d].sin * v2;
    v2 = axes_[d].sin * v1 + axes_[d].cos * v2;
    v1 = first;
  }
}

FrictionPasses::Vector FrictionPasses::residual_velocities(const Vector& x) const {
  Vector w = multiply(operator_.symmetric.value, x) + free_residual_;
  if (!operator_.skew.empty()) w += multiply(operator_.skew, x);
  return w;
}

/// Axes along the friction of sliding discs, by the trial impulse z = x_t - w_t/a (Alart and
/// Curnier): there x_t = radius z/|z|, whose derivative across z is the stiffness.
void FrictionPasses::find_axes(const Vector& x, const Vector& radii) {
  const Vector w = residual_velocities(x);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const FrictionDisc& d = bounds_.discs[i];
    Axes& axes = axes_[i];
    axes.stiffness = 0.0;
    const double radius = radii[i];
    if (d.rows != 2 || radius <= 0.0) continue;
    const double a = 0.5 * (diagonal_[d.first] + diagonal_[d.first + 1]);
    if (!(a > 0.0)) continue;
    const Eigen::Vector2d z = x.segment<2>(d.first) - w.segment<2>(d.first) / a;
    const double length = z.norm();
    if (length <= radius) continue;
    axes.cos = z[0] / length;
    axes.sin = z[1] / length;
    axes.stiffness = a * (length - radius) / radius;
  }
}

void FrictionPasses::turn_operator() {
  SymmetricRows n = operator_.symmetric;
  const auto turn = [](const Axes& axes, double& v1, double& v2) {
    const double along = axes.cos * v1 + axes.sin * v2;
    v2 = axes.cos * v2 - axes.sin * v1;
    v1 = along;
  };
  std::vector<Index> disc_of(n.size(), -1);  // of its first row
  for (std::size_t d = 0; d < axes_.size(); ++d)
    if (bounds_.discs[d].rows == 2) disc_of[bounds_.discs[d].first] = to_index(d);
  for (std::size_t e = 0; e < n.value.size(); ++e)
    if (const Index d = disc_of[n.column[e]]; d >= 0) turn(axes_[d], n.value[e], n.value[e + 1]);
  for (Eigen::Index i = 0; i < n.size(); ++i) {
    if (disc_of[i] < 0) continue;
    const Axes& axes = axes_[disc_of[i]];
    const std::size_t begin = n.row_begin[i], next = n.row_begin[i + 1];
    for (std::size_t e = 0; e < next - begin; ++e) {
      turn(axes, n.value[begin + e], n.value[next + e]);
      if (n.column[next + e] == i + 1) n.value[next + e] += axes.stiffness;
    }
  }
  lcp_->replace(n);
}

void FrictionPasses::solve_bounds(Vector& x, const Vector& lower, const Vector& upper) {
  Vector r = free_residual_;
  if (!operator_.skew.empty()) r += multiply(operator_.skew, x);
  if (discs_) {
    to_axes(r);
    to_axes(x);
  }
  LcpResult result = lcp_->solve(r, lower, upper, x);
  if (discs_) from_axes(x);
  result.pivots += total_.pivots;
  result.exchanges += total_.exchanges;
  result.block_pivots += total_.block_pivots;
  result.refinements += total_.refinements;
  result.appended_rows += total_.appended_rows;
  result.removed_rows += total_.removed_rows;
  total_ = result;
}

/// The radii rho of a fixed point rho = F(rho), F(rho) the radii that the normal impulses of the
/// pass with bounds rho give. F is piecewise linear, so this is Newton's step: the sets of held
/// rows as the last pass left them. Returns F(rho) where there are too many of them.
FrictionPasses::Vector FrictionPasses::newton_radii(const Vector& x) const {
  const Eigen::Index n_discs = bounds_.discs.size();
  Vector found(n_discs);
  std::vector<std::vector<std::pair<Eigen::Index, double>>> moves;
  std::vector<Eigen::Index> moving;
  for (Eigen::Index i = 0; i < n_discs; ++i) {
    const FrictionDisc& d = bounds_.discs[i];
    found[i] = d.radius(x);
    std::vector<std::pair<Eigen::Index, double>> rows;
    for (int r = 0; r < d.rows; ++r)
      if (const int side = lcp_->held(d.first + r); side != 0) rows.push_back({d.first + r, side});
    if (rows.empty()) continue;
    moving.push_back(i);
    moves.push_back(std::move(rows));
  }
  if (moves.empty() || moves.size() > kMaxNewtonDiscs) return found;
  const Eigen::MatrixXd response = lcp_->response(moves);
  if (response.rows() == 0) return found;  // out of time
  const Eigen::Index m = moving.size();
  Eigen::MatrixXd jacobian = Eigen::MatrixXd::Identity(m, m);
  Vector step(m);
  for (Eigen::Index r = 0; r < m; ++r) {
    const FrictionDisc& d = bounds_.discs[moving[r]];
    step[r] = found[moving[r]] - radii_[moving[r]];
    jacobian.row(r) -= d.coefficient * response.row(d.normal);
  }
  step = jacobian.partialPivLu().solve(step);
  const Vector change = response * step;
  for (Eigen::Index i = 0; i < n_discs; ++i) {
    const FrictionDisc& d = bounds_.discs[i];
    found[i] = std::max(0.0, d.coefficient * (x[d.normal] + change[d.normal] + d.cohesion));
  }
  return found;
}

bool FrictionPasses::confirmed_by(const Vector& x) const {
  const double size = radii_.size() > 0 ? radii_.maxCoeff() : 0.0;
  for (std::size_t i = 0; i < bounds_.discs.size(); ++i)
    if (std::abs(bounds_.discs[i].radius(x) - radii_[i]) > kSame * size) return false;
  return true;
}

void FrictionPasses::advance(Vector& x) {
  Vector lower = bounds_.lower;
  Vector upper = bounds_.upper;
  if (first_ && x.isZero(0.0) && !axes_.empty()) solve_bounds(x, lower, upper);
  const Eigen::Index n_discs = bounds_.discs.size();
  if (first_) {
    radii_.resize(n_discs);
    for (Eigen::Index i = 0; i < n_discs; ++i) radii_[i] = bounds_.discs[i].radius(x);
  } else {
    const Vector newton = newton_radii(x);
    // far from the fixed point Newton's step is no guide
    if ((newton - radii_).norm() <= kNearby * radii_.norm())
      radii_ = newton;
    else
      for (Eigen::Index i = 0; i < n_discs; ++i)
        radii_[i] = 0.5 * (radii_[i] + bounds_.discs[i].radius(x));
    if (discs_) {
      find_axes(x, radii_);
      turn_operator();
    }
  }
  first_ = false;
  for (Eigen::Index i = 0; i < n_discs; ++i) {
    const FrictionDisc& d = bounds_.discs[i];
    lower.segment(d.first, d.rows).setConstant(-radii_[i]);
    upper.segment(d.first, d.rows).setConstant(radii_[i]);
  }
  solve_bounds(x, lower, upper);
}

}  // namespace catena
