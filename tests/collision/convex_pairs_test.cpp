// Pairs of convex shapes against a search over all directions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>

#include "shapes.hpp"

namespace catena {
namespace {

using namespace test;

class ConvexPairs : public testing::TestWithParam<std::pair<int, int>> {
 protected:
  ConvexPairs() {
    Random random(17);
    shapes_ = {sphere_shape(0.6),
               capsule_shape(0.3, 0.5),
               box_shape({0.5, 0.7, 0.3}),
               cylinder_shape(0.6, 0.4),
               all_.rock(random, 20, {0.6, 0.5, 0.7}),
               all_.box_hull({0.5, 0.6, 0.4}),
               cylinder_shape(0.25, 0.9)};
  }
  Shape a() const { return shapes_[static_cast<std::size_t>(GetParam().first)]; }
  Shape b() const { return shapes_[static_cast<std::size_t>(GetParam().second)]; }

  Geometries all_;
  std::vector<Shape> shapes_;
};

/// Faces are preferred over edges by 5 % of the gap and 1e-5 of the size, A's over B's by 2 %.
double preference(double gap) { return 0.08 * std::abs(gap) + 3e-5; }

TEST_P(ConvexPairs, GapAndNormalAreThoseOfTheLargestSeparation) {
  Random random(static_cast<std::uint64_t>(100 + 10 * GetParam().first + GetParam().second));
  Random directions(7);
  int n_exact = 0, n_touching = 0;
  for (int n = 0; n < 60; ++n) {
    const Pose pose_a{random.vector(-1, 1), random.rotation()};
    const double distance = random.in(0.2, 1.7);
    const Pose pose_b{pose_a.p + distance * random.direction(), random.rotation()};
    const double expected = all_.gap(a(), pose_a, b(), pose_b);
    const double margin = 0.1;

    const auto points = all_.collide(a(), pose_a, b(), pose_b, margin);

    if (std::abs(expected - margin) < 1e-3) continue;
    if (expected > margin) {
      EXPECT_TRUE(points.empty()) << n;
      continue;
    }
    ++n_touching;
    ASSERT_FALSE(points.empty()) << n << " gap " << expected;
    EXPECT_LE(points.size(), 8U);
    // the search may stop on a ridge, short of the maximum: a bound from below; the gap is one
    // from above if it is the separation along its normal
    const auto deepest = *std::ranges::min_element(points, {}, &ContactPoint::gap);
    EXPECT_GE(deepest.gap, expected - preference(expected)) << n;
    const double along = all_.separation(a(), pose_a, b(), pose_b, deepest.normal);
    // faces that lie flat on each other tell the gap to 0.2 % along the normal of one of them
    const double near = 3e-5 + 2e-3 * std::abs(expected);
    EXPECT_TRUE(std::abs(deepest.gap - along) < 3e-5 || std::abs(deepest.gap - expected) < near)
        << n;
    if (std::abs(deepest.gap - along) < 1e-9 && deepest.gap > expected - 1e-9) ++n_exact;
    std::set<std::int32_t> features;
    for (const ContactPoint& point : points) {
      EXPECT_TRUE(point.point.allFinite() && point.normal.allFinite());
      EXPECT_NEAR(point.normal.norm(), 1.0, 1e-12);
      features.insert(point.feature);
      if (a().type != ShapeType::capsule || b().type != ShapeType::capsule) {
        EXPECT_GE(all_.separation(a(), pose_a, b(), pose_b, point.normal),
                  expected - preference(expected));
      }
      // half the gap either way lies on the two bodies, up to the tilt of a preferred face
      const Vec3 on_a = point.point - 0.5 * point.gap * point.normal;
      const Vec3 on_b = point.point + 0.5 * point.gap * point.normal;
      for (int k = 0; k < 40; ++k) {
        const Vec3 d = directions.direction();
        EXPECT_LE(d.dot(on_a - all_.support(a(), pose_a, d)), 2e-3) << n;
        EXPECT_LE(d.dot(on_b - all_.support(b(), pose_b, d)), 2e-3) << n;
      }
    }
    EXPECT_EQ(features.size(), points.size());
  }
  EXPECT_GT(n_touching, 20);
  // elsewhere a face was preferred
  EXPECT_GE(n_exact, n_touching * 8 / 10);
}

TEST_P(ConvexPairs, ExchangeOfTheBodiesTurnsTheNormalOnly) {
  Random random(static_cast<std::uint64_t>(300 + 10 * GetParam().first + GetParam().second));
  for (int n = 0; n < 200; ++n) {
    const Pose pose_a{random.vector(-1, 1), random.rotation()};
    const Pose pose_b{pose_a.p + random.in(0.2, 1.5) * random.direction(), random.rotation()};
    const auto ab = all_.collide(a(), pose_a, b(), pose_b, 0.05);
    const auto ba = all_.collide(b(), pose_b, a(), pose_a, 0.05);
    ASSERT_EQ(ab.empty(), ba.empty());
    if (ab.empty()) continue;
    EXPECT_NEAR(lowest_gap(ab), lowest_gap(ba), preference(lowest_gap(ab)));
    if (a().type != b().type) {
      // one of the two is the other turned round
      ASSERT_EQ(ab.size(), ba.size());
      for (std::size_t k = 0; k < ab.size(); ++k) {
        EXPECT_EQ(ab[k].normal, -ba[k].normal);
        EXPECT_EQ(ab[k].gap, ba[k].gap);
        EXPECT_EQ(ab[k].point, ba[k].point);
      }
    }
  }
}

TEST_P(ConvexPairs, RigidMotionMovesThePointsAlong) {
  Random random(static_cast<std::uint64_t>(500 + 10 * GetParam().first + GetParam().second));
  for (int n = 0; n < 200; ++n) {
    const Pose pose_a{random.vector(-1, 1), random.rotation()};
    const Pose pose_b{pose_a.p + random.in(0.3, 1.3) * random.direction(), random.rotation()};
    const Pose move{10.0 * random.vector(-1, 1), random.rotation()};
    const auto moved = [&](const Pose& pose) {
      return Pose{move.p + move.q * pose.p, (move.q * pose.q).normalized()};
    };
    const auto before = all_.collide(a(), pose_a, b(), pose_b, 0.05);
    const auto after = all_.collide(a(), moved(pose_a), b(), moved(pose_b), 0.05);
    ASSERT_EQ(before.empty(), after.empty());
    if (before.empty()) continue;
    // deep overlaps of cylinders: the expanding polytope may stop at another local optimum
    const bool curved = a().type == ShapeType::cylinder || b().type == ShapeType::cylinder;
    const double gap = lowest_gap(before);
    const double tolerance = !curved ? 1e-12 : gap > -0.2 ? 3e-8 : 0.02 * std::abs(gap);
    EXPECT_NEAR(gap, lowest_gap(after), tolerance);
  }
}

std::vector<std::pair<int, int>> all_pairs() {
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < 7; ++i) {
    for (int j = i; j < 7; ++j) pairs.emplace_back(i, j);
  }
  return pairs;
}

constexpr std::array<const char*, 7> kNames = {"Sphere", "Capsule", "Box", "Disc",
                                               "Rock",   "BoxHull", "Rod"};
INSTANTIATE_TEST_SUITE_P(All, ConvexPairs, testing::ValuesIn(all_pairs()), [](const auto& pair) {
  return std::string(kNames[static_cast<std::size_t>(pair.param.first)]) +
         kNames[static_cast<std::size_t>(pair.param.second)];
});

}  // namespace
}  // namespace catena
