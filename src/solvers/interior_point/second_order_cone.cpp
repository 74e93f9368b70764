#include "solvers/interior_point/second_order_cone.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace catena::second_order_cone {
namespace {

constexpr double kHalfRoot = std::numbers::sqrt2 / 2.0;

double tail(const Vec3& x) { return std::hypot(x[1], x[2]); }

/// The element with eigenvalues `low` and `high` on the axes of x.
Vec3 with_eigenvalues(const Vec3& x, double low, double high) {
  const double length = tail(x);
  const double scale = length > 0.0 ? 0.5 * (high - low) / length : 0.0;
  return {0.5 * (low + high), scale * x[1], scale * x[2]};
}

/// (x + (x^2 + 4 mu)^(1/2)) / 2
double smoothed_positive(double x, double mu) {
  const double root = std::hypot(x, 2.0 * std::sqrt(mu));
  return x >= 0.0 ? 0.5 * (x + root) : 2.0 * mu / (root - x);
}

}  // namespace

double determinant(const Vec3& x) {
  const double length = tail(x);
  return (x[0] - length) * (x[0] + length);
}

bool inside(const Vec3& x) { return x[0] > tail(x); }

Vec3 product(const Vec3& a, const Vec3& b) {
  return {a.dot(b), a[0] * b[1] + b[0] * a[1], a[0] * b[2] + b[0] * a[2]};
}

Vec3 quotient(const Vec3& a, const Vec3& b) {
  const double x = (a[0] * b[0] - a[1] * b[1] - a[2] * b[2]) / determinant(a);
  return {x, (b[1] - x * a[1]) / a[0], (b[2] - x * a[2]) / a[0]};
}

double step_to_boundary(const Vec3& x, const Vec3& d) {
  // the first root of det(x + t d) = dd t^2 + 2 xd t + xx, in the form that adds what has one sign;
  // x_0 + t d_0 cannot vanish before
  const double dd = determinant(d);
  const double xd = x[0] * d[0] - x[1] * d[1] - x[2] * d[2];
  const double xx = determinant(x);
  const double below = xd * xd - dd * xx;
  if (std::isnan(below)) return 0.0;
  if (below < 0.0) return kInfinity;
  const double root = std::sqrt(below);
  double t = kInfinity;
  if (xd < 0.0)
    t = xx / (root - xd);
  else if (dd < 0.0)
    t = (xd + root) / -dd;
  // where round-off hides the root, on the axis of numbers in particular
  return d[0] < 0.0 ? std::min(t, -x[0] / d[0]) : t;
}

Vec3 correction_into(const Vec3& x, double low, double high) {
  const double length = tail(x);
  const auto missing = [&](double eigenvalue) {
    return std::clamp(std::clamp(eigenvalue, low, high) - eigenvalue, -high, high);
  };
  return with_eigenvalues(x, missing(x[0] - length), missing(x[0] + length));
}

Pair central_pair(const Vec3& v, double mu) {
  const double length = tail(v);
  const double low = v[0] - length, high = v[0] + length;
  return {with_eigenvalues(v, smoothed_positive(low, mu), smoothed_positive(high, mu)),
          with_eigenvalues(v, smoothed_positive(-low, mu), smoothed_positive(-high, mu))};
}

Scaling::Scaling(const Vec3& s, const Vec3& z) {
  const double det_s = determinant(s), det_z = determinant(z);
  const Vec3 unit_s = s / std::sqrt(det_s), unit_z = z / std::sqrt(det_z);
  const double gamma = std::sqrt(0.5 * (1.0 + unit_s.dot(unit_z)));
  const Vec3 w =
      Vec3(unit_s[0] + unit_z[0], unit_s[1] - unit_z[1], unit_s[2] - unit_z[2]) / (2.0 * gamma);
  const double length = tail(w);
  if (length > 0.0) {
    e_1 = w[1] / length;
    e_2 = w[2] / length;
  }
  const double beta = std::sqrt(std::sqrt(det_s / det_z));
  const double p = w[0] + length;
  f = Vec3(beta * p, beta / p, beta);
}

Vec3 Scaling::to_axes(const Vec3& x) const {
  const double along = e_1 * x[1] + e_2 * x[2];
  return {kHalfRoot * (x[0] + along), kHalfRoot * (x[0] - along), e_1 * x[2] - e_2 * x[1]};
}

Vec3 Scaling::from_axes(const Vec3& x) const {
  const double along = kHalfRoot * (x[0] - x[1]);
  return {kHalfRoot * (x[0] + x[1]), along * e_1 - x[2] * e_2, along * e_2 + x[2] * e_1};
}

}  // namespace catena::second_order_cone
