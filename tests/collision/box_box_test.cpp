#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "catena/collision/contact.hpp"
#include "random_poses.hpp"
#include "support/sanitized.hpp"

namespace catena {
namespace {

using test::Random;

struct TestBox {
  Vec3 half;
  Pose pose;
};

std::vector<ContactPoint> points_of(const TestBox& a, const TestBox& b, double margin) {
  std::vector<ContactPoint> points;
  collide({ShapeType::box, a.half}, a.pose, {ShapeType::box, b.half}, b.pose, margin, points);
  return points;
}

double lowest_gap(const std::vector<ContactPoint>& points) {
  double gap = std::numeric_limits<double>::infinity();
  for (const ContactPoint& c : points) gap = std::min(gap, c.gap);
  return gap;
}

double support(const TestBox& box, const Vec3& direction) {
  return direction.dot(box.pose.p) + (box.pose.q.conjugate() * direction).cwiseAbs().dot(box.half);
}

/// How far B's nearest point lies beyond A's farthest along a unit direction.
double separation(const TestBox& a, const TestBox& b, const Vec3& n) {
  return -support(b, -n) - support(a, n);
}

/// Largest separation over all directions by sampling and hill climbing: the distance if
/// the boxes are apart, else minus the penetration depth.
double largest_separation(const TestBox& a, const TestBox& b, Random& random) {
  Vec3 best = Vec3::UnitX();
  const double golden = std::numbers::pi * (3.0 - std::sqrt(5.0));
  for (int k = 0; k < 4000; ++k) {
    const double z = 1.0 - 2.0 * (k + 0.5) / 4000, r = std::sqrt(1.0 - z * z);
    const Vec3 n(r * std::cos(golden * k), r * std::sin(golden * k), z);
    if (separation(a, b, n) > separation(a, b, best)) best = n;
  }
  double width = 0.05;
  for (int k = 0; k < 4000; ++k, width *= 0.9965) {
    const Vec3 n = (best + width * random.vector(-1, 1)).normalized();
    if (separation(a, b, n) > separation(a, b, best)) best = n;
  }
  return separation(a, b, best);
}

/// Distance of two boxes: the least |p_A + R_A s - p_B - R_B t| over s and t in the boxes,
/// by an accelerated projected gradient (Lipschitz constant 2) that restarts where it rises.
double distance_by_minimisation(const TestBox& a, const TestBox& b) {
  const Mat3 ra = a.pose.q.toRotationMatrix(), rb = b.pose.q.toRotationMatrix();
  Vec3 s = Vec3::Zero(), t = Vec3::Zero(), s_ahead = s, t_ahead = t;
  double momentum = 1.0, last = std::numeric_limits<double>::infinity();
  const auto d = [&](const Vec3& x, const Vec3& y) {
    return Vec3(a.pose.p + ra * x - b.pose.p - rb * y);
  };
  for (int k = 0; k < 5000; ++k) {
    const Vec3 gradient = d(s_ahead, t_ahead);
    const Vec3 s_new =
        (s_ahead - 0.5 * (ra.transpose() * gradient)).cwiseMax(-a.half).cwiseMin(a.half);
    const Vec3 t_new =
        (t_ahead + 0.5 * (rb.transpose() * gradient)).cwiseMax(-b.half).cwiseMin(b.half);
    const double now = d(s_new, t_new).squaredNorm();
    const double next = now > last ? 1.0 : 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * momentum * momentum));
    const double weight = now > last ? 0.0 : (momentum - 1.0) / next;
    s_ahead = s_new + weight * (s_new - s);
    t_ahead = t_new + weight * (t_new - t);
    s = s_new, t = t_new, momentum = next, last = now;
  }
  return d(s, t).norm();
}

/// Signed distance of a point from the surface, positive outside.
double outside(const TestBox& box, const Vec3& p) {
  const Vec3 beyond = (box.pose.q.conjugate() * (p - box.pose.p)).cwiseAbs() - box.half;
  return beyond.maxCoeff() > 0.0 ? beyond.cwiseMax(0.0).norm() : beyond.maxCoeff();
}

TestBox random_box(Random& random, double reach) {
  return {random.vector(0.2, 1.0), {random.vector(-reach, reach), random.rotation()}};
}

void expect_features_differ(const std::vector<ContactPoint>& points) {
  std::set<int> features;
  for (const ContactPoint& c : points) features.insert(c.feature);
  EXPECT_EQ(features.size(), points.size());
}

/// Area of the convex hull of up to 4 points seen along z: the largest of all orders.
double area_of(const std::vector<ContactPoint>& points) {
  std::vector<int> order = {0, 1, 2, 3};
  double largest = 0.0;
  do {
    double twice = 0.0;
    for (std::size_t k = 0; k < 4; ++k) {
      const Vec3 &p = points[static_cast<std::size_t>(order[k])].point,
                 &q = points[static_cast<std::size_t>(order[(k + 1) % 4])].point;
      twice += p.x() * q.y() - p.y() * q.x();
    }
    largest = std::max(largest, 0.5 * std::abs(twice));
  } while (std::next_permutation(order.begin(), order.end()));
  return largest;
}

