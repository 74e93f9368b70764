#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "catena/collision/contact.hpp"
#include "random_poses.hpp"
#include "support/shapes.hpp"

namespace catena {
namespace {

using test::box_shape;
using test::pose_at;
using test::Random;
using test::sphere_shape;

const Shape kPlane{ShapeType::plane, {0, 0, 0}};

std::vector<ContactPoint> points_of(const Shape& a, const Pose& pose_a, const Shape& b,
                                    const Pose& pose_b, double margin) {
  std::vector<ContactPoint> points;
  collide(a, pose_a, b, pose_b, margin, points);
  return points;
}

TEST(SphereOnSphere, GapNormalAndPointFollowFromTheCentres) {
  const auto points =
      points_of(sphere_shape(1.0), pose_at(0, 0, 0), sphere_shape(0.5), pose_at(0, 3, 4), 4.0);

  ASSERT_EQ(points.size(), 1U);
  EXPECT_DOUBLE_EQ(points[0].gap, 3.5);
  EXPECT_LT((points[0].normal - Vec3(0, 0.6, 0.8)).norm(), 1e-15);
  // midway between the surfaces: 1 + 3.5/2 from A's centre
  EXPECT_LT((points[0].point - 2.75 * Vec3(0, 0.6, 0.8)).norm(), 1e-15);
}

TEST(SphereOnSphere, TheMarginIsNotReached) {
  EXPECT_TRUE(points_of(sphere_shape(1), pose_at(0, 0, 0), sphere_shape(1), pose_at(2.5, 0, 0), 0.5)
                  .empty());
  EXPECT_EQ(
      points_of(sphere_shape(1), pose_at(0, 0, 0), sphere_shape(1), pose_at(2.5, 0, 0), 0.5001)
          .size(),
      1U);
}

TEST(SphereOnSphere, CoincidentCentresArePushedApartAlongZ) {
  const auto points =
      points_of(sphere_shape(1.0), pose_at(1, 2, 3), sphere_shape(0.5), pose_at(1, 2, 3), 0.0);

  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].normal, Vec3(0, 0, 1));
  EXPECT_DOUBLE_EQ(points[0].gap, -1.5);
}

TEST(SphereOnPlane, GapIsTheHeightAboveTheTiltedPlane) {
  const double tilt = 0.3;
  Pose plane{{1, 0, 0}, Quat(Eigen::AngleAxisd(tilt, Vec3::UnitY()))};
  const Vec3 up(std::sin(tilt), 0, std::cos(tilt));

  const auto points =
      points_of(kPlane, plane, sphere_shape(0.5), {plane.p + 0.6 * up, Quat::Identity()}, 0.2);

  ASSERT_EQ(points.size(), 1U);
  EXPECT_NEAR(points[0].gap, 0.1, 1e-15);
  EXPECT_LT((points[0].normal - up).norm(), 1e-15);
  EXPECT_LT((points[0].point - plane.p - 0.05 * up).norm(), 1e-15);
}

TEST(SphereOnPlane, BelowThePlaneItIsPushedUp) {
  const auto points =
      points_of(sphere_shape(0.5), pose_at(0, 0, -3), kPlane, pose_at(0, 0, 0), 0.0);

  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].normal, Vec3(0, 0, -1));
  EXPECT_DOUBLE_EQ(points[0].gap, -3.5);
}

TEST(SphereOnBox, TouchesFaceEdgeAndCorner) {
  const Shape cube = box_shape({1, 1, 1});

  const auto face =
      points_of(cube, pose_at(0, 0, 0), sphere_shape(0.5), pose_at(0.3, 0.2, 1.6), 0.2);
  const auto edge = points_of(cube, pose_at(0, 0, 0), sphere_shape(0.5), pose_at(0, 1.3, 1.4), 0.2);
  const auto corner =
      points_of(cube, pose_at(0, 0, 0), sphere_shape(0.5), pose_at(-1.2, -1.2, -1.2), 0.2);

  ASSERT_EQ(face.size(), 1U);
  EXPECT_NEAR(face[0].gap, 0.1, 1e-15);
  EXPECT_EQ(face[0].normal, Vec3(0, 0, 1));
  EXPECT_LT((face[0].point - Vec3(0.3, 0.2, 1.05)).norm(), 1e-15);
  ASSERT_EQ(edge.size(), 1U);
  EXPECT_NEAR(edge[0].gap, 0.0, 1e-15);
  EXPECT_LT((edge[0].normal - Vec3(0, 0.6, 0.8)).norm(), 1e-15);
  ASSERT_EQ(corner.size(), 1U);
  EXPECT_NEAR(corner[0].gap, 0.2 * std::sqrt(3.0) - 0.5, 1e-15);
}

