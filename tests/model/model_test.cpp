#include "catena/model/model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "catena/base/random.hpp"
#include "catena/model/state.hpp"

namespace catena {
namespace {

const Shape kSphere{ShapeType::sphere, {0.3, 0, 0}};
const Shape kBox{ShapeType::box, {0.5, 0.2, 0.1}};
const Shape kPlane{ShapeType::plane, {0, 0, 0}};

/// Mean of f over the box's volume by the midpoint rule.
template <class F>
double mean_over_box(const Vec3& half, int n, F&& f) {
  double sum = 0.0;
  for (int i = 0; i < n * n * n; ++i) {
    const Vec3 cell(i % n, (i / n) % n, i / (n * n));
    sum += f(Vec3(half.array() * ((cell.array() + 0.5) * 2.0 / n - 1.0)));
  }
  return sum / (n * n * n);
}

TEST(Shape, InertiaOfABoxIsTheMeanOfTheSquaredDistanceFromTheAxis) {
  const Vec3 inertia = inertia_per_mass(kBox);

  const int n = 60;  // midpoint rule: relative error 1/n^2 of each square
  EXPECT_NEAR(
      inertia.x(),
      mean_over_box(kBox.size, n, [](const Vec3& p) { return p.y() * p.y() + p.z() * p.z(); }),
      inertia.x() * 1.01 / (n * n));
  EXPECT_NEAR(
      inertia.y(),
      mean_over_box(kBox.size, n, [](const Vec3& p) { return p.x() * p.x() + p.z() * p.z(); }),
      inertia.y() * 1.01 / (n * n));
  EXPECT_NEAR(
      inertia.z(),
      mean_over_box(kBox.size, n, [](const Vec3& p) { return p.x() * p.x() + p.y() * p.y(); }),
      inertia.z() * 1.01 / (n * n));
  EXPECT_DOUBLE_EQ(volume_of(kBox), 1.0 * 0.4 * 0.2);
}

TEST(Shape, InertiaOfASphereIsTwoFifthsOfMassTimesRadiusSquared) {
  EXPECT_NEAR((inertia_per_mass(kSphere) - Vec3::Constant(0.4 * 0.09)).norm(), 0.0, 1e-16);
  EXPECT_NEAR(volume_of(kSphere), 4.0 / 3.0 * std::numbers::pi * 0.027, 1e-15);
}

TEST(Shape, BoundsAreTheCornersExtremes) {
  Pose pose{{1, -2, 3}, Quat(0.3, -0.5, 0.7, 0.2).normalized()};

  const Aabb box = bounds_of(kBox, pose);

  Vec3 lo = Vec3::Constant(1e9), hi = Vec3::Constant(-1e9);
  for (int k = 0; k < 8; ++k) {
    const Vec3 sign((k & 1) != 0 ? 1 : -1, (k & 2) != 0 ? 1 : -1, (k & 4) != 0 ? 1 : -1);
    const Vec3 corner = pose.p + pose.q * Vec3(sign.cwiseProduct(kBox.size));
    lo = lo.cwiseMin(corner);
    hi = hi.cwiseMax(corner);
  }
  EXPECT_LT((box.lo - lo).norm(), 1e-14);
  EXPECT_LT((box.hi - hi).norm(), 1e-14);
  EXPECT_EQ(bounds_of(kSphere, pose).lo, Vec3(0.7, -2.3, 2.7));
}

TEST(Shape, APlaneIsBoundlessAndNoShapeIsEmpty) {
  const Aabb plane = bounds_of(kPlane, {}), none = bounds_of({}, {});

  EXPECT_TRUE(std::isinf(plane.lo.x()) && std::isinf(plane.hi.z()));
  EXPECT_TRUE(std::isinf(half_extent(kPlane)));
  EXPECT_GT(none.lo.x(), none.hi.x());
  EXPECT_EQ(half_extent({}), 0.0);
  EXPECT_EQ(half_extent(kBox), 0.5);
}

TEST(MaterialTable, PairsNotNamedGetTheGeometricMean) {
  MaterialTable table(
      {{"glass", 2500, 0.4, 0.9}, {"steel", 7800, 0.9, 0.4}, {"ice", 900, 0.0, 0.1}});
  table.set_pair(1, 2, {0.05, 0.3});

  EXPECT_DOUBLE_EQ(table.pair(0, 1).friction, 0.6);
  EXPECT_DOUBLE_EQ(table.pair(1, 0).restitution, 0.6);
  EXPECT_EQ(table.pair(0, 0).friction, 0.4);
  EXPECT_EQ(table.pair(0, 2).friction, 0.0);
  EXPECT_EQ(table.pair(1, 2).friction, 0.05);
  EXPECT_EQ(table.pair(2, 1).restitution, 0.3);  // the mean would be 0.2
  EXPECT_EQ(table.find("ice"), 2);
  EXPECT_EQ(table.find("wood"), -1);
}

TEST(MaterialTable, PairsFollowByTheRuleOfEachProperty) {
  const double x = 0.2, y = 0.8;
  EXPECT_DOUBLE_EQ(combined(Combination::geometric, x, y), 0.4);
  EXPECT_EQ(combined(Combination::minimum, x, y), 0.2);
  EXPECT_EQ(combined(Combination::maximum, x, y), 0.8);
  EXPECT_DOUBLE_EQ(combined(Combination::mean, x, y), 0.5);
  EXPECT_DOUBLE_EQ(combined(Combination::harmonic, x, y), 0.32);  // 2 / (1/0.2 + 1/0.8)
  for (const Combination rule : {Combination::geometric, Combination::minimum, Combination::maximum,
                                 Combination::mean, Combination::harmonic}) {
    EXPECT_EQ(combined(rule, 0.3, 0.3), 0.3);
    EXPECT_EQ(combined(rule, 0.0, 0.0), 0.0);
  }

  Material a, b;
  a.friction = a.restitution = a.rolling_coefficient = a.spinning_friction = a.cohesion = x;
  b.friction = b.restitution = b.rolling_coefficient = b.spinning_friction = b.cohesion = y;
  const MaterialTable table({a, b}, {Combination::minimum, Combination::maximum, Combination::mean,
                                     Combination::harmonic, Combination::geometric});
  const PairMaterial& pair = table.pair(0, 1);
  EXPECT_EQ(pair.friction, 0.2);
  EXPECT_EQ(pair.restitution, 0.8);
  EXPECT_DOUBLE_EQ(pair.rolling_coefficient, 0.5);
  EXPECT_DOUBLE_EQ(pair.spinning_friction, 0.32);
  EXPECT_DOUBLE_EQ(pair.cohesion, 0.4);
  EXPECT_DOUBLE_EQ(pair.rolling_length(0.1), 0.05);
  EXPECT_DOUBLE_EQ(pair.spinning_length(0.1), 0.32);
}

TEST(NameTable, RangesAreFoundInWhateverOrderTheyCame) {
  NameTable names;
  names.add(10, 100, "grains", true);
  names.add(3, 1, "block", false);
  names.add(200, 1, "floor", false);

  EXPECT_EQ(names.name_of(3), "block");
  EXPECT_EQ(names.name_of(10), "grains-0");
  EXPECT_EQ(names.name_of(109), "grains-99");
  EXPECT_EQ(names.name_of(110), "body-110");
  EXPECT_EQ(names.name_of(0), "body-0");
  EXPECT_EQ(names.size(), 201);
  EXPECT_THROW(names.add(105, 10, "late", true), std::logic_error);
}

TEST(NameTable, FindsIdsByNameGeneratorAndNumber) {
  using Ids = std::pair<GlobalId, GlobalId>;
  NameTable names;
  names.add(10, 100, "grains", true);
  names.add(3, 1, "block-7", false);

  EXPECT_EQ(names.ids_of("grains"), Ids(10, 100));
  EXPECT_EQ(names.ids_of("grains-99"), Ids(109, 1));
  EXPECT_EQ(names.ids_of("block-7"), Ids(3, 1));
  for (const char* unknown : {"grains-100", "grains-07", "grains-", "grains--1", "block", "", "-1"})
    EXPECT_EQ(names.ids_of(unknown).second, 0) << unknown;
  EXPECT_EQ(names.texts(), (std::vector<std::string>{"block-7", "grains"}));
}

TEST(PrescribedState, OriginGoesStraightAndTheBodyTurnsAboutIt) {
  Model model;
  model.motions.push_back({.velocity = {1, 2, 3}, .angular_velocity = {0, 0, 2}});
  BodyConstants body;
  body.kind = BodyKind::kinematic;
  body.motion = 0;
  const MotionStart start = motion_start(model.motions[0], {Vec3(1, 1, 1), Quat::Identity()});

  const BodyMotionState now = prescribed_state(model, body, {}, start, 0.25);

  EXPECT_LT((now.pose.p - Vec3(1.25, 1.5, 1.75)).norm(), 1e-15);
  // half a radian about z carries x to (cos, sin, 0)
  EXPECT_LT((now.pose.q * Vec3::UnitX() - Vec3(std::cos(0.5), std::sin(0.5), 0)).norm(), 1e-14);
  EXPECT_EQ(now.twist.w, Vec3(0, 0, 2));
}

TEST(PrescribedState, FixedBodiesStayWithoutTwist) {
  BodyConstants body;
  body.kind = BodyKind::fixed;
  const Pose pose{{1, 1, 1}, Quat::Identity()};

  const BodyMotionState now = prescribed_state(Model(), body, pose, {}, 3.0);

  EXPECT_EQ(now.pose.p, pose.p);
  EXPECT_EQ(now.twist.v, Vec3(0, 0, 0));
}

TEST(HomeOf, DoesNotDependOnTheOrderOfThePair) {
  for (std::uint64_t n = 0; n < 1000; ++n) {
    BodyConstants a, b;
    a.id = static_cast<GlobalId>(mix64(n) % 1000);
    b.id = a.id + 1 + static_cast<GlobalId>(mix64(n + 5000) % 1000);
    a.kind = static_cast<BodyKind>(mix64(n + 1) % 3);
    b.kind = static_cast<BodyKind>(mix64(n + 2) % 3);
    a.shape = {ShapeType::sphere, {uniform01(1, n, 0), 0, 0}};
    b.shape = {ShapeType::sphere, {uniform01(1, n, 1), 0, 0}};

    const GlobalId home = home_of(a, b);

    EXPECT_EQ(home, home_of(b, a));
    EXPECT_TRUE(home == a.id || home == b.id);
  }
}

TEST(HomeOf, PrefersDynamicThenMuchSmallerThenParity) {
  BodyConstants a, b;
  a.id = 4, b.id = 7;
  a.shape = b.shape = kSphere;
  EXPECT_EQ(home_of(a, b), 7);  // odd sum
  b.id = 8;
  EXPECT_EQ(home_of(a, b), 4);  // even sum
  b.shape.size.x() = 0.24 * a.shape.size.x();
  EXPECT_EQ(home_of(a, b), 8);
  b.kind = BodyKind::fixed;
  EXPECT_EQ(home_of(a, b), 4);
}

}  // namespace
}  // namespace catena
