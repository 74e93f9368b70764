#include "solvers/pivoting/sparse_operator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "catena/constraints/block_rows.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "catena/math/disc_cone.hpp"
#include "catena/math/types.hpp"

namespace catena {
namespace {

/// A block's rows on one of its bodies: `rows` lines of G and of G M^-1.
struct BodyRows {
  Index block, row, rows;
  std::size_t begin;  ///< of their numbers
};

/// Blocks by body, prescribed bodies left out, and bodies by block.
struct Incidence {
  std::vector<std::vector<BodyRows>> of_body;
  std::vector<std::vector<std::pair<Index, std::size_t>>> of_block;  ///< body, place in of_body
  std::vector<double> g, y;
};

void add_body_rows(const ConstraintProblem& problem, Index block, Index row, Index rows, Index body,
                   const double* jacobian, Incidence& out) {
  const ProblemBodies& bodies = problem.bodies;
  if (bodies.is_prescribed(body)) return;
  const std::size_t dofs = bodies.dofs(body);
  const std::size_t begin = out.g.size();
  out.g.insert(out.g.end(), jacobian, jacobian + Offset{rows} * dofs);
  out.y.resize(out.g.size());
  for (Index r = 0; r < rows; ++r)
    apply_inverse_mass(bodies, body, {out.g.data() + begin + r * dofs, dofs},
                       {out.y.data() + begin + r * dofs, dofs});
  out.of_block[block].push_back({body, out.of_body[body].size()});
  out.of_body[body].push_back({block, row, rows, begin});
}

Incidence incidence_of(const ConstraintProblem& problem) {
  Incidence out;
  out.of_body.resize(problem.bodies.size());
  out.of_block.resize(problem.n_blocks());
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    for_each_body(problem, k, [&](Index body, const double* jacobian) {
      add_body_rows(problem, k, view.row, view.rows, body, jacobian, out);
    });
  }
  return out;
}

/// Adds up one block's rows of N, block by block, and writes them.
class BlockRow {
 public:
  explicit BlockRow(const ConstraintProblem& problem)
      : problem_(problem), place_(problem.n_blocks(), -1) {}

  void begin(Index rows) {
    for (const Index k : found_) place_[k] = -1;
    found_.clear();
    begin_.clear();
    values_.clear();
    rows_ = rows;
  }
  /// The block of N with rows of `column_block`, rows x its rows, zero at first.
  double* block(Index column_block, Index columns) {
    if (place_[column_block] < 0) {
      place_[column_block] = to_index(found_.size());
      found_.push_back(column_block);
      begin_.push_back(values_.size());
      values_.resize(values_.size() + (rows_ * columns), 0.0);
    }
    return values_.data() + begin_[place_[column_block]];
  }
  void write(SymmetricRows& out) {
    std::vector<Index> sorted = found_;
    std::sort(sorted.begin(), sorted.end());
    for (Index r = 0; r < rows_; ++r) {
      for (const Index k : sorted) {
        const BlockView view = block_view(problem_, k);
        const double* from = values_.data() + begin_[place_[k]] + (r * view.rows);
        for (Index c = 0; c < view.rows; ++c) {
          out.column.push_back(view.row + c);
          out.value.push_back(from[c]);
        }
      }
      out.row_begin.push_back(std::ssize(out.value));
    }
  }

 private:
  const ConstraintProblem& problem_;
  std::vector<Index> place_, found_;
  std::vector<std::size_t> begin_;
  std::vector<double> values_;
  Index rows_ = 0;
};

SparseOperator from_bodies(const ConstraintProblem& problem) {
  const Incidence incidence = incidence_of(problem);
  SparseOperator out;
  BlockRow row(problem);
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    row.begin(view.rows);
    double* own = row.block(k, view.rows);
    if (k < to_index(problem.contacts.size()))
      for (Index r = 0; r < 3; ++r) own[4 * r] = compliance_of(problem.contacts[k])[r];
    else if (const Index first = view.row - problem.first_general_row(); first >= 0)
      for (Index r = 0; r < view.rows; ++r)
        own[r * view.rows + r] = problem.blocks.compliance[first + r];
    for (const auto& [body, place] : incidence.of_block[k]) {
      const Index dofs = problem.bodies.dofs(body);
      const BodyRows& mine = incidence.of_body[body][place];
      for (const BodyRows& other : incidence.of_body[body]) {
        double* to = row.block(other.block, other.rows);
        for (Index r = 0; r < mine.rows; ++r)
          for (Index c = 0; c < other.rows; ++c) {
            const double* g = incidence.g.data() + mine.begin + (r * dofs);
            const double* y = incidence.y.data() + other.begin + (c * dofs);
            double sum = 0.0;
            for (Index d = 0; d < dofs; ++d) sum += g[d] * y[d];
            to[r * other.rows + c] += sum;
          }
      }
    }
    row.write(out.symmetric);
  }
  return out;
}

/// Of an assembled operator: both halves on the union of the patterns of N and N^T.
SparseOperator from_assembled(const ConstraintProblem& problem) {
  const AssembledOperator& n = *problem.assembled;
  std::vector<std::vector<std::array<std::int64_t, 2>>> transposed(n.n_rows() / 3);
  for (Index i = 0; i < n.n_rows(); ++i)
    for (std::int64_t e = n.row_begin[i]; e < n.row_begin[i + 1]; ++e)
      transposed[n.column[e] / 3].push_back({i, e});
  SparseOperator out;
  SymmetricRows skew;
  BlockRow half(problem), difference(problem);
  double largest = 0.0, largest_skew = 0.0;
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    half.begin(3);
    difference.begin(3);
    const auto add = [&](Index r, Index j, double value, double sign) {
      half.block(j / 3, 3)[3 * r + j % 3] += 0.5 * value;
      difference.block(j / 3, 3)[3 * r + j % 3] += 0.5 * sign * value;
    };
    for (Index r = 0; r < 3; ++r)
      for (std::int64_t e = n.row_begin[3 * k + r]; e < n.row_begin[(3 * k + r) + 1]; ++e)
        add(r, n.column[e], n.value[e], 1.0);
    for (const auto& [i, e] : transposed[k])
      add(n.column[e] - 3 * k, to_index(i), n.value[e], -1.0);
    half.write(out.symmetric);
    difference.write(skew);
  }
  for (const double v : out.symmetric.value) largest = std::max(largest, std::abs(v));
  for (const double v : skew.value) largest_skew = std::max(largest_skew, std::abs(v));
  if (largest_skew > 4.0 * std::numeric_limits<double>::epsilon() * largest)
    out.skew = std::move(skew.value);
  return out;
}

}  // namespace

SparseOperator sparse_operator(const ConstraintProblem& problem) {
  return problem.assembled ? from_assembled(problem) : from_bodies(problem);
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
