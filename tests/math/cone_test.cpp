#include "catena/math/cone.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <random>

namespace catena {
namespace {

constexpr double kRounding = 1e-12;  // relative
constexpr double kFrictions[] = {0.0, 0.1, 0.5, 1.0, 10.0};

class RandomContacts {
 public:
  double uniform() { return std::uniform_real_distribution<double>(0.0, 1.0)(engine_); }
  double normal() { return std::normal_distribution<double>()(engine_); }
  Vec3 vector() { return {normal(), normal(), normal()}; }

  /// Symmetric positive definite, condition number up to 10^decades, any scale.
  Mat3 matrix(double decades) {
    const Quat q(Eigen::Vector4d(normal(), normal(), normal(), normal()).normalized());
    const Mat3 rotation = q.toRotationMatrix();
    const Vec3 eigenvalues(1.0, std::pow(10.0, -decades * uniform()),
                           std::pow(10.0, -decades * uniform()));
    const Mat3 d = std::pow(10.0, 8.0 * uniform() - 4.0) * rotation * eigenvalues.asDiagonal() *
                   rotation.transpose();
    return 0.5 * (d + d.transpose());
  }

 private:
  std::mt19937_64 engine_{20240607};
};

/// Size of the terms of w = D z + r, to which its rounding errors are relative.
double scale_of(const Mat3& d, const Vec3& r, const Vec3& z) {
  return r.norm() + d.norm() * z.norm();
}

/// Largest violation of Coulomb's law, relative to the terms' size.
double coulomb_violation(const Mat3& d, const Vec3& r, double mu, const Vec3& z) {
  const Vec3 w = d * z + r;
  const double scale = scale_of(d, r, z);
  const double t = z.tail<2>().norm();
  double worst = std::max(0.0, -w[0] / scale);                      // w_n >= 0
  if (z[0] < 0.0) return std::numeric_limits<double>::infinity();   // z_n >= 0
  if (z[0] > 0.0) worst = std::max(worst, std::abs(w[0]) / scale);  // w_n z_n = 0
  if (z[0] == 0.0 && t > 0.0) return std::numeric_limits<double>::infinity();
  if (t > 0.0) worst = std::max(worst, (t - mu * z[0]) / t);  // |z_t| <= mu z_n
  if (z[0] > 0.0 && mu > 0.0) {
    if (t < mu * z[0] * (1.0 - kRounding)) {
      worst = std::max(worst, w.tail<2>().norm() / scale);  // sticks
    } else {
      // slides against the impulse: w_t = -|w_t| z_t / |z_t|
      const Eigen::Vector2d against = w.tail<2>() + w.tail<2>().norm() / t * z.tail<2>();
      worst = std::max(worst, against.norm() / scale);
    }
  }
  return std::isfinite(z.sum()) ? worst : std::numeric_limits<double>::infinity();
}

/// Largest violation of the convex law: z in K, w in K*, z . w = 0.
double convex_violation(const Mat3& d, const Vec3& r, double mu, const Vec3& z) {
  if (!std::isfinite(z.sum())) return std::numeric_limits<double>::infinity();
  const Vec3 w = d * z + r;
  const double scale = scale_of(d, r, z);
  const double size = z.norm();
  double worst = std::max(0.0, (mu * w.tail<2>().norm() - w[0]) / scale / (1.0 + mu));
  if (size > 0.0) {
    worst = std::max(worst, (z.tail<2>().norm() - mu * z[0]) / size);
    worst = std::max(worst, std::abs(z.dot(w)) / (size * scale));
  }
  return worst;
}

TEST(ProjectCone, PointInsideStaysAndPointInPolarConeGoesToTheApex) {
  EXPECT_EQ(project_cone({2.0, 0.5, 0.5}, 0.5), Vec3(2.0, 0.5, 0.5));
  EXPECT_EQ(project_cone({-2.0, 3.0, 0.0}, 0.5), Vec3(0, 0, 0));
  EXPECT_EQ(project_cone({0.0, 0.0, 0.0}, 0.5), Vec3(0, 0, 0));
}

TEST(ProjectCone, WithoutFrictionItIsTheHalfLine) {
  EXPECT_EQ(project_cone({2.0, 1.0, -1.0}, 0.0), Vec3(2, 0, 0));
  EXPECT_EQ(project_cone({-2.0, 1.0, -1.0}, 0.0), Vec3(0, 0, 0));
  EXPECT_EQ(project_cone({-2.0, 0.0, 0.0}, 0.0), Vec3(0, 0, 0));
  EXPECT_EQ(project_cone({-2.0, 0.0, 0.0}, 0.5), Vec3(0, 0, 0));
}

TEST(ProjectCone, ResidualIsOrthogonalAndInThePolarCone) {
  // Moreau: x = P(x) + (x - P(x)) with the parts orthogonal, the second in -K*
  RandomContacts random;
  for (int i = 0; i < 10000; ++i) {
    const Vec3 x = random.vector();
    const double mu = kFrictions[i % 5];
    const Vec3 p = project_cone(x, mu);
    const Vec3 q = p - x;  // in K*
    EXPECT_LE(p.tail<2>().norm(), mu * p[0] + kRounding);
    EXPECT_LE(mu * q.tail<2>().norm(), q[0] + kRounding);
    EXPECT_NEAR(p.dot(q), 0.0, kRounding);
  }
}

TEST(ProjectCone, HandsNanOn) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(project_cone({nan, 1.0, 0.0}, 0.5).sum()));
  EXPECT_TRUE(std::isnan(project_cone({1.0, nan, 0.0}, 0.5).sum()));
}

