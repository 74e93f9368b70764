// How a Newton system is brought into the form whose matrix is factored.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/constraints/delassus.hpp"
#include "solvers/linear/linear_solver.hpp"
#include "solvers/newton/newton_system.hpp"

namespace catena {

/// What factor and right-hand side a system C dlambda + B N dlambda = g leads to. N is taken with
/// `regularisation` times its diagonal added, so that C + B Sigma has an inverse.
class CondensedSystem {
 public:
  virtual ~CondensedSystem() = default;

  const MatrixPattern& pattern() const { return pattern_; }
  /// The pattern's lists are not needed any more.
  void forget_entries();
  /// Local. Takes the numbers and writes the matrix, an entry after the other. False: a block has
  /// no inverse (in the symmetric kind: is not positive definite), or is not finite.
  virtual bool set_values(const BlockMatrices& c, const BlockMatrices* b, double regularisation,
                          std::span<double> values) = 0;
  /// Neighbours. The right-hand side (owned unknowns) that residual r (rows) asks for.
  virtual void reduce(std::span<const double> r, std::span<double> right) = 0;
  /// Neighbours. dlambda (rows) of the unknowns z.
  virtual void recover(std::span<const double> r, std::span<const double> z,
                       std::span<double> dlambda) = 0;
  /// Collective. How much larger than a residual of the unknowns the residual of the rows can be:
  /// about |residual of rows| / |residual of unknowns|, 2-norms; after set_values().
  virtual double gain() { return 1.0; }
  /// The matrix of the symmetric kind is symmetric to round-off.
  virtual bool is_symmetric() const { return true; }
  /// Collective. Motions as one rigid body, in owned unknowns; none if they make no sense.
  virtual std::vector<std::vector<double>> rigid_motions() { return {}; }

 protected:
  MatrixPattern pattern_;
};

/// Collective. Velocities: (I + Y^T E Y) z = Y^T e with Y = G L, M^-1 = L L^T, dV = L z.
std::unique_ptr<CondensedSystem> make_velocity_system(const ConstraintProblem& problem);
/// Collective. Rows of an assembled operator: C + B N as it stands.
std::unique_ptr<CondensedSystem> make_row_system(const ConstraintProblem& problem);

/// Local. out = (C + B (Sigma + regularisation D))^-1 of one block of m rows, D: `diagonal`;
/// false if there is none. `b` null: symmetric, by Cholesky.
bool invert_regularised(int m, const double* c, const double* b, const double* sigma,
                        const double* diagonal, double regularisation, double* out);

}  // namespace catena
