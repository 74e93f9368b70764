#include "solvers/interior_point/cone_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "catena/base/error.hpp"
#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/contact_cone.hpp"

namespace catena {

ConicRows::ConicRows(const ConstraintProblem& problem) : problem_(problem) {
  if (law_form(problem.law).box)
    throw Error(
        "interior point needs a convex law, and the bounds of law box move with the normal "
        "impulse",
        "law", "use law ccp or coulomb, or another solver");
  const std::size_t n = problem.n_rows();
  scale_.assign(n, 1.0);
  fixed_value_.assign(n, 0.0);
  fixed_.assign(n, 0);
  free_.assign(n, 0);
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    first_row_.push_back(view.row);
    n_rows_.push_back(view.rows);
  }
  find_scales();
  const Index general = problem.first_general_row();
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    if (view.kind == BlockKind::contact) {
      add_contact(k);
      continue;
    }
    for (Index i = view.row; i < view.row + view.rows; ++i) {
      if (view.kind == BlockKind::bilateral) free_[i] = 1;
      if (view.kind == BlockKind::unilateral) add_scalar(k, i, 1.0, 0.0);
      if (view.kind == BlockKind::boxed)
        add_boxed(k, i, problem.blocks.lower[i - general], problem.blocks.upper[i - general]);
    }
  }
  n_cones_ = problem.comm.sum(std::ssize(cones_));
}

void ConicRows::find_scales() {
  std::vector<double> diagonal;
  for (Index k = 0; k < problem_.n_blocks(); ++k) {
    const BlockView view = block_view(problem_, k);
    diagonal.resize(view.rows);
    row_diagonals(problem_, k, diagonal);
    // rows that turn or move together have one scale; without mobility that of the row before
    const auto set_scale = [&](Index begin, Index end) {
      double sum = 0.0;
      for (Index i = begin; i < end; ++i) sum += diagonal[i];
      const double mean = sum / static_cast<double>(end - begin);
      const double other = begin > 0 ? scale_[view.row + begin - 1] : 1.0;
      for (Index i = begin; i < end; ++i)
        scale_[view.row + i] = mean > 0.0 ? 1.0 / std::sqrt(mean) : other;
    };
    if (view.kind == BlockKind::contact) {
      const ContactCone cone = contact_cone(problem_, k);
      set_scale(0, 3);
      for (std::size_t disc = 1; disc < 3; ++disc)
        if (cone.has(disc))
          set_scale(cone.row[kDiscBegin[disc]], cone.row[kDiscBegin[disc]] + kDiscRows[disc]);
      for (std::size_t i = 1; i < 6; ++i)
        if (cone.row[i] >= 0) scale_[view.row + cone.row[i]] /= cone.axis[i];
    } else {
      for (Index i = 0; i < view.rows; ++i) set_scale(i, i + 1);
    }
  }
}

void ConicRows::add_contact(Index block) {
  const ContactCone cone = contact_cone(problem_, block);
  const Index normal = first_row_[block];
  const double normal_scale = scale_[normal];
  bool bounded = false;  // lambda_n + c >= 0 by a cone
  for (std::size_t disc = 0; disc < 3; ++disc) {
    if (!cone.has(disc)) continue;
    std::array<Index, 2> row = {-1, -1};
    for (int i = 0; i < kDiscRows[disc]; ++i) row[i] = normal + cone.row[kDiscBegin[disc] + i];
    const double bound = cone.discs.bound[disc];
    if (bound <= 0.0) {
      for (const Index i : row)
        if (i >= 0) fix(i, 0.0);
      continue;
    }
    const double scale = scale_[row[0]];
    cones_.push_back({block,
                      {normal, row[0], row[1]},
                      bound * normal_scale / scale,
                      bound * cone.cohesion / scale});
    bounded = true;
  }
  if (!bounded) add_scalar(block, normal, 1.0, cone.cohesion / normal_scale);
}

void ConicRows::add_scalar(Index block, Index row, double a, double b) {
  cones_.push_back({block, {row, -1, -1}, a, b});
}

void ConicRows::add_boxed(Index block, Index row, double lower, double upper) {
  if (lower >= upper) return fix(row, lower);
  const double scale = scale_[row];
  const bool low = std::isfinite(lower), high = std::isfinite(upper);
  if (low) add_scalar(block, row, 1.0, -lower / scale);
  if (high) add_scalar(block, row, -1.0, upper / scale);
  if (!low && !high) free_[row] = 1;
}

void ConicRows::fix(Index row, double value) {
  fixed_[row] = 1;
  fixed_value_[row] = value / scale_[row];
}

void ConicRows::add_congruence(const RowCone& cone, const Mat3& h, BlockMatrices& matrix) const {
  const Index first = first_row_[cone.block], m = n_rows_[cone.block];
  double* c = matrix.block(cone.block);
  for (int i = 0; i < 3; ++i) {
    const Index row = cone.row[i];
    if (row < 0) continue;
    for (int j = 0; j < 3; ++j) {
      const Index column = cone.row[j];
      if (column < 0) continue;
      const double a = (i == 0 ? cone.a : 1.0) * (j == 0 ? cone.a : 1.0);
      c[(row - first) * m + column - first] += a * h(i, j) / (scale_[row] * scale_[column]);
    }
  }
}

void ConicRows::clean(std::span<double> lambda) const {
  for (std::size_t i = 0; i < lambda.size(); ++i)
    if (is_fixed(i)) lambda[i] = fixed_value_[i];
  for (const RowCone& cone : cones_) {
    const Vec3 s = apply(cone, lambda, true);
    if (s[0] < 0.0) lambda[cone.row[0]] = -cone.b / cone.a;
    const double length = std::hypot(s[1], s[2]), room = std::max(s[0], 0.0);
    if (length <= room) continue;
    // one rounding inside, so that it stays in after the rows are scaled back
    const double shrink = room / length * (1.0 - 4.0 * std::numeric_limits<double>::epsilon());
    for (int i = 1; i < 3; ++i)
      if (cone.row[i] >= 0) lambda[cone.row[i]] *= shrink;
  }
}

}  // namespace catena
