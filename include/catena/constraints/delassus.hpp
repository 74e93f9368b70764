// The operator N = G M^-1 G^T + Sigma: implicit (through velocities) and assembled.
#pragma once

#include <memory>
#include <span>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/constraints/operator.hpp"

namespace catena {

/// Applies the problem's operator. Holds the halo of ghosts and scratch.
class DelassusOperator final : public Operator {
 public:
  /// Of no problem yet: start() comes first.
  DelassusOperator();
  /// Collective over neighbours. Of a problem that outlives its use here.
  explicit DelassusOperator(const ConstraintProblem& problem);
  /// Collective over neighbours. Goes over to another problem; its memory stays.
  void start(const ConstraintProblem& problem);
  ~DelassusOperator() override;
  DelassusOperator(DelassusOperator&&) noexcept;

  /// Neighbours. V = V_free + M^-1 G^T lambda, ghosts included. Without bodies
  /// (assembled operator) `velocities` is empty.
  void velocities(std::span<const double> impulses, std::span<double> velocities);
  /// Neighbours. dV = M^-1 G^T lambda (no V_free), ghosts included.
  void velocity_changes(std::span<const double> impulses, std::span<double> changes);
  /// Local, no messages. w = G V + Sigma lambda - q from given velocities. With an
  /// assembled operator: neighbours; w = N lambda + r, velocities ignored.
  void residual_velocities(std::span<const double> velocities, std::span<const double> impulses,
                           std::span<double> w);
  Index rows() const override;
  Index columns() const override { return rows(); }
  /// Neighbours. y = N lambda.
  void apply(std::span<const double> impulses, std::span<double> y) override;
  /// Neighbours. V at zero impulses: V_free, ghosts included. The problem's own or of this
  /// object's scratch, which the next call of apply overwrites.
  std::span<const double> free_velocities();
  /// Neighbours. r: w at zero impulses.
  void free_residual(std::span<double> r);
  /// Local. w of the general blocks' rows alone, in their order; `impulses` are theirs, empty:
  /// zeros.
  void general_residual_velocities(std::span<const double> velocities,
                                   std::span<const double> impulses, std::span<double> w) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A plan of bodies as one of their velocities: where all bodies have six, `width` is 6 and an item
/// a body; else 1, and an item a velocity. The messages are the same doubles either way.
HaloPlan velocity_plan(const HaloPlan& plan, const ProblemBodies& bodies, int& width);

/// u = (n, t1, t2)^T (v_b + w_b x r_b - v_a - w_a x r_a) of a rigid contact, from its bodies'
/// six velocities; inline for loops over all contacts.
inline Vec3 contact_slip(const RigidContact& c, const double* v_a, const double* v_b) {
  using Three = Eigen::Map<const Vec3>;
  const Vec3 u =
      Three(v_b) + Three(v_b + 3).cross(c.arm_b) - Three(v_a) - Three(v_a + 3).cross(c.arm_a);
  return {c.normal.dot(u), c.tangent.dot(u), c.normal.cross(c.tangent).dot(u)};
}

}  // namespace catena
