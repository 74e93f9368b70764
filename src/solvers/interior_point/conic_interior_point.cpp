#include "solvers/interior_point/conic_interior_point.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "catena/base/text.hpp"
#include "solvers/interior_point/cone_rows.hpp"
#include "solvers/interior_point/second_order_cone.hpp"

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

double dual_weight(const RowCone& cone) { return cone.row[1] < 0 ? 0.0 : kDualWeight; }

/// What holds a fixed row in the system, in units of N'.
constexpr double kFixedWeight = 1e14;
/// Weight of |lambda'|^2/2 in the least-squares problem that gives the first guess its size.
constexpr double kStartWeight = 1e-4;
constexpr double kToBoundary = 0.995;  ///< of the way that is taken at most
/// Gondzio's correctors per stage, what each aims at beyond the present step, the band of s o z
/// around its target, and the least gain that keeps one.
constexpr int kCorrectors = 2;
constexpr double kAimFactor = 1.3, kAimMore = 0.1, kBand = 10.0, kMinGain = 1.01;
/// Linear iterations of a solve beyond which correctors cost more than they bring.
constexpr int kCheapIterations = 25;
/// Stages without a fall of the merit to kProgress of it that end a solve: once its merit is below
/// kNearly, before.
constexpr double kProgress = 0.9, kNearly = 1e-5;
constexpr int kPatience = 4, kLongPatience = 20;
/// Impulses d of length 1 (scaled) with |N d| below the first and r.d below minus the second times
/// |r|, along which the objective falls up to the third times the iterate, are taken for a
/// direction without end.
constexpr double kNoResistance = 1e-6, kGain = 1e-3, kNoEnd = 1e5;
/// Relative residual asked of a linear system: this part of the gap, in these bounds.
constexpr double kLinear = 0.1, kMinLinear = 1e-12, kMaxLinear = 1e-2;
/// Energies that the gap is relative to are at least this part of |r|^2; round-off of N lambda.
constexpr double kNoEnergy = 1e-12, kRoundOff = 1e-15;
/// mu of a guess over the product of what is wrong with it and its size; the stages in which it has
/// to prove itself by steps of at least this length.
constexpr double kGuessMu = 0.01, kGuessStep = 0.05;
constexpr int kGuessStages = 3;

/// A change of the iterate; `s_hat` = W^-1 s, `z_hat` = W z.
struct Direction {
  std::vector<double> lambda;
  std::vector<Vec3> s, z, s_hat, z_hat;
};

double squared(std::span<const double> x) {
  double sum = 0.0;
  for (const double v : x) sum += v * v;
  return sum;
}

}  // namespace

/// All vectors in ConicRows' scaled rows.
struct ConicInteriorPoint::Impl {
  Impl(const ConstraintProblem& p, DelassusOperator& o, NewtonSystem& n);

  Report solve(std::span<const double> shift, bool warm, const Goal& goal,
               std::span<double> impulses);

 private:
  struct Measures {
    double complementarity = 0.0;  ///< sum of s.z
    double gap = 0.0, infeasibility = 0.0;
    double merit() const { return gap + infeasibility; }
  };
  /// The iterate of least merit and how many stages ago it was.
  struct Best {
    Measures measures{0.0, std::numeric_limits<double>::infinity(), 0.0};
    std::vector<double> impulses;
    int behind = 0;

    void see(const Measures& m, std::span<const double> x) {
      ++behind;
      if (m.merit() >= measures.merit()) return;
      // progress is what is worth a stage
      if (m.merit() < kProgress * measures.merit()) behind = 0;
      measures = m;
      impulses.assign(x.begin(), x.end());
    }
  };

  void set_free_slips(std::span<const double> shift);
  void fill_diagonal(double weight);
  void place_inside(double c);
  bool start_cold();
  bool start_warm(std::span<const double> impulses);
  Measures measure();
  bool factor();
  bool direct(const std::vector<Vec3>& target, double tolerance, Direction& out);
  double step_length(const Direction& d) const;
  double mu_after(const Direction& d, double t) const;
  bool predict(double tolerance);
  bool correct(double tolerance);
  bool move();
  bool advance();
  std::string unbounded() const;
  bool judge(const Goal& goal, const Best& best, Report& report) const;
  void give_up(const Best& best, Report& report) const;
  void write(std::span<double> impulses) const;
  double per_cone(double sum) const {
    return sum / static_cast<double>(std::max<std::int64_t>(rows.n_cones(), 1));
  }

