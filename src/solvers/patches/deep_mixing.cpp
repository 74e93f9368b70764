#include "solvers/patches/deep_mixing.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <utility>

namespace catena {

DeepMixing::DeepMixing(const Communicator& comm, std::vector<double> weights)
    : comm_(comm),
      weights_(std::move(weights)),
      y_(weights_.size()),
      f_(weights_.size()),
      g_(weights_.size()),
      df_(kDepth, std::vector<double>(weights_.size())),
      dg_(kDepth, std::vector<double>(weights_.size())),
      products_(Eigen::MatrixXd::Zero(kDepth, kDepth)) {}

void DeepMixing::begin(std::span<const double> start) {
  std::copy(start.begin(), start.end(), y_.begin());
  taken_ = next_ = 0;
  first_ = true;
}

void DeepMixing::remember(std::span<const double> f, std::span<const double> result) {
  std::vector<double>&df = df_[next_], &dg = dg_[next_];
  for (std::size_t i = 0; i < f.size(); ++i) {
    df[i] = f[i] - f_[i];
    dg[i] = result[i] - g_[i];
  }
  taken_ = std::max(taken_, next_ + 1);
}

/// gamma of the changes remembered.
Eigen::VectorXd DeepMixing::coefficients(std::span<const double> f) {
  // of the new column with all columns, of f with all columns, of f with itself
  std::array<double, 2 * kDepth + 1> sums{};
  for (std::size_t j = 0; j < taken_; ++j) {
    for (std::size_t i = 0; i < f.size(); ++i) {
      const double weighted = weights_[i] * df_[j][i];
      sums[j] += weighted * df_[next_][i];
      sums[kDepth + j] += weighted * f[i];
    }
  }
  for (std::size_t i = 0; i < f.size(); ++i) sums[2 * kDepth] += weights_[i] * f[i] * f[i];
  comm_.sum(sums);
  change_ = sums[2 * kDepth];
  const auto n = static_cast<Eigen::Index>(taken_), at = static_cast<Eigen::Index>(next_);
  Eigen::VectorXd with_f(n), scale(n);
  if (n == 0) return with_f;
  for (Eigen::Index j = 0; j < n; ++j) {
    products_(at, j) = products_(j, at) = sums[j];
    with_f[j] = sums[kDepth + j];
  }
  for (Eigen::Index j = 0; j < n; ++j)
    scale[j] = products_(j, j) > 0.0 ? 1.0 / std::sqrt(products_(j, j)) : 0.0;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> modes(
      scale.asDiagonal() * products_.topLeftCorner(n, n) * scale.asDiagonal());
  Eigen::VectorXd along = modes.eigenvectors().transpose() * (scale.asDiagonal() * with_f);
  const double least = kIndependent * modes.eigenvalues()[n - 1];
  for (Eigen::Index j = 0; j < n; ++j)
    along[j] = modes.eigenvalues()[j] > least ? along[j] / modes.eigenvalues()[j] : 0.0;
  return scale.asDiagonal() * (modes.eigenvectors() * along);
}

std::span<const double> DeepMixing::next(std::span<const double> result) {
  std::vector<double> f(result.size());
  for (std::size_t i = 0; i < f.size(); ++i) f[i] = result[i] - y_[i];
  if (!first_) remember(f, result);
  const Eigen::VectorXd gamma = coefficients(f);
  std::copy(result.begin(), result.end(), y_.begin());
  for (std::size_t j = 0; j < taken_; ++j)
    for (std::size_t i = 0; i < y_.size(); ++i) y_[i] -= gamma[j] * dg_[j][i];
  if (!first_) next_ = (next_ + 1) % kDepth;
  first_ = false;
  f_.swap(f);
  std::copy(result.begin(), result.end(), g_.begin());
  return y_;
}

}  // namespace catena
