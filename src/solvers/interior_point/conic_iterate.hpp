// An iterate of interior point and how far it is from the solution.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "solvers/interior_point/conic_system.hpp"

namespace catena {

/// Impulses lambda, s in the cones next to A lambda + b, and multipliers z in the cones, with
/// w = N lambda + r next to A^T z: all in ConicRows' scaled rows, this rank's.
struct ConicIterate {
  /// Sums over all ranks.
  struct Measures {
    double complementarity = 0.0;                ///< sum of s.z
    double gap = 0.0, infeasibility = 0.0;       ///< relative
    double lambda_norm = 0.0, resistance = 0.0;  ///< |lambda|, |N lambda|
    double quadratic = 0.0, work = 0.0;          ///< lambda.N lambda, r.lambda
    double merit() const { return gap + infeasibility; }
  };

  ConicIterate(const ConstraintProblem& p, DelassusOperator& o);

  /// Collective. r' = D (r + shift); `shift` may be empty.
  void set_free_residual(std::span<const double> shift);
  /// Collective. s = c (1, 0), z = c_z (1, 0) for all cones, where c is the root mean square of the
  /// least-squares solution of w = 0, and c_z the largest |r'|. Rows without a cone take that
  /// solution itself. False: its system cannot be solved.
  bool start_cold(ConicSystem& system);
  /// Collective. s and z from the central path next to s~ = A lambda + b and the z~ that share w
  /// among the cones. False: the guess is of no use.
  bool start_warm(std::span<const double> impulses);
  /// Collective. w, residuals and measures of lambda, s and z; false if they are not finite.
  bool measure();
  /// A sentence if lambda is a direction along which the objective falls without end.
  std::string unbounded() const;
  /// The impulses, inside the cones and not scaled.
  void write(std::span<double> impulses) const;
  /// Mean over all cones of a sum over them.
  double per_cone(double sum) const;

  const ConstraintProblem& problem;
  DelassusOperator& op;
  ConicRows rows;
  std::vector<double> r, lambda, w, residual;  ///< residual = w - A^T z (0 in fixed rows)
  std::vector<Vec3> s, z, s_gap;               ///< s_gap: A lambda + b - s
  std::vector<double> scaled;                  ///< scratch
  double r_norm = 1.0;
  Measures now;

 private:
  void place_inside(double c);
};

}  // namespace catena
