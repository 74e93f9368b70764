#include "solvers/interior_point/cone_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "catena/base/error.hpp"
#include "catena/math/disc_cone.hpp"

namespace catena {

ConicRows::ConicRows(const ConstraintProblem& problem, const DelassusOperator& op)
    : problem_(problem) {
  if (problem.law == ContactLaw::box)
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
  find_scales(op);
  const Index general = problem.first_general_row();
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    if (view.kind == BlockKind::contact) {
      add_contact(k, view);
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

void ConicRows::find_scales(const DelassusOperator& op) {
  std::vector<double> block;
  for (Index k = 0; k < problem_.n_blocks(); ++k) {
    const BlockView view = block_view(problem_, k);
    block.resize(view.rows * view.rows);
    op.diagonal_block(k, block);
    // rows that turn or move together have one scale; without mobility that of the row before
    const auto set_scale = [&](Index begin, Index end) {
      double sum = 0.0;
      for (Index i = begin; i < end; ++i) sum += block[i * view.rows + i];
      const double mean = sum / static_cast<double>(end - begin);
      const double other = begin > 0 ? scale_[view.row + begin - 1] : 1.0;
      for (Index i = begin; i < end; ++i)
        scale_[view.row + i] = mean > 0.0 ? 1.0 / std::sqrt(mean) : other;
    };
    if (view.kind == BlockKind::contact) {
      const std::array<int, 6> place = standard_row_slots(view);
      set_scale(0, 3);
      if (place[3] >= 0) set_scale(place[3], place[4] + 1);
      if (place[5] >= 0) set_scale(place[5], place[5] + 1);
    } else {
      for (Index i = 0; i < view.rows; ++i) set_scale(i, i + 1);
    }
  }
}

void ConicRows::add_contact(Index block, const BlockView& view) {
  const bool smooth = problem_.law == ContactLaw::frictionless;
  const std::array<double, 3> bound = {view.friction, view.rolling, view.spinning};
  const std::array<int, 6> place = standard_row_slots(view);
  const double normal_scale = scale_[view.row];
  bool bounded = false;  // lambda_n + c >= 0 by a cone
  for (std::size_t disc = 0; disc < bound.size(); ++disc) {
    std::array<Index, 2> row = {-1, -1};
    for (int i = 0; i < kDiscRows[disc]; ++i) {
      const int from = place[kDiscBegin[disc] + i];
      if (from >= 0) row[i] = view.row + from;
    }
    if (row[0] < 0) continue;
    if (smooth || bound[disc] <= 0.0) {
      for (const Index i : row)
        if (i >= 0) fix(i, 0.0);
      continue;
    }
    const double scale = scale_[row[0]];
    cones_.push_back({block,
                      {view.row, row[0], row[1]},
                      bound[disc] * normal_scale / scale,
                      bound[disc] * view.cohesion / scale});
    bounded = true;
  }
  if (!bounded) add_scalar(block, view.row, 1.0, view.cohesion / normal_scale);
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
