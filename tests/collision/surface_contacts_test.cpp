// Contacts with triangle meshes and heightfields.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "shapes.hpp"

namespace catena {
namespace {

using namespace test;

/// A floor of n x n squares of edge `cell` about the origin, cut along either diagonal.
Shape tessellated_floor(Geometries& all, int n, double cell, bool two_sided = false,
                        const std::function<double(double, double)>& height = {}) {
  std::vector<Vec3> vertices;
  std::vector<std::array<std::int32_t, 3>> triangles;
  for (int j = 0; j <= n; ++j) {
    for (int i = 0; i <= n; ++i) {
      const double x = (i - 0.5 * n) * cell, y = (j - 0.5 * n) * cell;
      vertices.emplace_back(x, y, height ? height(x, y) : 0.0);
    }
  }
  const auto at = [n](int i, int j) { return static_cast<std::int32_t>(j * (n + 1) + i); };
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      if ((i + j) % 2 == 0) {
        triangles.push_back({at(i, j), at(i + 1, j), at(i + 1, j + 1)});
        triangles.push_back({at(i, j), at(i + 1, j + 1), at(i, j + 1)});
      } else {
        triangles.push_back({at(i, j), at(i + 1, j), at(i, j + 1)});
        triangles.push_back({at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)});
      }
    }
  }
  return all.mesh(vertices, triangles, two_sided);
}

/// A box of triangles, each face cut into n x n squares.
Shape mesh_box(Geometries& all, const Vec3& half, int n) {
  std::vector<Vec3> vertices;
  std::vector<std::array<std::int32_t, 3>> triangles;
  const auto number = [&](const Vec3& v) {
    for (std::size_t k = 0; k < vertices.size(); ++k) {
      if ((vertices[k] - v).norm() < 1e-12) return static_cast<std::int32_t>(k);
    }
    vertices.push_back(v);
    return static_cast<std::int32_t>(vertices.size()) - 1;
  };
  for (int axis = 0; axis < 3; ++axis) {
    for (const double side : {-1.0, 1.0}) {
      const int u = (axis + 1) % 3, v = (axis + 2) % 3;
      const auto corner = [&](int i, int j) {
        Vec3 x;
        x[axis] = side * half[axis];
        x[u] = half[u] * (2.0 * i / n - 1.0) * side;
        x[v] = half[v] * (2.0 * j / n - 1.0);
        return number(x);
      };
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
          const auto a = corner(i, j), b = corner(i + 1, j), c = corner(i + 1, j + 1),
                     d = corner(i, j + 1);
          triangles.push_back({a, b, c});
          triangles.push_back({a, c, d});
        }
      }
    }
  }
  return all.mesh(vertices, triangles);
}

/// Shapes with their lowest points at z = 0 when upright at z = height.
struct Slider {
  Shape shape;
  Quat turn;
  double height;
  std::size_t n_points;
};

std::vector<Slider> sliders(Geometries& all) {
  const Quat lying(Eigen::AngleAxisd(0.5 * 3.141592653589793, Vec3(1, 0.3, 0).normalized()));
  return {{sphere_shape(0.3), Quat::Identity(), 0.3, 1},
          {box_shape({0.3, 0.2, 0.25}), Quat(Eigen::AngleAxisd(0.4, Vec3::UnitZ())), 0.25, 4},
          {all.box_hull({0.3, 0.2, 0.25}), Quat::Identity(), 0.25, 4},
          {capsule_shape(0.2, 0.3), lying, 0.2, 2},
          {cylinder_shape(0.2, 0.3), lying, 0.2, 2},
          {cylinder_shape(0.2, 0.3), Quat::Identity(), 0.3, 4}};
}

TEST(Mesh, ABodyThatSlidesOverAFlatTessellatedFloorFeelsNoEdges) {
  Geometries all;
  const Shape floor = tessellated_floor(all, 16, 0.25);
  Random random(1);
  for (const Slider& slider : sliders(all)) {
    for (const double depth : {-1e-3, 1e-9, 1e-5, 1e-3, 0.02}) {
      for (int n = 0; n < 150; ++n) {
        // along an oblique way, through edges and corners exactly, and anywhere
        Vec3 p(0.01 * n - 0.75, 0.005 * n - 0.3, slider.height - depth);
        if (n % 3 == 1) p.head<2>() = Vec3(0.25 * (n % 5), 0.125 * (n % 7), 0).head<2>();
        if (n % 3 == 2) p += Vec3(random.in(-1, 1), random.in(-1, 1), 0);
        const auto points = all.collide(slider.shape, {p, slider.turn}, floor, {}, 0.01);
        ASSERT_EQ(points.size(), slider.n_points)
            << n << ' ' << depth << " type " << static_cast<int>(slider.shape.type);
        for (const auto& point : points) {
          EXPECT_LT((point.normal + Vec3::UnitZ()).norm(), 1e-9) << n << ' ' << depth;
          EXPECT_NEAR(point.gap, -depth, 1e-12);
        }
      }
    }
  }
}

