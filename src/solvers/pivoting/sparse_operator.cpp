#include "solvers/pivoting/sparse_operator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "catena/constraints/contact_cone.hpp"
#include "catena/constraints/delassus_matrix.hpp"
#include "catena/math/disc_cone.hpp"
#include "catena/math/types.hpp"

namespace catena {
namespace {

/// N^T of a problem on one rank.
DelassusMatrix transposed(const DelassusMatrix& n) {
  DelassusMatrix out;
  out.row_begin.assign(n.row_begin.size(), 0);
  for (const Index c : n.column) ++out.row_begin[c + 1];
  std::partial_sum(out.row_begin.begin(), out.row_begin.end(), out.row_begin.begin());
  std::vector<std::int64_t> next = out.row_begin;
  out.column.resize(n.column.size());
  out.value.resize(n.value.size());
  for (Index i = 0; i < n.n_rows(); ++i)
    for (std::int64_t e = n.row_begin[i]; e < n.row_begin[i + 1]; ++e) {
      const std::int64_t to = next[n.column[e]]++;
      out.column[to] = i;
      out.value[to] = n.value[e];
    }
  return out;
}

/// (N + N^T)/2 and (N - N^T)/2 where either has entries.
SparseOperator halves(const DelassusMatrix& n) {
  const DelassusMatrix t = transposed(n);
  SparseOperator out;
  const auto add = [&](Index column, double a, double b) {
    out.symmetric.column.push_back(column);
    out.symmetric.value.push_back(a + b);
    out.skew.push_back(a - b);
  };
  for (Index i = 0; i < n.n_rows(); ++i) {
    std::int64_t a = n.row_begin[i], b = t.row_begin[i];
    while (a < n.row_begin[i + 1] || b < t.row_begin[i + 1]) {
      const Index column_a = a < n.row_begin[i + 1] ? n.column[a] : n.n_rows();
      const Index column_b = b < t.row_begin[i + 1] ? t.column[b] : n.n_rows();
      add(std::min(column_a, column_b), column_a <= column_b ? 0.5 * n.value[a] : 0.0,
          column_b <= column_a ? 0.5 * t.value[b] : 0.0);
      if (column_a <= column_b) ++a;
      if (column_b <= column_a) ++b;
    }
    out.symmetric.row_begin.push_back(std::ssize(out.symmetric.value));
  }
  return out;
}

double largest(const std::vector<double>& values) {
  double found = 0.0;
  for (const double v : values) found = std::max(found, std::abs(v));
  return found;
}

}  // namespace

SparseOperator sparse_operator(const ConstraintProblem& problem) {
  DelassusMatrix n = assemble_delassus(problem);
  if (!problem.assembled)
    return {{std::move(n.row_begin), std::move(n.column), std::move(n.value)}, {}};
  SparseOperator out = halves(n);
  if (!(largest(out.skew) >
        4.0 * std::numeric_limits<double>::epsilon() * largest(out.symmetric.value)))
    out.skew.clear();
  return out;
}

RowBounds row_bounds(const ConstraintProblem& problem) {
  RowBounds out;
  out.lower.setZero(problem.n_rows());
  out.upper.setZero(problem.n_rows());
  const Index first_general = problem.first_general_row();
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    if (view.kind != BlockKind::contact) {
      for (Index i = view.row; i < view.row + view.rows; ++i) {
        const bool boxed = view.kind == BlockKind::boxed;
        const std::size_t general = i - first_general;
        out.lower[i] = boxed                               ? problem.blocks.lower[general]
                       : view.kind == BlockKind::bilateral ? -kInfinity
                                                           : 0.0;
        out.upper[i] = boxed ? problem.blocks.upper[general] : kInfinity;
      }
      continue;
    }
    out.lower[view.row] = -view.cohesion;
    out.upper[view.row] = kInfinity;
    const ContactCone cone = contact_cone(problem, k);
    for (std::size_t d = 0; d < 3; ++d)
      if (cone.has(d))
        out.discs.push_back({view.row, view.row + cone.row[kDiscBegin[d]], kDiscRows[d],
                             cone.discs.bound[d], cone.cohesion});
  }
  return out;
}

void make_admissible(const RowBounds& bounds, bool box, Eigen::VectorXd& x) {
  std::vector<std::uint8_t> in_disc(x.size(), 0);
  for (const FrictionDisc& d : bounds.discs)
    for (int r = 0; r < d.rows; ++r) in_disc[d.first + r] = 1;
  for (Eigen::Index i = 0; i < x.size(); ++i)
    if (in_disc[i] == 0) x[i] = std::min(std::max(x[i], bounds.lower[i]), bounds.upper[i]);
  for (const FrictionDisc& d : bounds.discs) {
    const double radius = d.radius(x);
    auto rows = x.segment(d.first, d.rows);
    const double length = rows.norm();
    if (box || d.rows == 1)
      rows = rows.cwiseMax(-radius).cwiseMin(radius);
    else if (length > radius)
      rows *= radius > 0.0 ? radius / length : 0.0;
  }
}

}  // namespace catena