TEST(CoulombContact, LawHoldsToRoundingForAnyPositiveDefiniteBlock) {
  RandomContacts random;
  double worst = 0.0;
  for (int i = 0; i < 100000; ++i) {
    const Mat3 d = random.matrix(6.0);
    const Vec3 r = random.vector();
    const double mu = kFrictions[i % 5];
    worst = std::max(worst, coulomb_violation(d, r, mu, solve_one_contact_coulomb(d, r, mu)));
  }
  EXPECT_LE(worst, kRounding);
}

TEST(CoulombContact, LawHoldsToRoundingForAnyScalesOfFrictionAndVelocities) {
  // includes couplings that nearly cancel the normal stiffness, where impulses are huge
  RandomContacts random;
  const auto magnitude = [&](double decades) {
    return std::pow(10.0, -decades * random.uniform());
  };
  double worst = 0.0;
  for (int i = 0; i < 100000; ++i) {
    const Mat3 d = random.matrix(6.0);
    const Vec3 r = random.vector().cwiseProduct(Vec3(magnitude(10), magnitude(10), magnitude(10)));
    const double mu = 100.0 * magnitude(11);
    worst = std::max(worst, coulomb_violation(d, r, mu, solve_one_contact_coulomb(d, r, mu)));
  }
  EXPECT_LE(worst, kRounding);
}

TEST(CoulombContact, SeparatingContactHasNoImpulse) {
  const Mat3 d = Vec3(2.0, 1.0, 3.0).asDiagonal();
  EXPECT_EQ(solve_one_contact_coulomb(d, {0.1, 5.0, -3.0}, 0.5), Vec3(0, 0, 0));
  EXPECT_EQ(solve_one_contact_coulomb(d, {0.0, 5.0, -3.0}, 0.5), Vec3(0, 0, 0));
}

TEST(CoulombContact, StickingSolvesTheLinearSystem) {
  Mat3 d;
  d << 2.0, 0.3, -0.2, 0.3, 1.5, 0.1, -0.2, 0.1, 1.0;
  const Vec3 z(1.0, 0.2, -0.3);  // inside the cone of 0.5

  const Vec3 solution = solve_one_contact_coulomb(d, -(d * z), 0.5);

  EXPECT_NEAR((solution - z).norm(), 0.0, 1e-14);
}

TEST(CoulombContact, SlidingBlockCoupledToItsNormalByHand) {
  // sliding along +t1 at 1 m/s: z = (1, -mu, 0), w = (0, 1, 0), so with mu = 1/2
  // r = w - D z = (0 - 2 + 1/2, 1 - 1 + 3/2, 0)
  Mat3 d;
  d << 2.0, 1.0, 0.0, 1.0, 3.0, 0.0, 0.0, 0.0, 1.0;

  const Vec3 z = solve_one_contact_coulomb(d, {-1.5, 1.5, 0.0}, 0.5);

  EXPECT_NEAR((z - Vec3(1.0, -0.5, 0.0)).norm(), 0.0, 1e-14);
}

TEST(CoulombContact, ObliqueSlidingReturnsTheSolutionItWasMadeFrom) {
  // weak coupling and small mu: the solution is unique
  RandomContacts random;
  for (int i = 0; i < 1000; ++i) {
    const Mat3 d = Mat3::Identity() + 0.1 * random.matrix(1.0).normalized();
    const double angle = 6.28 * random.uniform();
    const double mu = 0.3;
    const Vec3 z(1.0, mu * std::cos(angle), mu * std::sin(angle));
    const Vec3 w = random.uniform() * Vec3(0.0, -z[1], -z[2]);

    const Vec3 solution = solve_one_contact_coulomb(d, w - d * z, mu);

    EXPECT_LE((solution - z).norm(), kRounding);
  }
}