TEST(SphereOnBox, ACentreInsideLeavesThroughTheNearestFace) {
  const auto points = points_of(sphere_shape(0.25), pose_at(0.1, -0.8, 0), box_shape({1, 1, 1}),
                                pose_at(0, 0, 0), 0.0);

  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].normal, Vec3(0, 1, 0));  // from the sphere, which goes to -y
  EXPECT_NEAR(points[0].gap, -0.2 - 0.25, 1e-15);
  // the box's surface is at -1, the sphere's far side at -0.55
  EXPECT_NEAR(points[0].point.y(), -0.775, 1e-15);
}

TEST(SphereOnBox, ACentreAtTheBoxCentreLeavesThroughTheFirstFace) {
  const auto points =
      points_of(box_shape({1, 1, 1}), pose_at(0, 0, 0), sphere_shape(0.25), pose_at(0, 0, 0), 0.0);

  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].normal, Vec3(1, 0, 0));
  EXPECT_DOUBLE_EQ(points[0].gap, -1.25);
}

TEST(BoxOnPlane, ARestingBoxStandsOnItsFourCorners) {
  for (const double height : {0.0, 1e-9, -1e-9, 5e-4}) {
    const auto points = points_of(kPlane, pose_at(0, 0, 0), box_shape({1, 2, 0.5}),
                                  pose_at(3, 4, 0.5 + height), 1e-3);

    ASSERT_EQ(points.size(), 4U);
    std::set<int> features;
    for (const ContactPoint& c : points) {
      EXPECT_EQ(c.normal, Vec3(0, 0, 1));
      EXPECT_NEAR(c.gap, height, 1e-15);
      EXPECT_DOUBLE_EQ(std::abs(c.point.x() - 3), 1.0);
      EXPECT_DOUBLE_EQ(std::abs(c.point.y() - 4), 2.0);
      features.insert(c.feature);
    }
    EXPECT_EQ(features.size(), 4U);
  }
}

TEST(BoxOnPlane, AThinPlateWithAllCornersInTheMarginKeepsTheFourLower) {
  const auto points =
      points_of(box_shape({1, 1, 1e-3}), pose_at(0, 0, 1e-3), kPlane, pose_at(0, 0, 0), 0.1);

  ASSERT_EQ(points.size(), 4U);
  for (const ContactPoint& c : points) EXPECT_NEAR(c.gap, 0.0, 1e-15);
}

TEST(BoxOnPlane, TheDeepestCornerIsAmongThePoints) {
  Random random(1);
  for (int n = 0; n < 2000; ++n) {
    const Shape body = box_shape(random.vector(0.05, 1.0));
    const Pose pose{random.vector(-1, 1), random.rotation()};
    const Pose plane{random.vector(-1, 1), random.rotation()};
    const Vec3 up = plane.q * Vec3::UnitZ();
    double lowest = 1e9;
    int n_below = 0;
    for (int k = 0; k < 8; ++k) {
      const Vec3 sign((k & 1) != 0 ? 1 : -1, (k & 2) != 0 ? 1 : -1, (k & 4) != 0 ? 1 : -1);
      const double height = up.dot(pose.p + pose.q * Vec3(sign.cwiseProduct(body.size)) - plane.p);
      lowest = std::min(lowest, height);
      n_below += height < 0.1 ? 1 : 0;
    }

    const auto points = points_of(body, pose, kPlane, plane, 0.1);

    // with five or more below the margin, those of one face: at least three
    ASSERT_LE(points.size(), 4U);
    ASSERT_GE(static_cast<int>(points.size()), n_below > 4 ? 3 : n_below);
    double least = 1e9;
    for (const ContactPoint& c : points) least = std::min(least, c.gap);
    if (n_below > 0) {
      EXPECT_NEAR(least, lowest, 1e-13);
    }
  }
}