TEST(BoxOnBox, AlignedEqualBoxesMeetInTheirFourCornersAlongZ) {
  const Vec3 half(0.5, 0.3, 0.2);
  for (const double gap : {0.0, 1e-4, -1e-4, 1e-12, -1e-12}) {
    const TestBox lower{half, {{1, 2, 3}, Quat::Identity()}};
    const TestBox upper{half, {{1, 2, 3.4 + gap}, Quat::Identity()}};

    const auto points = points_of(lower, upper, 1e-3);
    const auto from_above = points_of(upper, lower, 1e-3);

    ASSERT_EQ(points.size(), 4U);
    ASSERT_EQ(from_above.size(), 4U);
    expect_features_differ(points);
    std::set<std::pair<double, double>> corners;
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(points[k].normal, Vec3(0, 0, 1));
      EXPECT_EQ(from_above[k].normal, Vec3(0, 0, -1));
      EXPECT_NEAR(points[k].gap, gap, 1e-15);
      EXPECT_NEAR(std::abs(points[k].point.x() - 1), 0.5, 1e-15);
      EXPECT_NEAR(std::abs(points[k].point.y() - 2), 0.3, 1e-15);
      EXPECT_NEAR(points[k].point.z(), 3.2 + 0.5 * gap, 1e-15);
      corners.insert({points[k].point.x(), points[k].point.y()});
    }
    EXPECT_EQ(corners.size(), 4U);
  }
}

TEST(BoxOnBox, PointsSpanTheOverlapOfTheFaces) {
  const TestBox lower{{1, 1, 1}, {{0, 0, 0}, Quat::Identity()}};
  const TestBox upper{{1, 0.5, 1}, {{0.7, 0.2, 2.0}, Quat::Identity()}};

  const auto points = points_of(lower, upper, 1e-3);

  // x from -0.3 to 1, y from -0.3 to 0.7
  ASSERT_EQ(points.size(), 4U);
  EXPECT_NEAR(area_of(points), 1.3 * 1.0, 1e-12);
}

/// Pairs share their stiffness among their points, so that none may come and go with a touch.
TEST(BoxOnBox, AllCornersOfAnOctagonAreKeptWhereItLiesFlatTouchingOrNot) {
  const TestBox lower{{0.5, 0.5, 0.5}, {{0, 0, 0}, Quat::Identity()}};
  const double radius = 0.5 / std::cos(std::numbers::pi / 8);
  for (const double gap : {1e-4, -1e-4, -0.05}) {
    const TestBox upper{
        {0.5, 0.5, 0.5},
        {{0, 0, 1.0 + gap}, Quat(Eigen::AngleAxisd(std::numbers::pi / 4, Vec3::UnitZ()))}};

    const auto points = points_of(lower, upper, 1e-3);

    ASSERT_EQ(points.size(), 8U) << gap;
    for (const ContactPoint& c : points) EXPECT_NEAR(c.point.head<2>().norm(), radius, 1e-12);
    expect_features_differ(points);
  }
}

/// Not flat: faces that meet at more than 0.05 rad, in an octagon of which all is near enough.
TEST(BoxOnBox, OfATiltedOctagonFourCornersAreKept) {
  const TestBox lower{{0.5, 0.5, 0.5}, {{0, 0, 0}, Quat::Identity()}};
  const Quat turned = Quat(Eigen::AngleAxisd(0.06, Vec3::UnitX())) *
                      Quat(Eigen::AngleAxisd(std::numbers::pi / 4, Vec3::UnitZ()));
  const TestBox upper{{0.5, 0.5, 0.5}, {{0, 0, 1.03}, turned}};

  const auto points = points_of(lower, upper, 0.2);

  EXPECT_EQ(points.size(), 4U);
  expect_features_differ(points);
}

TEST(BoxOnBox, CrossedEdgesMeetInOnePoint) {
  // two cubes standing on edge, one edge along y above one along x
  const double r = std::sqrt(0.5);
  const TestBox lower{{0.5, 0.5, 0.5},
                      {{0, 0, 0}, Quat(Eigen::AngleAxisd(std::numbers::pi / 4, Vec3::UnitX()))}};
  for (const double gap : {0.01, 0.0, -0.01}) {
    const TestBox upper{
        {0.5, 0.5, 0.5},
        {{0.1, 0.2, 2 * r + gap}, Quat(Eigen::AngleAxisd(std::numbers::pi / 4, Vec3::UnitY()))}};

    const auto points = points_of(lower, upper, 0.02);

    ASSERT_EQ(points.size(), 1U);
    EXPECT_LT((points[0].normal - Vec3::UnitZ()).norm(), 1e-12);
    EXPECT_NEAR(points[0].gap, gap, 1e-12);
    // the lower edge lies along x at y = 0, z = r, the upper one along y at x = 0.1, z = r + gap:
    // the point is midway between them
    EXPECT_LT((points[0].point - Vec3(0.1, 0.0, r + 0.5 * gap)).norm(), 1e-12);
  }
}

