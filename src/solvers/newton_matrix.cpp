#include "newton_matrix.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>

namespace catena {
namespace {

class DenseMatrix : public NewtonMatrix {
 public:
  explicit DenseMatrix(const MatrixPattern& pattern)
      : row_(pattern.row), column_(pattern.column), a_(pattern.owned, pattern.owned) {}

  bool factor(std::span<const double> values, bool symmetric) override {
    if (a_.size() == 0) return true;
    a_.setZero();
    for (std::size_t e = 0; e < values.size(); ++e) a_(row_[e], column_[e]) += values[e];
    symmetric_ = symmetric;
    if (symmetric) {
      cholesky_.compute(a_);
      return cholesky_.info() == Eigen::Success;
    }
    lu_.compute(a_);
    return lu_.matrixLU().allFinite() && (lu_.matrixLU().diagonal().array() != 0.0).all();
  }

  int solve(std::span<double> x, double) override {
    if (a_.size() == 0) return 0;
    Eigen::Map<Eigen::VectorXd> v(x.data(), static_cast<Eigen::Index>(x.size()));
    if (symmetric_)
      cholesky_.solveInPlace(v);
    else
      v = lu_.solve(v).eval();
    return 0;
  }

  std::string description() override { return "dense"; }

 private:
  std::vector<Index> row_, column_;
  Eigen::MatrixXd a_;
  Eigen::LLT<Eigen::MatrixXd> cholesky_;
  Eigen::PartialPivLU<Eigen::MatrixXd> lu_;
  bool symmetric_ = true;
};

}  // namespace

std::unique_ptr<NewtonMatrix> make_dense_matrix(const MatrixPattern& pattern) {
  return std::make_unique<DenseMatrix>(pattern);
}

}  // namespace catena
