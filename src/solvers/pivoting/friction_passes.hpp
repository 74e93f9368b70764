// Friction in passes: bounded problems whose bounds are those of the last pass.
#pragma once

#include <memory>
#include <vector>

#include "catena/constraints/delassus.hpp"
#include "solvers/pivoting/bounded_lcp.hpp"
#include "solvers/pivoting/sparse_operator.hpp"

namespace catena {

/// A sequence of bounded LCPs that ends at the problem's law where it settles (dantzig.hpp).
class FrictionPasses {
 public:
  using Vector = Eigen::VectorXd;

  /// `problem` on one rank.
  FrictionPasses(const ConstraintProblem& problem, DelassusOperator& op, const RowBounds& bounds,
                 const LcpSettings& settings);

  /// One pass from `x` to `x`. Zeros at the first: without friction before that.
  void advance(Vector& x);
  /// Whether x, which the last pass gave, asks for the bounds that this pass had, to round-off.
  bool confirmed_by(const Vector& x) const;
  /// Pivots and refinements of all passes; the rest of the last one.
  const LcpResult& total() const { return total_; }

 private:
  /// Axes of a disc of two rows, and what turns it: row 1 along (c, s).
  struct Axes {
    double cos = 1.0, sin = 0.0;
    double stiffness = 0.0;
  };

  Vector newton_radii(const Vector& x) const;
  Vector residual_velocities(const Vector& x) const;
  void solve_bounds(Vector& x, const Vector& lower, const Vector& upper);
  void find_axes(const Vector& x, const Vector& radii);
  void turn_operator();
  void to_axes(Vector& v) const;
  void from_axes(Vector& v) const;
  Vector multiply(const std::vector<double>& values, const Vector& x) const;

  const RowBounds& bounds_;
  SparseOperator operator_;
  Vector free_residual_;  ///< r
  Vector diagonal_;
  bool discs_;  ///< law coulomb
  bool first_ = true;
  Vector radii_;            ///< of the last pass, per disc
  std::vector<Axes> axes_;  ///< per disc
  std::unique_ptr<BoundedLcp> lcp_;
  LcpResult total_;
};

}  // namespace catena