TEST(CoulombContact, ClosedFormForSpheresAgreesWithTheGeneralSolution) {
  RandomContacts random;
  for (int i = 0; i < 1000; ++i) {
    const double d_n = 0.1 + random.uniform();
    const double d_t = 0.1 + random.uniform();
    const Vec3 r = random.vector();
    Mat3 d = Vec3(d_n, d_t, d_t).asDiagonal();
    const Vec3 fast = solve_one_contact_isotropic(d_n, d_t, r, 0.4);
    EXPECT_LE(coulomb_violation(d, r, 0.4, fast), kRounding);
    d(2, 2) *= 1.0 + 1e-15;  // one bit off: takes the general path
    EXPECT_LE((solve_one_contact_coulomb(d, r, 0.4) - fast).norm(), kRounding);
  }
}

TEST(CoulombContact, HandsNanOn) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Mat3 d;
  d << 2.0, 1.0, 0.0, 1.0, 3.0, 0.0, 0.0, 0.0, 1.0;
  for (int i = 0; i < 3; ++i) {
    Vec3 r(-1.0, 1.0, 0.5);
    r[i] = nan;
    EXPECT_TRUE(std::isnan(solve_one_contact_coulomb(d, r, 0.5).sum())) << i;
    EXPECT_TRUE(std::isnan(solve_one_contact_convex(d, r, 0.5).sum())) << i;
    EXPECT_TRUE(std::isnan(solve_one_contact_isotropic(1.0, 1.0, r, 0.5).sum())) << i;
  }
}

TEST(ConvexContact, OptimalityHoldsToRoundingForAnyPositiveDefiniteBlock) {
  RandomContacts random;
  double worst = 0.0;
  for (int i = 0; i < 100000; ++i) {
    const Mat3 d = random.matrix(6.0);
    const Vec3 r = random.vector();
    const double mu = kFrictions[i % 5];
    worst = std::max(worst, convex_violation(d, r, mu, solve_one_contact_convex(d, r, mu)));
  }
  EXPECT_LE(worst, kRounding);
}

TEST(ConvexContact, ClosedFormForSpheresIsOptimal) {
  RandomContacts random;
  for (int i = 0; i < 10000; ++i) {
    const double d_t = 0.1 + random.uniform();
    const Mat3 d = Vec3(0.1 + random.uniform(), d_t, d_t).asDiagonal();
    const Vec3 r = random.vector();
    const double mu = kFrictions[i % 5];
    EXPECT_LE(convex_violation(d, r, mu, solve_one_contact_convex(d, r, mu)), kRounding);
  }
}

TEST(ConvexContact, EqualsProjectedGradientDescent) {
  RandomContacts random;
  for (int i = 0; i < 300; ++i) {
    Mat3 d = random.matrix(1.0);
    d /= d.trace();
    const Vec3 r = random.vector();
    const double mu = kFrictions[i % 5];
    Vec3 slow = Vec3::Zero();
    for (int k = 0; k < 2000; ++k) slow = project_cone(slow - (d * slow + r), mu);

    const Vec3 z = solve_one_contact_convex(d, r, mu);

    EXPECT_LE((z - slow).norm(), 1e-11 * (1.0 + z.norm()));
  }
}

TEST(ConvexContact, SlidesWithALiftOfMuTimesTheSlidingSpeed) {
  // D = I, r = (-1, 2, 0), mu = 1/2: z = z_n (1, -1/2, 0) minimises at
  // z_n = (1 + 1) / (1 + 1/4) = 8/5; w = (3/5, 6/5, 0), so w_n = mu |w_t|
  const Vec3 z = solve_one_contact_convex(Mat3::Identity(), {-1.0, 2.0, 0.0}, 0.5);

  EXPECT_NEAR((z - Vec3(1.6, -0.8, 0.0)).norm(), 0.0, 1e-15);
}

TEST(LargestEigenvalue, EqualsTheIterativeEigensolver) {
  RandomContacts random;
  for (int i = 0; i < 1000; ++i) {
    const Mat3 d = random.matrix(6.0);
    const double reference = Eigen::SelfAdjointEigenSolver<Mat3>(d).eigenvalues()[2];
    EXPECT_NEAR(largest_eigenvalue(d), reference, kRounding * reference);
  }
  EXPECT_EQ(largest_eigenvalue(3.0 * Mat3::Identity()), 3.0);
}

}  // namespace
}  // namespace catena
