// The friction cones of [F14]: two smooth constraints per contact, and what a stage needs of them.
#pragma once

#include <Eigen/Cholesky>
#include <cstdint>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena::fang {

/// c of a contact with friction at x = (normal, tangent 1, tangent 2), both negative inside:
///   c_1 = (x_u^2 + x_w^2 - mu^2 x_n^2) / 2,  c_2 = -x_n.
Eigen::Vector2d contact_constraints(const Vec3& x, double mu);
/// B: the gradients of c as rows.
Eigen::Matrix<double, 2, 3> contact_gradients(const Vec3& x, double mu);
/// M: the second derivatives of c_1, times its multiplier. Indefinite: c_1 is not convex, only the
/// set where both are negative is.
Mat3 contact_curvature(double mu, double multiplier);
/// M - B^T C^-1 B with C = diag(c_i / y_i) of multipliers y: positive definite inside the cone
/// (y_1 |c_1| times the second derivatives of -log |c_1|, and the normal's part).
Mat3 contact_barrier(const Vec3& x, double mu, const Eigen::Vector2d& y);
/// Largest a for which x + a dx stays in the cone; infinity: any.
double contact_step(const Vec3& x, const Vec3& dx, double mu);

/// Rows under constraints of their own: a contact with friction (three rows, two multipliers), or
/// one row that may not be negative (one multiplier): a limit, or the normal of a contact without
/// friction, whose tangents are held fixed at 0.
struct Unit {
  Index row = 0;         ///< first row
  Index multiplier = 0;  ///< first multiplier
  double friction = 0.0;
  bool contact() const { return friction > 0.0; }
  int rows() const { return contact() ? 3 : 1; }
  int multipliers() const { return contact() ? 2 : 1; }
};

/// All constraints of a problem on scaled impulses x = lambda / s, block by block
/// s = (tr N_kk / rows)^-1/2 (one number per contact, so that cones stay what they are): x in
/// J^1/2, N' = s N s with ones on its diagonal on average, r' = s r. This rank's part.
class Cones {
 public:
  /// Local. Throws Error(bad_input) for rows that [F14]'s form has no constraints for.
  explicit Cones(const ConstraintProblem& problem);

  std::span<const Unit> units() const { return units_; }
  std::span<const double> scale() const { return scale_; }
  /// 1: the row's impulse is held fixed at 0.
  std::span<const std::uint8_t> fixed() const { return fixed_; }
  /// The diagonal of N', per row.
  std::span<const double> diagonal() const { return diagonal_; }
  std::size_t n_multipliers() const { return n_multipliers_; }

  /// c at x.
  void constraints(std::span<const double> x, std::span<double> c) const;
  /// out = B^T y, y by multiplier; rows that are held fixed: 0.
  void gradients_transposed(std::span<const double> x, std::span<const double> y,
                            std::span<double> out) const;
  /// out = B dx.
  void gradients(std::span<const double> x, std::span<const double> dx,
                 std::span<double> out) const;
  /// M - B^T C^-1 B per unit; of a single row only (0, 0) counts.
  void barriers(std::span<const double> x, std::span<const double> y, std::span<Mat3> out) const;
  /// Largest a for which x + a dx stays inside; infinity: any.
  double largest_step(std::span<const double> x, std::span<const double> dx) const;

 private:
  void add_block(const BlockView& view, std::span<const double> diagonal);

  std::vector<Unit> units_;
  std::vector<double> scale_, diagonal_;
  std::vector<std::uint8_t> fixed_;
  std::size_t n_multipliers_ = 0;
};

/// (P + H)^-1 with 3 x 3 blocks H of contacts (one number for single rows) and a diagonal P.
class UnitInverse {
 public:
  explicit UnitInverse(std::span<const Unit> units) : units_(units), factor_(units.size()) {}
  /// `diagonal` per row, empty: zeros. What round-off has left singular is raised by it.
  void factor(std::span<const Mat3> blocks, std::span<const double> diagonal);
  /// z = (P + H)^-1 r; 0 in rows that are held fixed.
  void apply(std::span<const double> r, std::span<double> z) const;

 private:
  std::span<const Unit> units_;
  std::vector<Eigen::LLT<Mat3>> factor_;  ///< a single row's number in (0, 0)
};

}  // namespace catena::fang
