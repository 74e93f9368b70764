#include "solvers/newton/condensed_system.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <limits>

#include "catena/base/release.hpp"

namespace catena {
namespace {

template <int kRows>
using Square = Eigen::Matrix<double, kRows, kRows, Eigen::RowMajor>;

/// Round-off of a block's largest entry, below which a pivot means nothing.
constexpr double kBlockRoundOff = 8.0 * std::numeric_limits<double>::epsilon();

template <int kRows>
bool invert(int m, const double* c, const double* b, const double* sigma, const double* diagonal,
            double regularisation, double* out) {
  using Matrix = Square<kRows>;
  Matrix a = Eigen::Map<const Matrix>(c, m, m);
  const double floor = kBlockRoundOff * a.cwiseAbs().maxCoeff();
  if (b == nullptr) {
    for (int i = 0; i < m; ++i) a(i, i) += sigma[i] + regularisation * diagonal[i] + floor;
    const Eigen::LLT<Matrix> factor(a);
    if (factor.info() != Eigen::Success) return false;
    // L^-T L^-1 is positive semidefinite whatever round-off does
    const Matrix half = factor.matrixL().solve(Matrix::Identity(m, m));
    Eigen::Map<Matrix>(out, m, m).noalias() = half.transpose() * half;
  } else {
    const Eigen::Map<const Matrix> scale(b, m, m);
    for (int i = 0; i < m; ++i)
      a.col(i) += (sigma[i] + regularisation * diagonal[i]) * scale.col(i);
    Eigen::Map<Matrix>(out, m, m) = Eigen::PartialPivLU<Matrix>(a).inverse();
  }
  return Eigen::Map<const Matrix>(out, m, m).allFinite();
}

}  // namespace

void CondensedSystem::forget_entries() { release(pattern_.row, pattern_.column); }

bool invert_regularised(int m, const double* c, const double* b, const double* sigma,
                        const double* diagonal, double regularisation, double* out) {
  if (m == 3) return invert<3>(m, c, b, sigma, diagonal, regularisation, out);
  return invert<Eigen::Dynamic>(m, c, b, sigma, diagonal, regularisation, out);
}

}  // namespace catena
