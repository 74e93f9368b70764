#include "metrics/cone_violation.hpp"

#include <algorithm>
#include <cmath>

#include "catena/constraints/contact_cone.hpp"
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

/// A contact of three rows whose tangents are alike, `lambda` with its cohesion; law box: each row
/// with its own bounds.
void add_contact(const LawForm& form, double mu, double cohesion, const Vec3& lambda,
                 ConeViolation& out) {
  if (form.box) {
    const double bound = mu * std::max(lambda[0], 0.0);
    add_row(lambda[0], 0.0, kInfinity, out);
    for (int i = 1; i < 3; ++i) add_row(lambda[i], -bound, bound, out);
    return;
  }
  add((lambda - project_cone(lambda, mu)).norm(), std::max(lambda.norm(), cohesion), out);
}

void add_contact(const LawForm& form, const ContactCone& cone, const double* impulses,
                 ConeViolation& out) {
  add_contact(form, cone.discs.bound[0], cone.cohesion,
              {impulses[0] + cone.cohesion, impulses[1], impulses[2] * cone.axis[2]}, out);
}

/// Contacts of the problem's own list by a law that has kernels: their cones are as they stand.
void add_listed(const ConstraintProblem& problem, const double* impulses, ConeViolation& out) {
  const LawForm form = law_form(problem.law);
  for (const RigidContact& c : problem.contacts) {
    add_contact(form, form.frictionless ? 0.0 : c.friction, c.cohesion,
                {impulses[0] + c.cohesion, impulses[1], impulses[2]}, out);
    impulses += 3;
  }
}

/// A contact with rolling or spinning rows: all of them in N s, as in its other errors.
void add_wide_contact(const LawForm& form, const ContactCone& cone, const double* lambda,
                      const double* diagonal, ConeViolation& out) {
  row_errors::DiscContact c{Vec6::Zero(), Vec6::Zero(), Vec6::Zero(), cone.discs, false};
  for (int row = 0; row < 6; ++row) {
    const int from = cone.row[row];
    if (from < 0) continue;
    c.lambda[row] = lambda[from] * cone.axis[row];
    c.diagonal[row] = diagonal[from] / (cone.axis[row] * cone.axis[row]);
  }
  c.lambda[0] += cone.cohesion;
  const row_errors::LinearRows rows = linear_rows(c);
  if (!form.box)
    return add((rows.lambda - project_disc_cone(rows.cone, rows.lambda)).norm(),
               std::max(rows.lambda.norm(), cone.cohesion), out);
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
  if (blocks.kind[k] == BlockKind::bilateral) {
    for (Index i = 0; i < blocks.rows(k); ++i) add(0.0, std::abs(lambda[i]), out);
    return;
  }
  const Index block = to_index(problem.contacts.size()) + k;
  const BlockView view = block_view(problem, block);
  if (view.kind == BlockKind::contact) {
    const ContactCone cone = contact_cone(problem, block);
    const LawForm form = law_form(problem.law);
    return view.rows > 3 ? add_wide_contact(form, cone, lambda, diagonal, out)
                         : add_contact(form, cone, lambda, out);
  }
  const std::size_t row = blocks.row_begin[k];
  for (Index i = 0; i < view.rows; ++i) {
    const bool boxed = view.kind == BlockKind::boxed;
    const double lower = boxed ? blocks.lower[row + i] : 0.0;
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
  const Index of_three = problem.n_blocks() - problem.blocks.size();
  if (!problem.assembled && has_kernels(problem))
    add_listed(problem, impulses.data(), out);
  else
    for (Index k = 0; k < of_three; ++k)
      add_contact(law_form(problem.law), contact_cone(problem, k), impulses.data() + Offset{3} * k,
                  out);
  const std::size_t first = problem.first_general_row();
  for (Index k = 0; k < problem.blocks.size(); ++k) {
    const std::size_t row = problem.blocks.row_begin[k];
    add_general(problem, k, impulses.data() + first + row, row_diagonal.data() + row, out);
  }
  return out;
}

}  // namespace catena
