// Mechanisms on one rank: what each kind is, the order along chains and rings, the deal.
#include "catena/partition/mechanisms.hpp"

#include <gtest/gtest.h>

#include "partition/mechanism_graphs.hpp"

namespace catena {
namespace {

using test::JointGraph;

std::vector<JointPlace> found(const JointGraph& graph) {
  return find_mechanisms(Communicator::self(), graph.edges);
}

TEST(Mechanisms, ChainIsOrderedFromTheEndWithTheSmallerKey) {
  JointGraph g;
  const GlobalId b = g.new_bodies(4);
  g.join({b + 3, b + 2});  // key 0 lies in the middle: ends are keys 1 and 2
  g.join({b});
  g.join({b + 3});
  g.join({b + 1, b + 2});
  g.join({b + 1, b});
  const auto places = found(g);
  const std::vector<std::int64_t> index = {3, 0, 4, 2, 1};
  const std::vector<int> next = {0, 0, -1, 1, 0}, previous = {1, -1, 0, 0, 1};
  for (std::size_t j = 0; j < places.size(); ++j) {
    EXPECT_EQ(places[j].kind, MechanismKind::chain);  // held at both ends: the world closes no loop
    EXPECT_EQ(places[j].component, 0);
    EXPECT_EQ(places[j].n_joints, 5);
    EXPECT_EQ(places[j].n_bodies, 4);
    EXPECT_EQ(places[j].n_rows, 1 + 2 + 3 + 4 + 5);
    EXPECT_EQ(places[j].index, index[j]) << j;
    EXPECT_EQ(places[j].next_body, next[j]) << j;
    EXPECT_EQ(places[j].previous_body, previous[j]) << j;
  }
}

TEST(Mechanisms, RingBeginsAtItsSmallestKeyTowardsTheSmallerNeighbour) {
  JointGraph g;
  const GlobalId b = g.new_bodies(4);
  g.join({b, b + 1});
  g.join({b + 2, b + 3});
  g.join({b + 3, b});
  g.join({b + 1, b + 2});
  const auto places = found(g);
  const std::vector<std::int64_t> index = {0, 2, 1, 3};  // 0, then 2 at body b, 1, 3
  const std::vector<int> next = {0, 0, 0, 0}, previous = {1, 1, 1, 1};
  for (std::size_t j = 0; j < places.size(); ++j) {
    EXPECT_EQ(places[j].kind, MechanismKind::ring);
    EXPECT_EQ(places[j].index, index[j]) << j;
    EXPECT_EQ(places[j].next_body, next[j]) << j;
    EXPECT_EQ(places[j].previous_body, previous[j]) << j;
  }
}

TEST(Mechanisms, KindsAreThoseOfTheirDefinitions) {
  const auto kind_of = [](auto make) {
    JointGraph g;
    make(g);
    const auto places = found(g);
    for (const JointPlace& p : places) EXPECT_EQ(p.kind, places[0].kind);
    return places[0].kind;
  };
  EXPECT_EQ(kind_of([](auto& g) { g.chain(2, false, false); }), MechanismKind::chain);
  EXPECT_EQ(kind_of([](auto& g) { g.chain(1, true, true); }), MechanismKind::chain);
  EXPECT_EQ(kind_of([](auto& g) { g.ring(2); }), MechanismKind::ring);
  EXPECT_EQ(kind_of([](auto& g) { g.ring(5); }), MechanismKind::ring);
  EXPECT_EQ(kind_of([](auto& g) { g.star(3); }), MechanismKind::tree);
  EXPECT_EQ(kind_of([](auto& g) { g.binary_tree(7); }), MechanismKind::tree);
  EXPECT_EQ(kind_of([](auto& g) { g.grid(3, 2); }), MechanismKind::looped);
  EXPECT_EQ(kind_of([](auto& g) { g.join({}); }), MechanismKind::tree);
  EXPECT_EQ(kind_of([](auto& g) {
              const GlobalId b = g.new_bodies(3);
              g.join({b, b + 1, b + 2});
            }),
            MechanismKind::looped);
  EXPECT_EQ(kind_of([](auto& g) {
              g.ring(4);
              g.join({g.edges[0].body[0]});
            }),
            MechanismKind::looped);
}

TEST(Mechanisms, EveryKindAgreesWithAPlainSearch) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    JointGraph g = test::zoo();
    g.shuffle(seed);
    const test::PlainAnalysis plain(g.edges);
    const auto places = found(g);
    for (std::size_t j = 0; j < places.size(); ++j) {
      const JointPlace& expected = plain.place.at(g.edges[j].key);
      EXPECT_EQ(places[j].component, expected.component);
      EXPECT_EQ(places[j].kind, expected.kind);
      EXPECT_EQ(places[j].index, expected.index);
      EXPECT_EQ(places[j].next_body, expected.next_body);
      EXPECT_EQ(places[j].previous_body, expected.previous_body);
    }
  }
}

TEST(Mechanisms, CountsAreThoseOfTheScene) {
  JointGraph g;
  for (int i = 0; i < 5; ++i) g.chain(10 + i, true, false);
  g.star(20);
  g.star(4);
  g.ring(3);
  g.grid(3, 3);
  const MechanismCount count = count_mechanisms(Communicator::self(), found(g));
  EXPECT_EQ(count.joints, static_cast<std::int64_t>(g.edges.size()));
  EXPECT_EQ(count.chains, 5);
  EXPECT_EQ(count.trees, 2);
  EXPECT_EQ(count.rings, 1);
  EXPECT_EQ(count.looped, 1);
  EXPECT_EQ(count.longest_chain, 14);
  EXPECT_EQ(count.largest, 20);
}

TEST(Mechanisms, NoJointsAreNoMechanisms) {
  EXPECT_TRUE(find_mechanisms(Communicator::self(), {}).empty());
  const MechanismCount count = count_mechanisms(Communicator::self(), {});
  EXPECT_EQ(count.joints + count.chains + count.trees + count.rings + count.looped, 0);
  const JointAssignment deal = assign_joints(Communicator::self(), {}, {}, {});
  EXPECT_EQ(deal.first, (std::vector<std::int64_t>{0, 0}));
}

TEST(Mechanisms, MillionShuffledJointsOfOneChainAreNumberedOnce) {
  JointGraph g;
  g.chain(1'000'000, true, false);
  g.shuffle(1);
  const auto places = found(g);
  ASSERT_EQ(places.size(), 1'000'000u);
  EXPECT_EQ(places[0].n_joints, 1'000'000);
  std::vector<char> seen(places.size(), 0);
  for (const JointPlace& p : places) seen[static_cast<std::size_t>(p.index)] = 1;
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 1'000'000);
}

}  // namespace
}  // namespace catena
