// The linear systems of interior point, in scaled rows.
#pragma once

#include <span>

#include "solvers/interior_point/cone_rows.hpp"
#include "solvers/newton/newton_system.hpp"

namespace catena {

/// (N' + C) x = right with N' and the fixed rows of ConicRows, where x is 0; C is diagonal or has a
/// symmetric matrix for each cone.
class ConicSystem {
 public:
  /// All must outlive it.
  ConicSystem(const ConstraintProblem& problem, const ConicRows& rows, NewtonSystem& system)
      : problem_(problem), rows_(rows), system_(system), matrix_(problem) {}

  /// C without cones: `weight` in rows that have some, nothing in free ones.
  void set_diagonal(double weight);
  /// C += A^T H A
  void add(const RowCone& cone, const Mat3& h) { rows_.add_congruence(cone, h, matrix_); }
  /// Collective. False: there is no factor.
  bool factor() { return system_.factor(matrix_); }
  /// Collective. Overwrites `right`; false: the residual (relative) is not below `tolerance`.
  bool solve(std::span<double> right, std::span<double> x, double tolerance);

  /// Steps of the iterative solver since the start, and of the last solve.
  void forget_iterations() { iterations_ = 0; }
  int iterations() const { return iterations_; }
  int last_iterations() const { return last_iterations_; }

 private:
  const ConstraintProblem& problem_;
  const ConicRows& rows_;
  NewtonSystem& system_;
  BlockMatrices matrix_;
  int iterations_ = 0, last_iterations_ = 0;
};

}  // namespace catena
