#include "metrics/cone_violation.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "catena/math/cone.hpp"
#include "catena/math/types.hpp"
#include "metrics/disc_errors.hpp"

namespace catena {
namespace {

/// Adds a block or a row. A comparison drops what is not a number, so that it is looked for.
void add(double distance, double size, ConeViolation& out) {
  if (!std::isfinite(distance) || !std::isfinite(size)) distance = kInfinity;
  out.distance = std::max(out.distance, distance);
  out.largest = std::max(out.largest, size);
}

void add_row(double lambda, double lower, double upper, ConeViolation& out) {
  const double outside = lambda < lower ? lower - lambda : lambda > upper ? lambda - upper : 0.0;
  add(std::isnan(lambda) ? lambda : outside, std::abs(lambda), out);
}

/// `lambda` with cohesion added. Law box: each row with its own bounds.
void add_contact(ContactLaw law, const Vec3& lambda, double friction, double cohesion,
                 ConeViolation& out) {
  if (law == ContactLaw::box) {
    const double bound = friction * std::max(lambda[0], 0.0);
    add_row(lambda[0], 0.0, kInfinity, out);
    for (int i = 1; i < 3; ++i) add_row(lambda[i], -bound, bound, out);
    return;
  }
  const double mu = law == ContactLaw::frictionless ? 0.0 : friction;
  add((lambda - project_cone(lambda, mu)).norm(), std::max(lambda.norm(), cohesion), out);
}

/// A contact with rolling or spinning rows: all of them in N s, as in its other errors.
void add_wide_contact(ContactLaw law, const BlockView& view, const double* lambda,
                      const double* diagonal, ConeViolation& out) {
  row_errors::DiscContact c{
      Vec6::Zero(),
      Vec6::Zero(),
      Vec6::Zero(),
      {{view.friction, std::max(view.rolling, 0.0), std::max(view.spinning, 0.0)}},
      false};
  if (law == ContactLaw::frictionless) c.cone = {};
  const std::array<int, 6> place = standard_row_slots(view);
  for (int row = 0; row < 6; ++row) {
    const int from = place[row];
    if (from < 0) continue;
    c.lambda[row] = lambda[from];
    c.diagonal[row] = diagonal[from];
  }
  c.lambda[0] += view.cohesion;
  const row_errors::LinearRows rows = linear_rows(c);
  if (law != ContactLaw::box)
    return add((rows.lambda - project_disc_cone(rows.cone, rows.lambda)).norm(),
               std::max(rows.lambda.norm(), view.cohesion), out);
  add_row(rows.lambda[0], 0.0, kInfinity, out);
  for (std::size_t i = 0; i < 3; ++i) {
    const double bound = rows.cone.bound[i] * std::max(rows.lambda[0], 0.0);
    for (int row = kDiscBegin[i]; row < kDiscBegin[i] + kDiscRows[i]; ++row)
      add_row(rows.lambda[row], -bound, bound, out);
  }
}

void add_general(const ConstraintProblem& problem, Index k, const double* lambda,
                 const double* diagonal, ConeViolation& out) {
  const GeneralBlocks& blocks = problem.blocks;
  const BlockView view = block_view(problem, to_index(problem.contacts.size()) + k);
  if (view.kind == BlockKind::contact && view.rows > 3)
    return add_wide_contact(problem.law, view, lambda, diagonal, out);
  if (view.kind == BlockKind::contact)
    return add_contact(problem.law, {lambda[0] + view.cohesion, lambda[1], lambda[2]},
                       view.friction, view.cohesion, out);
  const std::size_t row = blocks.row_begin[k];
  for (Index i = 0; i < view.rows; ++i) {
    const bool boxed = view.kind == BlockKind::boxed;
    const double lower = boxed                                ? blocks.lower[row + i]
                         : view.kind == BlockKind::unilateral ? 0.0
                                                              : -kInfinity;
    add_row(lambda[i], lower, boxed ? blocks.upper[row + i] : kInfinity, out);
  }
}

}  // namespace

ConeViolation cone_violation_of(const ConstraintProblem& problem, std::span<const double> impulses,
                                std::span<const double> row_diagonal) {
  ConeViolation out;
  std::vector<double> zeros;
  if (impulses.empty()) {
    zeros.assign(problem.n_rows(), 0.0);
    impulses = zeros;
  }
  if (problem.assembled) {
    const std::vector<double>& friction = problem.assembled->friction;
    for (std::size_t k = 0; k < friction.size(); ++k)
      add_contact(problem.law, Eigen::Map<const Vec3>(impulses.data() + 3 * k), friction[k], 0.0,
                  out);
    return out;
  }
  for (std::size_t k = 0; k < problem.contacts.size(); ++k) {
    const RigidContact& c = problem.contacts[k];
    const double* lambda = impulses.data() + 3 * k;
    add_contact(problem.law, {lambda[0] + c.cohesion, lambda[1], lambda[2]}, c.friction, c.cohesion,
                out);
  }
  const std::size_t first = problem.first_general_row();
  for (Index k = 0; k < problem.blocks.size(); ++k) {
    const std::size_t row = problem.blocks.row_begin[k];
    add_general(problem, k, impulses.data() + first + row, row_diagonal.data() + row, out);
  }
  return out;
}

}  // namespace catena
