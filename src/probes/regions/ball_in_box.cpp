#include "probes/regions/ball_in_box.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>

namespace catena::probes {

namespace {

using std::numbers::pi;

double root(double x) { return std::sqrt(std::max(0.0, x)); }
double arc_cosine(double x) { return std::acos(std::clamp(x, -1.0, 1.0)); }
double arc_sine(double x) { return std::asin(std::clamp(x, -1.0, 1.0)); }

/// What of the unit ball lies beyond the plane x = a.
double beyond_one(double a) {
  if (a >= 1.0) return 0.0;
  if (a <= -1.0) return 4.0 / 3.0 * pi;
  return pi / 3.0 * (1.0 - a) * (1.0 - a) * (2.0 + a);
}

/// Outer angle at which the circles x = a and y = b meet on the sphere.
double outer_angle(double a, double b) {
  return arc_cosine(-a * b / (root(1.0 - a * a) * root(1.0 - b * b)));
}

/// What of the unit ball lies beyond x = a and y = b. With 3 V the flux of the place through the
/// surface: the area on the sphere less distance times area of each face.
double beyond_two(double a, double b) {
  if (a < 0.0) return beyond_one(b) - beyond_two(-a, b);
  if (b < 0.0) return beyond_one(a) - beyond_two(a, -b);
  if (a * a + b * b >= 1.0) return 0.0;
  double on_sphere = 2.0 * pi - 2.0 * outer_angle(a, b), faces = 0.0;
  for (const auto& [here, other] : {std::array{a, b}, std::array{b, a}}) {
    const double rho2 = 1.0 - here * here, rho = std::sqrt(rho2);
    const double half = arc_cosine(other / rho);
    on_sphere -= here * 2.0 * half;
    faces += here * (rho2 * half - other * root(rho2 - other * other));
  }
  return (on_sphere - faces) / 3.0;
}

/// What of the unit ball lies beyond x = a, y = b and z = c.
double beyond_three(double a, double b, double c) {
  if (a < 0.0) return beyond_two(b, c) - beyond_three(-a, b, c);
  if (b < 0.0) return beyond_two(a, c) - beyond_three(a, -b, c);
  if (c < 0.0) return beyond_two(a, b) - beyond_three(a, b, -c);
  if (a * a + b * b + c * c >= 1.0) return 0.0;
  double on_sphere = 2.0 * pi - outer_angle(a, b) - outer_angle(b, c) - outer_angle(c, a);
  double faces = 0.0;
  for (const auto& [here, y, z] : {std::array{a, b, c}, std::array{b, c, a}, std::array{c, a, b}}) {
    const double rho2 = 1.0 - here * here, rho = std::sqrt(rho2);
    const double angle = arc_cosine(y / rho) - arc_sine(z / rho);
    on_sphere -= here * angle;
    // the sector less the triangles to the corner
    faces +=
        0.5 * here * (rho2 * angle - y * (root(rho2 - y * y) - z) - z * (root(rho2 - z * z) - y));
  }
  return (on_sphere - faces) / 3.0;
}

}  // namespace

double ball_in_box(const Vec3& centre, double r, const Vec3& lower, const Vec3& upper) {
  // distances of the faces along their outer normals, per axis; those beyond the ball cut nothing
  std::array<std::array<double, 2>, 3> near;
  std::array<std::span<const double>, 3> d;
  for (int k = 0; k < 3; ++k) {
    auto& faces = near[static_cast<std::size_t>(k)];
    std::size_t n = 0;
    for (const double distance : {(centre[k] - lower[k]) / r, (upper[k] - centre[k]) / r})
      if (distance < 1.0) faces[n++] = distance;
    d[static_cast<std::size_t>(k)] = std::span(faces).first(n);
  }
  double volume = 4.0 / 3.0 * pi;
  for (const auto& axis : d)
    for (const double a : axis) volume -= beyond_one(a);
  for (std::size_t k = 0; k < 3; ++k)
    for (const double a : d[k])
      for (const double b : d[(k + 1) % 3]) volume += beyond_two(a, b);
  for (const double a : d[0])
    for (const double b : d[1])
      for (const double c : d[2]) volume -= beyond_three(a, b, c);
  return std::max(0.0, volume) * r * r * r;
}

double ball_in_ball(double r, double other, double d) {
  if (d >= r + other) return 0.0;
  const double small = std::min(r, other);
  if (d <= std::abs(r - other)) return 4.0 / 3.0 * pi * small * small * small;
  const double gap = r + other - d;
  return pi * gap * gap * (d * d + 2.0 * d * (r + other) - 3.0 * (r - other) * (r - other)) /
         (12.0 * d);
}

double disc_in_disc(double r, double other, double d) {
  if (d >= r + other) return 0.0;
  const double small = std::min(r, other);
  if (d <= std::abs(r - other)) return pi * small * small;
  const double x = (d * d + r * r - other * other) / (2.0 * d);
  return r * r * arc_cosine(x / r) + other * other * arc_cosine((d - x) / other) -
         d * root(r * r - x * x);
}

}  // namespace catena::probes