  const ConstraintProblem& problem;
  DelassusOperator& op;
  NewtonSystem& system;
  ConicRows rows;
  BlockMatrices matrix;
  // the iterate, and w = N lambda + r, residual = w - A^T z (0 in fixed rows)
  std::vector<double> r, lambda, w, residual;
  std::vector<Vec3> s, z, s_gap;  ///< s_gap: A lambda + b - s
  Measures now;
  double r_norm = 1.0;
  double lambda_norm = 0.0, resistance = 0.0;  ///< |lambda|, |N lambda|
  double quadratic = 0.0, work = 0.0;          ///< lambda.N lambda, r.lambda
  // of a stage
  std::vector<Scaling> scaling;
  std::vector<Vec3> point;                     ///< W^-1 s = W z
  std::vector<Vec3> quotient, pull;            ///< of a direction: u, and Q^T (W u + s_gap)
  std::vector<Vec3> products, trial_products;  ///< point o u of the directions
  Direction direction, trial;
  double target_mu = 0.0, step = 0.0;
  std::vector<double> right;
  int linear_iterations = 0, last_iterations = 0;
};

ConicInteriorPoint::Impl::Impl(const ConstraintProblem& p, DelassusOperator& o, NewtonSystem& n)
    : problem(p), op(o), system(n), rows(p), matrix(p) {
  const std::size_t n_rows = p.n_rows();
  const std::size_t n_cones = rows.cones().size();
  for (std::vector<double>* v : {&r, &lambda, &w, &residual, &right}) v->assign(n_rows, 0.0);
  for (std::vector<Vec3>* v :
       {&s, &z, &s_gap, &point, &quotient, &pull, &products, &trial_products})
    v->assign(n_cones, Vec3::Zero());
  for (Direction* d : {&direction, &trial}) {
    d->lambda.assign(n_rows, 0.0);
    for (std::vector<Vec3>* v : {&d->s, &d->z, &d->s_hat, &d->z_hat})
      v->assign(n_cones, Vec3::Zero());
  }
}

/// r' = D (r + shift)
void ConicInteriorPoint::Impl::set_free_slips(std::span<const double> shift) {
  op.free_residual(r);
  for (std::size_t i = 0; i < r.size(); ++i)
    r[i] = rows.scale()[i] * (r[i] + (shift.empty() ? 0.0 : shift[i]));
  r_norm = std::sqrt(problem.comm.sum(squared(r)));
  if (r_norm == 0.0) r_norm = 1.0;
}

/// The system's matrix C without cones: `weight` in rows that have some, nothing in free ones.
void ConicInteriorPoint::Impl::fill_diagonal(double weight) {
  std::fill(matrix.value.begin(), matrix.value.end(), 0.0);
  std::size_t row = 0;
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const std::size_t m = block_view(problem, k).rows;
    for (std::size_t i = 0; i < m; ++i, ++row) {
      const double own = rows.is_fixed(row) ? kFixedWeight : rows.is_free(row) ? 0.0 : weight;
      matrix.block(k)[i * m + i] = own / (rows.scale()[row] * rows.scale()[row]);
    }
  }
}

/// Takes lambda, 0 in rows with cones, along the cones' axes until s is about c (1, 0) in each, as
/// far as bounds that are tiny or near to each other let it.
void ConicInteriorPoint::Impl::place_inside(double c) {
  const std::vector<RowCone>& cones = rows.cones();
  for (std::size_t j = 0; j < cones.size(); ++j) {
    const RowCone& cone = cones[j];
    double& normal = lambda[cone.row[0]];
    const double at_bound = -cone.b / cone.a;
    if (cone.a > 0.0)
      normal = std::max(normal, at_bound + c / std::max(cone.a, 0.01));
    else if (j > 0 && cones[j - 1].row[0] == cone.row[0])  // between two bounds
      normal = std::min(normal, 0.5 * (at_bound - cones[j - 1].b / cones[j - 1].a));
    else
      normal = at_bound - c;
  }
}

