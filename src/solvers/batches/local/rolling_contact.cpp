#include "solvers/batches/local/rolling_contact.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "catena/math/rotation.hpp"
#include "catena/math/types.hpp"

namespace catena {
namespace {

/// The disc of each row in full; the normal has none.
constexpr std::array<std::size_t, 6> kDiscOf = {3, 0, 0, 1, 1, 2};

/// Rows one after the other, w carried along; friction rows within bounds where the law is box.
Vec6 solve_rows_of(const LocalSolveOptions& rules, const RollingContact& c, Vec6 w, Vec6 z) {
  const LawForm form = law_form(rules.law);
  const int rows = form.frictionless ? 1 : 6;
  for (int i = 0; i < rows; ++i) {
    const double bound = form.box && i > 0 ? c.cone.bound[kDiscOf[i]] * z[0] : kInfinity;
    const double lower = i == 0 ? 0.0 : -bound;
    const double next = std::clamp(z[i] - rules.omega * w[i] / c.problem.d(i, i), lower, bound);
    w += c.problem.d.col(i) * (next - z[i]);
    z[i] = next;
  }
  if (form.frictionless) z.tail<5>().setZero();
  return form.box ? z : cut_discs(c.cone, z);
}

Vec6 solve_sliding(const RollingContact& c, const Vec6& w, const Vec6& lambda) {
  const Vec6 z = lambda - c.problem.inverse * w;
  if (z[0] <= 0.0) return Vec6::Zero();
  // w_n = 0 with z_n times `along` for the discs that slide and z itself for the others
  double slope = c.problem.d(0, 0);
  double load = c.problem.d.row(0).dot(lambda) - w[0];
  Vec6 along = Vec6::Zero();
  bool any = false;
  for (std::size_t i = 0; i < 3; ++i) {
    const double length = disc_length(z, i);
    const bool slides = length > c.cone.bound[i] * z[0];
    any = any || slides;
    for (int row = kDiscBegin[i]; row < kDiscBegin[i] + kDiscRows[i]; ++row) {
      if (slides) along[row] = c.cone.bound[i] * z[row] / length;
      slope += c.problem.d(0, row) * along[row];
      if (!slides) load -= c.problem.d(0, row) * z[row];
    }
  }
  if (!any) return z;
  if (slope <= 0.0 || load <= 0.0) return Vec6::Zero();
  const double normal = load / slope;
  Vec6 next = z;
  next[0] = normal;
  for (int row = 1; row < 6; ++row)
    if (along[row] != 0.0) next[row] = normal * along[row];
  return cut_discs(c.cone, next);
}

Vec6 solve_full(const LocalSolveOptions& rules, const RollingContact& c, const Vec6& w,
                const Vec6& lambda) {
  const LawForm form = law_form(rules.law);
  if (!form.is_cone() || rules.local == LocalSolve::scalar)
    return solve_rows_of(rules, c, w, lambda);
  Vec6 z;
  switch (rules.local) {
    case LocalSolve::cone:
      return project_disc_cone(c.cone, lambda - (rules.omega / c.problem.largest) * w);
    case LocalSolve::project:
      z = lambda - c.problem.inverse * w;
      z = z[0] <= 0.0 ? Vec6(Vec6::Zero()) : cut_discs(c.cone, z);
      break;
    case LocalSolve::sliding:
      z = solve_sliding(c, w, lambda);
      break;
    default:
      z = solve_disc_contact(c.problem, w - c.problem.d * lambda, c.cone, form.shifted, lambda);
  }
  if (rules.omega == 1.0) return z;
  return project_disc_cone(c.cone, lambda + rules.omega * (z - lambda));
}

/// The block's rows in full, times (impulses) or over (slips) the scale; 0 for rows it has not.
Vec6 scaled_rows(const RollingContact& c, std::span<const double> rows, bool impulses) {
  Vec6 out = Vec6::Zero();
  for (int i = 0; i < 6; ++i) {
    if (c.place[i] < 0) continue;
    const double value = rows[c.place[i]];
    out[i] = impulses ? value * c.scale[i] : value / c.scale[i];
  }
  return out;
}

void store_impulses(const RollingContact& c, const Vec6& z, std::span<double> lambda) {
  std::fill(lambda.begin(), lambda.end(), 0.0);
  for (int i = 0; i < 6; ++i)
    if (c.place[i] >= 0) lambda[c.place[i]] = z[i] / c.scale[i];
}

void shift_and_invert(DiscProblem& problem) {
  Eigen::LLT<Mat6> factor(problem.d);
  const auto pivots = factor.matrixLLT().diagonal();
  if (factor.info() != Eigen::Success || !(pivots.minCoeff() > 1e-6)) {
    problem.d.diagonal().array() += 1e-10 * problem.d.trace();
    factor.compute(problem.d);
  }
  problem.inverse = factor.solve(Mat6::Identity());
  // a safe overestimate of the largest eigenvalue, of the size of round-off
  const Eigen::SelfAdjointEigenSolver<Mat6> eigen(problem.d, Eigen::EigenvaluesOnly);
  problem.largest = eigen.eigenvalues().maxCoeff() * (1.0 + 1e-14);
}

}  // namespace

RollingContact make_wide_contact(const ContactCone& cone, Index rows, std::span<const double> d) {
  RollingContact c;
  c.place = cone.row;
  const auto entry = [&](int i, int j) { return d[Offset{c.place[i]} * rows + c.place[j]]; };
  c.scale.setOnes();
  c.problem.d.setIdentity();
  c.problem.inverse.setIdentity();
  if (!(entry(0, 0) > 0.0)) return c;
  c.scale[0] = std::sqrt(entry(0, 0));
  for (std::size_t i = 0; i < 3; ++i) {
    const int first = kDiscBegin[i], last = kDiscBegin[i] + kDiscRows[i] - 1;
    if (!cone.has(i)) continue;
    const double mean = 0.5 * (entry(first, first) + entry(last, last));
    for (int row = first; row <= last; ++row)
      if (!(entry(row, row) > 0.0)) c.place[row] = -1;
    if (!(mean > 0.0)) continue;
    for (int row = first; row <= last; ++row) c.scale[row] = std::sqrt(mean) * cone.axis[row];
    c.cone.bound[i] = cone.discs.bound[i] * c.scale[first] / c.scale[0];
  }
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j)
      if (c.place[i] >= 0 && c.place[j] >= 0)
        c.problem.d(i, j) = entry(i, j) / (c.scale[i] * c.scale[j]);
  shift_and_invert(c.problem);
  find_round(c.problem);
  return c;
}

