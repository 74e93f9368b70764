// Decompositions of dense matrices, compiled once: each takes seconds in every file that names it.
#pragma once

#include <Eigen/Core>
#include <memory>

namespace catena::test {

/// a x = b with a symmetric and positive definite.
Eigen::VectorXd cholesky_solve(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);
/// a x = b with a symmetric and semidefinite.
Eigen::VectorXd ldlt_solve(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);
/// a x = b with any invertible a.
Eigen::VectorXd lu_solve(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);

/// a^+ of Moore and Penrose.
Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd& a);

/// Ascending.
Eigen::VectorXd symmetric_eigenvalues(const Eigen::MatrixXd& a);

/// stiffness x = value mass x: values ascending, vectors as columns.
struct Modes {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};
Modes modes_of(const Eigen::MatrixXd& stiffness, const Eigen::MatrixXd& mass);

/// Solutions of least norm of systems that may be singular.
class LeastSquares {
 public:
  /// Singular values below `threshold` times the largest are zero; 0: round-off.
  explicit LeastSquares(const Eigen::MatrixXd& a, double threshold = 0.0);
  ~LeastSquares();
  LeastSquares(LeastSquares&&) noexcept;
  LeastSquares& operator=(LeastSquares&&) noexcept;

  Eigen::Index rank() const;
  Eigen::VectorXd solve(const Eigen::VectorXd& b) const;

 private:
  struct Factor;
  std::unique_ptr<Factor> factor_;
};

}  // namespace catena::test