TEST(Mesh, ABodyOnTheFloorHasThePointsThatItHasOnAPlaneUpToTheirNumbers) {
  Geometries all;
  const Shape floor = tessellated_floor(all, 16, 0.25);
  const Pose pose = turned({0.1, 0.05, 0.2499}, 0.4, Vec3::UnitZ());
  const auto mesh = all.collide(box_shape({0.3, 0.2, 0.25}), pose, floor, {}, 0.01);
  const auto plane =
      all.collide(box_shape({0.3, 0.2, 0.25}), pose, {ShapeType::plane, Vec3::Zero()}, {}, 0.01);
  ASSERT_EQ(mesh.size(), plane.size());
  for (const auto& p : plane) {
    EXPECT_TRUE(std::any_of(mesh.begin(), mesh.end(), [&](const ContactPoint& q) {
      return (p.point - q.point).norm() < 1e-12;
    }));
  }
}

TEST(Mesh, ASphereTouchesABoxOfTrianglesAsItTouchesTheBox) {
  Geometries all;
  Random random(3);
  const Vec3 half(1.0, 0.7, 0.5);
  const Shape mesh = mesh_box(all, half, 3), box = box_shape(half);
  int n_touching = 0;
  for (int n = 0; n < 3000; ++n) {
    const Pose place{random.vector(-1, 1), random.rotation()};
    const Pose pose{
        place.p + place.q * Vec3(random.in(-1.3, 1.3), random.in(-1, 1), random.in(-0.8, 0.8)),
        random.rotation()};
    const auto exact = all.collide(sphere_shape(0.2), pose, box, place, 0.05);
    if (!exact.empty() && exact[0].gap < -0.2) continue;  // centre inside
    const auto points = all.collide(sphere_shape(0.2), pose, mesh, place, 0.05);
    ASSERT_EQ(points.size(), exact.size()) << n;
    if (exact.empty()) continue;
    ++n_touching;
    EXPECT_NEAR(points[0].gap, exact[0].gap, 1e-12);
    EXPECT_LT((points[0].normal - exact[0].normal).norm(), 1e-6);
    EXPECT_LT((points[0].point - exact[0].point).norm(), 1e-6);
  }
  EXPECT_GT(n_touching, 200);
}

TEST(Mesh, ShallowContactsOfConvexBodiesWithABoxOfTrianglesAreThoseWithTheBox) {
  Geometries all;
  Random random(4);
  const Vec3 half(1.0, 0.7, 0.5);
  const Shape mesh = mesh_box(all, half, 2), box = box_shape(half);
  const std::vector<Shape> shapes = {box_shape({0.2, 0.3, 0.15}), capsule_shape(0.1, 0.2),
                                     cylinder_shape(0.2, 0.15),
                                     all.rock(random, 16, {0.2, 0.25, 0.3})};
  for (const Shape& shape : shapes) {
    int n_touching = 0, n_same = 0, n_same_gap = 0;
    for (int n = 0; n < 1500; ++n) {
      const Pose pose{Vec3(random.in(-1.4, 1.4), random.in(-1.1, 1.1), random.in(-0.9, 0.9)),
                      random.rotation()};
      const auto exact = all.collide(shape, pose, box, {}, 0.02);
      const auto points = all.collide(shape, pose, mesh, {}, 0.02);
      if (exact.empty()) {
        EXPECT_TRUE(points.empty() || lowest_gap(points) > 0.0199) << n;
        continue;
      }
      const double gap = all.gap(shape, pose, box, {});
      if (gap < -0.02 || gap > 0.0199) continue;
      ++n_touching;
      ASSERT_FALSE(points.empty()) << n;
      // each triangle is judged alone: across a sharp edge a depth may differ
      const double same = 0.08 * std::abs(gap) + 3e-5, found = lowest_gap(points);
      EXPECT_NEAR(found, gap, 0.5 * std::abs(gap) + 3e-5) << n;
      if (std::min(std::abs(found - gap), std::abs(found - lowest_gap(exact))) < same) ++n_same_gap;
      const auto deepest = std::ranges::min_element(points, {}, &ContactPoint::gap);
      const auto expected = std::ranges::min_element(exact, {}, &ContactPoint::gap);
      if (deepest->normal.dot(expected->normal) > 0.999) ++n_same;
    }
    EXPECT_GT(n_touching, 40);
    EXPECT_GE(n_same, n_touching * 95 / 100) << n_touching;
    EXPECT_GE(n_same_gap, n_touching * 97 / 100) << n_touching;
  }
}

