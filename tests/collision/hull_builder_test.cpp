#include "catena/collision/hull_builder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "catena/base/error.hpp"
#include "random_poses.hpp"

namespace catena {
namespace {

using test::Random;

/// What every hull has: corners below all planes, faces on theirs and turned outwards, each edge
/// once in each direction, Euler's formula.
void expect_hull(const HullFaces& hull, std::span<const Vec3> points, double tolerance) {
  std::map<std::pair<int, int>, int> edges;
  const std::size_t n_faces = hull.face_normals.size();
  for (std::size_t f = 0; f < n_faces; ++f) {
    EXPECT_NEAR(hull.face_normals[f].norm(), 1.0, 1e-14);
    for (const Vec3& p : points) {
      EXPECT_LE(hull.face_normals[f].dot(p) - hull.face_offsets[f], tolerance);
    }
    const int begin = hull.face_begin[f], end = hull.face_begin[f + 1];
    for (int k = begin; k < end; ++k) {
      const int a = hull.face_corners[static_cast<std::size_t>(k)];
      const int b = hull.face_corners[static_cast<std::size_t>(k + 1 < end ? k + 1 : begin)];
      ++edges[{a, b}];
      const Vec3& p = hull.vertices[static_cast<std::size_t>(a)];
      EXPECT_NEAR(hull.face_normals[f].dot(p), hull.face_offsets[f], tolerance);
    }
  }
  for (const auto& [edge, count] : edges) {
    EXPECT_EQ(count, 1);
    EXPECT_EQ(edges.count({edge.second, edge.first}), 1U);
  }
  EXPECT_EQ(hull.vertices.size() + n_faces, edges.size() / 2 + 2);
  EXPECT_EQ(static_cast<std::size_t>(hull.n_inside) + hull.vertices.size(), points.size());
}

TEST(HullBuilder, ACubeHasSixSquaresWhateverLiesOnItsFaces) {
  std::vector<Vec3> points;
  for (int i = 0; i <= 4; ++i) {
    for (int j = 0; j <= 4; ++j) {
      for (int k = 0; k <= 4; ++k) points.emplace_back(0.5 * i - 1, 0.5 * j - 1, 0.5 * k - 1);
    }
  }

  const HullFaces hull = build_hull(points);

  EXPECT_EQ(hull.vertices.size(), 8U);
  EXPECT_EQ(hull.face_normals.size(), 6U);
  EXPECT_EQ(hull.face_corners.size(), 24U);
  EXPECT_EQ(hull.n_inside, 117);
  expect_hull(hull, points, 1e-15);
  for (const double offset : hull.face_offsets) EXPECT_DOUBLE_EQ(offset, 1.0);
}

TEST(HullBuilder, ATurnedCubeRoundedToSinglePrecisionKeepsSixFaces) {
  Random random(3);
  for (int n = 0; n < 50; ++n) {
    const Quat q = random.rotation();
    std::vector<Vec3> points;
    for (int k = 0; k < 8; ++k) {
      const Vec3 p = q * Vec3(k & 1 ? 1 : -1, k & 2 ? 0.3 : -0.3, k & 4 ? 0.7 : -0.7);
      points.push_back(p.cast<float>().cast<double>());
    }
    const HullFaces hull = build_hull(points);
    EXPECT_EQ(hull.vertices.size(), 8U);
    EXPECT_EQ(hull.face_normals.size(), 6U);
    expect_hull(hull, points, 3e-6);
  }
}

TEST(HullBuilder, RandomPointsLieInsideAllPlanes) {
  Random random(1);
  for (int n = 0; n < 60; ++n) {
    std::vector<Vec3> points;
    const int count = n < 20 ? 4 + n : 200;
    const Vec3 far = 1e3 * random.vector(-1, 1);
    const double scale = random.log_in(1e-3, 1e2);
    for (int k = 0; k < count; ++k) points.push_back(far + scale * random.vector(-1, 1));
    expect_hull(build_hull(points), points, 4e-6 * scale);  // faces are flat to 1e-6 of the size
  }
}

TEST(HullBuilder, AllPointsOfASphereAreCorners) {
  Random random(2);
  std::vector<Vec3> points;
  for (int k = 0; k < 500; ++k) points.push_back(random.direction());

  const HullFaces hull = build_hull(points);

  EXPECT_EQ(hull.n_inside, 0);
  // corners keep their order
  for (std::size_t k = 0; k < points.size(); ++k) EXPECT_EQ(hull.vertices[k], points[k]);
  expect_hull(hull, points, 2e-6);
}

TEST(HullBuilder, TriplicatedCornersAndPrismsAreFine) {
  // an STL file of a 12-sided prism: every corner as often as triangles meet in it
  std::vector<Vec3> points;
  for (int copy = 0; copy < 3; ++copy) {
    for (int k = 0; k < 12; ++k) {
      const double a = 2 * 3.14159265358979 * k / 12;
      points.emplace_back(std::cos(a), std::sin(a), 1);
      points.emplace_back(std::cos(a), std::sin(a), -1);
    }
  }

  const HullFaces hull = build_hull(points);

  EXPECT_EQ(hull.vertices.size(), 24U);
  EXPECT_EQ(hull.face_normals.size(), 14U);
  expect_hull(hull, points, 1e-14);
}

TEST(HullBuilder, TheVolumeAloneIsThatWithinTheFaces) {
  Random random(5);
  for (int n = 0; n < 20; ++n) {
    std::vector<Vec3> points;
    const Vec3 far = random.vector(-3, 3);
    for (int k = 0; k < 10 + 20 * n; ++k)
      points.push_back(far + random.vector(-1, 1).cwiseProduct(Vec3(1, 2, 0.1)));
    const HullFaces hull = build_hull(points);

    // pyramids over the faces with their tips in the first corner
    double volume = 0.0;
    for (std::size_t f = 0; f + 1 < hull.face_begin.size(); ++f) {
      const auto at = [&](int k) { return hull.vertices[hull.face_corners[k]]; };
      Vec3 twice_area = Vec3::Zero();
      for (int k = hull.face_begin[f] + 1; k + 1 < hull.face_begin[f + 1]; ++k)
        twice_area += (at(k) - at(hull.face_begin[f])).cross(at(k + 1) - at(hull.face_begin[f]));
      volume += twice_area.dot(at(hull.face_begin[f]) - hull.vertices[0]) / 6.0;
    }
    EXPECT_NEAR(hull_volume(points).value(), volume, 1e-5 * volume);  // faces are flat to 1e-6
  }
  EXPECT_DOUBLE_EQ(
      hull_volume(std::vector<Vec3>{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.1, 0.1, 0.1}})
          .value(),
      1.0 / 6.0);
  EXPECT_FALSE(hull_volume(std::vector<Vec3>{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}).has_value());
  EXPECT_FALSE(
      hull_volume(std::vector<Vec3>{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}}).has_value());
}

TEST(HullBuilder, FlatFewAndNonFinitePointsAreRefused) {
  const std::vector<Vec3> few = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  const std::vector<Vec3> flat = {{0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}, {3, 2, 1}};
  const std::vector<Vec3> line = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {3, 3, 3}};
  const std::vector<Vec3> same(5, Vec3(1, 2, 3));
  const std::vector<Vec3> nan = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, std::nan("")}};
  for (const auto& points : {few, flat, line, same, nan}) EXPECT_THROW(build_hull(points), Error);
}

}  // namespace
}  // namespace catena