/// s = c (1, 0), z = c_z (1, 0) for all cones, where c is the root mean square of the least-squares
/// solution of w = 0, and c_z the largest |r'|. Rows without a cone take that solution itself.
bool ConicInteriorPoint::Impl::start_cold() {
  const std::span<const double> scale = rows.scale();
  fill_diagonal(kStartWeight);
  if (!system.factor(matrix)) return false;
  for (std::size_t i = 0; i < r.size(); ++i) right[i] = rows.is_fixed(i) ? 0.0 : -r[i] / scale[i];
  last_iterations = system.solve(right, lambda, {}, kMaxLinear).iterations;
  linear_iterations += last_iterations;
  double largest = 0.0;
  std::array<double, 2> sums = {};
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    lambda[i] /= scale[i];
    if (rows.is_fixed(i) || rows.is_free(i)) continue;
    sums[0] += lambda[i] * lambda[i];
    sums[1] += 1.0;
    largest = std::max(largest, std::abs(r[i]));
  }
  problem.comm.sum(sums);
  const double reach = problem.comm.max(largest);
  const double c_z = reach == 0.0 ? 1.0 : reach;
  const double c = std::max(std::sqrt(3.0 * sums[0] / std::max(sums[1], 1.0)), c_z);
  for (std::size_t i = 0; i < lambda.size(); ++i)
    if (!rows.is_free(i)) lambda[i] = rows.is_fixed(i) ? rows.value_of_fixed(i) : 0.0;
  place_inside(c);
  for (std::size_t j = 0; j < s.size(); ++j) {
    s[j] = Vec3(rows.apply(rows.cones()[j], lambda, true)[0], 0.0, 0.0);
    z[j] = Vec3(c_z * std::clamp(c / s[j][0], 0.1, 100.0), 0.0, 0.0);
  }
  now = measure();
  return std::isfinite(now.merit());
}

/// s and z from the central path next to s~ = A lambda + b and the z~ that share w among the cones.
bool ConicInteriorPoint::Impl::start_warm(std::span<const double> impulses) {
  for (std::size_t i = 0; i < lambda.size(); ++i) lambda[i] = impulses[i] / rows.scale()[i];
  rows.clean(lambda);
  std::fill(z.begin(), z.end(), Vec3::Zero());
  measure();
  std::vector<double> share(w.size(), 0.0);
  for (const RowCone& cone : rows.cones()) share[cone.row[0]] += std::abs(cone.a);
  std::array<double, 2> sums = {};
  for (std::size_t j = 0; j < s.size(); ++j) {
    const RowCone& cone = rows.cones()[j];
    s[j] = rows.apply(cone, lambda, true);
    Vec3 slip = rows.apply(cone, w, false);
    slip[0] = (cone.a > 0.0 ? 1.0 : -1.0) * w[cone.row[0]] / share[cone.row[0]];
    z[j] = slip;
    const Vec3 nearest = second_order_cone::central_pair(s[j] - slip, 0.0).s;
    sums[0] += (s[j] - nearest).squaredNorm();
    sums[1] += s[j].squaredNorm();
  }
  problem.comm.sum(sums);
  const double mu = kGuessMu * std::sqrt(per_cone(sums[0]) * per_cone(std::max(sums[0], sums[1])));
  if (!(mu > 0.0 && std::isfinite(mu))) return false;
  for (std::size_t j = 0; j < s.size(); ++j) {
    const second_order_cone::Pair pair = second_order_cone::central_pair(s[j] - z[j], mu);
    s[j] = pair.s;
    z[j] = pair.z;
  }
  now = measure();
  return std::isfinite(now.merit());
}

