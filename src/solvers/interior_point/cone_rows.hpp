// The cones of a problem's blocks, in scaled rows: what interior point sees of a problem.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "solvers/newton/newton_system.hpp"

namespace catena {

/// One cone: s = (a lambda_n + b, lambda_1, lambda_2) in Q, in scaled rows.
struct RowCone {
  Index block;
  std::array<Index, 3> row;  ///< n, 1, 2; -1: the component is 0
  double a, b;
};

/// The rows of the convex law's problem and its cones, this rank's. Rows are scaled,
///
///   lambda = D lambda',  w' = D w,  N' = D N D,
///
/// so that the mean of N's diagonal over a contact's first three rows, over the rows of another
/// disc, or of a row of another kind is 1: lambda' and w' both are in J^0.5. The cones:
///
///   contact     per disc i of bound mu_i > 0: (mu_i (lambda_n + c), rows of the disc) in Q; none:
///               lambda_n + c >= 0. Discs of bound 0, and all of law frictionless, are fixed at 0
///   unilateral  lambda >= 0
///   boxed       lambda - lower >= 0, upper - lambda >= 0; infinite bounds are left out, equal ones
///               fix the row
///   bilateral   none
class ConicRows {
 public:
  /// Collective. Throws Error(bad_input) for law box, whose bounds depend on the impulses.
  explicit ConicRows(const ConstraintProblem& problem);

  const std::vector<RowCone>& cones() const { return cones_; }
  std::span<const double> scale() const { return scale_; }  ///< D, per row
  bool is_fixed(std::size_t row) const { return fixed_[row] != 0; }
  bool is_free(std::size_t row) const { return free_[row] != 0; }  ///< of a bilateral block
  std::int64_t n_cones() const { return n_cones_; }                ///< over all ranks
  double value_of_fixed(std::size_t row) const { return fixed_value_[row]; }

  /// s of impulses in scaled rows; with `offset` false of their changes.
  Vec3 apply(const RowCone& cone, std::span<const double> lambda, bool offset) const {
    Vec3 s(cone.a * lambda[cone.row[0]] + (offset ? cone.b : 0.0), 0.0, 0.0);
    for (int i = 1; i < 3; ++i)
      if (cone.row[i] >= 0) s[i] = lambda[cone.row[i]];
    return s;
  }
  /// rows += A^T z
  void apply_transposed(const RowCone& cone, const Vec3& z, std::span<double> rows) const {
    rows[cone.row[0]] += cone.a * z[0];
    for (int i = 1; i < 3; ++i)
      if (cone.row[i] >= 0) rows[cone.row[i]] += z[i];
  }
  /// matrix += D^-1 A^T H A D^-1, H symmetric
  void add_congruence(const RowCone& cone, const Mat3& h, BlockMatrices& matrix) const;

  /// Takes round-off out of impulses (scaled rows): into the cones, and on the values of fixed
  /// rows.
  void clean(std::span<double> lambda) const;

 private:
  void find_scales();
  void add_contact(Index block);
  void add_scalar(Index block, Index row, double a, double b);
  void add_boxed(Index block, Index row, double lower, double upper);
  void fix(Index row, double value);

  const ConstraintProblem& problem_;
  std::vector<RowCone> cones_;
  std::vector<Index> first_row_, n_rows_;  ///< per block
  std::vector<double> scale_, fixed_value_;
  std::vector<std::uint8_t> fixed_, free_;
  std::int64_t n_cones_ = 0;
};

}  // namespace catena
