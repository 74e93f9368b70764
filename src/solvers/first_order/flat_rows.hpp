// Blocks outside of batches, one row after the other: projections and steps.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/math/disc_cone.hpp"
#include "solvers/batches/simd/step_batches.hpp"

namespace catena::first_order {

/// Rows of some blocks, one block after the other, in three iterates: x = S (lambda + c n), with
/// 1/s of the problem's rows in `by_scale`. Vectors over them have size() numbers.
class FlatRows {
 public:
  FlatRows() = default;
  FlatRows(const ConstraintProblem& problem, std::span<const Index> blocks,
           std::span<const double> by_scale);

  std::size_t size() const { return row_.size(); }
  std::span<const double> x(int slot) const { return x_[slot]; }
  /// x of the impulses, made admissible.
  void load(std::span<const double> impulses, int slot);
  void store(int slot, std::span<double> impulses) const;

  /// y = keep x_k + take x_k-1; returned.
  std::span<const double> momentum_point(const MomentumPoint& y, const Slots& slots);
  /// The rest of the step from y and g(y), which is without shifts. `curved` of the sums is 0.
  StepSums step(const StepWeights& weights, const Slots& slots, std::span<const double> g);
  /// (x_k+1 - y) . (a - b).
  double along_step(const Slots& slots, std::span<const double> a, std::span<const double> b) const;

 private:
  struct Scalar {
    std::size_t row;
    double lower, upper;
  };
  /// A contact, rows in full; of three rows under a law with kernels only those are used.
  struct Cone {
    std::size_t first;
    std::array<int, 6> row;  ///< ContactCone::row
    DiscCone discs;
    bool three;
    double shift = 0.0;
  };
  void add_contact(const ConstraintProblem& problem, Index block, std::size_t first);
  Vec6 projected(const Cone& cone, const Vec6& y) const;

  ContactLaw law_ = ContactLaw::coulomb;
  std::vector<Scalar> scalars_;
  std::vector<Cone> cones_;
  std::vector<Index> row_;        ///< of the problem
  std::vector<double> by_scale_;  ///< 1/s
  std::vector<double> cohesion_;  ///< c per row; of a row that nothing moves: -lambda
  std::array<std::vector<double>, 3> x_;
  std::vector<double> y_;
};

}  // namespace catena::first_order
