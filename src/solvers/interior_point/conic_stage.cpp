#include "solvers/interior_point/conic_stage.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace catena {

namespace {

using second_order_cone::Scaling;

/// Proximal weights on lambda' and z, in units of N' (whose diagonal is about 1): they bound the
/// eigenvalues of a cone's matrix to [1e-7, 1e7], so that the smallest survives beside the largest,
/// and vanish from the solution, which is their fixed point. A cone of one number has one
/// eigenvalue and needs none.
constexpr double kPrimalWeight = 1e-7, kDualWeight = 1e-7;
/// Where linear solves take long, the primal weight while the gap is wide, and what part of the gap
/// it is then: conjugate gradients need hundreds of steps with this one and thousands with the
/// other, for some stages more.
constexpr double kWideWeight = 1e-5, kWeightOfGap = 0.1;
constexpr double kToBoundary = 0.995;  ///< of the way that is taken at most
/// Gondzio's correctors per stage, what each aims at beyond the present step, the band of s o z
/// around its target, and the least gain that keeps one.
constexpr int kCorrectors = 2;
constexpr double kAimFactor = 1.3, kAimMore = 0.1, kBand = 10.0, kMinGain = 1.01;
/// Linear iterations of a solve beyond which correctors cost more than they bring.
constexpr int kCheapIterations = 25;
/// Relative residual asked of a linear system: this part of the gap, in these bounds.
constexpr double kLinear = 0.1, kMinLinear = 1e-12, kMaxLinear = 1e-2;

double dual_weight(const RowCone& cone) { return cone.row[1] < 0 ? 0.0 : kDualWeight; }

}  // namespace

ConicStage::ConicStage(ConicIterate& iterate, ConicSystem& system)
    : iterate_(iterate), system_(system) {
  const std::size_t n_rows = iterate_.lambda.size(), n_cones = iterate_.s.size();
  right_.assign(n_rows, 0.0);
  for (std::vector<Vec3>* v : {&point_, &quotient_, &pull_}) v->assign(n_cones, Vec3::Zero());
  for (Direction* d : {&direction_, &trial_}) {
    d->lambda.assign(n_rows, 0.0);
    for (std::vector<Vec3>* v : {&d->s, &d->z, &d->s_hat, &d->z_hat, &d->products})
      v->assign(n_cones, Vec3::Zero());
  }
}

/// Scaling of the iterate, and the factor of N + A^T (W^2 + delta)^-1 A + rho.
bool ConicStage::factor() {
  const bool hard = system_.last_iterations() > kCheapIterations;
  system_.set_diagonal(hard
                           ? std::clamp(kWeightOfGap * iterate_.now.gap, kPrimalWeight, kWideWeight)
                           : kPrimalWeight);
  scaling_.clear();
  for (std::size_t j = 0; j < iterate_.s.size(); ++j) {
    const Scaling& q = scaling_.emplace_back(iterate_.s[j], iterate_.z[j]);
    point_[j] = q.from_axes(q.to_axes(iterate_.s[j]).cwiseQuotient(q.f));
    const Vec3 h = (q.f.cwiseAbs2().array() + dual_weight(iterate_.rows.cones()[j])).inverse();
    Mat3 axes;
    for (int i = 0; i < 3; ++i) axes.col(i) = q.from_axes(Vec3::Unit(i));
    system_.add(iterate_.rows.cones()[j], axes * h.asDiagonal() * axes.transpose());
  }
  return system_.factor();
}

/// The solution of the linearised conditions
///
///   N dl + rho dl - A^T dz = -residual,   A dl - ds + delta dz = -s_gap,
///   point o (W^-1 ds + W dz) = -products.
bool ConicStage::direct(double tolerance, Direction& out) {
  for (std::size_t i = 0; i < right_.size(); ++i) right_[i] = -iterate_.residual[i];
  for (std::size_t j = 0; j < iterate_.s.size(); ++j) {
    const RowCone& cone = iterate_.rows.cones()[j];
    const Scaling& q = scaling_[j];
    quotient_[j] = second_order_cone::quotient(point_[j], out.products[j]);
    pull_[j] = q.f.cwiseProduct(q.to_axes(quotient_[j])) + q.to_axes(iterate_.s_gap[j]);
    const Vec3 h = pull_[j].array() / (q.f.cwiseAbs2().array() + dual_weight(cone));
    iterate_.rows.apply_transposed(cone, -q.from_axes(h), right_);
  }
  const bool solved = system_.solve(right_, out.lambda, tolerance);
  for (std::size_t j = 0; j < iterate_.s.size(); ++j) {
    const RowCone& cone = iterate_.rows.cones()[j];
    const Scaling& q = scaling_[j];
    const Vec3 moved = iterate_.rows.apply(cone, out.lambda, false);
    const Vec3 h =
        (pull_[j] + q.to_axes(moved)).array() / (q.f.cwiseAbs2().array() + dual_weight(cone));
    out.z[j] = -q.from_axes(h);
    // from the primal equation: its round-off is that of the impulses, not of W^2 dz
    out.s[j] = moved + iterate_.s_gap[j] + dual_weight(cone) * out.z[j];
    out.z_hat[j] = -q.from_axes(q.f.cwiseProduct(h));
    out.s_hat[j] = -quotient_[j] - out.z_hat[j];
  }
  return solved;
}

