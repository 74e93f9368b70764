#include "newton_matrix.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/SparseCholesky>

#include "catena/base/error.hpp"

namespace catena {
namespace {

class DenseMatrix : public NewtonMatrix {
 public:
  explicit DenseMatrix(const MatrixPattern& pattern)
      : row_(pattern.row), column_(pattern.column), a_(pattern.owned, pattern.owned) {}

  bool factor(std::span<const double> values, bool symmetric) override {
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
    Eigen::Map<Eigen::VectorXd> v(x.data(), static_cast<Eigen::Index>(x.size()));
    if (symmetric_)
      cholesky_.solveInPlace(v);
    else
      v = lu_.solve(v).eval();
    return 0;
  }

  std::string description() const override { return "dense"; }

 private:
  std::vector<Index> row_, column_;
  Eigen::MatrixXd a_;
  Eigen::LLT<Eigen::MatrixXd> cholesky_;
  Eigen::PartialPivLU<Eigen::MatrixXd> lu_;
  bool symmetric_ = true;
};

class SparseMatrix : public NewtonMatrix {
 public:
  explicit SparseMatrix(const MatrixPattern& pattern)
      : row_(pattern.row), column_(pattern.column), a_(pattern.owned, pattern.owned) {}

  bool factor(std::span<const double> values, bool symmetric) override {
    std::vector<Eigen::Triplet<double>> entries;
    for (std::size_t e = 0; e < values.size(); ++e)
      entries.emplace_back(row_[e], column_[e], values[e]);
    a_.setFromTriplets(entries.begin(), entries.end());
    CATENA_CHECK(symmetric, "sparse systems of the general kind come with the next form");
    if (!analysed_) cholesky_.analyzePattern(a_);
    analysed_ = true;
    cholesky_.factorize(a_);
    return cholesky_.info() == Eigen::Success;
  }

  int solve(std::span<double> x, double) override {
    Eigen::Map<Eigen::VectorXd> v(x.data(), static_cast<Eigen::Index>(x.size()));
    v = cholesky_.solve(v).eval();
    return 0;
  }

  std::string description() const override { return "sparse"; }

 private:
  std::vector<Index> row_, column_;
  Eigen::SparseMatrix<double> a_;
  Eigen::SimplicialLLT<Eigen::SparseMatrix<double>> cholesky_;
  bool analysed_ = false;
};

}  // namespace

constexpr Index kDenseUnknowns = 500;

std::unique_ptr<NewtonMatrix> make_dense_matrix(const MatrixPattern& pattern) {
  if (pattern.owned <= kDenseUnknowns) return std::make_unique<DenseMatrix>(pattern);
  return std::make_unique<SparseMatrix>(pattern);
}

}  // namespace catena
