#include "solvers/interior_point/fang/smooth_cones.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "catena/base/error.hpp"
#include "catena/constraints/block_diagonal.hpp"

namespace catena::fang {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();
/// Part of a block's trace that is added where the block is not positive definite to round-off.
constexpr double kRaise = 1e-14;

Vec3 vector_at(std::span<const double> x, Index row) { return {x[row], x[row + 1], x[row + 2]}; }

[[noreturn]] void refuse(const char* what) {
  throw Error(std::string(what) + " have no constraints in [F14]'s form",
              "solver.interior_point.form", "use form: cone");
}

/// 1/sqrt of the mean diagonal; 1 where nothing can move.
double scale_of(double diagonal_sum, int rows) {
  return diagonal_sum > 0.0 ? 1.0 / std::sqrt(diagonal_sum / rows) : 1.0;
}

}  // namespace

Eigen::Vector2d contact_constraints(const Vec3& x, double mu) {
  // as a product: near the boundary the difference of the squares has no digits
  const double t = std::hypot(x[1], x[2]);
  return {0.5 * (t - mu * x[0]) * (t + mu * x[0]), -x[0]};
}

Eigen::Matrix<double, 2, 3> contact_gradients(const Vec3& x, double mu) {
  Eigen::Matrix<double, 2, 3> b;
  b << -mu * mu * x[0], x[1], x[2], -1.0, 0.0, 0.0;
  return b;
}

Mat3 contact_curvature(double mu, double multiplier) {
  return multiplier * Vec3(-mu * mu, 1.0, 1.0).asDiagonal().toDenseMatrix();
}

Mat3 contact_barrier(const Vec3& x, double mu, const Eigen::Vector2d& y) {
  const Eigen::Vector2d c = contact_constraints(x, mu);
  const Eigen::Matrix<double, 2, 3> b = contact_gradients(x, mu);
  return contact_curvature(mu, y[0]) - b.transpose() * (y.cwiseQuotient(c)).asDiagonal() * b;
}

double contact_step(const Vec3& x, const Vec3& dx, double mu) {
  // p a^2 + 2 q a + 2 c_1 = 0; from inside the cone its boundary is met before the other nappe
  const double p = dx[1] * dx[1] + dx[2] * dx[2] - mu * mu * dx[0] * dx[0];
  const double q = x[1] * dx[1] + x[2] * dx[2] - mu * mu * x[0] * dx[0];
  const double c = 2.0 * contact_constraints(x, mu)[0];
  const double discriminant = q * q - p * c;
  if (discriminant < 0.0) return kAny;
  const double denominator = q + std::sqrt(discriminant);
  return denominator > 0.0 ? -c / denominator : kAny;
}

Cones::Cones(const ConstraintProblem& problem)
    : scale_(problem.n_rows(), 1.0), diagonal_(problem.n_rows(), 0.0), fixed_(problem.n_rows(), 0) {
  std::vector<double> diagonal;
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    diagonal.resize(view.rows);
    row_diagonals(problem, k, diagonal);
    add_block(view, diagonal);
    for (std::size_t i = 0; i < diagonal.size(); ++i) {
      const double scale = scale_[view.row + i];
      diagonal_[view.row + i] = scale * scale * diagonal[i];
    }
  }
}

void Cones::add_block(const BlockView& view, std::span<const double> diagonal) {
  const auto add = [&](Index row, double friction) {
    units_.push_back({row, to_index(n_multipliers_), friction});
    n_multipliers_ += friction > 0.0 ? 2 : 1;
  };
  switch (view.kind) {
    case BlockKind::bilateral:
      refuse("bilateral rows");
    case BlockKind::boxed:
      refuse("boxed rows");
    case BlockKind::unilateral:
      for (Index i = 0; i < view.rows; ++i) {
        scale_[view.row + i] = scale_of(diagonal[i], 1);
        add(view.row + i, 0.0);
      }
      return;
    case BlockKind::contact:
      break;
  }
  if (view.rolling >= 0.0 || view.spinning >= 0.0) refuse("rolling and spinning rows");
  if (view.cohesion > 0.0) refuse("cohesive contacts");
  const double scale = scale_of(diagonal[0] + diagonal[1] + diagonal[2], 3);
  for (Index i = 0; i < 3; ++i) {
    scale_[view.row + i] = scale;
    fixed_[view.row + i] = i > 0 && view.friction == 0.0 ? 1 : 0;
  }
  add(view.row, view.friction);
}