/// The largest step in [0, 1] that stays a little inside.
double ConicStage::step_length(const Direction& d) const {
  double t = std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < point_.size(); ++j)
    t = std::min({t, second_order_cone::step_to_boundary(point_[j], d.s_hat[j]),
                  second_order_cone::step_to_boundary(point_[j], d.z_hat[j])});
  return std::min(1.0, kToBoundary * iterate_.problem.comm.min(t));
}

double ConicStage::mu_after(const Direction& d, double t) const {
  double sum = 0.0;
  for (std::size_t j = 0; j < point_.size(); ++j)
    sum += (point_[j] + t * d.s_hat[j]).dot(point_[j] + t * d.z_hat[j]);
  return iterate_.per_cone(iterate_.problem.comm.sum(sum));
}

/// Mehrotra's predictor: the direction to products of 0, and from it the second-order terms and
/// the centering of the corrector. Sets the direction's products.
bool ConicStage::predict(double tolerance) {
  for (std::size_t j = 0; j < iterate_.s.size(); ++j)
    trial_.products[j] = second_order_cone::product(point_[j], point_[j]);
  if (!direct(tolerance, trial_)) return false;
  const double mu = iterate_.per_cone(iterate_.now.complementarity);
  const double reached = mu_after(trial_, step_length(trial_));
  const double ratio = mu > 0.0 ? std::clamp(reached / mu, 0.0, 1.0) : 0.0;
  target_mu_ = ratio * ratio * ratio * mu;
  for (std::size_t j = 0; j < iterate_.s.size(); ++j) {
    direction_.products[j] =
        trial_.products[j] + second_order_cone::product(trial_.s_hat[j], trial_.z_hat[j]);
    direction_.products[j][0] -= target_mu_;
  }
  return true;
}

/// The step's direction with Gondzio's correctors (J. Gondzio, *Multiple centrality corrections in
/// a primal-dual method for linear programming*, 1996), each kept if it makes the step longer.
bool ConicStage::correct(double tolerance) {
  if (!direct(tolerance, direction_)) return false;
  step_ = step_length(direction_);
  for (int c = 0; c < kCorrectors && step_ < 1.0 && system_.last_iterations() <= kCheapIterations;
       ++c) {
    const double aim = std::min(1.0, kAimFactor * step_ + kAimMore);
    for (std::size_t j = 0; j < iterate_.s.size(); ++j)
      trial_.products[j] = direction_.products[j] -
                           second_order_cone::correction_into(
                               second_order_cone::product(point_[j] + aim * direction_.s_hat[j],
                                                          point_[j] + aim * direction_.z_hat[j]),
                               target_mu_ / kBand, target_mu_ * kBand);
    if (!direct(tolerance, trial_)) break;
    const double longer = step_length(trial_);
    if (longer < kMinGain * step_) break;
    step_ = longer;
    std::swap(direction_, trial_);
  }
  return true;
}

/// Takes the step; where round-off takes s or z out of a cone, a shorter one. False: none is left.
bool ConicStage::move() {
  for (int tries = 0; tries < 10; ++tries, step_ *= 0.8) {
    std::int64_t out = 0;
    for (std::size_t j = 0; j < iterate_.s.size() && out == 0; ++j)
      if (!second_order_cone::inside(iterate_.s[j] + step_ * direction_.s[j]) ||
          !second_order_cone::inside(iterate_.z[j] + step_ * direction_.z[j]))
        out = 1;
    if (iterate_.problem.comm.max(out) > 0) continue;
    for (std::size_t i = 0; i < iterate_.lambda.size(); ++i)
      iterate_.lambda[i] += step_ * direction_.lambda[i];
    for (std::size_t j = 0; j < iterate_.s.size(); ++j) {
      iterate_.s[j] += step_ * direction_.s[j];
      iterate_.z[j] += step_ * direction_.z[j];
    }
    return true;
  }
  return false;
}

bool ConicStage::advance() {
  const double tolerance = std::clamp(kLinear * iterate_.now.gap, kMinLinear, kMaxLinear);
  if (!factor() || !predict(tolerance) || !correct(tolerance) || !move()) return false;
  return iterate_.measure();
}

}  // namespace catena