TEST(BoxOnBox, CornersApartMeetAlongTheirDistance) {
  const TestBox a{{0.5, 0.5, 0.5}, {{0, 0, 0}, Quat::Identity()}};
  const TestBox b{{0.5, 0.5, 0.5}, {{1.03, 1.04, 1.0}, Quat::Identity()}};

  const auto points = points_of(a, b, 0.1);

  ASSERT_GE(points.size(), 1U);
  EXPECT_NEAR(points[0].gap, 0.05, 1e-12);
  EXPECT_LT((points[0].normal - Vec3(0.6, 0.8, 0)).norm(), 1e-12);
  EXPECT_TRUE(points_of(a, b, 0.049).empty());
}

TEST(BoxOnBox, ApartFromEachOtherTheyMeetIfTheirDistanceIsBelowTheMargin) {
  Random random(11);
  int n_apart = 0, n_met = 0, n_exact = 0;
  for (int n = 0; n < 3000; ++n) {
    const TestBox a = random_box(random, 1.0), b = random_box(random, 1.0);
    const double distance = distance_by_minimisation(a, b);
    if (distance < 1e-6) continue;
    const double margin = 0.2;
    ++n_apart;

    const auto points = points_of(a, b, margin);

    // a point may lie on a normal that is not quite the shortest way: never nearer
    EXPECT_EQ(!points.empty(), distance < margin - 1e-9) << distance;
    for (const ContactPoint& c : points) {
      EXPECT_GE(c.gap, distance - 1e-9);
      EXPECT_LE(separation(a, b, c.normal), distance + 1e-9);
      EXPECT_NEAR(outside(a, c.point - 0.5 * c.gap * c.normal), 0.0, 1e-3);
      EXPECT_NEAR(outside(b, c.point + 0.5 * c.gap * c.normal), 0.0, 1e-3);
    }
    if (points.empty()) continue;
    ++n_met;
    n_exact += std::abs(lowest_gap(points) - distance) < 1e-7 ? 1 : 0;
  }
  EXPECT_GT(n_met, 200);
  EXPECT_GT(n_exact, n_met * 9 / 10);
}

TEST(BoxOnBox, PenetratingOnesMeetAlongTheLeastDepth) {
  Random random(12);
  const int n_pairs = test::kSanitized ? 300 : 1500;
  int n_checked = 0, n_deepest = 0;
  for (int n = 0; n < n_pairs; ++n) {
    const TestBox a = random_box(random, 0.7), b = random_box(random, 0.7);
    const double depth = -largest_separation(a, b, random);
    if (depth < 1e-3) continue;
    ++n_checked;

    const auto points = points_of(a, b, 0.05);

    ASSERT_GE(points.size(), 1U);
    ASSERT_LE(points.size(), 8U);
    expect_features_differ(points);
    const double along = -separation(a, b, points[0].normal);
    // sampling overestimates the depth a little; faces are preferred over edges by 5 %
    EXPECT_LT(along, 1.06 * depth + 1e-3);
    EXPECT_GE(lowest_gap(points), -along - 1e-9);
    n_deepest += std::abs(lowest_gap(points) + along) < 1e-9 ? 1 : 0;
    for (const ContactPoint& c : points) {
      EXPECT_NEAR(c.normal.norm(), 1.0, 1e-12);
      EXPECT_LT(c.gap, 0.05);
      // the surfaces' points lie half a gap before and behind, on or in the bodies
      EXPECT_LT(outside(a, c.point - 0.5 * c.gap * c.normal), 1e-3);
      EXPECT_LT(outside(b, c.point + 0.5 * c.gap * c.normal), 1e-3);
    }
  }
  EXPECT_GT(n_checked, n_pairs / 3);
  // all but some where a face was preferred
  EXPECT_GT(n_deepest, n_checked * 95 / 100);
}

TEST(BoxOnBox, PointsKeepTheirNumbersUnderSmallMotions) {
  Random random(13);
  const TestBox lower{{0.5, 0.3, 0.2}, {{0, 0, 0}, Quat::Identity()}};
  for (const Vec3& place : {Vec3(0, 0, 0.4), Vec3(0.25, 0, 0.4), Vec3(0.2, 0.1, 0.4)}) {
    std::set<std::set<int>> seen;
    for (int n = 0; n < 300; ++n) {
      const Vec3 turn = random.vector(-1e-6, 1e-6);
      const TestBox upper{lower.half,
                          {place + random.vector(-1e-6, 1e-6),
                           Quat(1.0, turn.x(), turn.y(), turn.z()).normalized()}};
      const auto points = points_of(lower, upper, 1e-3);
      std::set<int> features;
      for (const ContactPoint& c : points) features.insert(c.feature);
      EXPECT_EQ(features.size(), 4U);
      seen.insert(features);
    }
    EXPECT_EQ(seen.size(), 1U);
  }
}

TEST(BoxOnBox, CoincidentBoxesArePushedApartThroughTheirNearestFaces) {
  const TestBox box{{0.5, 0.3, 0.2}, {{1, 1, 1}, Quat::Identity()}};

  const auto points = points_of(box, box, 1e-3);

  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[0].normal, Vec3(0, 0, 1));
  EXPECT_DOUBLE_EQ(points[0].gap, -0.4);
}

}  // namespace
}  // namespace catena