void Cones::constraints(std::span<const double> x, std::span<double> c) const {
  for (const Unit& u : units_) {
    if (!u.contact()) {
      c[u.multiplier] = -x[u.row];
      continue;
    }
    const Eigen::Vector2d value = contact_constraints(vector_at(x, u.row), u.friction);
    c[u.multiplier] = value[0];
    c[u.multiplier + 1] = value[1];
  }
}

void Cones::gradients_transposed(std::span<const double> x, std::span<const double> y,
                                 std::span<double> out) const {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = 0.0;
  for (const Unit& u : units_) {
    const double* y_u = y.data() + u.multiplier;
    if (!u.contact()) {
      out[u.row] = -y_u[0];
      continue;
    }
    const double* x_u = x.data() + u.row;
    out[u.row] = -u.friction * u.friction * x_u[0] * y_u[0] - y_u[1];
    out[u.row + 1] = x_u[1] * y_u[0];
    out[u.row + 2] = x_u[2] * y_u[0];
  }
}

void Cones::gradients(std::span<const double> x, std::span<const double> dx,
                      std::span<double> out) const {
  for (const Unit& u : units_) {
    const double* x_u = x.data() + u.row;
    const double* dx_u = dx.data() + u.row;
    double* out_u = out.data() + u.multiplier;
    out_u[u.multipliers() - 1] = -dx_u[0];
    if (u.contact())
      out_u[0] = -u.friction * u.friction * x_u[0] * dx_u[0] + x_u[1] * dx_u[1] + x_u[2] * dx_u[2];
  }
}

void Cones::barriers(std::span<const double> x, std::span<const double> y,
                     std::span<Mat3> out) const {
  for (std::size_t k = 0; k < units_.size(); ++k) {
    const Unit& u = units_[k];
    const double* y_u = y.data() + u.multiplier;
    if (u.contact())
      out[k] = contact_barrier(vector_at(x, u.row), u.friction, {y_u[0], y_u[1]});
    else
      out[k](0, 0) = y_u[0] / x[u.row];
  }
}

double Cones::largest_step(std::span<const double> x, std::span<const double> dx) const {
  double step = kAny;
  for (const Unit& u : units_) {
    if (u.contact())
      step = std::min(step, contact_step(vector_at(x, u.row), vector_at(dx, u.row), u.friction));
    else if (dx[u.row] < 0.0)
      step = std::min(step, -x[u.row] / dx[u.row]);
  }
  return step;
}

void UnitInverse::factor(std::span<const Mat3> blocks, std::span<const double> diagonal) {
  for (std::size_t k = 0; k < units_.size(); ++k) {
    const Unit& u = units_[k];
    Mat3 block = Mat3::Identity();
    if (u.contact())
      block = blocks[k];
    else
      block(0, 0) = blocks[k](0, 0);
    if (!diagonal.empty())
      for (int i = 0; i < u.rows(); ++i) block(i, i) += diagonal[u.row + i];
    factor_[k].compute(block);
    if (factor_[k].info() == Eigen::Success) continue;
    block.diagonal().array() += kRaise * block.trace();
    factor_[k].compute(block);
  }
}

void UnitInverse::apply(std::span<const double> r, std::span<double> z) const {
  std::fill(z.begin(), z.end(), 0.0);
  for (std::size_t k = 0; k < units_.size(); ++k) {
    const Unit& u = units_[k];
    Vec3 v = Vec3::Zero();
    for (int i = 0; i < u.rows(); ++i) v[i] = r[u.row + i];
    factor_[k].solveInPlace(v);
    for (int i = 0; i < u.rows(); ++i) z[u.row + i] = v[i];
  }
}

}  // namespace catena::fang