/// The residuals and sums of the iterate.
ConicInteriorPoint::Impl::Measures ConicInteriorPoint::Impl::measure() {
  const std::span<const double> scale = rows.scale();
  for (std::size_t i = 0; i < lambda.size(); ++i) right[i] = scale[i] * lambda[i];
  op.apply(right, w);
  std::array<double, 8> sums = {};
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double change = scale[i] * w[i];
    w[i] = change + r[i];
    residual[i] = w[i];
    sums[0] += lambda[i] * change;
    sums[1] += lambda[i] * r[i];
    if (rows.is_fixed(i)) continue;
    sums[2] += lambda[i] * lambda[i];
    sums[3] += change * change;
  }
  for (std::size_t j = 0; j < s.size(); ++j) {
    const RowCone& cone = rows.cones()[j];
    s_gap[j] = rows.apply(cone, lambda, true) - s[j];
    rows.apply_transposed(cone, -z[j], residual);
    sums[4] += s[j].dot(z[j]);
    sums[5] += s_gap[j].dot(z[j]);
  }
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (rows.is_fixed(i)) residual[i] = 0.0;
    sums[6] += residual[i] * residual[i];
    sums[7] += lambda[i] * residual[i];
  }
  problem.comm.sum(sums);
  quadratic = sums[0];
  work = sums[1];
  lambda_norm = std::sqrt(sums[2]);
  resistance = std::sqrt(sums[3]);
  Measures m;
  m.complementarity = sums[4];
  // the last: where the solution is no impulses, the energies to compare with vanish as well
  const double energy = std::max({std::abs(quadratic), std::abs(work), kNoEnergy * r_norm * r_norm,
                                  std::numeric_limits<double>::min()});
  m.gap = (sums[4] + std::abs(sums[5]) + std::abs(sums[7])) / energy;
  // round-off of N lambda counts as nothing
  const double misfit = std::max(0.0, std::sqrt(sums[6]) - kRoundOff * lambda_norm);
  m.infeasibility = misfit / std::max(r_norm, std::numeric_limits<double>::min());
  return m;
}

/// A sentence if lambda is a direction along which the objective falls without end.
std::string ConicInteriorPoint::Impl::unbounded() const {
  if (!(resistance <= kNoResistance * lambda_norm && work < -kGain * r_norm * lambda_norm &&
        -work > kNoEnd * std::abs(quadratic)))
    return {};
  return "no solution exists: impulses within the cones do work without end against no "
         "resistance (scaled rows: |N d| = " +
         short_text(resistance / lambda_norm, 2) + ", r.d = " + short_text(work / lambda_norm, 2) +
         " for |d| = 1, |r| = " + short_text(r_norm, 2) + ")";
}

/// Scaling of the iterate, and the factor of N + A^T (W^2 + delta)^-1 A + rho.
bool ConicInteriorPoint::Impl::factor() {
  const bool hard = last_iterations > kCheapIterations;
  fill_diagonal(hard ? std::clamp(kWeightOfGap * now.gap, kPrimalWeight, kWideWeight)
                     : kPrimalWeight);
  scaling.clear();
  for (std::size_t j = 0; j < s.size(); ++j) {
    const Scaling& q = scaling.emplace_back(s[j], z[j]);
    point[j] = q.from_axes(q.to_axes(s[j]).cwiseQuotient(q.f));
    const Vec3 h = (q.f.cwiseAbs2().array() + dual_weight(rows.cones()[j])).inverse();
    Mat3 axes;
    for (int i = 0; i < 3; ++i) axes.col(i) = q.from_axes(Vec3::Unit(i));
    rows.add_congruence(rows.cones()[j], axes * h.asDiagonal() * axes.transpose(), matrix);
  }
  return system.factor(matrix);
}

/// The solution of the linearised conditions
///
///   N dl + rho dl - A^T dz = -residual,   A dl - ds + delta dz = -s_gap,
///   point o (W^-1 ds + W dz) = -products.
bool ConicInteriorPoint::Impl::direct(const std::vector<Vec3>& target, double tolerance,
                                      Direction& out) {
  for (std::size_t i = 0; i < right.size(); ++i) right[i] = -residual[i];
  for (std::size_t j = 0; j < s.size(); ++j) {
    const RowCone& cone = rows.cones()[j];
    const Scaling& q = scaling[j];
    quotient[j] = second_order_cone::quotient(point[j], target[j]);
    pull[j] = q.f.cwiseProduct(q.to_axes(quotient[j])) + q.to_axes(s_gap[j]);
    const Vec3 h = pull[j].array() / (q.f.cwiseAbs2().array() + dual_weight(cone));
    rows.apply_transposed(cone, -q.from_axes(h), right);
  }
  const std::span<const double> scale = rows.scale();
  for (std::size_t i = 0; i < right.size(); ++i)
    right[i] = rows.is_fixed(i) ? 0.0 : right[i] / scale[i];
  const LinearReport report = system.solve(right, out.lambda, {}, tolerance);
  linear_iterations += report.iterations;
  last_iterations = report.iterations;
  for (std::size_t i = 0; i < right.size(); ++i)
    out.lambda[i] = rows.is_fixed(i) ? 0.0 : out.lambda[i] / scale[i];
  for (std::size_t j = 0; j < s.size(); ++j) {
    const RowCone& cone = rows.cones()[j];
    const Scaling& q = scaling[j];
    const Vec3 moved = rows.apply(cone, out.lambda, false);
    const Vec3 h =
        (pull[j] + q.to_axes(moved)).array() / (q.f.cwiseAbs2().array() + dual_weight(cone));
    out.z[j] = -q.from_axes(h);
    // from the primal equation: its round-off is that of the impulses, not of W^2 dz
    out.s[j] = moved + s_gap[j] + dual_weight(cone) * out.z[j];
    out.z_hat[j] = -q.from_axes(q.f.cwiseProduct(h));
    out.s_hat[j] = -quotient[j] - out.z_hat[j];
  }
  return report.ok;
}