void solve_wide_contact(const LocalSolveOptions& rules, const RollingContact& contact,
                        std::span<const double> w, std::span<double> lambda) {
  const Vec6 z = solve_full(rules, contact, scaled_rows(contact, w, false),
                            scaled_rows(contact, lambda, true));
  store_impulses(contact, z, lambda);
}

void solve_rolling_turn(ContactLaw law, const RollingTurn& turn, double* z) {
  const Vec3 n(turn.normal[0], turn.normal[1], turn.normal[2]);
  Vec3 t1, t2;
  tangents_of(n, t1, t2);
  // rows in full, with t1 and t2 for the world; r = m x n has the couple's rows -r.t2 and r.t1
  const auto rows_of = [&](const double* x) {
    const Vec3 t(x[1], x[2], x[3]), r(x[4], x[5], x[6]);
    return std::array{x[0], t1.dot(t), t2.dot(t), -t2.dot(r), t1.dot(r), x[7]};
  };
  std::array<double, 36> d{};
  const std::array<double, 6> diagonal = {turn.d[0], turn.d[1], turn.d[1],
                                          turn.d[2], turn.d[2], turn.d[3]};
  for (std::size_t i = 0; i < 6; ++i) d[7 * i] = diagonal[i];
  d[6 * 1 + 4] = d[6 * 4 + 1] = turn.coupling;
  d[6 * 2 + 3] = d[6 * 3 + 2] = -turn.coupling;
  ContactCone cone{{0, 1, 2, 3, 4, 5}, {{turn.bound[0], turn.bound[1], turn.bound[2]}}};
  const std::array<double, 6> w = rows_of(turn.w);
  std::array<double, 6> lambda = rows_of(turn.lambda);
  solve_wide_contact({law, LocalSolve::exact, 1.0}, make_wide_contact(cone, 6, d), w, lambda);
  const Vec3 t = lambda[1] * t1 + lambda[2] * t2, r = lambda[4] * t1 - lambda[3] * t2;
  z[0] = lambda[0];
  std::copy_n(t.data(), 3, z + 1);
  std::copy_n(r.data(), 3, z + 4);
  z[7] = lambda[5];
}

void make_admissible(ContactLaw law, const RollingContact& contact, std::span<double> lambda) {
  const Vec6 z = scaled_rows(contact, lambda, true);
  store_impulses(
      contact,
      law_form(law).is_cone() ? project_disc_cone(contact.cone, z) : clamp_rows(contact.cone, z),
      lambda);
}

}  // namespace catena
