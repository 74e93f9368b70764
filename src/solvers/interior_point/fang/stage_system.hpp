// The linear systems of [F14]'s stages.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catena/solvers/interior_point.hpp"
#include "solvers/interior_point/fang/smooth_cones.hpp"
#include "solvers/solve_watch.hpp"

namespace catena::fang {

/// Where a stage starts, on scaled impulses.
struct Stage {
  std::span<const double> x, y;  ///< impulses and multipliers
  std::span<const double> c;     ///< constraints at x
  std::span<const double> r_d;   ///< N' x + r' + B^T y, per row
  std::span<const double> r_g;   ///< c + 1/(t y), per multiplier
  std::span<const Mat3> barriers;
};

/// N', the problem's operator between scaled impulses; rows that are held fixed are left out.
class ScaledOperator final : public Operator {
 public:
  ScaledOperator(const Cones& cones, DelassusOperator& op);
  Index rows() const override { return op_.rows(); }
  Index columns() const override { return op_.columns(); }
  void apply(std::span<const double> x, std::span<double> y) override;

 private:
  const Cones& cones_;
  DelassusOperator& op_;
  std::vector<double> impulses_;
};

/// Newton's step of a stage:
///
///   [N' + M  B^T] [dx]     [r_d]
///   [B       C  ] [dy] = - [r_g],   C = diag(c_i / y_i);
///
/// the second line is [F14]'s -y_i c_i = 1/t divided by -y_i. Or with dy eliminated,
///
///   (N' + M - B^T C^-1 B) dx = B^T C^-1 r_g - r_d,   dy = -C^-1 (r_g + B dx).
class StageSystem {
 public:
  virtual ~StageSystem() = default;
  /// Collective. False on every rank: the factor broke down.
  virtual bool solve(const Stage& stage, std::span<double> dx, std::span<double> dy) = 0;
  /// Iterations of conjugate gradients so far.
  virtual int iterations() const { return 0; }
  /// For the report, such as "3 Nc = 4299 unknowns by MUMPS".
  virtual std::string description() const = 0;
};

/// Collective. kkt: the whole system, direct; schur: dy eliminated, direct; schur_pcg: the same by
/// conjugate gradients without N' itself. `op`: N'. All must outlive it. `watch`: conjugate
/// gradients check it every 50 iterations, and a factor is not begun where it would take too long
/// (solve() then throws OutOfTime).
std::unique_ptr<StageSystem> make_stage_system(const ConstraintProblem& problem, const Cones& cones,
                                               Operator& op, const InteriorPointSettings& settings,
                                               SolveWatch& watch);

}  // namespace catena::fang
