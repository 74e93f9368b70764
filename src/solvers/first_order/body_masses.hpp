// M^-1 and M of the owned bodies, as products need them.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena::first_order {

/// Vectors over the velocities of all bodies of the problem, which outlives it.
class BodyMasses {
 public:
  explicit BodyMasses(const ProblemBodies& bodies);

  /// v = v_free + M^-1 f for the velocities of owned bodies. Returns energy(v, y).
  double move(std::span<const double> free, std::span<const double> f, std::span<const double> y,
              std::span<double> v) const;
  /// (v - y).M (v - y) over owned bodies.
  double energy(std::span<const double> v, std::span<const double> y) const;

 private:
  /// A body whose M is not diagonal.
  struct Full {
    std::size_t first, dofs;
    std::vector<double> inverse, mass;  ///< dofs x dofs
  };
  void add(const ProblemBodies& bodies, Index b);
  double energy_of_full(std::span<const double> v, std::span<const double> y) const;

  std::vector<double> inverse_,
      mass_;  ///< per velocity; 0 of bodies in full_ and prescribed ones
  std::vector<Full> full_;
};

}  // namespace catena::first_order