TEST(Collide, PlanesAndBodiesWithoutShapeTouchNothing) {
  EXPECT_TRUE(points_of(kPlane, pose_at(0, 0, 0), kPlane, pose_at(0, 0, 1), 10).empty());
  EXPECT_TRUE(points_of({}, pose_at(0, 0, 0), kPlane, pose_at(0, 0, 1), 10).empty());
  EXPECT_TRUE(points_of(sphere_shape(1), pose_at(0, 0, 0), {}, pose_at(0, 0, 0), 10).empty());
}

/// All pairs of shapes that can touch.
std::vector<std::pair<Shape, Shape>> shape_pairs(Random& random) {
  const Shape s = sphere_shape(random.in(0.2, 1)), t = sphere_shape(random.in(0.2, 1));
  const Shape b = box_shape(random.vector(0.2, 1)), c = box_shape(random.vector(0.2, 1));
  return {{s, t}, {s, b}, {s, kPlane}, {b, kPlane}, {b, c}};
}

void expect_same_point(const ContactPoint& x, const ContactPoint& y, double sign) {
  EXPECT_NEAR(x.gap, y.gap, 1e-9);
  EXPECT_LT((x.point - y.point).norm(), 1e-9);
  EXPECT_LT((x.normal - sign * y.normal).norm(), 1e-9);
}

TEST(Collide, ExchangingTheBodiesTurnsTheNormalAround) {
  Random random(2);
  int n_compared = 0;
  for (int n = 0; n < 500; ++n) {
    for (const auto& [a, b] : shape_pairs(random)) {
      const Pose pose_a{random.vector(-0.7, 0.7), random.rotation()};
      const Pose pose_b{random.vector(-0.7, 0.7), random.rotation()};

      const auto there = points_of(a, pose_a, b, pose_b, 0.1);
      const auto back = points_of(b, pose_b, a, pose_a, 0.1);

      // where a face of one box and a face of the other are equally good, A's is taken
      const bool tie = a.type == ShapeType::box && b.type == ShapeType::box &&
                       (there.size() != back.size() || there.empty() ||
                        (there[0].normal + back[0].normal).norm() > 1e-9);
      if (tie) continue;
      ASSERT_EQ(there.size(), back.size());
      ++n_compared;
      for (const ContactPoint& x : there) {
        const ContactPoint* nearest = &back[0];
        for (const ContactPoint& y : back) {
          if ((y.point - x.point).norm() < (nearest->point - x.point).norm()) nearest = &y;
        }
        expect_same_point(x, *nearest, -1.0);
      }
    }
  }
  EXPECT_GT(n_compared, 1500);
}

TEST(Collide, MovesWithTheBodies) {
  Random random(3);
  for (int n = 0; n < 500; ++n) {
    for (const auto& [a, b] : shape_pairs(random)) {
      const Pose pose_a{random.vector(-0.7, 0.7), random.rotation()};
      const Pose pose_b{random.vector(-0.7, 0.7), random.rotation()};
      const Vec3 shift = random.vector(-10, 10);
      const Quat turn = random.rotation();
      const auto moved = [&](const Pose& pose) {
        return Pose{shift + turn * pose.p, (turn * pose.q).normalized()};
      };

      const auto here = points_of(a, pose_a, b, pose_b, 0.1);
      const auto there = points_of(a, moved(pose_a), b, moved(pose_b), 0.1);

      ASSERT_EQ(here.size(), there.size());
      for (std::size_t k = 0; k < here.size(); ++k) {
        ContactPoint back = there[k];
        back.point = turn.conjugate() * (back.point - shift);
        back.normal = turn.conjugate() * back.normal;
        expect_same_point(here[k], back, 1.0);
        EXPECT_EQ(here[k].feature, there[k].feature);
      }
    }
  }
}

}  // namespace
}  // namespace catena
