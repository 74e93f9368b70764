// The rows of limits, bounded motors and friction of joints, with their bounds.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "catena/constraints/block_rows.hpp"
#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// Unilateral and boxed blocks of one row (*drives*) that this rank holds.
class DriveRows {
 public:
  /// `drives`: general blocks of the problem, ascending.
  DriveRows(const ConstraintProblem& problem, std::vector<Index> drives)
      : problem_(problem), block_(std::move(drives)) {
    row_.reserve(block_.size());
    for (const Index k : block_)
      row_.push_back(problem.first_general_row() + problem.blocks.row_begin[k]);
  }

  /// Local. Brings the impulses of the rows within their bounds.
  void admit(std::span<double> impulses) const {
    for (std::size_t g = 0; g < block_.size(); ++g)
      impulses[row_[g]] = std::clamp(impulses[row_[g]], lower(g), upper(g));
  }

 protected:
  /// w of an own row.
  double residual_velocity(std::size_t own, std::span<const double> impulses,
                           std::span<const double> velocities) const {
    const GeneralBlocks& blocks = problem_.blocks;
    const std::size_t row = general_row(own);
    double w = blocks.compliance[row] * impulses[row_[own]] - blocks.q[row];
    for_each_body(blocks, block_[own], [&](Index b, const double* g) {
      const double* v = velocities.data() + problem_.bodies.dof_begin[b];
      for (Index d = 0; d < problem_.bodies.dofs(b); ++d) w += g[d] * v[d];
    });
    return w;
  }
  /// lo and hi of an own row, N s.
  double lower(std::size_t own) const {
    return is_limit(own) ? 0.0 : problem_.blocks.lower[general_row(own)];
  }
  double upper(std::size_t own) const {
    return is_limit(own) ? std::numeric_limits<double>::infinity()
                         : problem_.blocks.upper[general_row(own)];
  }
  /// The own row's place among the general blocks' rows.
  std::size_t general_row(std::size_t own) const { return problem_.blocks.row_begin[block_[own]]; }

  const ConstraintProblem& problem_;
  std::vector<Index> block_;      ///< own rows: general block ...
  std::vector<std::size_t> row_;  ///< ... and row among all rows

 private:
  bool is_limit(std::size_t own) const {
    return problem_.blocks.kind[block_[own]] == BlockKind::unilateral;
  }
};

}  // namespace catena
