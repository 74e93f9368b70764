#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "catena/partition/balance.hpp"
#include "catena/partition/state_hash.hpp"
#include "partition/lattice_scene.hpp"

namespace catena {
namespace {

using test::Lattice;
using test::Scene;

std::uint64_t pick(GlobalId id, int round) {
  return mix64(mix64(static_cast<std::uint64_t>(id)) + static_cast<std::uint64_t>(round));
}

constexpr GlobalId kPlane = 100000;  // a body that every rank knows and none owns

/// A lattice with fixed bodies, impulses of all its contacts and of some with a plane.
Scene scene_with_impulses(const Communicator& comm, const Lattice& lattice,
                          const std::function<int(GlobalId)>& owner) {
  Scene scene = test::share_of(comm, lattice, owner);
  test::add_impulses(test::contacts_of(comm, lattice, scene), scene.state);
  for (const BodyConstants& body : scene.bodies.constants) {
    if (body.kind != BodyKind::dynamic || body.id % 7 != 0) continue;
    scene.state.impulses.push_back({{body.id, kPlane, 2, 0}, Vec3::Constant(0.5)});
  }
  std::sort(scene.state.impulses.begin(), scene.state.impulses.end(),
            [](const KeyedImpulse& a, const KeyedImpulse& b) { return a.key < b.key; });
  for (KeyedImpulse& i : scene.state.impulses) {
    i.stretch = 3.0 * i.impulse;
    i.tangent_compliance = 4.0 + static_cast<double>(i.key.a);
    i.start_overlap = 5.0 + static_cast<double>(i.key.b);
    i.shift = 7.0 + static_cast<double>(i.key.a);
    i.elastic_energy = 8.0 + static_cast<double>(i.key.b);
    if ((i.key.a + i.key.b) % 3 == 0)
      scene.state.couples.push_back({i.key, 2.0 * i.impulse, 6.0 * i.impulse});
  }
  scene.state.time = 1.5;
  scene.state.step = 30;
  return scene;
}

Lattice mixed_lattice() {
  Lattice lattice{{6, 5, 4}};
  lattice.fixed = [](GlobalId id) { return id % 11 == 3; };
  return lattice;
}

// Every body and impulse is somewhere, once, unchanged, in order, and where it should be.
void expect_complete(const Communicator& comm, const Lattice& lattice, const Scene& scene,
                     std::int64_t n_impulses) {
  const auto& bodies = scene.bodies.constants;
  EXPECT_EQ(comm.sum(static_cast<std::int64_t>(bodies.size())), lattice.size());
  const auto rank =
      test::gather_by_id(comm, scene.bodies, std::vector<std::int64_t>(bodies.size(), comm.rank()));
  EXPECT_EQ(static_cast<std::int64_t>(rank.size()), lattice.size());
  EXPECT_EQ(scene.state.body.size(), bodies.size());
  EXPECT_EQ(scene.state.subdomain.size(), bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const BodyRecord expected = lattice.body(bodies[i].id);
    EXPECT_EQ(bodies[i].mass, expected.constants.mass);
    EXPECT_EQ(bodies[i].kind, expected.constants.kind);
    EXPECT_EQ(scene.state.body[i].pose.p, expected.state.pose.p);
  }
  EXPECT_EQ(comm.sum(static_cast<std::int64_t>(scene.state.impulses.size())), n_impulses);
  const auto expect_at_home = [&](const auto& keyed) {
    for (std::size_t k = 0; k < keyed.size(); ++k) {
      const ContactKey& key = keyed[k].key;
      EXPECT_TRUE(k == 0 || keyed[k - 1].key < key);
      GlobalId home = key.a;
      if (key.b != kPlane) {
        home = home_of(lattice.body(key.a).constants, lattice.body(key.b).constants);
      }
      EXPECT_EQ(rank.at(home), comm.rank()) << key.a << " " << key.b;
    }
  };
  expect_at_home(scene.state.impulses);
  expect_at_home(scene.state.couples);
}

TEST(Migrate, RandomMovesLoseNothingAndKeepTheHash) {
  const Communicator comm = Communicator::world();
  const Lattice lattice = mixed_lattice();
  Scene scene = scene_with_impulses(comm, lattice, [&](GlobalId id) {
    return static_cast<int>(pick(id, 0) % static_cast<std::uint64_t>(comm.size()));
  });
  const auto n_impulses = comm.sum(static_cast<std::int64_t>(scene.state.impulses.size()));
  const Scene serial =
      scene_with_impulses(Communicator::self(), lattice, [](GlobalId) { return 0; });
  const auto hash = state_hash(Communicator::self(), serial.bodies, serial.state);
  EXPECT_EQ(state_hash(comm, scene.bodies, scene.state), hash);
  EXPECT_EQ(n_impulses, static_cast<std::int64_t>(serial.state.impulses.size()));

  for (int round = 1; round <= 20; ++round) {
    const int n_parts = 1 + static_cast<int>(pick(round, 99) % 9);
    std::vector<int> part;
    std::int64_t leaving = 0;
    for (const BodyConstants& body : scene.bodies.constants) {
      part.push_back(static_cast<int>(pick(body.id, round) % static_cast<std::uint64_t>(n_parts)));
      if (rank_of_part(part.back(), n_parts, comm.size()) != comm.rank()) ++leaving;
    }
    const std::int64_t expected = comm.sum(leaving);
    EXPECT_EQ(migrate(comm, scene.bodies, scene.state, part, n_parts), expected);
    expect_complete(comm, lattice, scene, n_impulses);
    EXPECT_EQ(state_hash(comm, scene.bodies, scene.state), hash) << round;
    for (std::size_t i = 0; i < scene.bodies.constants.size(); ++i) {
      const auto p = static_cast<int>(pick(scene.bodies.constants[i].id, round) %
                                      static_cast<std::uint64_t>(n_parts));
      EXPECT_EQ(scene.state.subdomain[i], p);
      EXPECT_EQ(rank_of_part(p, n_parts, comm.size()), comm.rank());
    }
  }
}

TEST(Migrate, OrdersBodiesAlongTheCurve) {
  const Communicator comm = Communicator::world();
  const Lattice lattice{{8, 8, 8}};
  Scene scene = test::share_of(comm, lattice,
                               [&](GlobalId id) { return static_cast<int>(id) % comm.size(); });
  const auto part = partition_by_curve(comm, scene.bodies, scene.state, comm.size());
  migrate(comm, scene.bodies, scene.state, part, comm.size());
  // 512 = 8^3 cells: consecutive bodies along a Hilbert curve are neighbours.
  for (std::size_t i = 1; i < scene.state.body.size(); ++i) {
    const double way = (scene.state.body[i].pose.p - scene.state.body[i - 1].pose.p).norm();
    EXPECT_LE(way, 1.5);
  }
}

TEST(Migrate, AllBodiesOnOneRankAreSpreadAndGatheredAgain) {
  const Communicator comm = Communicator::world();
  const Lattice lattice = mixed_lattice();
  Scene scene = scene_with_impulses(comm, lattice, [](GlobalId) { return 0; });
  const auto n_impulses = comm.sum(static_cast<std::int64_t>(scene.state.impulses.size()));
  const auto part = partition_by_curve(comm, scene.bodies, scene.state, comm.size());
  migrate(comm, scene.bodies, scene.state, part, comm.size());
  const auto here = static_cast<double>(scene.bodies.size());
  EXPECT_NEAR(here, static_cast<double>(lattice.size()) / comm.size(), 1.0);
  expect_complete(comm, lattice, scene, n_impulses);

  const std::vector<int> one(scene.bodies.constants.size(), 0);
  migrate(comm, scene.bodies, scene.state, one, comm.size());
  EXPECT_EQ(scene.bodies.size(), comm.rank() == 0 ? 120 : 0);
  expect_complete(comm, lattice, scene, n_impulses);
}

TEST(Migrate, AWrongNumberOfPartsFailsOnEveryRank) {
  const Communicator comm = Communicator::world();
  Scene scene = test::share_of(comm, Lattice{{4, 1, 1}}, [](GlobalId) { return 0; });
  const std::vector<int> part(comm.rank() == 0 ? 3 : 0, 0);
  EXPECT_ANY_THROW(migrate(comm, scene.bodies, scene.state, part, comm.size()));
}

TEST(Relabel, AnUnchangedPartitionMovesNothing) {
  const Communicator comm = Communicator::world();
  const Lattice lattice{{9, 6, 5}};
  for (const int n_parts : {comm.size(), 2 * comm.size() + 1, 8}) {
    Scene scene = test::share_of(comm, lattice, [](GlobalId) { return 0; });
    auto part = partition_by_curve(comm, scene.bodies, scene.state, n_parts);
    migrate(comm, scene.bodies, scene.state, part, n_parts);
    // The same parts under other numbers.
    part.assign(scene.state.subdomain.begin(), scene.state.subdomain.end());
    for (int& p : part) p = (n_parts - 1 - p + 3) % n_parts;
    relabel_parts(comm, part, n_parts);
    EXPECT_EQ(migrate(comm, scene.bodies, scene.state, part, n_parts), 0) << n_parts;
  }
}

TEST(Relabel, NumbersStayDistinctAndFewBodiesMove) {
  const Communicator comm = Communicator::world();
  const int n_ranks = comm.size();
  const Lattice lattice{{40, 1, 1}};
  // Ranks hold 40/n consecutive bodies; new parts are the same, shifted by two bodies and
  // numbered backwards: two bodies a border move at least, and no more may.
  const auto owner = [&](GlobalId id) { return static_cast<int>(id * n_ranks / 40); };
  Scene scene = test::share_of(comm, lattice, owner);
  std::vector<int> part;
  for (const BodyConstants& body : scene.bodies.constants) {
    part.push_back(n_ranks - 1 - owner(std::max<GlobalId>(body.id - 2, 0)));
  }
  relabel_parts(comm, part, n_ranks);
  const auto by_id = test::gather_by_id(comm, scene.bodies, {part.begin(), part.end()});
  std::set<std::int64_t> numbers;
  for (const auto& [id, p] : by_id) numbers.insert(p);
  EXPECT_EQ(numbers.size(), static_cast<std::size_t>(n_ranks));
  EXPECT_EQ(migrate(comm, scene.bodies, scene.state, part, n_ranks), 2 * (n_ranks - 1));
}

TEST(Rebalance, EvensOutOneRanksBodiesThenLeavesThemInPlace) {
  const Communicator comm = Communicator::world();
  const Lattice lattice{{10, 10, 10}};
  Scene scene = scene_with_impulses(comm, lattice, [](GlobalId) { return 0; });
  const auto n_impulses = comm.sum(static_cast<std::int64_t>(scene.state.impulses.size()));
  ContactSet contacts = test::contacts_of(comm, lattice, scene);
  const auto first = rebalance(comm, scene.bodies, scene.state, contacts, {});
  EXPECT_LE(first.balance.all, 1.1);
  EXPECT_GE(first.moved, 1000 - 1100 / comm.size());
  expect_complete(comm, lattice, scene, n_impulses);

  contacts = test::contacts_of(comm, lattice, scene);
  std::int64_t rows = 3 * static_cast<std::int64_t>(contacts.contacts.size());
  note_work(comm, {rows, 0, scene.bodies.size()}, kSweepsAtStart, 1.0, scene.state.balance);
  EXPECT_DOUBLE_EQ(imbalance_of(scene.state.balance), first.balance.all);
  EXPECT_FALSE(split_pays(scene.state.balance, {}, comm.size(), true));
  const auto second = rebalance(comm, scene.bodies, scene.state, contacts, {});
  EXPECT_EQ(second.moved, 0);
  EXPECT_EQ(second.edge_cut, first.edge_cut);
}

TEST(Rebalance, EightSubdomainsLieWholeOnThreeRanksOrAnyNumber) {
  const Communicator comm = Communicator::world();
  const Lattice lattice{{10, 10, 10}};
  Scene scene = scene_with_impulses(comm, lattice, [](GlobalId) { return 0; });
  BalanceSettings settings;
  settings.subdomains = 8;
  const ContactSet contacts = test::contacts_of(comm, lattice, scene);
  rebalance(comm, scene.bodies, scene.state, contacts, settings);
  std::vector<std::int64_t> size(8, 0);
  for (const std::int32_t s : scene.state.subdomain) {
    EXPECT_EQ(rank_of_part(s, 8, comm.size()), comm.rank());
    ++size[static_cast<std::size_t>(s)];
  }
  comm.sum(size);
  EXPECT_GE(*std::min_element(size.begin(), size.end()), 100);
  EXPECT_LE(*std::max_element(size.begin(), size.end()), 150);
}

TEST(Rebalance, FewerBodiesThanRanksLeaveRanksEmpty) {
  const Communicator comm = Communicator::world();
  const Lattice lattice{{2, 1, 1}};
  Scene scene = scene_with_impulses(comm, lattice, [&](GlobalId) { return comm.size() - 1; });
  const auto n_impulses = comm.sum(static_cast<std::int64_t>(scene.state.impulses.size()));
  for (int round = 0; round < 3; ++round) {
    const ContactSet contacts = test::contacts_of(comm, lattice, scene);
    const auto quality = rebalance(comm, scene.bodies, scene.state, contacts, {});
    EXPECT_TRUE(round == 0 || quality.moved == 0);
    expect_complete(comm, lattice, scene, n_impulses);
  }
  EXPECT_LE(scene.bodies.size(), comm.size() > 1 ? 1 : 2);
}

TEST(Rebalance, WithTheContactSearchContactsStayTheSame) {
  const Communicator comm = Communicator::world();
  const Lattice lattice{{8, 8, 8}};
  Scene scene = test::share_of(comm, lattice, [](GlobalId) { return 0; });
  Model model;
  model.materials = MaterialTable({Material{}});
  ContactSearch search(comm, model);
  for (int round = 0; round < 3; ++round) {
    ContactSet contacts;
    search.find(scene.bodies, scene.state, 1e-6, contacts);
    EXPECT_EQ(comm.sum(static_cast<std::int64_t>(contacts.contacts.size())), 3 * 8 * 8 * 7);
    const auto quality = rebalance(comm, scene.bodies, scene.state, contacts, {});
    EXPECT_LE(quality.balance.all, 1.1);
    EXPECT_LE(quality.edge_cut, 3 * 64 * 3);
    EXPECT_TRUE(round == 0 || quality.moved == 0);
  }
}

}  // namespace
}  // namespace catena
