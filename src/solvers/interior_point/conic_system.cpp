#include "solvers/interior_point/conic_system.hpp"

#include <algorithm>

namespace catena {

namespace {

/// What holds a fixed row in the system, in units of N'.
constexpr double kFixedWeight = 1e14;

}  // namespace

void ConicSystem::set_diagonal(double weight) {
  std::fill(matrix_.value.begin(), matrix_.value.end(), 0.0);
  std::size_t row = 0;
  for (Index k = 0; k < problem_.n_blocks(); ++k) {
    const std::size_t m = block_view(problem_, k).rows;
    for (std::size_t i = 0; i < m; ++i, ++row) {
      const double own = rows_.is_fixed(row) ? kFixedWeight : rows_.is_free(row) ? 0.0 : weight;
      matrix_.block(k)[i * m + i] = own / (rows_.scale()[row] * rows_.scale()[row]);
    }
  }
}

bool ConicSystem::solve(std::span<double> right, std::span<double> x, double tolerance) {
  const std::span<const double> scale = rows_.scale();
  for (std::size_t i = 0; i < right.size(); ++i)
    right[i] = rows_.is_fixed(i) ? 0.0 : right[i] / scale[i];
  const LinearReport report = system_.solve(right, x, {}, tolerance);
  iterations_ += report.iterations;
  last_iterations_ = report.iterations;
  for (std::size_t i = 0; i < right.size(); ++i) x[i] = rows_.is_fixed(i) ? 0.0 : x[i] / scale[i];
  return report.ok;
}

}  // namespace catena
