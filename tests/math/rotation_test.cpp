#include "catena/math/rotation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "catena/base/random.hpp"

namespace catena {
namespace {

Vec3 random_vector(std::uint64_t id) {
  return {uniform_pm1(7, id, 0), uniform_pm1(7, id, 1), uniform_pm1(7, id, 2)};
}

TEST(RotationOf, EqualsAxisAngleOfAnotherImplementation) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Vec3 w = 10.0 * random_vector(i);
    const double dt = 0.3;

    const Quat q = rotation_of(w, dt);

    const Quat reference(Eigen::AngleAxisd(w.norm() * dt, w.normalized()));
    EXPECT_LE((q.coeffs() - reference.coeffs()).norm(), 1e-14);
  }
}

TEST(RotationOf, SmallAnglesKeepAllDigits) {
  // long double sine as the reference, on both sides of the series' limit
  for (const double angle : {0.0, 1e-300, 1e-12, 1e-5, 0.00999, 0.01001, 0.1}) {
    const Quat q = rotation_of({0.0, 0.0, angle}, 1.0);
    const double sine = static_cast<double>(std::sin(0.5L * angle));
    EXPECT_NEAR(q.z(), sine, 4e-16 * sine) << angle;
    EXPECT_NEAR(q.norm(), 1.0, 4e-16) << angle;
  }
}

TEST(AdvanceRotation, TurnsAboutTheWorldAxis) {
  // body x along world y; a quarter turn about world x takes it to world z
  const Quat start(Eigen::AngleAxisd(std::numbers::pi / 2, Vec3::UnitZ()));

  const Quat q = advance_rotation(start, {std::numbers::pi / 2, 0.0, 0.0}, 1.0);

  EXPECT_LE((q * Vec3::UnitX() - Vec3::UnitZ()).norm(), 1e-15);
}

TEST(AdvanceRotation, ManySmallTurnsAboutOneAxisMakeOneLargeTurn) {
  const Vec3 w(0.3, -0.4, 1.2);
  Quat q = Quat::Identity();
  for (int i = 0; i < 1000; ++i) q = advance_rotation(q, w, 1e-3);
  EXPECT_LE((q.coeffs() - rotation_of(w, 1.0).coeffs()).norm(), 1e-13);
  EXPECT_NEAR(q.norm(), 1.0, 1e-15);
}

TEST(RotateDiagonal, EqualsTheMatrixProductAndIsExactlySymmetric) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Quat q = rotation_of(3.0 * random_vector(i), 1.0);
    const Vec3 principal(1.0, 2.0, 4.0);

    const Mat3 m = rotate_diagonal(q, principal);

    EXPECT_EQ(m, m.transpose());
    // the principal axes are eigenvectors
    for (int k = 0; k < 3; ++k) {
      const Vec3 axis = q * Vec3::Unit(k);
      EXPECT_LE((m * axis - principal[k] * axis).norm(), 1e-14);
    }
  }
}

void expect_orthonormal(const Vec3& n) {
  Vec3 t1, t2;
  tangents_of(n, t1, t2);
  Mat3 frame;
  frame << n, t1, t2;
  EXPECT_LE((frame.transpose() * frame - Mat3::Identity()).norm(), 1e-14) << n.transpose();
  EXPECT_LE((t1.cross(t2) - n).norm(), 1e-14) << n.transpose();
}

TEST(TangentsOf, FrameIsRightHandedAndOrthonormal) {
  for (std::uint64_t i = 0; i < 1000; ++i) expect_orthonormal(random_vector(i).normalized());
  for (int k = 0; k < 3; ++k) {
    expect_orthonormal(Vec3::Unit(k));
    expect_orthonormal(-Vec3::Unit(k));
  }
  for (const double z : {-0.9, -0.9000001, -0.8999999, -0.0})
    expect_orthonormal(Vec3(std::sqrt(1.0 - z * z), 0.0, z));
}

TEST(TangentsOf, DoNotJumpAtNormalsOfFloorsWallsAndCeilings) {
  for (int k = 0; k < 6; ++k) {
    const Vec3 n = k < 3 ? Vec3(Vec3::Unit(k)) : Vec3(-Vec3::Unit(k - 3));
    Vec3 t1, t2;
    tangents_of(n, t1, t2);
    for (std::uint64_t i = 0; i < 20; ++i) {
      Vec3 s1, s2;
      tangents_of((n + 1e-8 * random_vector(i)).normalized(), s1, s2);
      EXPECT_LE((s1 - t1).norm() + (s2 - t2).norm(), 1e-6);
    }
  }
}

}  // namespace
}  // namespace catena
