// Contacts of bodies that lie on several ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "partition/contact_search_scenes.hpp"
#include "support/all_ranks.hpp"

namespace catena::test {
namespace {

TEST(ContactSearch, APackingHasTheContactsOfOneRankEachOnce) {
  const BodyRecords scene = lattice(8, 10);
  const Model model = model_with_floor(5);

  const auto in_stripes = expect_same_as_one_rank(scene, stripes(8), model);
  const auto mixed = expect_same_as_one_rank(scene, shuffled(), model);

  EXPECT_EQ(in_stripes.size(), mixed.size());
  EXPECT_GT(in_stripes.size(), 500U);
}

TEST(ContactSearch, OneRankFindsWhatAllPairsFind) {
  const BodyRecords scene = lattice(6, 0);
  Model model;
  model.gravity.setZero();
  Bodies bodies;
  State state;
  take_share(
      scene, [](const BodyRecord&) { return 0; }, 0, bodies, state);
  ContactSet set;
  ContactSearch search(Communicator::self(), model);

  search.find(bodies, state, kStep, set);

  std::size_t n = 0;
  for (std::size_t i = 0; i < scene.size(); ++i) {
    for (std::size_t j = i + 1; j < scene.size(); ++j) {
      const Vec3 d = scene[j].state.pose.p - scene[i].state.pose.p;
      const double gap =
          d.norm() - scene[i].constants.shape.size.x() - scene[j].constants.shape.size.x();
      const double closing =
          (scene[i].state.twist.v - scene[j].state.twist.v).dot(d.normalized()) * kStep;
      if (gap < std::max(model.contact.margin, closing)) ++n;
    }
  }
  EXPECT_EQ(set.contacts.size(), n);
}

TEST(ContactSearch, RanksWithoutBodiesTakePart) {
  const BodyRecords scene = lattice(4, 0);

  expect_same_as_one_rank(
      scene, [](const BodyRecord&) { return n_ranks() - 1; }, Model());
  expect_same_as_one_rank(
      scene, [](const BodyRecord& b) { return b.constants.id < 20 ? 0 : n_ranks() - 1; }, Model());
}

TEST(ContactSearch, ABodyLargerThanARanksRegionTouchesBodiesOfAllRanks) {
  BodyRecords scene = lattice(8, 0);
  scene.push_back(body(1000, box_shape({4.2, 4.2, 0.5}), {3.5, 3.5, 8.47}));
  scene.back().state.twist.v = {0, 0, -1};
  const Model model = model_with_floor(2000);

  const auto contacts = expect_same_as_one_rank(scene, stripes(8), model);

  const auto on_block = std::count_if(contacts.begin(), contacts.end(),
                                      [](const Bare& c) { return c.key.b == 1000; });
  EXPECT_GT(on_block, 30);
}

TEST(ContactSearch, FixedBodiesAreNotInThePlanAndTouchOnlyDynamicOnes) {
  BodyRecords scene = lattice(6, 0);
  for (int k = 0; k < 4; ++k) {
    scene.push_back(body(500 + k, box_shape({3.2, 3.2, 0.5}), {2.5, 2.5, -0.5 - 0.1 * k}));
    scene.back().constants.kind = k % 2 == 0 ? BodyKind::fixed : BodyKind::kinematic;
    scene.back().state.twist.v = {0.1 * k, 0, 0};
  }

  const auto contacts = expect_same_as_one_rank(scene, shuffled(), Model());

  for (const Bare& c : contacts) EXPECT_LT(c.key.a, 500);
}

TEST(ContactSearch, WhatLiesOnAFixedBodyDoesNotTravelToItsRank) {
  // grains apart from each other over the ranks, on a box of the first
  BodyRecords grains;
  for (GlobalId id = 0; id < 400; ++id)
    grains.push_back(body(id, {ShapeType::sphere, Vec3::Constant(0.5)},
                          {3.0 * static_cast<double>(id), 0.0, 0.5}));
  BodyRecords with_ground = grains;
  with_ground.push_back(body(1000, box_shape({700.0, 5.0, 0.5}), {600.0, 0.0, -0.5}));
  with_ground.back().constants.kind = BodyKind::fixed;
  const auto by_place = [](const BodyRecord& b) {
    return b.constants.id == 1000 ? 0 : static_cast<int>(b.constants.id * n_ranks() / 400);
  };
  const auto bytes_sent = [&](const BodyRecords& scene) {
    const Communicator comm = Communicator::world();
    Bodies bodies;
    State state;
    take_share(scene, by_place, comm.rank(), bodies, state);
    ContactSet set;
    const Model model;
    ContactSearch search(comm, model);
    const std::int64_t before = comm.traffic().bytes;
    search.find(bodies, state, kStep, set);
    if (scene.size() > 400) {
      EXPECT_EQ(static_cast<Index>(set.contacts.size()),
                set.bodies.n_owned - (comm.rank() == 0 ? 1 : 0));
    }
    return comm.traffic().bytes - before;
  };

  const std::int64_t more = bytes_sent(with_ground) - bytes_sent(grains);

  // the ground itself to each other rank
  EXPECT_LE(more, static_cast<std::int64_t>(sizeof(BodyRecord)) * (n_ranks() - 1));
}

TEST(ContactSearch, BoxesOnAllRanksKeepTheirManifolds) {
  BodyRecords scene;
  for (int i = 0; i < 120; ++i) {
    const auto k = static_cast<std::uint64_t>(i);
    scene.push_back(
        body(i, i % 4 == 0 ? sphere_shape(0.25) : box_shape({0.5, 0.25, 0.25}),
             {1.0 * (i % 5) + 0.5 * ((i / 20) % 2), 0.5 * ((i / 5) % 4), 0.5 * (i / 20)}));
    scene.back().state.twist.w = Vec3(uniform_pm1(1, k, 0), uniform_pm1(1, k, 1), 0.0);
  }
  const Model model = model_with_floor(1000);

  const auto contacts = expect_same_as_one_rank(scene, shuffled(), model);

  EXPECT_GT(contacts.size(), 400U);
}

TEST(ContactSearch, AFastBodyMeetsWhatItWouldPassThroughInTheStep) {
  // 200 m/s go 0.4 m in the step: from 0.1 m before to 0.1 m behind the small sphere
  BodyRecords scene = {body(0, sphere_shape(0.05), {-0.2, 0, 0}),
                       body(1, sphere_shape(0.05), {0, 0, 0}),
                       body(2, sphere_shape(0.05), {0.5, 0, 0})};
  scene[0].state.twist.v = {200, 0, 0};
  Model model;
  model.gravity.setZero();
  const OwnerOf apart = [](const BodyRecord& b) {
    return static_cast<int>(b.constants.id) % n_ranks();
  };

  const auto closing = expect_same_as_one_rank(scene, apart, model);
  scene[0].state.twist.v = {-200, 0, 0};
  const auto leaving = expect_same_as_one_rank(scene, apart, model);

  if (!all_ranks_have(Communicator::world(), closing.size(), 1U)) return;
  EXPECT_EQ(closing[0].key.b, 1);
  EXPECT_NEAR(closing[0].gap, 0.1, 1e-15);
  EXPECT_TRUE(leaving.empty());
}

TEST(ContactSearch, AFallingBodyMeetsTheFloorBeforeItsGravityTakesItThrough) {
  // at rest 1.5 mm above the floor with a step of 20 ms: falls h^2 g = 3.9 mm
  const BodyRecords scene = {body(0, box_shape({0.5, 0.5, 0.5}), {0, 0, 0.5015})};
  Bodies bodies;
  State state;
  take_share(
      scene, [](const BodyRecord&) { return 0; }, 0, bodies, state);
  const Model model = model_with_floor(7);
  ContactSearch search(Communicator::self(), model);
  ContactSet set;

  search.find(bodies, state, 0.02, set);
  const std::size_t in_long_step = set.contacts.size();
  search.find(bodies, state, 0.002, set);

  EXPECT_EQ(in_long_step, 4U);
  EXPECT_TRUE(set.contacts.empty());
}

TEST(ContactSearch, CoincidentCentresOnDifferentRanksAreOneContact) {
  BodyRecords scene;
  for (int i = 0; i < 6; ++i) scene.push_back(body(i, sphere_shape(0.1 + 0.01 * i), {1, 1, 1}));
  const OwnerOf apart = [](const BodyRecord& b) {
    return static_cast<int>(b.constants.id) % n_ranks();
  };

  const auto contacts = expect_same_as_one_rank(scene, apart, Model());

  EXPECT_EQ(contacts.size(), 15U);
  for (const Bare& c : contacts) EXPECT_EQ(c.normal[2], 1.0);
}

TEST(ContactSearch, AMovingPlaneStandsWhereItsMotionTakesIt) {
  Model model = model_with_floor(100);
  model.motions.push_back({.velocity = {0, 0, 0.5}});
  model.unbounded[0].constants.kind = BodyKind::kinematic;
  model.unbounded[0].constants.motion = 0;
  const BodyRecords scene = {body(0, sphere_shape(0.5), {0, 0, 1.0}),
                             body(1, sphere_shape(0.5), {5, 0, 1.2})};

  // after 1 s the plane is at z = 0.5
  const auto contacts = expect_same_as_one_rank(scene, shuffled(), model, 1.0);

  if (!all_ranks_have(Communicator::world(), contacts.size(), 1U)) return;
  EXPECT_EQ(contacts[0].key.a, 0);
  EXPECT_NEAR(contacts[0].gap, 0.0, 1e-15);
}

}  // namespace
}  // namespace catena::test