TEST(Mesh, ABodyThroughAThinWallIsPushedBackTheShorterWay) {
  Geometries all;
  const Vec3 half(1.0, 1.0, 0.05);
  const Shape wall = mesh_box(all, half, 3);
  const Pose poke = turned(Vec3::Zero(), 0.3, Vec3(1, 0.4, 0.2));
  const std::vector<Shape> bodies = {sphere_shape(0.3), box_shape({0.2, 0.3, 0.25}),
                                     all.box_hull({0.2, 0.3, 0.25}), capsule_shape(0.15, 0.3),
                                     cylinder_shape(0.2, 0.3)};
  for (const Shape& body : bodies) {
    for (const double side : {1.0, -1.0}) {
      // the deepest point comes out of the other side by 0.02
      Pose pose = poke;
      double low = 0.0;
      for (const ContactPoint& p : all.collide(
               body, pose, {ShapeType::plane, Vec3::Zero()},
               side > 0.0 ? pose_at(0, 0, 0) : turned(Vec3::Zero(), M_PI, Vec3::UnitX()), 0.01))
        low = std::min(low, p.gap);
      pose.p.z() = side * (-low - half.z() - 0.02);

      const auto points = all.collide(body, pose, wall, {}, 0.01);

      EXPECT_FALSE(points.empty());
      for (const ContactPoint& p : points)
        EXPECT_LT((p.normal + side * Vec3::UnitZ()).norm(), 1e-9)
            << static_cast<int>(body.type) << ' ' << p.gap;
    }
  }
}

TEST(Mesh, OnlyTheFrontIsTouchedUnlessBothSidesAre) {
  Geometries all;
  const Shape front = tessellated_floor(all, 4, 0.5), both = tessellated_floor(all, 4, 0.5, true);
  const Pose below = pose_at(0.1, 0.2, -0.29), just_below = pose_at(0.1, 0.2, -0.01);
  const Shape ball = sphere_shape(0.3), block = box_shape({0.3, 0.3, 0.3});
  for (const Shape& shape : {ball, block}) {
    const auto up = all.collide(shape, just_below, front, {}, 0.0);
    ASSERT_FALSE(up.empty());
    EXPECT_NEAR(lowest_gap(up), -0.31, 1e-12);
    EXPECT_LT((up[0].normal + Vec3::UnitZ()).norm(), 1e-12);  // pushed to the front
    const auto down = all.collide(shape, below, both, {}, 0.0);
    ASSERT_FALSE(down.empty());
    EXPECT_NEAR(lowest_gap(down), -0.01, 1e-12);
    EXPECT_LT((down[0].normal - Vec3::UnitZ()).norm(), 1e-12);
    EXPECT_TRUE(all.collide(shape, pose_at(0.1, 0.2, -0.31), front, {}, 0.005).empty());
  }
}

TEST(Mesh, ASphereInAValleyTouchesBothSidesAndOneOnARidgeTheEdgeOnce) {
  Geometries all;
  const Shape valley =
      all.mesh({{-1, -1, 1}, {0, -1, 0}, {0, 1, 0}, {-1, 1, 1}, {1, -1, 1}, {1, 1, 1}},
               {{0, 1, 2}, {0, 2, 3}, {1, 4, 5}, {1, 5, 2}});
  const double s = std::sqrt(0.5);
  const auto in =
      all.collide(sphere_shape(0.2), pose_at(0, 0.3, 0.2 / s + 0.001), valley, {}, 0.01);
  ASSERT_EQ(in.size(), 2U);
  for (const auto& p : in) {
    EXPECT_NEAR(p.gap, 0.001 * s, 1e-12);
    EXPECT_NEAR(std::abs(p.normal.x()), s, 1e-12);
  }
  const Shape ridge =
      all.mesh({{-1, -1, -1}, {0, -1, 0}, {0, 1, 0}, {-1, 1, -1}, {1, -1, -1}, {1, 1, -1}},
               {{0, 1, 2}, {0, 2, 3}, {1, 4, 5}, {1, 5, 2}});
  const auto on = all.collide(sphere_shape(0.2), pose_at(0.01, 0.3, 0.19), ridge, {}, 0.01);
  ASSERT_EQ(on.size(), 1U);
  EXPECT_NEAR(on[0].gap, std::hypot(0.01, 0.19) - 0.2, 1e-12);
  const auto box =
      all.collide(box_shape({0.2, 0.3, 0.1}), pose_at(0.05, 0, 0.099), ridge, {}, 0.01);
  ASSERT_EQ(box.size(), 2U);
  for (const auto& p : box) {
    EXPECT_NEAR(p.gap, -0.001, 1e-12);
    EXPECT_LT((p.normal + Vec3::UnitZ()).norm(), 1e-12);
    EXPECT_NEAR(std::abs(p.point.y()), 0.3, 1e-12);
  }
}

