// A problem as first-order methods see it: scaled rows in groups of eight contacts.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "catena/constraints/contact_cone.hpp"
#include "catena/constraints/delassus.hpp"
#include "catena/math/disc_cone.hpp"
#include "solvers/first_order/contact_groups.hpp"
#include "solvers/joints/joint_system.hpp"

namespace catena::first_order {

/// Where a block's rows stand in a vector: first, first + stride, ...
struct Place {
  Index block = 0;  ///< of the problem
  std::size_t first = 0, stride = 1;
  std::size_t rows = 0;
};

/// Vectors over scaled rows: contacts of three rows in groups of eight, rigid ones first, then
/// those with explicit Jacobians for two bodies of six velocities, then the others; then all other
/// blocks, row by row. Blocks of joints solved on their own are left out.
struct RowLayout {
  std::size_t n_groups = 0, rigid_groups = 0, row_groups = 0;
  std::size_t size = 0;
  std::vector<Place> places;     ///< in the order of the vectors
  std::vector<double> by_scale;  ///< 1/s per entry; 0: no block's, or nothing moves it
};
RowLayout lay_out(const ConstraintProblem& problem, bool with_joints);

/// Neighbours. Fills by_scale. With D_k = diag(N_nn, a_t, a_t) (a mean for each disc of a contact,
/// N_ii for other rows),
///
///   s_k^2 = c_k^splitting D_k,   N <= blockdiag(c_k D_k)
///
/// c_k from the number n_b of blocks that touch a body: the largest eigenvalue (or its bound by row
/// sums, but for three rows) of D_k^-1/2
/// (sum_b n_b G_kb M_b^-1 G_kb^T + Sigma_k) D_k^-1/2; of an assembled operator the sum of the norms
/// of its blocks D_k^-1/2 N_kj D_j^-1/2 (docs/theory.md, "First-order methods").
void scale_rows(const ConstraintProblem& problem, double splitting, RowLayout& layout);

/// g = S^-1 w(S^-1 x).
class RowProduct {
 public:
  virtual ~RowProduct() = default;
  /// Neighbours, and what the joints say.
  virtual void residual_velocities(std::span<const double> x, std::span<double> g) = 0;
  /// V of the last slips, ghosts included; empty for an assembled operator.
  virtual std::span<const double> velocities() const { return {}; }
  /// Local. Writes the impulses of joints solved on their own as of the last slips.
  virtual void store_joints(std::span<double>) const {}
};
/// Neighbours. Through velocities; `joints`, unless null, are solved in each product, so that N is
/// that of the problem reduced to the other rows. `free_velocities`: V at x = 0. `op` adds up the
/// forces of ordered problems. What is handed in by reference or pointer outlives the product.
std::unique_ptr<RowProduct> make_body_product(const ConstraintProblem& problem,
                                              const RowLayout& layout, JointSystem* joints,
                                              DelassusOperator& op,
                                              std::span<const double> free_velocities);
std::unique_ptr<RowProduct> make_assembled_product(const ConstraintProblem& problem,
                                                   const RowLayout& layout);

/// A problem in x = S (lambda + c n), with cohesion c: x in K' (a cone or bounds again), and g =
/// S^-1 w. Vectors over rows have size() numbers, shifts n_shifts().
class ScaledProblem {
 public:
  /// Neighbours. `joints`, unless null, are prepared for the problem; they and `op` outlive this.
  ScaledProblem(const ConstraintProblem& problem, DelassusOperator& op, JointSystem* joints,
                double splitting);

  std::size_t size() const { return layout_.size; }
  std::size_t n_shifts() const;
  /// Local. x of the impulses, made admissible.
  void load(std::span<const double> impulses, std::span<double> x) const;
  /// Local. Impulses of x, those of joints as of the last slips.
  void store(std::span<const double> x, std::span<double> impulses) const;
  /// Neighbours. One product with N.
  void residual_velocities(std::span<const double> x, std::span<double> g) {
    product_->residual_velocities(x, g);
  }
  std::span<const double> velocities() const { return product_->velocities(); }

  struct Iterate {
    std::span<const double> x, g;
    std::span<double> y, g_y, shift, next;
  };
  /// Local. The step of all rows (StepWeights); sums are this rank's.
  StepSums step(const StepWeights& weights, const Iterate& iterate) const;

 private:
  struct Scalar {
    std::size_t row;
    double lower, upper;
  };
  struct Wide {
    Place place;
    std::array<int, 6> row;  ///< ContactCone::row
    DiscCone cone;
  };
  void add_contact(const Place& place);
  void step_others(const StepWeights& weights, const Iterate& iterate, StepSums& sums) const;
  Vec6 projected(const Wide& wide, const Vec6& y) const;
  Vec6 full(const Wide& wide, std::span<const double> x) const;

  const ConstraintProblem& problem_;
  RowLayout layout_;
  std::vector<ConeGroup> cones_;
  std::vector<Scalar> scalars_;
  std::vector<Wide> wide_;
  std::vector<Index> row_;        ///< of the problem, per entry; kNoIndex: none
  std::vector<double> cohesion_;  ///< c per entry; of a row that nothing moves: -lambda
  std::unique_ptr<RowProduct> product_;
};

}  // namespace catena::first_order
