#include "solvers/first_order/body_masses.hpp"

#include <Eigen/LU>
#include <algorithm>

namespace catena::first_order {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// Partial sums, added in order.
constexpr std::size_t kSums = 8;

double total(const std::array<double, kSums>& sums) {
  double all = 0.0;
  for (const double sum : sums) all += sum;
  return all;
}

}  // namespace

BodyMasses::BodyMasses(const ProblemBodies& bodies) {
  inverse_.assign(bodies.dof_begin[bodies.n_owned], 0.0);
  mass_ = inverse_;
  for (Index b = 0; b < bodies.n_owned; ++b)
    if (!bodies.is_prescribed(b)) add(bodies, b);
}

void BodyMasses::add(const ProblemBodies& bodies, Index b) {
  const std::size_t first = bodies.dof_begin[b];
  const Index n = bodies.dofs(b);
  Matrix inverse(n, n);
  std::vector<double> unit(n, 0.0), column(n);
  for (Index i = 0; i < n; ++i) {
    unit[i] = 1.0;
    apply_inverse_mass(bodies, b, unit, column);
    for (Index j = 0; j < n; ++j) inverse(j, i) = column[j];
    unit[i] = 0.0;
  }
  if (inverse.isDiagonal(0.0)) {
    for (Index i = 0; i < n; ++i) {
      inverse_[first + i] = inverse(i, i);
      mass_[first + i] = 1.0 / inverse(i, i);
    }
    return;
  }
  const Matrix mass = inverse.inverse();
  Full& full = full_.emplace_back();
  full.first = first;
  full.dofs = n;
  full.inverse.assign(inverse.data(), inverse.data() + inverse.size());
  full.mass.assign(mass.data(), mass.data() + mass.size());
}

double BodyMasses::move(std::span<const double> free, std::span<const double> f,
                        std::span<const double> y, std::span<double> v) const {
  std::array<double, kSums> sums{};
  std::size_t d = 0;
  for (; d + kSums <= inverse_.size(); d += kSums) {
    // loops of one kind each become vector instructions
    const double *inverse = inverse_.data() + d, *mass = mass_.data() + d;
    const double *v_free = free.data() + d, *force = f.data() + d, *start = y.data() + d;
    std::array<double, kSums> moved;
    for (std::size_t i = 0; i < kSums; ++i) moved[i] = v_free[i] + inverse[i] * force[i];
    for (std::size_t i = 0; i < kSums; ++i) {
      const double change = moved[i] - start[i];
      sums[i] += mass[i] * change * change;
    }
    std::copy(moved.begin(), moved.end(), v.begin() + std::ptrdiff_t(d));
  }
  for (; d < inverse_.size(); ++d) {
    v[d] = free[d] + inverse_[d] * f[d];
    sums[0] += mass_[d] * (v[d] - y[d]) * (v[d] - y[d]);
  }
  for (const Full& full : full_) {
    const double* m = full.inverse.data();
    for (std::size_t i = 0; i < full.dofs; ++i, m += full.dofs)
      for (std::size_t j = 0; j < full.dofs; ++j) v[full.first + i] += m[j] * f[full.first + j];
  }
  return total(sums) + energy_of_full(v, y);
}

double BodyMasses::energy(std::span<const double> v, std::span<const double> y) const {
  double sum = 0.0;
  for (std::size_t d = 0; d < mass_.size(); ++d) sum += mass_[d] * (v[d] - y[d]) * (v[d] - y[d]);
  return sum + energy_of_full(v, y);
}

double BodyMasses::energy_of_full(std::span<const double> v, std::span<const double> y) const {
  double sum = 0.0;
  for (const Full& full : full_) {
    const double* m = full.mass.data();
    for (std::size_t i = 0; i < full.dofs; ++i, m += full.dofs) {
      double row = 0.0;
      for (std::size_t j = 0; j < full.dofs; ++j)
        row += m[j] * (v[full.first + j] - y[full.first + j]);
      sum += row * (v[full.first + i] - y[full.first + i]);
    }
  }
  return sum;
}

}  // namespace catena::first_order
