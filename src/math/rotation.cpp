#include "catena/math/rotation.hpp"

#include <cmath>

namespace catena {

Quat rotation_of(const Vec3& w, double dt) {
  const Vec3 turn = w * dt;
  // sin(a/2)/a, by its series where the quotient would lose digits or be 0/0, and cos(a/2);
  // at 1e-2 the first terms dropped are a^6/645120 < 2e-18 and a^6/46080 < 3e-17
  const double a2 = turn.squaredNorm();
  double real = 1.0 - a2 / 8.0 + a2 * a2 / 384.0, factor = 0.5 - a2 / 48.0 + a2 * a2 / 3840.0;
  if (!(a2 < 1e-4)) {
    const double angle = std::sqrt(a2);
    real = std::cos(0.5 * angle);
    factor = std::sin(0.5 * angle) / angle;
  }
  const Vec3 axis_part = factor * turn;
  return {real, axis_part.x(), axis_part.y(), axis_part.z()};
}

Quat advance_rotation(const Quat& q, const Vec3& w, double dt) {
  return (rotation_of(w, dt) * q).normalized();
}

Mat3 rotate_diagonal(const Quat& q, const Vec3& principal) {
  const Mat3 r = q.toRotationMatrix();
  Mat3 result = r * principal.asDiagonal() * r.transpose();
  // exactly symmetric, so that operators built on it are
  result(1, 0) = result(0, 1);
  result(2, 0) = result(0, 2);
  result(2, 1) = result(1, 2);
  return result;
}

void tangents_of(const Vec3& normal, Vec3& t1, Vec3& t2) {
  const double x = normal.x();
  const double y = normal.y();
  const double z = normal.z();
  // Duff et al. switch at z = 0, where the normals of walls lie; any z < 0 not
  // near -1 is as accurate, and no usual normal is near z = -0.9
  const double sign = z > -0.9 ? 1.0 : -1.0;
  const double a = -1.0 / (sign + z);
  const double b = x * y * a;
  t1 = {1.0 + sign * x * x * a, sign * b, -sign * x};
  t2 = {b, sign + y * y * a, -y};
}

}  // namespace catena
