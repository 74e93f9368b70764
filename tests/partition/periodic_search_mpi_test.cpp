// Contacts in a box that repeats itself, and in the plane.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <tuple>

#include "partition/contact_search_scenes.hpp"
#include "support/all_ranks.hpp"

namespace catena::test {
namespace {

/// A box of 4 x 5 x 2.5 m that repeats itself along x and y (or one of them), or z, too.
Model periodic_model(bool along_x = true, bool along_y = true, bool along_z = false) {
  Model model;
  model.gravity.setZero();
  model.contact.margin = 0.02;
  model.periodic.active = {along_x, along_y, along_z};
  model.periodic.lo = {-1.0, 2.0, 0.0};
  model.periodic.hi = {3.0, 7.0, 2.5};
  return model;
}

/// n bodies at random places of the box, the first ones in its corners; one in four a box, every
/// seventh one fixed.
BodyRecords random_bodies(int n, const Model& model) {
  BodyRecords scene;
  for (int i = 0; i < n; ++i) {
    const auto k = static_cast<std::uint64_t>(i);
    Vec3 p(model.periodic.lo[0] + 4.0 * uniform01(7, k, 0),
           model.periodic.lo[1] + 5.0 * uniform01(7, k, 1), 2.0 * uniform01(7, k, 2));
    if (i < 12) {
      const int corner = i < 4 ? i : 11 - i;
      p.x() = corner % 2 == 0 ? -0.95 : 2.95;
      p.y() = corner / 2 % 2 == 0 ? 2.05 : 6.95;
    }
    const double r = 0.15 + 0.3 * uniform01(7, k, 3);
    scene.push_back(body(i, i % 4 == 0 ? box_shape({r, 0.7 * r, 0.5 * r}) : sphere_shape(r), p));
    if (i % 7 == 3) scene.back().constants.kind = BodyKind::fixed;
    scene.back().constants.group = static_cast<std::uint8_t>(i % 3);
    scene.back().state.pose.q = Quat(Eigen::AngleAxisd(6.0 * uniform01(7, k, 4), Vec3::UnitY()));
  }
  return scene;
}

/// All pairs in all images.
std::vector<Bare> by_brute_force(const BodyRecords& scene, const Model& model) {
  std::vector<Bare> found;
  std::vector<ContactPoint> points;
  for (std::size_t i = 0; i < scene.size(); ++i) {
    for (std::size_t j = i + 1; j < scene.size(); ++j) {
      const BodyConstants &a = scene[i].constants, &b = scene[j].constants;
      if (a.kind != BodyKind::dynamic && b.kind != BodyKind::dynamic) continue;
      if (!may_collide(model, a, b)) continue;
      for (int code = 0; code < kImages; ++code) {
        if ((code / 9 != 1 && !model.periodic.active[0]) ||
            (code / 3 % 3 != 1 && !model.periodic.active[1]) ||
            (code % 3 != 1 && !model.periodic.active[2])) {
          continue;
        }
        Pose pose_b = scene[j].state.pose;
        if (code != kNoImage) pose_b.p += model.periodic.shift(code);
        points.clear();
        collide(a.shape, scene[i].state.pose, b.shape, pose_b, model.contact.margin, points);
        for (const ContactPoint& c : points) {
          found.push_back({{a.id, b.id, c.feature, (code - kNoImage + kImages) % kImages},
                           {c.point.x(), c.point.y(), c.point.z()},
                           {c.normal.x(), c.normal.y(), c.normal.z()},
                           c.gap});
        }
      }
    }
  }
  std::sort(found.begin(), found.end(), [](const Bare& x, const Bare& y) { return x.key < y.key; });
  return found;
}

/// Returns how many different images occur.
std::size_t expect_brute_force(const BodyRecords& scene, const Model& model) {
  const auto expected = by_brute_force(scene, model);
  for (const OwnerOf& owner : {stripes(4), shuffled()}) {
    const auto found = expect_same_as_one_rank(scene, owner, model);

    EXPECT_EQ(found.size(), expected.size());
    for (std::size_t k = 0; k < std::min(found.size(), expected.size()); ++k) {
      EXPECT_TRUE(same(found[k], expected[k])) << expected[k].key.a << " " << expected[k].key.b
                                               << " image " << image_of(expected[k].key);
    }
  }
  std::set<int> images;
  for (const Bare& c : expected) images.insert(image_of(c.key));
  return images.size();
}

TEST(PeriodicSearch, FindsWhatAllPairsInAllImagesGive) {
  for (const auto& [along_x, along_y, along_z] :
       {std::array{true, true, false}, std::array{true, false, false},
        std::array{false, true, false}, std::array{false, false, true},
        std::array{true, true, true}}) {
    const Model model = periodic_model(along_x, along_y, along_z);

    const std::size_t n_images = expect_brute_force(random_bodies(150, model), model);

    // of the 27 those across corners need bodies there
    const std::size_t most = (along_x ? 3U : 1U) * (along_y ? 3U : 1U) * (along_z ? 3U : 1U);
    if (most < 27)
      EXPECT_EQ(n_images, most);
    else
      EXPECT_GT(n_images, 9U);
  }
}

TEST(PeriodicSearch, GroupsAndBodiesThatDoNotCollideTouchNothing) {
  Model model = periodic_model();
  model.n_groups = 3;
  model.group_pairs = {1, 0, 1, 0, 0,
                       1, 1, 1, 1};  // 0 and 1 pass through each other, so do 1 and 1
  BodyRecords scene = random_bodies(150, model);
  for (int i : {1, 20, 60}) scene[static_cast<std::size_t>(i)].constants.collides = false;

  expect_brute_force(scene, model);
}

TEST(PeriodicSearch, TwoBodiesMayTouchOnBothSides) {
  // 2 spheres of diameter 1 in a box of 2: at 0 and 1 they touch in the box and across its side
  Model model = periodic_model(true, false);
  model.periodic.lo[0] = 0.0;
  model.periodic.hi[0] = 2.0;
  const BodyRecords scene = {body(0, sphere_shape(0.5), {0, 0, 0}),
                             body(1, sphere_shape(0.5), {1, 0, 0})};

  const auto contacts = expect_same_as_one_rank(scene, shuffled(), model);

  if (!all_ranks_have(Communicator::world(), contacts.size(), 2U)) return;
  EXPECT_EQ(contacts[0].normal[0], 1.0);
  EXPECT_EQ(contacts[1].normal[0], -1.0);
  EXPECT_EQ(image_of(contacts[1].key), 4);  // b one period to the left
}

TEST(PeriodicSearch, AShiftedSceneHasTheSameContacts) {
  const Model model = periodic_model();
  BodyRecords scene = random_bodies(150, model);
  const auto before = expect_same_as_one_rank(scene, shuffled(), model);
  const Vec3 way(2.34, -3.21, 0.5);
  for (BodyRecord& b : scene) b.state.pose.p = model.periodic.wrapped(b.state.pose.p + way);

  const auto after = expect_same_as_one_rank(scene, shuffled(), model);

  const auto bodies_and_gaps = [](const std::vector<Bare>& contacts) {
    std::vector<std::tuple<GlobalId, GlobalId, std::int32_t, double>> out;
    for (const Bare& c : contacts) out.emplace_back(c.key.a, c.key.b, c.key.feature, c.gap);
    std::sort(out.begin(), out.end());
    return out;
  };
  const auto x = bodies_and_gaps(before), y = bodies_and_gaps(after);
  if (!all_ranks_have(Communicator::world(), x.size(), y.size())) return;
  for (std::size_t k = 0; k < x.size(); ++k) {
    EXPECT_EQ(std::get<0>(x[k]), std::get<0>(y[k]));
    EXPECT_EQ(std::get<1>(x[k]), std::get<1>(y[k]));
    EXPECT_NEAR(std::get<3>(x[k]), std::get<3>(y[k]), 1e-13);
  }
}

TEST(PeriodicSearch, ABodyLongerThanHalfTheBoxOrOutsideIsNamedOnEveryRank) {
  Model model = periodic_model();
  model.names.add(0, 10, "grain", true);
  BodyRecords scene = random_bodies(10, model);
  EXPECT_EQ(error_of(scene, model), "no error");
  scene[5].constants.shape = sphere_shape(1.01);
  EXPECT_NE(error_of(scene, model).find("grain-5 is longer than half the periodic box along x"),
            std::string::npos);
  scene[5].constants.shape = sphere_shape(0.5);
  scene[5].state.pose.p.y() = 7.1;
  EXPECT_NE(error_of(scene, model).find("grain-5 lies outside of the periodic box along y"),
            std::string::npos);
}

TEST(PlanarSearch, PointsThatCoincideInThePlaneAreOneAndNormalsLieInIt) {
  Model model = model_with_floor(100);
  model.planar = true;
  // a box on the floor and a sphere beside it, a little behind: 4 corners are 2 points
  BodyRecords scene = {body(0, box_shape({0.5, 0.3, 0.5}), {0, 0, 0.5}),
                       body(1, sphere_shape(0.25), {0.75, 0.01, 0.25}),
                       body(2, sphere_shape(0.25), {5, 0, 0.25}),
                       body(3, sphere_shape(0.25), {5.001, 0.5, 0.25})};

  const auto contacts = expect_same_as_one_rank(scene, shuffled(), model);

  // 0-1, 0-floor twice, 1-, 2- and 3-floor; 2 lies behind 3 and makes no contact in the plane
  if (!all_ranks_have(Communicator::world(), contacts.size(), 6U)) return;
  for (const Bare& c : contacts) {
    EXPECT_EQ(c.normal[1], 0.0);
    EXPECT_NEAR(std::hypot(c.normal[0], c.normal[2]), 1.0, 1e-15);
  }
  EXPECT_EQ(contacts[1].key.b, 100);
  EXPECT_EQ(contacts[2].key.b, 100);
  EXPECT_NEAR(std::abs(contacts[1].point[0] - contacts[2].point[0]), 1.0, 1e-15);
}

TEST(PlanarSearch, WhatCannotMoveInThePlaneIsNamed) {
  Model model;
  model.planar = true;
  model.names.add(0, 10, "disc", true);
  BodyRecords scene = {body(0, sphere_shape(0.5), {0, 0, 0}),
                       body(1, box_shape({0.1, 0.2, 0.3}), {5, 0, 0})};
  scene[1].constants.inertia = {1.0, 2.0, 3.0};
  scene[1].state.pose.q = Quat(Eigen::AngleAxisd(0.3, Vec3::UnitY()));
  EXPECT_EQ(error_of(scene, model), "no error");

  BodyRecords tilted = scene;
  tilted[1].state.pose.q = Quat(Eigen::AngleAxisd(0.3, Vec3::UnitX()));
  EXPECT_NE(error_of(tilted, model).find("disc-1 has no principal axis of inertia along y"),
            std::string::npos);
  BodyRecords leaving = scene;
  leaving[0].state.twist.v.y() = 1e-9;
  EXPECT_NE(error_of(leaving, model).find("disc-0 has a velocity along y"), std::string::npos);
  BodyRecords rolling_away = scene;
  rolling_away[0].state.twist.w.x() = 1.0;
  EXPECT_NE(error_of(rolling_away, model).find("disc-0 turns about another axis than y"),
            std::string::npos);
}

}  // namespace
}  // namespace catena::test
