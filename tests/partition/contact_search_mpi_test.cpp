#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <tuple>

#include "catena/base/error.hpp"
#include "catena/base/random.hpp"
#include "catena/search/contact_search.hpp"

namespace catena {
namespace {

constexpr double kStep = 2e-3;

using Scene = std::vector<BodyRecord>;
using OwnerOf = std::function<int(const BodyRecord&)>;

BodyRecord body(GlobalId id, const Shape& shape, const Vec3& p) {
  BodyRecord record;
  record.constants.id = id;
  record.constants.shape = shape;
  record.constants.mass = 1.0;
  record.constants.inertia = Vec3::Ones();
  record.state.pose.p = p;
  return record;
}

Shape sphere(double radius) { return {ShapeType::sphere, {radius, 0, 0}}; }
Shape box(const Vec3& half) { return {ShapeType::box, half}; }

Model model_with_floor(GlobalId floor_id) {
  Model model;
  BodyRecord floor = body(floor_id, {ShapeType::plane, Vec3::Zero()}, Vec3::Zero());
  floor.constants.kind = BodyKind::fixed;
  model.unbounded.push_back(floor);
  return model;
}

/// n^3 spheres of radius 0.5 and about, that mostly touch their neighbours.
Scene lattice(int n, GlobalId first_id) {
  Scene scene;
  for (int i = 0; i < n * n * n; ++i) {
    const auto k = static_cast<std::uint64_t>(i);
    const Vec3 cell(i % n, (i / n) % n, i / (n * n));
    const Vec3 jitter(uniform_pm1(1, k, 0), uniform_pm1(1, k, 1), uniform_pm1(1, k, 2));
    scene.push_back(body(first_id + i, sphere(0.5 + 0.02 * uniform_pm1(1, k, 3)),
                         cell + 0.02 * jitter + Vec3(0, 0, 0.5)));
    scene.back().state.twist.v = 0.1 * jitter;
    scene.back().state.twist.w = jitter;
  }
  return scene;
}

/// The bodies that `owner_of` gives to a rank; every third place exchanged, so that the
/// local order is not that of ids.
void take_share(const Scene& scene, const OwnerOf& owner_of, int rank, Bodies& bodies,
                State& state) {
  for (const BodyRecord& record : scene) {
    if (owner_of(record) != rank) continue;
    bodies.constants.push_back(record.constants);
    state.body.push_back(record.state);
  }
  for (std::size_t i = 0; i + 7 < bodies.constants.size(); i += 3) {
    std::swap(bodies.constants[i], bodies.constants[i + 7]);
    std::swap(state.body[i], state.body[i + 7]);
  }
}

/// A contact without what depends on the rank.
struct Bare {
  ContactKey key;
  double point[3], normal[3], gap;
};

std::vector<Bare> bare(const std::vector<Contact>& contacts) {
  std::vector<Bare> out;
  for (const Contact& c : contacts) {
    out.push_back({c.key,
                   {c.point.x(), c.point.y(), c.point.z()},
                   {c.normal.x(), c.normal.y(), c.normal.z()},
                   c.gap});
  }
  return out;
}

std::vector<Bare> gathered(const Communicator& comm, const std::vector<Contact>& contacts) {
  const std::vector<Bare> own = bare(contacts);
  const auto bytes = comm.all_gather_bytes(std::as_bytes(std::span(own)));
  std::vector<Bare> all(bytes.size() / sizeof(Bare));
  if (!all.empty()) std::memcpy(static_cast<void*>(all.data()), bytes.data(), bytes.size());
  std::sort(all.begin(), all.end(), [](const Bare& x, const Bare& y) { return x.key < y.key; });
  return all;
}

bool same(const Bare& x, const Bare& y) {
  return x.key == y.key && std::equal(x.point, x.point + 3, y.point) &&
         std::equal(x.normal, x.normal + 3, y.normal) && x.gap == y.gap;
}

/// The invariants of a set on this rank.
void expect_consistent(const ContactSet& set, const Bodies& bodies, const Model& model) {
  const LocalBodies& local = set.bodies;
  const auto n_fixed_part = local.n_owned + local.n_ghost;
  EXPECT_EQ(local.n_owned, bodies.size());
  EXPECT_EQ(local.size(), n_fixed_part + static_cast<Index>(model.unbounded.size()));
  EXPECT_EQ(local.state.size(), local.constants.size());
  EXPECT_EQ(local.owner.size(), local.constants.size());
  EXPECT_TRUE(
      std::is_sorted(local.owner.begin() + local.n_owned, local.owner.begin() + n_fixed_part));
  std::set<Index> touched;
  for (std::size_t k = 0; k < set.contacts.size(); ++k) {
    const Contact& c = set.contacts[k];
    EXPECT_EQ(local.constants[static_cast<std::size_t>(c.body_a)].id, c.key.a);
    EXPECT_EQ(local.constants[static_cast<std::size_t>(c.body_b)].id, c.key.b);
    EXPECT_LT(c.key.a, c.key.b);
    if (k > 0) {
      EXPECT_LT(set.contacts[k - 1].key, c.key);
    }
    touched.insert({c.body_a, c.body_b});
  }
  std::set<Index> received;
  for (const HaloPlan::Neighbour& neighbour : set.ghosts.neighbours) {
    received.insert(neighbour.receive.begin(), neighbour.receive.end());
  }
  for (Index g = local.n_owned; g < n_fixed_part; ++g) {
    const auto i = static_cast<std::size_t>(g);
    EXPECT_TRUE(touched.contains(g)) << "a ghost that nothing needs";
    EXPECT_EQ(received.contains(g), local.constants[i].kind == BodyKind::dynamic);
  }
}

/// Sends every body's id along the plan; ghosts must get their own.
void expect_plan_reaches_ghosts(const Communicator& comm, const ContactSet& set) {
  const LocalBodies& local = set.bodies;
  std::vector<double> source(local.constants.size(), -1.0), target(local.constants.size(), -1.0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(local.n_owned); ++i) {
    source[i] = static_cast<double>(local.constants[i].id);
  }
  HaloExchange halo(comm, set.ghosts, 1, Tag::graph_parts);
  halo.begin(source);
  halo.end(target);
  for (const HaloPlan::Neighbour& neighbour : set.ghosts.neighbours) {
    for (const Index g : neighbour.receive) {
      const auto i = static_cast<std::size_t>(g);
      EXPECT_EQ(target[i], static_cast<double>(local.constants[i].id));
      EXPECT_EQ(local.owner[i], neighbour.rank);
    }
    for (const Index i : neighbour.send) EXPECT_LT(i, local.n_owned);
  }
}

/// Finds the contacts with the scene spread over the ranks and on one rank alone; returns
/// those of one rank.
std::vector<Bare> expect_same_as_one_rank(const Scene& scene, const OwnerOf& owner_of,
                                          const Model& model, double time = 0.0) {
  const Communicator comm = Communicator::world(), self = Communicator::self();
  Bodies bodies, all_bodies;
  State state, all_state;
  state.time = all_state.time = time;
  take_share(scene, owner_of, comm.rank(), bodies, state);
  take_share(
      scene, [](const BodyRecord&) { return 0; }, 0, all_bodies, all_state);
  ContactSet set, alone;
  ContactSearch search(comm, model), search_alone(self, model);

  search_alone.find(all_bodies, all_state, kStep, alone);
  search.find(bodies, state, kStep, set);
  search.find(bodies, state, kStep, set);  // scratch memory of the first call is no matter

  const std::vector<Bare> expected = bare(alone.contacts), found = gathered(comm, set.contacts);
  EXPECT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < std::min(found.size(), expected.size()); ++k) {
    EXPECT_TRUE(same(found[k], expected[k])) << found[k].key.a << " " << found[k].key.b << " / "
                                             << expected[k].key.a << " " << expected[k].key.b;
  }
  expect_consistent(set, bodies, model);
  expect_plan_reaches_ghosts(comm, set);
  return expected;
}

int n_ranks() { return Communicator::world().size(); }

OwnerOf stripes(double width) {
  return [width](const BodyRecord& b) {
    const int stripe = static_cast<int>((b.state.pose.p.x() + 0.5) / width * n_ranks());
    return std::clamp(stripe, 0, n_ranks() - 1);
  };
}

OwnerOf shuffled() {
  return [](const BodyRecord& b) {
    return static_cast<int>(mix64(static_cast<std::uint64_t>(b.constants.id)) %
                            static_cast<std::uint64_t>(n_ranks()));
  };
}

TEST(ContactSearch, APackingHasTheContactsOfOneRankEachOnce) {
  const Scene scene = lattice(8, 10);
  const Model model = model_with_floor(5);

  const auto in_stripes = expect_same_as_one_rank(scene, stripes(8), model);
  const auto mixed = expect_same_as_one_rank(scene, shuffled(), model);

  EXPECT_EQ(in_stripes.size(), mixed.size());
  EXPECT_GT(in_stripes.size(), 500U);
}

TEST(ContactSearch, OneRankFindsWhatAllPairsFind) {
  const Scene scene = lattice(6, 0);
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
  const Scene scene = lattice(4, 0);

  expect_same_as_one_rank(
      scene, [](const BodyRecord&) { return n_ranks() - 1; }, Model());
  expect_same_as_one_rank(
      scene, [](const BodyRecord& b) { return b.constants.id < 20 ? 0 : n_ranks() - 1; }, Model());
}

TEST(ContactSearch, ABodyLargerThanARanksRegionTouchesBodiesOfAllRanks) {
  Scene scene = lattice(8, 0);
  scene.push_back(body(1000, box({4.2, 4.2, 0.5}), {3.5, 3.5, 8.47}));
  scene.back().state.twist.v = {0, 0, -1};
  const Model model = model_with_floor(2000);

  const auto contacts = expect_same_as_one_rank(scene, stripes(8), model);

  const auto on_block = std::count_if(contacts.begin(), contacts.end(),
                                      [](const Bare& c) { return c.key.b == 1000; });
  EXPECT_GT(on_block, 30);
}

TEST(ContactSearch, FixedBodiesAreNotInThePlanAndTouchOnlyDynamicOnes) {
  Scene scene = lattice(6, 0);
  for (int k = 0; k < 4; ++k) {
    scene.push_back(body(500 + k, box({3.2, 3.2, 0.5}), {2.5, 2.5, -0.5 - 0.1 * k}));
    scene.back().constants.kind = k % 2 == 0 ? BodyKind::fixed : BodyKind::kinematic;
    scene.back().state.twist.v = {0.1 * k, 0, 0};
  }

  const auto contacts = expect_same_as_one_rank(scene, shuffled(), Model());

  for (const Bare& c : contacts) EXPECT_LT(c.key.a, 500);
}

TEST(ContactSearch, WhatLiesOnAFixedBodyDoesNotTravelToItsRank) {
  // grains apart from each other over the ranks, on a box of the first
  Scene grains;
  for (GlobalId id = 0; id < 400; ++id)
    grains.push_back(body(id, {ShapeType::sphere, Vec3::Constant(0.5)},
                          {3.0 * static_cast<double>(id), 0.0, 0.5}));
  Scene with_ground = grains;
  with_ground.push_back(body(1000, box({700.0, 5.0, 0.5}), {600.0, 0.0, -0.5}));
  with_ground.back().constants.kind = BodyKind::fixed;
  const auto by_place = [](const BodyRecord& b) {
    return b.constants.id == 1000 ? 0 : static_cast<int>(b.constants.id * n_ranks() / 400);
  };
  const auto bytes_sent = [&](const Scene& scene) {
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
  Scene scene;
  for (int i = 0; i < 120; ++i) {
    const auto k = static_cast<std::uint64_t>(i);
    scene.push_back(
        body(i, i % 4 == 0 ? sphere(0.25) : box({0.5, 0.25, 0.25}),
             {1.0 * (i % 5) + 0.5 * ((i / 20) % 2), 0.5 * ((i / 5) % 4), 0.5 * (i / 20)}));
    scene.back().state.twist.w = Vec3(uniform_pm1(1, k, 0), uniform_pm1(1, k, 1), 0.0);
  }
  const Model model = model_with_floor(1000);

  const auto contacts = expect_same_as_one_rank(scene, shuffled(), model);

  EXPECT_GT(contacts.size(), 400U);
}

TEST(ContactSearch, AFastBodyMeetsWhatItWouldPassThroughInTheStep) {
  // 200 m/s go 0.4 m in the step: from 0.1 m before to 0.1 m behind the small sphere
  Scene scene = {body(0, sphere(0.05), {-0.2, 0, 0}), body(1, sphere(0.05), {0, 0, 0}),
                 body(2, sphere(0.05), {0.5, 0, 0})};
  scene[0].state.twist.v = {200, 0, 0};
  Model model;
  model.gravity.setZero();
  const OwnerOf apart = [](const BodyRecord& b) {
    return static_cast<int>(b.constants.id) % n_ranks();
  };

  const auto closing = expect_same_as_one_rank(scene, apart, model);
  scene[0].state.twist.v = {-200, 0, 0};
  const auto leaving = expect_same_as_one_rank(scene, apart, model);

  ASSERT_EQ(closing.size(), 1U);
  EXPECT_EQ(closing[0].key.b, 1);
  EXPECT_NEAR(closing[0].gap, 0.1, 1e-15);
  EXPECT_TRUE(leaving.empty());
}

TEST(ContactSearch, AFallingBodyMeetsTheFloorBeforeItsGravityTakesItThrough) {
  // at rest 1.5 mm above the floor with a step of 20 ms: falls h^2 g = 3.9 mm
  const Scene scene = {body(0, box({0.5, 0.5, 0.5}), {0, 0, 0.5015})};
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
  Scene scene;
  for (int i = 0; i < 6; ++i) scene.push_back(body(i, sphere(0.1 + 0.01 * i), {1, 1, 1}));
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
  const Scene scene = {body(0, sphere(0.5), {0, 0, 1.0}), body(1, sphere(0.5), {5, 0, 1.2})};

  // after 1 s the plane is at z = 0.5
  const auto contacts = expect_same_as_one_rank(scene, shuffled(), model, 1.0);

  ASSERT_EQ(contacts.size(), 1U);
  EXPECT_EQ(contacts[0].key.a, 0);
  EXPECT_NEAR(contacts[0].gap, 0.0, 1e-15);
}

/// A box of 4 x 5 m that repeats itself along x and y (or one of them).
Model periodic_model(bool along_x = true, bool along_y = true) {
  Model model;
  model.gravity.setZero();
  model.contact.margin = 0.02;
  model.periodic.active = {along_x, along_y};
  model.periodic.lo = {-1.0, 2.0};
  model.periodic.hi = {3.0, 7.0};
  return model;
}

/// n bodies at random places of the box, the first ones in its corners; one in four a box, every
/// seventh one fixed.
Scene random_bodies(int n, const Model& model) {
  Scene scene;
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
    scene.push_back(body(i, i % 4 == 0 ? box({r, 0.7 * r, 0.5 * r}) : sphere(r), p));
    if (i % 7 == 3) scene.back().constants.kind = BodyKind::fixed;
    scene.back().constants.group = static_cast<std::uint8_t>(i % 3);
    scene.back().state.pose.q = Quat(Eigen::AngleAxisd(6.0 * uniform01(7, k, 4), Vec3::UnitY()));
  }
  return scene;
}

/// All pairs in all nine images.
std::vector<Bare> by_brute_force(const Scene& scene, const Model& model) {
  std::vector<Bare> found;
  std::vector<ContactPoint> points;
  for (std::size_t i = 0; i < scene.size(); ++i) {
    for (std::size_t j = i + 1; j < scene.size(); ++j) {
      const BodyConstants &a = scene[i].constants, &b = scene[j].constants;
      if (a.kind != BodyKind::dynamic && b.kind != BodyKind::dynamic) continue;
      if (!may_collide(model, a, b)) continue;
      for (int code = 0; code < kImages; ++code) {
        if ((code / 3 != 1 && !model.periodic.active[0]) ||
            (code % 3 != 1 && !model.periodic.active[1])) {
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
std::size_t expect_brute_force(const Scene& scene, const Model& model) {
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
  for (const auto& [along_x, along_y] : {std::pair(true, true), {true, false}, {false, true}}) {
    const Model model = periodic_model(along_x, along_y);

    const std::size_t n_images = expect_brute_force(random_bodies(150, model), model);

    EXPECT_EQ(n_images, (along_x ? 3U : 1U) * (along_y ? 3U : 1U));
  }
}

TEST(PeriodicSearch, GroupsAndBodiesThatDoNotCollideTouchNothing) {
  Model model = periodic_model();
  model.n_groups = 3;
  model.group_pairs = {1, 0, 1, 0, 0,
                       1, 1, 1, 1};  // 0 and 1 pass through each other, so do 1 and 1
  Scene scene = random_bodies(150, model);
  for (int i : {1, 20, 60}) scene[static_cast<std::size_t>(i)].constants.collides = false;

  expect_brute_force(scene, model);
}

TEST(PeriodicSearch, TwoBodiesMayTouchOnBothSides) {
  // 2 spheres of diameter 1 in a box of 2: at 0 and 1 they touch in the box and across its side
  Model model = periodic_model(true, false);
  model.periodic.lo[0] = 0.0;
  model.periodic.hi[0] = 2.0;
  const Scene scene = {body(0, sphere(0.5), {0, 0, 0}), body(1, sphere(0.5), {1, 0, 0})};

  const auto contacts = expect_same_as_one_rank(scene, shuffled(), model);

  ASSERT_EQ(contacts.size(), 2U);
  EXPECT_EQ(contacts[0].normal[0], 1.0);
  EXPECT_EQ(contacts[1].normal[0], -1.0);
  EXPECT_EQ(image_of(contacts[1].key), 1);  // b one period to the left
}

TEST(PeriodicSearch, AShiftedSceneHasTheSameContacts) {
  const Model model = periodic_model();
  Scene scene = random_bodies(150, model);
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
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    EXPECT_EQ(std::get<0>(x[k]), std::get<0>(y[k]));
    EXPECT_EQ(std::get<1>(x[k]), std::get<1>(y[k]));
    EXPECT_NEAR(std::get<3>(x[k]), std::get<3>(y[k]), 1e-13);
  }
}

/// What find says of the scene; "" if nothing.
std::string error_of(const Scene& scene, const Model& model) {
  Bodies bodies;
  State state;
  take_share(scene, shuffled(), Communicator::world().rank(), bodies, state);
  ContactSet set;
  try {
    ContactSearch(Communicator::world(), model).find(bodies, state, kStep, set);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(PeriodicSearch, ABodyLongerThanHalfTheBoxOrOutsideIsNamedOnEveryRank) {
  Model model = periodic_model();
  model.names.add(0, 10, "grain", true);
  Scene scene = random_bodies(10, model);
  EXPECT_EQ(error_of(scene, model), "");
  scene[5].constants.shape = sphere(1.01);
  EXPECT_NE(error_of(scene, model).find("grain-5 is longer than half the periodic box along x"),
            std::string::npos);
  scene[5].constants.shape = sphere(0.5);
  scene[5].state.pose.p.y() = 7.1;
  EXPECT_NE(error_of(scene, model).find("grain-5 lies outside of the periodic box along y"),
            std::string::npos);
}

TEST(PlanarSearch, PointsThatCoincideInThePlaneAreOneAndNormalsLieInIt) {
  Model model = model_with_floor(100);
  model.planar = true;
  // a box on the floor and a sphere beside it, a little behind: 4 corners are 2 points
  Scene scene = {body(0, box({0.5, 0.3, 0.5}), {0, 0, 0.5}),
                 body(1, sphere(0.25), {0.75, 0.01, 0.25}), body(2, sphere(0.25), {5, 0, 0.25}),
                 body(3, sphere(0.25), {5.001, 0.5, 0.25})};

  const auto contacts = expect_same_as_one_rank(scene, shuffled(), model);

  // 0-1, 0-floor twice, 1-, 2- and 3-floor; 2 lies behind 3 and makes no contact in the plane
  ASSERT_EQ(contacts.size(), 6U);
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
  Scene scene = {body(0, sphere(0.5), {0, 0, 0}), body(1, box({0.1, 0.2, 0.3}), {5, 0, 0})};
  scene[1].constants.inertia = {1.0, 2.0, 3.0};
  scene[1].state.pose.q = Quat(Eigen::AngleAxisd(0.3, Vec3::UnitY()));
  EXPECT_EQ(error_of(scene, model), "");

  Scene tilted = scene;
  tilted[1].state.pose.q = Quat(Eigen::AngleAxisd(0.3, Vec3::UnitX()));
  EXPECT_NE(error_of(tilted, model).find("disc-1 has no principal axis of inertia along y"),
            std::string::npos);
  Scene leaving = scene;
  leaving[0].state.twist.v.y() = 1e-9;
  EXPECT_NE(error_of(leaving, model).find("disc-0 has a velocity along y"), std::string::npos);
  Scene rolling_away = scene;
  rolling_away[0].state.twist.w.x() = 1.0;
  EXPECT_NE(error_of(rolling_away, model).find("disc-0 turns about another axis than y"),
            std::string::npos);
}

}  // namespace
}  // namespace catena