/// The largest step in [0, 1] that stays a little inside.
double ConicInteriorPoint::Impl::step_length(const Direction& d) const {
  double t = std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < point.size(); ++j)
    t = std::min({t, second_order_cone::step_to_boundary(point[j], d.s_hat[j]),
                  second_order_cone::step_to_boundary(point[j], d.z_hat[j])});
  return std::min(1.0, kToBoundary * problem.comm.min(t));
}

double ConicInteriorPoint::Impl::mu_after(const Direction& d, double t) const {
  double sum = 0.0;
  for (std::size_t j = 0; j < point.size(); ++j)
    sum += (point[j] + t * d.s_hat[j]).dot(point[j] + t * d.z_hat[j]);
  return per_cone(problem.comm.sum(sum));
}

/// Mehrotra's predictor: the direction to products of 0, and from it the second-order terms and
/// the centering of the corrector. Sets `products`.
bool ConicInteriorPoint::Impl::predict(double tolerance) {
  for (std::size_t j = 0; j < s.size(); ++j)
    products[j] = second_order_cone::product(point[j], point[j]);
  if (!direct(products, tolerance, trial)) return false;
  const double mu = per_cone(now.complementarity);
  const double reached = mu_after(trial, step_length(trial));
  const double ratio = mu > 0.0 ? std::clamp(reached / mu, 0.0, 1.0) : 0.0;
  target_mu = ratio * ratio * ratio * mu;
  for (std::size_t j = 0; j < s.size(); ++j) {
    products[j] += second_order_cone::product(trial.s_hat[j], trial.z_hat[j]);
    products[j][0] -= target_mu;
  }
  return true;
}

/// The step's direction with Gondzio's correctors (J. Gondzio, *Multiple centrality corrections in
/// a primal-dual method for linear programming*, 1996), each kept if it makes the step longer.
bool ConicInteriorPoint::Impl::correct(double tolerance) {
  if (!direct(products, tolerance, direction)) return false;
  step = step_length(direction);
  for (int c = 0; c < kCorrectors && step < 1.0 && last_iterations <= kCheapIterations; ++c) {
    const double aim = std::min(1.0, kAimFactor * step + kAimMore);
    for (std::size_t j = 0; j < s.size(); ++j)
      trial_products[j] =
          products[j] - second_order_cone::correction_into(
                            second_order_cone::product(point[j] + aim * direction.s_hat[j],
                                                       point[j] + aim * direction.z_hat[j]),
                            target_mu / kBand, target_mu * kBand);
    if (!direct(trial_products, tolerance, trial)) break;
    const double longer = step_length(trial);
    if (longer < kMinGain * step) break;
    step = longer;
    std::swap(direction, trial);
    std::swap(products, trial_products);
  }
  return true;
}