TEST(Mesh, ABoxThatOverhangsAStepOfTrianglesIsNotPushedAside) {
  Geometries all;
  const Shape mesh = mesh_box(all, {1, 1, 1}, 2);
  for (const double overhang : {1e-6, 1e-3, 0.05, 0.2}) {
    const auto points = all.collide(box_shape({0.3, 0.3, 0.3}),
                                    pose_at(0.7 + overhang, 0.1, 1.2995), mesh, {}, 0.001);
    ASSERT_GE(points.size(), 3U);
    for (const auto& p : points) {
      EXPECT_LT((p.normal + Vec3::UnitZ()).norm(), 1e-9) << overhang;
      EXPECT_NEAR(p.gap, -0.0005, 1e-12);
    }
  }
}

TEST(Heightfield, AFlatOneIsAFlatFloorAndASlopeIsATiltedPlane) {
  Geometries all;
  std::vector<double> flat(17 * 17, 0.0), slope;
  for (int j = 0; j < 17; ++j) {
    for (int i = 0; i < 17; ++i) slope.push_back(0.1 * i + 0.05 * j);
  }
  const Shape floor = all.heightfield(17, 17, 0.25, flat);
  const Shape hill = all.heightfield(17, 17, 0.25, slope);
  const Vec3 up = Vec3(-0.4, -0.2, 1.0).normalized();
  Random random(6);
  for (const Slider& slider : sliders(all)) {
    for (int n = 0; n < 200; ++n) {
      const double depth = random.log_in(1e-6, 0.01);
      const Vec3 p(random.in(1, 3), random.in(1, 3), slider.height - depth);
      const auto points = all.collide(floor, {}, slider.shape, {p, slider.turn}, 0.005);
      ASSERT_EQ(points.size(), slider.n_points);
      for (const auto& point : points) {
        EXPECT_LT((point.normal - Vec3::UnitZ()).norm(), 1e-9);
        EXPECT_NEAR(point.gap, -depth, 1e-12);
      }
      // anyhow turned, on the slope: as on the plane
      const Pose pose{Vec3(random.in(1, 3), random.in(1, 3), random.in(0.5, 2.0)),
                      random.rotation()};
      const double expected = up.dot(all.support(slider.shape, pose, -up));
      const auto on_hill = all.collide(slider.shape, pose, hill, {}, 0.1);
      if (expected > 0.1) {
        EXPECT_TRUE(on_hill.empty());
      } else if (expected > -0.2) {
        ASSERT_FALSE(on_hill.empty()) << expected;
        EXPECT_NEAR(lowest_gap(on_hill), expected, 1e-9) << static_cast<int>(slider.shape.type);
        for (const auto& point : on_hill) EXPECT_LT((point.normal + up).norm(), 1e-6);
      } else {
        EXPECT_FALSE(on_hill.empty());  // pushed up however deep
      }
    }
  }
}

TEST(Heightfield, CornersOfTheGridAreTheTriangles) {
  Geometries all;
  // a single peak of height 1 at (1, 1)
  std::vector<double> heights(9, 0.0);
  heights[4] = 1.0;
  const Shape peak = all.heightfield(3, 3, 1.0, heights);
  const auto on_top = all.collide(sphere_shape(0.2), pose_at(1, 1, 1.19), peak, {}, 0.05);
  ASSERT_EQ(on_top.size(), 1U);
  EXPECT_NEAR(on_top[0].gap, -0.01, 1e-12);
  EXPECT_LT((on_top[0].normal + Vec3::UnitZ()).norm(), 1e-12);
  // off the grid there is nothing
  EXPECT_TRUE(all.collide(sphere_shape(0.2), pose_at(-1, 1, -1), peak, {}, 0.05).empty());
}

TEST(Heightfield, ItemsAreTwicePerCell) {
  Geometries all;
  const Shape floor = all.heightfield(5, 4, 1.0, std::vector<double>(20, 0.0));
  const auto points = all.collide(sphere_shape(0.2), pose_at(2.7, 1.2, 0.1), floor, {}, 0.0);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].part, 2 * (1 * 4 + 2));
  const auto upper = all.collide(sphere_shape(0.2), pose_at(2.2, 1.7, 0.1), floor, {}, 0.0);
  ASSERT_EQ(upper.size(), 1U);
  EXPECT_EQ(upper[0].part, 2 * (1 * 4 + 2) + 1);
}

}  // namespace
}  // namespace catena
