#include "support/dense_algebra.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>

namespace catena::test {

using Eigen::MatrixXd;
using Eigen::VectorXd;

VectorXd cholesky_solve(const MatrixXd& a, const VectorXd& b) { return a.llt().solve(b); }

VectorXd ldlt_solve(const MatrixXd& a, const VectorXd& b) { return a.ldlt().solve(b); }

VectorXd lu_solve(const MatrixXd& a, const VectorXd& b) { return a.fullPivLu().solve(b); }

MatrixXd pseudo_inverse(const MatrixXd& a) {
  return a.completeOrthogonalDecomposition().pseudoInverse();
}

VectorXd symmetric_eigenvalues(const MatrixXd& a) {
  return Eigen::SelfAdjointEigenSolver<MatrixXd>(a, Eigen::EigenvaluesOnly).eigenvalues();
}

Modes modes_of(const MatrixXd& stiffness, const MatrixXd& mass) {
  const Eigen::GeneralizedSelfAdjointEigenSolver<MatrixXd> eigen(stiffness, mass);
  return {eigen.eigenvalues(), eigen.eigenvectors()};
}

struct LeastSquares::Factor {
  Eigen::CompleteOrthogonalDecomposition<MatrixXd> of;
};

LeastSquares::LeastSquares(const MatrixXd& a, double threshold)
    : factor_(std::make_unique<Factor>()) {
  if (threshold > 0.0) factor_->of.setThreshold(threshold);
  factor_->of.compute(a);
}
LeastSquares::~LeastSquares() = default;
LeastSquares::LeastSquares(LeastSquares&&) noexcept = default;
LeastSquares& LeastSquares::operator=(LeastSquares&&) noexcept = default;

Eigen::Index LeastSquares::rank() const { return factor_->of.rank(); }

VectorXd LeastSquares::solve(const VectorXd& b) const { return factor_->of.solve(b); }

}  // namespace catena::test
