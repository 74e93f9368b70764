#include "solvers/interior_point/conic_iterate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "catena/base/text.hpp"
#include "solvers/interior_point/second_order_cone.hpp"

namespace catena {

namespace {

/// Weight of |lambda'|^2/2 in the least-squares problem that gives the first guess its size, and
/// the relative residual asked of it.
constexpr double kStartWeight = 1e-4, kStartLinear = 1e-2;
/// Impulses d of length 1 (scaled) with |N d| below the first and r.d below minus the second times
/// |r|, along which the objective falls up to the third times the iterate, are taken for a
/// direction without end.
constexpr double kNoResistance = 1e-6, kGain = 1e-3, kNoEnd = 1e5;
/// Energies that the gap is relative to are at least this part of |r|^2; round-off of N lambda.
constexpr double kNoEnergy = 1e-12, kRoundOff = 1e-15;
/// mu of a guess over the product of what is wrong with it and its size.
constexpr double kGuessMu = 0.01;

double squared(std::span<const double> x) {
  double sum = 0.0;
  for (const double v : x) sum += v * v;
  return sum;
}

}  // namespace

ConicIterate::ConicIterate(const ConstraintProblem& p, DelassusOperator& o)
    : problem(p), op(o), rows(p) {
  for (std::vector<double>* v : {&r, &lambda, &w, &residual, &scaled}) v->assign(p.n_rows(), 0.0);
  for (std::vector<Vec3>* v : {&s, &z, &s_gap}) v->assign(rows.cones().size(), Vec3::Zero());
}

void ConicIterate::set_free_residual(std::span<const double> shift) {
  op.free_residual(r);
  for (std::size_t i = 0; i < r.size(); ++i)
    r[i] = rows.scale()[i] * (r[i] + (shift.empty() ? 0.0 : shift[i]));
  r_norm = std::sqrt(problem.comm.sum(squared(r)));
  if (r_norm == 0.0) r_norm = 1.0;
}

/// Takes lambda, 0 in rows with cones, along the cones' axes until s is about c (1, 0) in each, as
/// far as bounds that are tiny or near to each other let it.
void ConicIterate::place_inside(double c) {
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

bool ConicIterate::start_cold(ConicSystem& system) {
  system.set_diagonal(kStartWeight);
  if (!system.factor()) return false;
  for (std::size_t i = 0; i < r.size(); ++i) scaled[i] = -r[i];
  system.solve(scaled, lambda, kStartLinear);
  double largest = 0.0;
  std::array<double, 2> sums = {};
  for (std::size_t i = 0; i < lambda.size(); ++i) {
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
  return measure();
}

bool ConicIterate::start_warm(std::span<const double> impulses) {
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
  return measure();
}

bool ConicIterate::measure() {
  const std::span<const double> scale = rows.scale();
  for (std::size_t i = 0; i < lambda.size(); ++i) scaled[i] = scale[i] * lambda[i];
  op.apply(scaled, w);
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
  now.complementarity = sums[4];
  now.lambda_norm = std::sqrt(sums[2]);
  now.resistance = std::sqrt(sums[3]);
  now.quadratic = sums[0];
  now.work = sums[1];
  // the last: where the solution is no impulses, the energies to compare with vanish as well
  const double energy = std::max({std::abs(now.quadratic), std::abs(now.work),
                                  kNoEnergy * r_norm * r_norm, std::numeric_limits<double>::min()});
  now.gap = (sums[4] + std::abs(sums[5]) + std::abs(sums[7])) / energy;
  // round-off of N lambda counts as nothing
  const double misfit = std::max(0.0, std::sqrt(sums[6]) - kRoundOff * now.lambda_norm);
  now.infeasibility = misfit / std::max(r_norm, std::numeric_limits<double>::min());
  return std::isfinite(now.merit());
}

std::string ConicIterate::unbounded() const {
  if (!(now.resistance <= kNoResistance * now.lambda_norm &&
        now.work < -kGain * r_norm * now.lambda_norm &&
        -now.work > kNoEnd * std::abs(now.quadratic)))
    return {};
  return "no solution exists: impulses within the cones do work without end against no "
         "resistance (scaled rows: |N d| = " +
         short_text(now.resistance / now.lambda_norm, 2) +
         ", r.d = " + short_text(now.work / now.lambda_norm, 2) +
         " for |d| = 1, |r| = " + short_text(r_norm, 2) + ")";
}

void ConicIterate::write(std::span<double> impulses) const {
  std::copy(lambda.begin(), lambda.end(), impulses.begin());
  rows.clean(impulses);
  for (std::size_t i = 0; i < impulses.size(); ++i) impulses[i] *= rows.scale()[i];
}

double ConicIterate::per_cone(double sum) const {
  return sum / static_cast<double>(std::max<std::int64_t>(rows.n_cones(), 1));
}

}  // namespace catena
