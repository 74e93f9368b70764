// Scaled Jacobians of the blocks outside of batches.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena::first_order {

/// Rows as FlatRows has them.
class FlatJacobians {
 public:
  FlatJacobians() = default;
  /// `place(b)`: of a body's first velocity.
  FlatJacobians(const ConstraintProblem& problem, std::span<const Index> blocks,
                std::span<const double> by_scale, const std::function<Offset(Index)>& place);

  /// g = G V + offset + Sigma x.
  void residual_velocities(std::span<const double> velocities, std::span<const double> x,
                           std::span<double> g) const;
  /// f += G^T x.
  void add_forces(std::span<const double> x, std::span<double> forces) const;
  /// Sum of Sigma (x - y)^2.
  double compliant_energy(std::span<const double> x, std::span<const double> y) const;

 private:
  struct Body {
    Offset first;  ///< velocity
    Index dofs;
    std::size_t jacobian;  ///< rows x dofs from here
  };
  struct Block {
    std::size_t rows, body_begin, body_end;
  };
  std::vector<Block> blocks_;
  std::vector<Body> bodies_;
  std::vector<double> jacobian_;
  std::vector<double> offset_, compliance_;  ///< per row
};

}  // namespace catena::first_order
