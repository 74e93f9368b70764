// Scaled Jacobians of the blocks outside of groups.
#pragma once

#include <span>
#include <vector>

#include "solvers/first_order/row_layout.hpp"

namespace catena::first_order {

/// A row's -q, and what is left of Sigma (lambda + c n) where c holds, both scaled; Sigma.
struct RowConstants {
  double offset, compliance;
};
RowConstants row_constants(const ConstraintProblem& problem, Index block, Index row, double by);

/// Rows as FlatRows has them; velocities in the problem's places.
class FlatJacobians {
 public:
  FlatJacobians(const ConstraintProblem& problem, const RowLayout& layout);

  /// g = G V + offset + Sigma x.
  void residual_velocities(std::span<const double> velocities, std::span<const double> x,
                           std::span<double> g) const;
  /// f += G^T x.
  void add_forces(std::span<const double> x, std::span<double> forces) const;
  /// Sum of Sigma (x - y)^2.
  double compliant_energy(std::span<const double> x, std::span<const double> y) const;

 private:
  struct Body {
    Index first, dofs;     ///< velocities
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
