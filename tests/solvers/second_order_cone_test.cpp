#include "solvers/interior_point/second_order_cone.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace catena {
namespace {

using namespace second_order_cone;

/// Points inside, from the axis to 1e-9 of the boundary, with scales over six orders.
std::vector<Vec3> points_inside() {
  std::mt19937_64 engine(1);
  const auto uniform = [&] { return static_cast<double>(engine() >> 11) * 0x1.0p-53; };
  std::vector<Vec3> points;
  for (const double depth : {1.0, 0.3, 1e-3, 1e-6, 1e-9})
    for (const double scale : {1e-3, 1.0, 1e3}) {
      const double angle = 6.28 * uniform();
      points.push_back(scale *
                       Vec3(1.0, (1.0 - depth) * std::cos(angle), (1.0 - depth) * std::sin(angle)));
    }
  return points;
}

TEST(SecondOrderCone, DeterminantKeepsItsDigitsAtTheBoundary) {
  // |x_t| = 5 exactly: det = (x_0 - 5)(x_0 + 5)
  const double above = std::nextafter(5.0, 6.0);

  EXPECT_DOUBLE_EQ(determinant(Vec3(above, 3.0, 4.0)), (above - 5.0) * (above + 5.0));
  EXPECT_TRUE(inside(Vec3(above, 3.0, 4.0)));
  EXPECT_FALSE(inside(Vec3(5.0, 3.0, 4.0)));
  EXPECT_FALSE(inside(Vec3(std::numeric_limits<double>::quiet_NaN(), 0.0, 0.0)));
}

TEST(SecondOrderCone, QuotientUndoesTheProduct) {
  const Vec3 x(0.3, -2.0, 1.1);
  for (const Vec3& a : points_inside()) {
    const Vec3 found = quotient(a, product(a, x));
    // condition of the product with a: its eigenvalues' ratio
    const double condition = a[0] * a[0] / determinant(a);
    EXPECT_NEAR((found - x).norm(), 0.0, 1e-14 * condition) << a.transpose();
  }
}

TEST(SecondOrderCone, StepEndsOnTheBoundaryAndNotBefore) {
  const std::array<Vec3, 4> directions = {Vec3(-1.0, 0.2, 0.1), Vec3(0.0, 1.0, -2.0),
                                          Vec3(0.5, -1.0, 0.0), Vec3(-1.0, 1.0, 0.0)};
  for (const Vec3& x : points_inside())
    for (const Vec3& d : directions) {
      const double t = step_to_boundary(x, d);
      const Vec3 end = x + t * d;

      ASSERT_TRUE(std::isfinite(t));
      EXPECT_NEAR(determinant(end), 0.0, 1e-12 * end.squaredNorm()) << x.transpose();
      EXPECT_GE(end[0], -1e-12 * x[0]);
      EXPECT_TRUE(inside(x + 0.999 * t * d)) << x.transpose();
    }
}

TEST(SecondOrderCone, StepIntoTheConeHasNoEnd) {
  EXPECT_TRUE(std::isinf(step_to_boundary(Vec3(1.0, 0.5, 0.0), Vec3(2.0, -1.0, 1.0))));
  EXPECT_TRUE(std::isinf(step_to_boundary(Vec3(1.0, 0.5, 0.0), Vec3::Zero())));
  EXPECT_EQ(step_to_boundary(Vec3(1.0, 0.0, 0.0),
                             Vec3(std::numeric_limits<double>::quiet_NaN(), 0.0, 0.0)),
            0.0);
}

TEST(SecondOrderCone, StepOfNumbersIsTheRatio) {
  EXPECT_DOUBLE_EQ(step_to_boundary(Vec3(3.0, 0.0, 0.0), Vec3(-2.0, 0.0, 0.0)), 1.5);
}

TEST(SecondOrderCone, ScalingTakesBothPointsToOne) {
  for (const Vec3& s : points_inside())
    for (const Vec3& z : points_inside()) {
      const Scaling q(s, z);
      const Vec3 from_s = q.from_axes(q.to_axes(s).cwiseQuotient(q.f));
      const Vec3 from_z = q.from_axes(q.f.cwiseProduct(q.to_axes(z)));

      EXPECT_LT((from_s - from_z).norm(), 1e-6 * from_s.norm());
      // s.z = |W^-1 s|^2
      EXPECT_NEAR(from_s.squaredNorm(), s.dot(z), 1e-6 * s.dot(z));
    }
}

TEST(SecondOrderCone, AxesAreOrthonormal) {
  const Scaling q(Vec3(2.0, 0.3, -1.0), Vec3(1.0, 0.1, 0.7));
  const Vec3 x(0.4, -1.2, 2.5);

  EXPECT_NEAR((q.from_axes(q.to_axes(x)) - x).norm(), 0.0, 1e-15 * 8.0);
  EXPECT_NEAR(q.to_axes(x).norm(), x.norm(), 1e-15 * 8.0);
}

TEST(SecondOrderCone, ScalingOfNumbersIsTheRootOfTheirRatio) {
  const Scaling q(Vec3(8.0, 0.0, 0.0), Vec3(2.0, 0.0, 0.0));

  EXPECT_NEAR((q.f - Vec3::Constant(2.0)).norm(), 0.0, 1e-15 * 8.0);
}

TEST(SecondOrderCone, CentralPairHasItsDifferenceAndProduct) {
  for (const Vec3& v : {Vec3(1.0, 2.0, -0.5), Vec3(-3.0, 0.1, 0.2), Vec3(2.0, 0.0, 0.0)})
    for (const double mu : {1.0, 1e-4, 1e-10}) {
      const auto [s, z] = central_pair(v, mu);

      EXPECT_TRUE(inside(s));
      EXPECT_TRUE(inside(z));
      EXPECT_NEAR((s - z - v).norm(), 0.0, 1e-14);
      EXPECT_NEAR((product(s, z) - Vec3(mu, 0.0, 0.0)).norm(), 0.0, 1e-14);
    }
}

TEST(SecondOrderCone, CorrectionTakesEigenvaluesIntoTheBandByBoundedSteps) {
  // eigenvalues -1 and 3 into [0.5, 2]; then 40, of which no more than 2 is taken
  const Vec3 x(1.0, 2.0, 0.0);
  EXPECT_NEAR((x + correction_into(x, 0.5, 2.0) - Vec3(1.25, 0.75, 0.0)).norm(), 0.0, 1e-15 * 4.0);
  EXPECT_NEAR((correction_into(Vec3(40.0, 0.0, 0.0), 0.5, 2.0) - Vec3(-2.0, 0.0, 0.0)).norm(), 0.0,
              1e-15);
}

}  // namespace
}  // namespace catena