/// Takes the step; where round-off takes s or z out of a cone, a shorter one. False: none is left.
bool ConicInteriorPoint::Impl::move() {
  for (int tries = 0; tries < 10; ++tries, step *= 0.8) {
    std::int64_t out = 0;
    for (std::size_t j = 0; j < s.size() && out == 0; ++j)
      if (!second_order_cone::inside(s[j] + step * direction.s[j]) ||
          !second_order_cone::inside(z[j] + step * direction.z[j]))
        out = 1;
    if (problem.comm.max(out) > 0) continue;
    for (std::size_t i = 0; i < lambda.size(); ++i) lambda[i] += step * direction.lambda[i];
    for (std::size_t j = 0; j < s.size(); ++j) {
      s[j] += step * direction.s[j];
      z[j] += step * direction.z[j];
    }
    return true;
  }
  return false;
}

/// One stage; false if its linear systems cannot be solved or no step is left.
bool ConicInteriorPoint::Impl::advance() {
  const double tolerance = std::clamp(kLinear * now.gap, kMinLinear, kMaxLinear);
  if (!factor() || !predict(tolerance) || !correct(tolerance) || !move()) return false;
  now = measure();
  return std::isfinite(now.merit());
}

/// Whether the solve ends with the iterate, and how.
bool ConicInteriorPoint::Impl::judge(const Goal& goal, const Best& best, Report& report) const {
  if (now.gap <= goal.gap && now.infeasibility <= goal.gap) {
    report.outcome = Outcome::target;
    return true;
  }
  const std::string certificate = unbounded();
  if (!certificate.empty()) {
    report.outcome = Outcome::unbounded;
    report.remark = certificate;
    return true;
  }
  if (best.behind < (best.measures.merit() < kNearly ? kPatience : kLongPatience)) return false;
  report.outcome = Outcome::stalled;
  report.remark = "no progress over " + std::to_string(best.behind) + " stages";
  return true;
}

/// The numbers' end: no factor, no direction or no step.
void ConicInteriorPoint::Impl::give_up(const Best& best, Report& report) const {
  const bool nearly = best.measures.merit() < kNearly;
  report.outcome = nearly ? Outcome::stalled : Outcome::breakdown;
  report.remark = nearly ? "digits ran out in stage " + std::to_string(report.stages)
                         : "the linear system of stage " + std::to_string(report.stages) +
                               " could not be solved";
}

/// The impulses, inside the cones.
void ConicInteriorPoint::Impl::write(std::span<double> impulses) const {
  std::copy(lambda.begin(), lambda.end(), impulses.begin());
  rows.clean(impulses);
  for (std::size_t i = 0; i < impulses.size(); ++i) impulses[i] *= rows.scale()[i];
}

ConicInteriorPoint::Report ConicInteriorPoint::Impl::solve(std::span<const double> shift, bool warm,
                                                           const Goal& goal,
                                                           std::span<double> impulses) {
  Report report;
  linear_iterations = 0;
  set_free_slips(shift);
  bool guessed = warm && start_warm(impulses);
  bool good = guessed || start_cold();
  Best best;
  while (report.stages < goal.max_stages) {
    good = good && advance();
    ++report.stages;
    if (guessed && report.stages <= kGuessStages && (!good || step < kGuessStep)) {
      // a guess from which hardly a way leads on is worse than none
      guessed = false;
      report.remark = "the guess was of no use";
      good = start_cold();
      continue;
    }
    if (!good) break;
    write(impulses);
    best.see(now, impulses);
    if (goal.stop && goal.stop(report.stages)) {
      report.outcome = Outcome::done;
      break;
    }
    if (judge(goal, best, report)) break;
  }
  if (!good) give_up(best, report);
  if (report.outcome != Outcome::done && best.behind > 0) {
    std::copy(best.impulses.begin(), best.impulses.end(), impulses.begin());
    now = best.measures;
    if (goal.stop && goal.stop(report.stages)) report.outcome = Outcome::done;
  }
  report.linear_iterations = linear_iterations;
  report.gap = now.gap;
  report.infeasibility = now.infeasibility;
  return report;
}

ConicInteriorPoint::ConicInteriorPoint(const ConstraintProblem& problem, DelassusOperator& op,
                                       NewtonSystem& system)
    : impl_(std::make_unique<Impl>(problem, op, system)) {}
ConicInteriorPoint::~ConicInteriorPoint() = default;

ConicInteriorPoint::Report ConicInteriorPoint::solve(std::span<const double> shift, bool warm,
                                                     const Goal& goal, std::span<double> impulses) {
  return impl_->solve(shift, warm, goal, impulses);
}

}  // namespace catena
