// Volumes of cut balls against closed forms of single cases, and against integration by slices.
#include "probes/regions/ball_in_box.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "catena/base/random.hpp"
#include "probes/regions/region.hpp"

namespace catena::probes {
namespace {

constexpr double kPi = std::numbers::pi;
const Vec3 kFar = Vec3::Constant(10.0);

/// Area of the disc of radius r about the origin within [x0, x1] x [y0, y1]: strips across, each
/// exact in y, at places where the disc's edge is smooth in the integration variable.
double disc_in_rectangle(double r, double x0, double x1, double y0, double y1) {
  constexpr int kStrips = 400;
  const auto angle = [&](double x) { return std::asin(std::clamp(x / r, -1.0, 1.0)); };
  const double first = angle(x0), last = angle(x1), d = (last - first) / kStrips;
  double area = 0.0;
  for (int k = 0; k < kStrips; ++k) {
    const double half = r * std::cos(first + (k + 0.5) * d);
    area += std::max(0.0, std::min(y1, half) - std::max(y0, -half)) * half * d;
  }
  return area;
}

double by_slices(const Vec3& c, double r, const Vec3& lo, const Vec3& hi) {
  constexpr int kSlices = 400;
  const auto angle = [&](double z) { return std::asin(std::clamp(z / r, -1.0, 1.0)); };
  const double first = angle(lo.z() - c.z()), last = angle(hi.z() - c.z());
  const double d = (last - first) / kSlices;
  double volume = 0.0;
  for (int k = 0; k < kSlices; ++k) {
    const double slice = r * std::cos(first + (k + 0.5) * d);
    volume +=
        disc_in_rectangle(slice, lo.x() - c.x(), hi.x() - c.x(), lo.y() - c.y(), hi.y() - c.y()) *
        slice * d;
  }
  return volume;
}

TEST(BallInBox, CapsHalvesEdgesAndCornersThroughTheCentreAreTheirShares) {
  const double r = 0.7, whole = 4.0 / 3.0 * kPi * r * r * r;
  EXPECT_NEAR(ball_in_box(Vec3::Zero(), r, -kFar, kFar), whole, 1e-14);
  EXPECT_NEAR(ball_in_box(Vec3::Zero(), r, Vec3::Zero(), kFar), whole / 8.0, 1e-14);
  EXPECT_NEAR(ball_in_box(Vec3::Zero(), r, Vec3(0.0, -10.0, 0.0), kFar), whole / 4.0, 1e-14);
  const double h = 0.2;  // a cap: pi h^2 (3 r - h)/3
  EXPECT_NEAR(ball_in_box(Vec3(r - h, 0.0, 0.0), r, -kFar, Vec3(0.0, 10.0, 10.0)),
              kPi * h * h * (3.0 * r - h) / 3.0, 1e-14);
  EXPECT_EQ(ball_in_box(Vec3(1.0, 0.0, 0.0), r, -kFar, Vec3(0.2, 10.0, 10.0)), 0.0);
}

TEST(BallInBox, AgreesWithIntegrationBySlicesWhereverTheFacesAre) {
  double worst = 0.0;
  for (std::uint64_t k = 0; k < 60; ++k) {
    const auto number = [&](std::uint64_t i, double from, double to) {
      return from + (to - from) * uniform01(7, k, i);
    };
    const Vec3 c(number(0, -1.0, 1.0), number(1, -1.0, 1.0), number(2, -1.0, 1.0));
    const Vec3 lo(number(3, -1.2, 0.0), number(4, -1.2, 0.0), number(5, -1.2, 0.0));
    const Vec3 hi(number(6, 0.05, 1.2), number(7, 0.05, 1.2), number(8, 0.05, 1.2));
    const double r = number(9, 0.3, 1.0);
    worst = std::max(worst, std::abs(ball_in_box(c, r, lo, hi) - by_slices(c, r, lo, hi)));
  }
  // what the slices are good for
  EXPECT_LT(worst, 2e-4);
}

TEST(BallInBox, BoxesThatFillSpaceShareTheBallOut) {
  const Vec3 c(0.1, -0.2, 0.3);
  double sum = 0.0;
  for (int i = -3; i < 3; ++i)
    for (int j = -3; j < 3; ++j)
      for (int k = -3; k < 3; ++k) {
        const Vec3 lo = 0.4 * Vec3(i, j, k);
        sum += ball_in_box(c, 0.8, lo, lo + Vec3::Constant(0.4));
      }
  EXPECT_NEAR(sum, 4.0 / 3.0 * kPi * 0.512, 1e-13);
}

TEST(Region, CutsOfSpheresByCylinderAndSphereAreThoseOfSpecialCases) {
  RegionSettings s;
  s.cylinder = true;
  s.from = Vec3(0.0, 0.0, 0.0);
  s.to = Vec3(0.0, 0.0, 5.0);
  s.radius = 0.5;
  const Region cylinder(s);
  // a ball of radius 1 on the axis, cut through its centre: half of what a hole leaves out,
  // 4/3 pi (1 - (1 - R^2)^(3/2))
  const double drilled = 4.0 / 3.0 * kPi * (1.0 - std::pow(0.75, 1.5));
  EXPECT_NEAR(cylinder.cut_ball(Vec3::Zero(), 1.0), 0.5 * drilled, 1e-3 * drilled);
  EXPECT_NEAR(cylinder.cut_ball(Vec3(0.0, 0.0, 2.0), 1.0), drilled, 1e-3 * drilled);

  RegionSettings t;
  t.sphere = true;
  t.centre = Vec3::Zero();
  t.radius = 1.0;
  // two unit balls one radius apart share 5 pi/12
  EXPECT_NEAR(Region(t).cut_ball(Vec3(1.0, 0.0, 0.0), 1.0), 5.0 * kPi / 12.0, 1e-14);
}

TEST(Region, CutsOtherShapesBySampling) {
  RegionSettings s;
  s.lower = Vec3(0.0, -5.0, -5.0);
  s.upper = Vec3::Constant(5.0);
  const Region half(s);
  Pose turned;
  turned.q = Quat(Eigen::AngleAxisd(0.3, Vec3(1.0, 2.0, 3.0).normalized()));
  // a plane through the centre halves what is symmetric about it
  for (const ShapeType type : {ShapeType::box, ShapeType::capsule, ShapeType::cylinder}) {
    const Shape shape{type, Vec3(0.2, 0.3, 0.4)};
    EXPECT_NEAR(half.cut(shape, turned, {}), 0.5 * volume_of(shape), 1e-12 * volume_of(shape));
  }
  const Shape box{ShapeType::box, Vec3(0.2, 0.3, 0.4)};
  Pose moved;
  moved.p = Vec3(0.1, 0.0, 0.0);  // three quarters of its edge are inside
  EXPECT_NEAR(half.cut(box, moved, {}), 0.75 * volume_of(box), 1e-12);
}

}  // namespace
}  // namespace catena::probes
