// Contacts of capsules, cylinders, hulls, hollow cylinders and compounds that can be solved by
// hand, and degenerate ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "shapes.hpp"

namespace catena {
namespace {

using namespace test;

const Shape kPlane{ShapeType::plane, {0, 0, 0}};
constexpr double kPi = std::numbers::pi;

std::vector<ContactPoint> on_plane(const Geometries& all, const Shape& shape, const Pose& pose,
                                   double margin) {
  return all.collide(kPlane, {}, shape, pose, margin);
}

TEST(OnPlane, EveryShapesLowestPointIsFoundInAnyPose) {
  Geometries all;
  Random random(1);
  const std::vector<Shape> shapes = {
      sphere_shape(0.3),        capsule_shape(0.2, 0.5),  box_shape({0.3, 0.4, 0.2}),
      cylinder_shape(0.4, 0.3), cylinder_shape(0.2, 0.6), all.rock(random, 30, {0.5, 0.4, 0.3})};
  for (const Shape& shape : shapes) {
    for (int n = 0; n < 200; ++n) {
      const Pose plane{random.vector(-1, 1), random.rotation()};
      const Pose pose{plane.p + random.vector(-1, 1), random.rotation()};
      const Vec3 up = plane.q * Vec3::UnitZ();
      const double expected = up.dot(all.support(shape, pose, -up) - plane.p);

      const auto points = all.collide(kPlane, plane, shape, pose, 0.2);

      if (expected >= 0.2) {
        EXPECT_TRUE(points.empty());
        continue;
      }
      ASSERT_FALSE(points.empty());
      EXPECT_LE(points.size(), 8U);
      EXPECT_NEAR(lowest_gap(points), expected, 1e-14);
      std::set<std::int32_t> features;
      for (const ContactPoint& point : points) {
        EXPECT_LT((point.normal - up).norm(), 1e-14);
        // the body's point half a gap above is not outside it, the plane's lies on the plane
        const Vec3 on_body = point.point + 0.5 * point.gap * up;
        EXPECT_NEAR(up.dot(point.point - plane.p), 0.5 * point.gap, 1e-14);
        for (int k = 0; k < 30; ++k) {
          const Vec3 d = random.direction();
          EXPECT_LE(d.dot(on_body - all.support(shape, pose, d)), 1e-14);
        }
        features.insert(point.feature);
      }
      EXPECT_EQ(features.size(), points.size());
    }
  }
}

TEST(OnPlane, ALyingCylinderAndCapsuleHaveTwoPointsAStandingCylinderFour) {
  const Geometries all;
  const Pose lying = turned({0, 0, 0.2}, kPi / 2, Vec3::UnitX());

  EXPECT_EQ(on_plane(all, cylinder_shape(0.2, 0.5), lying, 0.01).size(), 2U);
  EXPECT_EQ(on_plane(all, capsule_shape(0.2, 0.5), lying, 0.01).size(), 2U);
  const auto standing = on_plane(all, cylinder_shape(0.2, 0.5), pose_at(0, 0, 0.49), 0.01);
  ASSERT_EQ(standing.size(), 4U);
  for (const ContactPoint& p : standing) {
    EXPECT_NEAR(p.gap, -0.01, 1e-15);
    EXPECT_NEAR(p.point.head<2>().norm(), 0.2, 1e-15);
  }
  const auto tilted =
      on_plane(all, cylinder_shape(0.2, 0.5), turned({0, 0, 0.5}, 0.3, Vec3::UnitX()), 0.005);
  ASSERT_EQ(tilted.size(), 1U);
  EXPECT_NEAR(tilted[0].gap, 0.5 - 0.5 * std::cos(0.3) - 0.2 * std::sin(0.3), 1e-15);
}

TEST(OnPlane, FeaturesOfAWobblingCylinderStay) {
  const Geometries all;
  std::set<std::int32_t> names;
  for (int k = 0; k < 60; ++k) {
    const double turn = 0.1 * k;
    const Pose pose = turned({0, 0, 0.5}, 1e-6, {std::cos(turn), std::sin(turn), 0});
    for (const auto& p : on_plane(all, cylinder_shape(0.2, 0.5), pose, 0.01)) {
      names.insert(p.feature);
    }
  }
  EXPECT_EQ(names.size(), 4U);
}

TEST(Capsules, ParallelOnesTouchAtBothEndsOfTheCommonLength) {
  const Geometries all;
  const Shape a = capsule_shape(0.2, 1.0), b = capsule_shape(0.3, 0.5);

  const auto points = all.collide(a, pose_at(0, 0, 0), b, pose_at(0.52, 0, 0.8), 0.1);

  ASSERT_EQ(points.size(), 2U);
  for (const auto& p : points) {
    EXPECT_NEAR(p.gap, 0.02, 1e-15);
    EXPECT_LT((p.normal - Vec3::UnitX()).norm(), 1e-15);
    EXPECT_NEAR(p.point.x(), 0.21, 1e-15);
  }
  EXPECT_NEAR(points[0].point.z(), 0.3, 1e-15);
  EXPECT_NEAR(points[1].point.z(), 1.0, 1e-15);
}

TEST(Capsules, CrossedOnesTouchInOnePoint) {
  const Geometries all;
  const auto points =
      all.collide(capsule_shape(0.2, 1.0), turned({0, 0, 0}, kPi / 2, Vec3::UnitX()),
                  capsule_shape(0.3, 0.7), turned({0.1, 0.2, 0.45}, kPi / 2, Vec3::UnitY()), 0.1);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_NEAR(points[0].gap, -0.05, 1e-15);
  EXPECT_LT((points[0].normal - Vec3::UnitZ()).norm(), 1e-14);
  EXPECT_LT((points[0].point - Vec3(0, 0.2, 0.175)).norm(), 1e-14);
}

TEST(Capsules, OneLiesOnABoxWithTwoPoints) {
  const Geometries all;
  const auto points = all.collide(box_shape({1, 1, 0.5}), pose_at(0, 0, 0), capsule_shape(0.2, 0.6),
                                  turned({0.7, 0, 0.695}, kPi / 2, Vec3::UnitY()), 0.01);
  ASSERT_EQ(points.size(), 2U);
  std::vector<double> x = {points[0].point.x(), points[1].point.x()};
  std::sort(x.begin(), x.end());
  EXPECT_NEAR(x[0], 0.1, 1e-14);
  EXPECT_NEAR(x[1], 1.0, 1e-14);  // the axis reaches beyond the box, the contact does not
  for (const auto& p : points) {
    EXPECT_NEAR(p.gap, -0.005, 1e-14);
    EXPECT_LT((p.normal - Vec3::UnitZ()).norm(), 1e-14);
  }
}

TEST(Cylinders, SideBySideTheyTouchAtBothEndsOfTheCommonLength) {
  const Geometries all;
  const Pose a = turned({0, 0, 0}, kPi / 2, Vec3::UnitX()),
             b = turned({0.3, 0.1, 0.4}, kPi / 2, Vec3::UnitX());
  const auto points = all.collide(cylinder_shape(0.2, 0.5), a, cylinder_shape(0.29, 0.3), b, 0.1);
  ASSERT_EQ(points.size(), 2U);
  for (const auto& p : points) {
    EXPECT_NEAR(p.gap, 0.01, 1e-14);
    EXPECT_LT((p.normal - Vec3(0.6, 0, 0.8)).norm(), 1e-14);
  }
  // along y: A from -0.5 to 0.5, B from -0.2 to 0.4
  EXPECT_NEAR(std::min(points[0].point.y(), points[1].point.y()), -0.2, 1e-14);
  EXPECT_NEAR(std::max(points[0].point.y(), points[1].point.y()), 0.4, 1e-14);
}

TEST(Cylinders, EndOnEndAndOnABoxTheyStandOnFourPoints) {
  const Geometries all;
  const auto stack = all.collide(cylinder_shape(0.2, 0.5), pose_at(0, 0, 0),
                                 cylinder_shape(0.3, 0.5), pose_at(0.02, 0.03, 0.999), 0.01);
  ASSERT_EQ(stack.size(), 4U);
  for (const auto& p : stack) EXPECT_NEAR(p.gap, -0.001, 1e-12);
  const auto stands = all.collide(box_shape({1, 1, 1}), pose_at(0, 0, 0), cylinder_shape(0.3, 0.5),
                                  turned({0, 0, 1.5}, 1e-4, Vec3::UnitX()), 0.01);
  ASSERT_EQ(stands.size(), 4U);
  EXPECT_NEAR(lowest_gap(stands), 0.5 - 0.5 * std::cos(1e-4) - 0.3 * std::sin(1e-4), 1e-12);
}

TEST(Hulls, StackedCubesHaveTheFourCornersOfTheSmallerFace) {
  Geometries all;
  const Shape big = all.box_hull({1, 1, 1}), small = all.box_hull({0.5, 0.4, 0.3});
  const auto points = all.collide(big, pose_at(0, 0, 0), small, pose_at(0.1, 0.2, 1.299), 0.01);
  ASSERT_EQ(points.size(), 4U);
  double area = 0.0;
  for (const auto& p : points) {
    EXPECT_NEAR(p.gap, -0.001, 1e-14);
    EXPECT_LT((p.normal - Vec3::UnitZ()).norm(), 1e-14);
    area += std::abs(p.point.x() - 0.1) * std::abs(p.point.y() - 0.2);
  }
  EXPECT_NEAR(area, 4 * 0.5 * 0.4, 1e-12);
}

TEST(Hulls, ThePointsOfABoxAsAHullAreThoseOfTheBox) {
  Geometries all;
  Random random(5);
  const Vec3 half(0.4, 0.5, 0.3);
  const Shape hull = all.box_hull(half), box = box_shape(half);
  for (int n = 0; n < 500; ++n) {
    const Pose a{random.vector(-1, 1), random.rotation()};
    const Pose b{a.p + random.in(0.4, 1.1) * random.direction(), random.rotation()};
    const auto exact = all.collide(box, a, box, b, 0.05),
               points = all.collide(hull, a, hull, b, 0.05);
    ASSERT_EQ(exact.empty(), points.empty());
    if (!exact.empty()) {
      const double g = lowest_gap(exact);
      EXPECT_NEAR(g, lowest_gap(points), 0.08 * std::abs(g) + 1e-5);
    }
  }
}

TEST(Hulls, PointsKeepTheirNumbersUnderSmallMotions) {
  Geometries all;
  Random random(9);
  const Shape a = all.box_hull({1, 1, 0.5}), b = all.box_hull({0.5, 0.4, 0.3});
  const auto names = [&](const Pose& pose) {
    std::set<std::int32_t> out;
    for (const auto& p : all.collide(a, pose_at(0, 0, 0), b, pose, 0.02)) out.insert(p.feature);
    return out;
  };
  const auto still = names(pose_at(0.6, 0.1, 0.8));
  EXPECT_EQ(still.size(), 4U);
  for (int n = 0; n < 200; ++n) {
    EXPECT_EQ(names(turned(Vec3(0.6, 0.1, 0.8) + 1e-4 * random.vector(-1, 1),
                           1e-4 * random.in(0, 1), random.direction())),
              still);
  }
}

TEST(HollowCylinders, ASphereTouchesWallEndsAndRims) {
  const Geometries all;
  const Shape drum = hollow_shape(1.0, 2.0, 0.1, kLowerEnd);
  const auto at = [&](double x, double y, double z) {
    return all.collide(sphere_shape(0.2), pose_at(x, y, z), drum, pose_at(0, 0, 0), 0.05);
  };
  const auto wall = at(0.48, 0.64, 0.3);  // 0.8 from the axis: touches
  ASSERT_EQ(wall.size(), 1U);
  EXPECT_NEAR(wall[0].gap, 0.0, 1e-15);
  EXPECT_LT((wall[0].normal - Vec3(0.6, 0.8, 0)).norm(), 1e-15);
  EXPECT_LT((wall[0].point - Vec3(0.6, 0.8, 0.3)).norm(), 1e-15);
  const auto corner = at(0.79, 0, -1.81);
  ASSERT_EQ(corner.size(), 2U);
  EXPECT_NEAR(corner[0].gap, 0.01, 1e-14);
  EXPECT_NEAR(corner[1].gap, -0.01, 1e-14);
  EXPECT_LT((corner[1].normal - Vec3(0, 0, -1)).norm(), 1e-15);
  const auto outside = at(0, 1.32, 0);
  ASSERT_EQ(outside.size(), 1U);
  EXPECT_NEAR(outside[0].gap, 0.02, 1e-14);
  EXPECT_LT((outside[0].normal - Vec3(0, -1, 0)).norm(), 1e-15);
  const auto rim = at(0.97, 0, 2.16);  // 3 and 4 times 0.04 from the inner rim at (1, 2)
  ASSERT_EQ(rim.size(), 1U);
  EXPECT_NEAR(rim[0].gap, std::hypot(0.03, 0.16) - 0.2, 1e-14);
  const auto below = at(0.3, 0, -2.31);
  ASSERT_EQ(below.size(), 1U);
  EXPECT_NEAR(below[0].gap, 0.01, 1e-14);
  EXPECT_LT((below[0].normal - Vec3(0, 0, 1)).norm(), 1e-15);
}

/// Least distance of the surface of a shape from the wall around it: sampled by supports of slices.
double clearance(const Geometries& all, const Shape& shape, const Pose& pose, double inner) {
  double most = 0.0;
  for (int k = 0; k < 20000; ++k) {
    const double angle = 2.0 * kPi * k / 20000;
    const Vec3 d(std::cos(angle), std::sin(angle), 0.0);
    most = std::max(most, d.dot(all.support(shape, pose, d)));
  }
  return inner - most;
}

TEST(HollowCylinders, ABodyWithinTouchesTheWallWithItsFarthestPoints) {
  Geometries all;
  Random random(11);
  const std::vector<Shape> shapes = {capsule_shape(0.2, 0.3), box_shape({0.3, 0.2, 0.4}),
                                     cylinder_shape(0.3, 0.2),
                                     all.rock(random, 20, {0.4, 0.3, 0.3})};
  const Shape drum = hollow_shape(1.0, 3.0, 0.1, 0);
  for (const Shape& shape : shapes) {
    for (int n = 0; n < 60; ++n) {
      Pose pose{Vec3(0.7 * random.in(-1, 1), 0.5 * random.in(-1, 1), random.in(-1, 1)),
                random.rotation()};
      const double expected = clearance(all, shape, pose, 1.0);
      const auto points = all.collide(drum, pose_at(0, 0, 0), shape, pose, 0.1);
      if (std::abs(expected - 0.1) < 1e-6) continue;
      ASSERT_EQ(points.empty(), expected > 0.1) << expected;
      if (points.empty()) continue;
      EXPECT_LE(points.size(), 4U);
      EXPECT_NEAR(lowest_gap(points), expected, 1e-7);  // of the sampled directions
      for (const auto& p : points) {
        const Vec3 on_wall = p.point - 0.5 * p.gap * p.normal;
        EXPECT_NEAR(on_wall.head<2>().norm(), 1.0, 1e-14);
        EXPECT_LT((p.normal + Vec3(on_wall.x(), on_wall.y(), 0)).norm(), 1e-14);
      }
    }
  }
}

TEST(HollowCylinders, ADiscInADrumTouchesAtBothRimsAndABoxStandsOnTheFloor) {
  const Geometries all;
  const Shape drum = hollow_shape(1.0, 0.5, 0.1, kLowerEnd | kUpperEnd);
  const auto disc =
      all.collide(cylinder_shape(0.3, 0.4), pose_at(0.69, 0, 0), drum, pose_at(0, 0, 0), 0.05);
  ASSERT_EQ(disc.size(), 2U);
  for (const auto& p : disc) {
    EXPECT_NEAR(p.gap, 0.01, 1e-14);
    EXPECT_LT((p.normal - Vec3::UnitX()).norm(), 1e-14);
    EXPECT_NEAR(std::abs(p.point.z()), 0.4, 1e-14);
  }
  const auto floor = all.collide(box_shape({0.2, 0.2, 0.2}), pose_at(0.1, 0, -0.301), drum,
                                 pose_at(0, 0, 0), 0.05);
  ASSERT_EQ(floor.size(), 4U);
  for (const auto& p : floor) {
    EXPECT_NEAR(p.gap, -0.001, 1e-14);
    EXPECT_LT((p.normal + Vec3::UnitZ()).norm(), 1e-14);
  }
}

TEST(HollowCylinders, ACornerThatOverlapsTheFloorIsHeldByTheWall) {
  Geometries all;
  const Shape drum = hollow_shape(1.0, 0.5, 0.1, kLowerEnd | kUpperEnd);
  // the lower corners are 1e-7 within the floor, two of them at the wall
  const double x = std::sqrt(1.001 * 1.001 - 0.3 * 0.3) - 0.3;
  const Pose pose{{x, 0.0, -0.4 - 1e-7}, Quat::Identity()};
  const auto points = all.collide(box_shape({0.3, 0.3, 0.1}), pose, drum, {}, 1e-4);
  int at_wall = 0;
  for (const ContactPoint& point : points) {
    if (std::abs(point.normal.z()) > 0.5) continue;
    EXPECT_NEAR(point.gap, -0.001, 1e-14);
    ++at_wall;
  }
  EXPECT_EQ(at_wall, 4);
}

TEST(Cylinders, WithAxesInOnePlanePartAcrossIt) {
  // the separation has an edge there, along which a climb comes on with ever shorter steps
  Geometries all;
  for (int n = 1; n < 12; ++n) {
    const Pose tilted{{0.004, 0.0, 0.003}, Quat(Eigen::AngleAxisd(0.25 * n, Vec3::UnitY()))};
    const Shape disc = cylinder_shape(0.03, 0.05);
    const auto points = all.collide(disc, {}, disc, tilted, 1e-3);
    ASSERT_FALSE(points.empty());
    EXPECT_NEAR(lowest_gap(points), -0.06, 1e-9);
    EXPECT_NEAR(std::abs(points[0].normal.y()), 1.0, 1e-6);
  }
}

TEST(HollowCylinders, ABoxBesideTouchesTheOuterWallAndOneOverTheMouthTheRingOnly) {
  const Geometries all;
  const Shape silo = hollow_shape(1.0, 2.0, 0.1, 0);
  const auto beside =
      all.collide(box_shape({0.5, 0.5, 0.5}), pose_at(1.61, 0, 0), silo, pose_at(0, 0, 0), 0.05);
  ASSERT_FALSE(beside.empty());
  EXPECT_NEAR(lowest_gap(beside), 0.01, 1e-9);
  const auto plate =
      all.collide(box_shape({2, 2, 0.1}), pose_at(0, 0, 2.099), silo, pose_at(0, 0, 0), 0.05);
  ASSERT_GE(plate.size(), 3U);
  for (const auto& p : plate) {
    EXPECT_NEAR(p.gap, -0.001, 1e-9);
    EXPECT_GE(p.point.head<2>().norm(), 1.0);
  }
  const auto through =
      all.collide(box_shape({0.2, 0.2, 0.2}), pose_at(0.1, 0, 2.1), silo, pose_at(0, 0, 0), 0.05);
  EXPECT_TRUE(through.empty());
}

TEST(Compounds, AClumpTouchesWithEachPartAndNumbersThem) {
  Geometries all;
  const Shape clump = all.compound(
      {{sphere_shape(0.5), pose_at(-0.4, 0, 0)}, {sphere_shape(0.5), pose_at(0.4, 0, 0)}});
  const auto points = all.collide(kPlane, {}, clump, pose_at(3, 0, 0.49), 0.1);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_NE(points[0].part, points[1].part);
  for (const auto& p : points) {
    EXPECT_NEAR(p.gap, -0.01, 1e-15);
    EXPECT_LT((p.normal - Vec3::UnitZ()).norm(), 1e-15);
    EXPECT_NEAR(p.point.x(), p.part == 0 ? 2.6 : 3.4, 1e-15);
  }
  // clump on clump, crossed: all four pairs of parts
  const auto crossed =
      all.collide(clump, pose_at(0, 0, 0), clump, turned({0, 0, 0.8}, kPi / 2, Vec3::UnitZ()), 0.3);
  ASSERT_EQ(crossed.size(), 4U);
  std::set<std::int32_t> parts;
  for (const auto& p : crossed) {
    parts.insert(p.part);
    const Vec3 c_a = p.part / 2 == 0 ? Vec3(-0.4, 0, 0) : Vec3(0.4, 0, 0);
    const Vec3 c_b = p.part % 2 == 0 ? Vec3(0, -0.4, 0.8) : Vec3(0, 0.4, 0.8);
    EXPECT_NEAR(p.gap, (c_b - c_a).norm() - 1.0, 1e-14);
    EXPECT_LT((p.normal - (c_b - c_a).normalized()).norm(), 1e-14);
  }
  EXPECT_EQ(parts.size(), 4U);
  // against a single body the part is the clump's, on either side
  const auto left = all.collide(sphere_shape(0.2), pose_at(0.4, 0, 0.65), clump, {}, 0.1);
  const auto right = all.collide(clump, {}, sphere_shape(0.2), pose_at(0.4, 0, 0.65), 0.1);
  ASSERT_EQ(left.size(), 1U);
  ASSERT_EQ(right.size(), 1U);
  EXPECT_EQ(left[0].part, 1);
  EXPECT_EQ(right[0].part, 1);
  EXPECT_EQ(left[0].normal, -right[0].normal);
}

TEST(Compounds, AScaledClumpIsTheClumpMadeLarger) {
  Geometries all;
  const Shape clump =
      all.compound({{sphere_shape(0.5), pose_at(-0.4, 0, 0)},
                    {box_shape({0.3, 0.2, 0.2}), turned({0.5, 0.1, 0}, 0.4, {1, 2, 3})}});
  const auto once = all.collide(kPlane, {}, clump, turned({0, 0, 0.4}, 0.3, {1, 0, 2}), 0.2);
  const auto twice =
      all.collide(kPlane, {}, scaled(clump, 2.0), turned({0, 0, 0.8}, 0.3, {1, 0, 2}), 0.4);
  ASSERT_EQ(once.size(), twice.size());
  ASSERT_FALSE(once.empty());
  for (std::size_t k = 0; k < once.size(); ++k) {
    EXPECT_NEAR(2.0 * once[k].gap, twice[k].gap, 1e-14);
    EXPECT_LT((2.0 * once[k].point - twice[k].point).norm(), 1e-14);
    EXPECT_EQ(once[k].part, twice[k].part);
  }
}

TEST(AnyPair, DegeneratePosesGiveFiniteUnitNormals) {
  Geometries all;
  Random random(21);
  const Shape mesh =
      all.mesh({{-2, -2, 0}, {2, -2, 0}, {2, 2, 0}, {-2, 2, 0}}, {{0, 1, 2}, {0, 2, 3}});
  const Shape field = all.heightfield(3, 3, 1.0, std::vector<double>(9, 0.0));
  const std::vector<Shape> shapes = {
      sphere_shape(0.5),
      capsule_shape(0.3, 0.5),
      box_shape({0.5, 0.5, 0.5}),
      cylinder_shape(0.5, 0.5),
      all.box_hull({0.5, 0.5, 0.5}),
      hollow_shape(0.4, 0.5, 0.1, kLowerEnd),
      all.compound({{sphere_shape(0.5), {}}, {box_shape({0.5, 0.5, 0.5}), {}}}),
      kPlane,
      mesh,
      field};
  // coincident, touching exactly, parallel, deep
  const std::vector<Vec3> shifts = {{0, 0, 0}, {1, 0, 0},   {0, 0, 1},     {0, 1, 1},
                                    {1, 1, 1}, {0, 0, 0.5}, {0.5, 0.5, 0}, {0, 0, 1e-300}};
  const std::vector<Quat> turns = {
      Quat::Identity(), Quat(Eigen::AngleAxisd(kPi / 2, Vec3::UnitX())),
      Quat(Eigen::AngleAxisd(kPi, Vec3::UnitY())), Quat(Eigen::AngleAxisd(kPi / 4, Vec3::UnitZ()))};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (std::size_t j = 0; j < shapes.size(); ++j) {
      for (const Vec3& shift : shifts) {
        for (const Quat& turn : turns) {
          const auto points = all.collide(shapes[i], {}, shapes[j], {shift, turn}, 0.01);
          std::set<std::pair<std::int32_t, std::int32_t>> names;
          for (const auto& p : points) {
            EXPECT_TRUE(p.point.allFinite() && std::isfinite(p.gap)) << i << ' ' << j;
            EXPECT_NEAR(p.normal.norm(), 1.0, 1e-9) << i << ' ' << j << ' ' << shift.transpose();
            EXPECT_LT(p.gap, 0.01);
            EXPECT_GE(p.part, 0);
            names.insert({p.part, p.feature});
          }
          EXPECT_EQ(names.size(), points.size()) << i << ' ' << j;
        }
      }
      const bool bounded = i < 7 && j < 7;
      if (bounded) {
        EXPECT_FALSE(all.collide(shapes[i], {}, shapes[j], pose_at(0.01, 0, 0), 0.0).empty() &&
                     i != 5 && j != 5)
            << i << ' ' << j;
      }
    }
  }
}

}  // namespace
}  // namespace catena
