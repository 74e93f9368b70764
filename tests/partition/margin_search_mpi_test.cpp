// Contacts made at each pair's own margin.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "catena/base/settings.hpp"
#include "partition/contact_search_scenes.hpp"
#include "support/all_ranks.hpp"

namespace catena::test {
namespace {

/// Without gravity, so that the ways are those of the velocities.
Model with_own_margins() {
  Model model;
  model.contact.margin = kNone;
  model.gravity.setZero();
  return model;
}

/// Whether two spheres at this gap that move alike at `speed` make a contact.
bool meet(double radius, double gap, double speed, double step) {
  BodyRecords scene = {body(0, sphere_shape(radius), {0, 0, 0}),
                       body(1, sphere_shape(radius), {0, 0, 2.0 * radius + gap})};
  for (BodyRecord& record : scene) record.state.twist.v = {0, 0, -speed};
  const Model model = with_own_margins();
  Bodies bodies;
  State state;
  take_share(
      scene, [](const BodyRecord&) { return 0; }, 0, bodies, state);
  ContactSet set;
  ContactSearch(Communicator::self(), model).find(bodies, state, step, set);
  return !set.contacts.empty();
}

TEST(OwnMargin, ReachesAsFarAsBothGoInTheStep) {
  // a third body may stop the one in front: grains of 0.5 mm at 2 m/s go 0.1 mm in 50 us each
  EXPECT_TRUE(meet(0.5e-3, 1.1 * 0.2e-3 - 1e-6, 2.0, 50e-6));
  EXPECT_FALSE(meet(0.5e-3, 1.1 * 0.2e-3 + 1e-6, 2.0, 50e-6));
  // blocks of 3 m at the same speed 8 mm in 4 ms
  EXPECT_TRUE(meet(1.5, 1.1 * 16e-3 - 1e-5, 2.0, 4e-3));
  EXPECT_FALSE(meet(1.5, 1.1 * 16e-3 + 1e-5, 2.0, 4e-3));
}

TEST(OwnMargin, IsAHalfToFiftyPerCentOfTheSmallerSize) {
  for (const double radius : {0.5e-3, 0.05, 1.5}) {
    EXPECT_TRUE(meet(radius, 4.99e-3 * radius, 0.0, 1e-3));
    EXPECT_FALSE(meet(radius, 5.01e-3 * radius, 0.0, 1e-3));
    const double fast = 100.0 * radius / 1e-3;
    EXPECT_TRUE(meet(radius, 0.499 * radius, fast, 1e-3));
    EXPECT_FALSE(meet(radius, 0.501 * radius, fast, 1e-3));
  }
}

TEST(OwnMargin, OfABodyOnASurfaceIsThatOfTheBody) {
  const Model model = [] {
    Model m = model_with_floor(7);
    m.contact.margin = kNone;
    m.gravity.setZero();
    return m;
  }();
  const auto on_floor = [&](const Shape& shape, double height) {
    const BodyRecords scene = {body(0, shape, {0, 0, height})};
    return !expect_same_as_one_rank(scene, shuffled(), model).empty();
  };
  // a cube of edge 0.2 m has the volume of a sphere of radius 0.124 m
  const double size = 0.2 * std::cbrt(0.75 / M_PI);

  EXPECT_TRUE(on_floor(box_shape({0.1, 0.1, 0.1}), 0.1 + 4.99e-3 * size));
  EXPECT_FALSE(on_floor(box_shape({0.1, 0.1, 0.1}), 0.1 + 5.01e-3 * size));
  EXPECT_TRUE(on_floor(sphere_shape(0.1), 0.1 + 0.499e-3));
  EXPECT_FALSE(on_floor(sphere_shape(0.1), 0.1 + 0.501e-3));
}

TEST(OwnMargin, OfCohesionIsNotBelowItsRange) {
  Model model = with_own_margins();
  model.contact.cohesion_range = 0.02;
  const BodyRecords scene = {body(0, sphere_shape(0.1), {0, 0, 0}),
                             body(1, sphere_shape(0.1), {0.2199, 0, 0})};

  EXPECT_EQ(expect_same_as_one_rank(scene, shuffled(), model).size(), 1U);
}

/// Spheres and boxes of 30 mm to 1 m all over the place, some fixed, the others fast and spinning.
BodyRecords mixed_scene() {
  BodyRecords scene;
  for (int i = 0; i < 600; ++i) {
    const auto k = static_cast<std::uint64_t>(i);
    const auto random = [&](std::uint64_t n) { return uniform_pm1(5, k, n); };
    const double size = std::exp(std::log(0.03) * 0.5 * (1.0 + random(0)));
    const Shape shape = i % 3 == 0 ? box_shape(size * Vec3(0.5, 0.8, 0.6)) : sphere_shape(size);
    scene.push_back(body(i, shape, 3.0 * Vec3(random(1), random(2), random(3))));
    scene.back().state.twist.v = 20.0 * Vec3(random(4), random(5), random(6));
    scene.back().state.twist.w = 30.0 * Vec3(random(7), random(8), random(9));
    if (i % 50 == 0) scene.back().constants.kind = BodyKind::fixed;
    if (i % 50 == 0) scene.back().state.twist = {};
  }
  return scene;
}

TEST(OwnMargin, GivesTheContactsOfOneRankOnAnyNumber) {
  Model model = model_with_floor(1000);
  model.contact.margin = kNone;

  const auto packed = expect_same_as_one_rank(lattice(6, 0), shuffled(), model);
  const auto mixed = expect_same_as_one_rank(mixed_scene(), shuffled(), model);

  EXPECT_GT(packed.size(), 300U);
  EXPECT_GT(mixed.size(), 500U);
}

TEST(OwnMargin, MissesNoPairThatAllPairsFind) {
  // spheres alone: the rule is written down anew for all pairs
  BodyRecords scene = mixed_scene();
  std::erase_if(scene,
                [](const BodyRecord& b) { return b.constants.shape.type != ShapeType::sphere; });
  const Model model = with_own_margins();
  Bodies bodies;
  State state;
  take_share(
      scene, [](const BodyRecord&) { return 0; }, 0, bodies, state);
  ContactSet set;
  ContactSearch(Communicator::self(), model).find(bodies, state, kStep, set);

  std::size_t n = 0;
  for (std::size_t i = 0; i < scene.size(); ++i) {
    for (std::size_t j = i + 1; j < scene.size(); ++j) {
      const auto dynamic = [](const BodyRecord& b) {
        return b.constants.kind == BodyKind::dynamic;
      };
      if (!dynamic(scene[i]) && !dynamic(scene[j])) continue;
      const Vec3 d = scene[j].state.pose.p - scene[i].state.pose.p;
      const Vec3 &v_i = scene[i].state.twist.v, &v_j = scene[j].state.twist.v;
      const double r_i = scene[i].constants.shape.size.x(), r_j = scene[j].constants.shape.size.x();
      const double least = std::min(r_i, r_j);
      const double margin =
          std::clamp(1.1 * kStep * (v_i.norm() + v_j.norm()), 5e-3 * least, 0.5 * least);
      const double closing = kStep * (v_i - v_j).dot(d.normalized());
      if (d.norm() - r_i - r_j < std::max(margin, closing)) ++n;
    }
  }
  EXPECT_EQ(set.contacts.size(), n);
  EXPECT_GT(n, 200U);
}

}  // namespace
}  // namespace catena::test
