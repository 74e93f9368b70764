// Mechanisms over ranks: the answer is that of a plain serial search however joints are dealt, in
// few rounds of messages; who eliminates what.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "catena/comm/typed_exchange.hpp"
#include "catena/partition/mechanisms.hpp"
#include "partition/mechanism_graphs.hpp"

namespace catena {
namespace {

using test::JointGraph;

/// Which rank of n holds joint i of all.
using Dealing = std::function<int(std::size_t i, std::size_t all, int n)>;

const std::vector<Dealing> kDealings = {
    [](std::size_t i, std::size_t all, int n) {  // contiguous
      return static_cast<int>(i * static_cast<std::size_t>(n) / all);
    },
    [](std::size_t i, std::size_t, int n) {  // round robin
      return static_cast<int>(i % static_cast<std::size_t>(n));
    },
    [](std::size_t, std::size_t, int n) { return n - 1; },  // all on one
    [](std::size_t i, std::size_t, int n) { return i % 2 == 0 ? 0 : std::min(2, n - 1); },  // gaps
    [](std::size_t i, std::size_t, int n) {  // without order
      return static_cast<int>(i * 2654435761u % 1009 % static_cast<std::size_t>(n));
    }};

std::vector<JointEdge> share(const Communicator& comm, const JointGraph& graph,
                             const Dealing& dealing) {
  std::vector<JointEdge> own;
  for (std::size_t i = 0; i < graph.edges.size(); ++i)
    if (dealing(i, graph.edges.size(), comm.size()) == comm.rank()) own.push_back(graph.edges[i]);
  return own;
}

void expect_same(const JointPlace& a, const JointPlace& b, std::int64_t key) {
  EXPECT_EQ(a.component, b.component) << key;
  EXPECT_EQ(a.kind, b.kind) << key;
  EXPECT_EQ(a.n_joints, b.n_joints) << key;
  EXPECT_EQ(a.n_rows, b.n_rows) << key;
  EXPECT_EQ(a.n_bodies, b.n_bodies) << key;
  EXPECT_EQ(a.index, b.index) << key;
  EXPECT_EQ(a.next_body, b.next_body) << key;
  EXPECT_EQ(a.previous_body, b.previous_body) << key;
}

TEST(MechanismsOverRanks, AgreeWithAPlainSearchHoweverJointsAreDealt) {
  const Communicator comm = Communicator::world();
  for (unsigned seed = 0; seed < 6; ++seed) {
    JointGraph graph = test::zoo();
    if (seed > 0) graph.shuffle(seed);
    const test::PlainAnalysis plain(graph.edges);
    for (const Dealing& dealing : kDealings) {
      const std::vector<JointEdge> own = share(comm, graph, dealing);
      const auto places = find_mechanisms(comm, own);
      EXPECT_EQ(places.size(), own.size());
      for (std::size_t j = 0; j < places.size(); ++j)
        expect_same(places[j], plain.place.at(own[j].key), own[j].key);
    }
  }
}

TEST(MechanismsOverRanks, CountsAreThoseOfTheWholeScene) {
  const Communicator comm = Communicator::world();
  JointGraph graph = test::zoo();
  graph.shuffle(3);
  const auto whole = find_mechanisms(Communicator::self(), graph.edges);
  const MechanismCount expected = count_mechanisms(Communicator::self(), whole);
  for (const Dealing& dealing : kDealings) {
    const auto own = share(comm, graph, dealing);
    const MechanismCount count = count_mechanisms(comm, find_mechanisms(comm, own));
    EXPECT_EQ(count.joints, static_cast<std::int64_t>(graph.edges.size()));
    EXPECT_EQ(count.chains, expected.chains);
    EXPECT_EQ(count.trees, expected.trees);
    EXPECT_EQ(count.rings, expected.rings);
    EXPECT_EQ(count.looped, expected.looped);
    EXPECT_EQ(count.longest_chain, 41);
    EXPECT_EQ(count.largest, 62);
  }
}

/// Messages of one rank at most for one mechanism dealt round robin.
double messages_for(const Communicator& comm, const JointGraph& graph) {
  const auto own = share(comm, graph, kDealings[1]);
  const std::int64_t before = comm.traffic().messages;
  const auto places = find_mechanisms(comm, own);
  const std::int64_t sent = comm.traffic().messages - before;
  std::int64_t sum = 0;
  for (const JointPlace& p : places) {
    EXPECT_EQ(p.n_joints, static_cast<std::int64_t>(graph.edges.size()));
    sum += p.index;
  }
  const auto n = static_cast<std::int64_t>(graph.edges.size());
  EXPECT_EQ(comm.sum(sum), n * (n - 1) / 2);
  return static_cast<double>(comm.max(sent));
}

TEST(MechanismsOverRanks, RoundsGrowWithTheLogarithmOfAChainDealtRoundRobin) {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) return;
  std::vector<double> per_level;
  for (const GlobalId n : {1000, 100'000}) {
    for (const bool shuffled : {false, true}) {
      JointGraph graph;
      graph.chain(n, true, false);
      if (shuffled) graph.shuffle(7);
      const double messages = messages_for(comm, graph);
      per_level.push_back(messages / (comm.size() - 1) / std::log2(static_cast<double>(n)));
    }
  }
  // One round of hooking thins a path to a third (its local minima) in about 10 exchanges, one
  // round of doubling takes two: 10 / log2(3) + 2, more where the tail of a round is long.
  for (const double m : per_level) EXPECT_LT(m, 16.0);
}

TEST(MechanismsOverRanks, RingAndTreesDealtRoundRobinTakeFewRounds) {
  const Communicator comm = Communicator::world();
  JointGraph ring, star, tree;
  ring.ring(5000);
  star.star(5000);
  tree.binary_tree(5001);
  for (JointGraph* graph : {&ring, &star, &tree}) {
    graph->shuffle(2);
    const double levels = std::log2(5000.0) * std::max(comm.size() - 1, 1);
    EXPECT_LT(messages_for(comm, *graph), 16.0 * levels);
  }
}

struct AssignedBlock {
  std::vector<JointEdge> edges;
  std::vector<JointPlace> places;
  JointAssignment deal;
};

AssignedBlock deal_of(const Communicator& comm, const JointGraph& graph, const Dealing& dealing,
                      std::int64_t split, bool in_pieces = false) {
  AssignedBlock d;
  d.edges = share(comm, graph, dealing);
  d.places = find_mechanisms(comm, d.edges);
  std::vector<char> as_chain;
  for (const JointPlace& p : d.places) as_chain.push_back(p.kind == MechanismKind::chain);
  d.deal = assign_joints(comm, d.edges, d.places, as_chain, split, in_pieces);
  return d;
}

/// Values of all ranks' joints by place in the row.
std::vector<std::int64_t> by_place(const Communicator& comm, const AssignedBlock& d,
                                   const std::function<std::int64_t(std::size_t)>& value) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(d.deal.first.back()), 0);
  for (std::size_t j = 0; j < d.edges.size(); ++j)
    if (d.deal.place[j] >= 0) all.at(static_cast<std::size_t>(d.deal.place[j])) += value(j);
  comm.sum(all);
  return all;
}

TEST(DealOfJoints, ChainsStandOneAfterAnotherAndRanksHoldContiguousParts) {
  const Communicator comm = Communicator::world();
  JointGraph graph = test::zoo();
  graph.shuffle(5);
  for (const Dealing& dealing : kDealings) {
    for (const std::int64_t split : {1, 10, 500}) {
      const AssignedBlock d = deal_of(comm, graph, dealing, split);
      EXPECT_EQ(d.deal.first.size(), static_cast<std::size_t>(comm.size()) + 1);
      EXPECT_EQ(d.deal.first.front(), 0);
      EXPECT_TRUE(std::is_sorted(d.deal.first.begin(), d.deal.first.end()));
      for (const std::int64_t ones : by_place(comm, d, [](std::size_t) { return 1; }))
        EXPECT_EQ(ones, 1);
      const auto index = by_place(comm, d, [&](std::size_t j) { return d.places[j].index; });
      const auto chain = by_place(comm, d, [&](std::size_t j) { return d.places[j].component; });
      const auto length = by_place(comm, d, [&](std::size_t j) { return d.places[j].n_joints; });
      for (std::size_t i = 1; i < index.size(); ++i) {
        EXPECT_EQ(chain[i] == chain[i - 1], index[i] != 0) << i;
        EXPECT_EQ(index[i], index[i] == 0 ? 0 : index[i - 1] + 1) << i;
      }
      for (std::size_t r = 1; r + 1 < d.deal.first.size(); ++r) {
        const auto cut = static_cast<std::size_t>(d.deal.first[r]);
        if (cut < index.size() && index[cut] != 0) {
          EXPECT_GE(length[cut], split);
        }
      }
      for (std::size_t j = 0; j < d.edges.size(); ++j) {
        if (d.deal.place[j] < 0) continue;
        const auto r = static_cast<std::size_t>(d.deal.rank[j]);
        EXPECT_GE(d.deal.place[j], d.deal.first[r]);
        EXPECT_LT(d.deal.place[j], d.deal.first[r + 1]);
      }
    }
  }
}

TEST(DealOfJoints, PiecesAreNotCut) {
  const Communicator comm = Communicator::world();
  // pieces: 3, 2 and 1
  const std::vector<std::int64_t> lengths = {7001, 1003, 900};
  JointGraph graph;
  for (const std::int64_t n : lengths) graph.chain(n, true, false);
  graph.shuffle(3);
  for (const Dealing& dealing : kDealings) {
    const AssignedBlock d = deal_of(comm, graph, dealing, 1, true);
    const auto index = by_place(comm, d, [&](std::size_t j) { return d.places[j].index; });
    const auto length = by_place(comm, d, [&](std::size_t j) { return d.places[j].n_joints; });
    for (std::size_t r = 1; r + 1 < d.deal.first.size(); ++r) {
      const auto cut = static_cast<std::size_t>(d.deal.first[r]);
      if (cut == index.size() || index[cut] == 0) continue;
      const std::set<std::int64_t> begins =
          length[cut] == 7001 ? std::set<std::int64_t>{2333, 4667} : std::set<std::int64_t>{501};
      EXPECT_TRUE(begins.contains(index[cut])) << length[cut] << " " << index[cut];
      EXPECT_TRUE(begins_piece(length[cut], index[cut]));
    }
  }
  std::vector<std::int64_t> begins;
  for (std::int64_t i = 0; i < 7001; ++i)
    if (begins_piece(7001, i)) begins.push_back(i);
  EXPECT_EQ(begins, (std::vector<std::int64_t>{2333, 4667}));
  EXPECT_FALSE(begins_piece(900, 450));
}

TEST(DealOfJoints, PartsOfALongChainCostTheSame) {
  const Communicator comm = Communicator::world();
  JointGraph graph;
  graph.chain(6000, true, false);
  for (JointEdge& edge : graph.edges) edge.rows = edge.key < 3000 ? 5 : 3;
  for (const Dealing& dealing : kDealings) {
    const AssignedBlock d = deal_of(comm, graph, dealing, 500);
    const auto cost = by_place(comm, d, [&](std::size_t j) {
      const std::int64_t rows = d.edges[j].rows;
      return rows * rows * rows;
    });
    const std::int64_t total = 3000 * (125 + 27);
    for (std::size_t r = 0; r + 1 < d.deal.first.size(); ++r) {
      std::int64_t part = 0;
      for (std::int64_t i = d.deal.first[r]; i < d.deal.first[r + 1]; ++i)
        part += cost[static_cast<std::size_t>(i)];
      EXPECT_NEAR(static_cast<double>(part), static_cast<double>(total) / comm.size(), 126.0);
    }
  }
}

TEST(DealOfJoints, ManyEqualChainsStayWhereTheyAre) {
  const Communicator comm = Communicator::world();
  JointGraph graph;
  for (int i = 0; i < 12 * comm.size(); ++i) {
    graph.chain(10, true, false);
    for (std::size_t j = graph.edges.size() - 10; j < graph.edges.size(); ++j)
      graph.edges[j].rows = 3;
  }
  const AssignedBlock d = deal_of(comm, graph, kDealings[0], 500);
  for (const int rank : d.deal.rank) EXPECT_EQ(rank, comm.rank());
}

TEST(DealOfJoints, OtherMechanismsGoWholeToTheRankThatHoldsMost) {
  const Communicator comm = Communicator::world();
  JointGraph graph;
  graph.star(7);
  graph.ring(6);
  graph.grid(3, 3);
  // three of four joints on rank 1
  const Dealing mostly_on_1 = [](std::size_t i, std::size_t, int n) {
    return i % 4 == 0 ? n - 1 : 1 % n;
  };
  const AssignedBlock d = deal_of(comm, graph, mostly_on_1, 500);
  for (const int rank : d.deal.rank) EXPECT_EQ(rank, 1 % comm.size());
  for (const std::int64_t place : d.deal.place) EXPECT_EQ(place, -1);
  EXPECT_EQ(d.deal.first.back(), 0);
  // equal numbers: the lowest rank
  JointGraph pair;
  pair.ring(2);
  const Dealing ends = [](std::size_t i, std::size_t, int n) { return i == 0 ? n - 1 : 0; };
  const AssignedBlock e = deal_of(comm, pair, ends, 500);
  for (const int rank : e.deal.rank) EXPECT_EQ(rank, 0);
}

/// Nodes of all joints of a graph, by key, found by all ranks together.
std::map<std::int64_t, int> nodes_of(const Communicator& comm, const JointGraph& graph,
                                     const Dealing& dealing, int levels, std::int64_t max_graph) {
  const std::vector<JointEdge> own = share(comm, graph, dealing);
  const auto places = find_mechanisms(comm, own);
  std::vector<std::int64_t> told;
  const std::vector<int> nodes =
      cut_mechanisms(comm, own, places, std::vector<int>(own.size(), levels), max_graph);
  for (std::size_t j = 0; j < own.size(); ++j) {
    told.push_back(own[j].key);
    told.push_back(nodes[j]);
  }
  told = all_gather_values(comm, told);
  std::map<std::int64_t, int> all;
  for (std::size_t i = 0; i < told.size(); i += 2) all[told[i]] = static_cast<int>(told[i + 1]);
  return all;
}

TEST(CutMechanisms, PartsAreAlikeShareNoBodyAndDoNotDependOnTheRanks) {
  const Communicator comm = Communicator::world();
  JointGraph grid, tree, ring;
  grid.grid(40, 30);
  tree.binary_tree(1023);
  ring.ring(400);
  // 100: several joints to a vertex of the graph
  for (const std::int64_t max_graph : {100000, 100})
    for (JointGraph& graph : {std::ref(grid), std::ref(tree), std::ref(ring)})
      for (const int levels : {1, 3}) {
        const PartTree parts{levels};
        const auto alone = nodes_of(Communicator::self(), graph, kDealings[0], levels, max_graph);
        for (const Dealing& dealing : kDealings)
          EXPECT_EQ(nodes_of(comm, graph, dealing, levels, max_graph), alone);
        if (alone.begin()->second == 0) {  // trees' keys say little of who is near to whom
          EXPECT_EQ(max_graph, 100);
          continue;
        }
        std::map<GlobalId, std::vector<int>> at;
        std::vector<int> rows(static_cast<std::size_t>(2 * parts.n_parts()), 0);
        int all = 0;
        for (const JointEdge& edge : graph.edges) {
          const int node = alone.at(edge.key);
          rows[static_cast<std::size_t>(node)] += edge.rows;
          all += edge.rows;
          for (int k = 0; k < edge.n_bodies; ++k)
            at[edge.body[static_cast<std::size_t>(k)]].push_back(node);
        }
        for (const auto& [body, nodes] : at)
          for (const int a : nodes)
            for (const int b : nodes)
              EXPECT_TRUE(PartTree::is_above(a, b) || PartTree::is_above(b, a)) << body;
        if (max_graph == 100) continue;
        for (int part = parts.n_parts(); part < 2 * parts.n_parts(); ++part)
          EXPECT_NEAR(rows[static_cast<std::size_t>(part)] * parts.n_parts(), all, 0.25 * all);
      }
}

/// A placed cut, every rank with the joints whose first body is its own.
struct Placed {
  std::vector<JointEdge> edges;
  std::vector<std::array<int, 4>> owner;
  PlacedCut cut;
};

/// `owner_of(body)`: its rank.
template <class OwnerOf>
Placed placed_cut(const Communicator& comm, const JointGraph& graph, const OwnerOf& owner_of) {
  Placed placed;
  for (const JointEdge& edge : graph.edges) {
    std::array<int, 4> owner = {};
    for (std::size_t k = 0; k < static_cast<std::size_t>(edge.n_bodies); ++k)
      owner[k] = owner_of(edge.body[k]);
    if (owner[0] != comm.rank()) continue;
    placed.edges.push_back(edge);
    placed.owner.push_back(owner);
  }
  placed.cut = cut_between_ranks(comm, placed.edges, find_mechanisms(comm, placed.edges),
                                 placed.owner, std::vector<char>(placed.edges.size(), 1));
  return placed;
}

TEST(CutBetweenRanks, JointsOfOneRankAreItsPartAndTheOthersSeparate) {
  const Communicator comm = Communicator::world();
  JointGraph grid;
  grid.grid(40, 30);
  GlobalId first = kNoBody, last = 0;
  for (const JointEdge& edge : grid.edges)
    for (int k = 0; k < edge.n_bodies; ++k) {
      const GlobalId body = edge.body[static_cast<std::size_t>(k)];
      first = first == kNoBody ? body : std::min(first, body);
      last = std::max(last, body);
    }
  // strips; the numbers of the ranks say nothing of who is near to whom
  const auto owner_of = [&](GlobalId body) {
    const auto strip = static_cast<int>((body - first) * comm.size() / (last + 1 - first));
    return strip % 2 == 0 ? strip / 2 : comm.size() - 1 - strip / 2;
  };

  const Placed placed = placed_cut(comm, grid, owner_of);

  if (comm.size() == 1) {
    EXPECT_TRUE(placed.cut.parts.empty());
    EXPECT_TRUE(std::ranges::all_of(placed.cut.node, [](int node) { return node == 0; }));
    return;
  }
  ASSERT_EQ(placed.cut.parts.size(), 1U);
  const DealtTree& dealt = placed.cut.parts[0].tree;
  std::int64_t at_top = 0;
  for (std::size_t j = 0; j < placed.edges.size(); ++j) {
    const int node = placed.cut.node[j];
    const int a = placed.owner[j][0], b = placed.owner[j][1];
    EXPECT_EQ(dealt.tree.is_part(node), a == b);
    EXPECT_TRUE(!dealt.tree.is_part(node) || dealt.rank_of(node) == a);
    at_top += node == 1 ? placed.edges[j].rows : 0;
    for (const int rank : {a, b}) {
      const auto part = std::ranges::find(dealt.rank, rank) - dealt.rank.begin();
      EXPECT_TRUE(PartTree::is_above(node, dealt.tree.n_parts() + static_cast<int>(part)));
    }
  }
  // one strip's edge, however many strips there are
  EXPECT_LE(comm.sum(at_top), 6 * 40);
}

TEST(CutBetweenRanks, BodiesThatLieMixedAreNotCutThere) {
  const Communicator comm = Communicator::world();
  JointGraph grid;
  grid.grid(10, 10);
  const auto mixed = [&](GlobalId body) { return static_cast<int>(body % comm.size()); };

  const Placed placed = placed_cut(comm, grid, mixed);

  EXPECT_TRUE(placed.cut.parts.empty());
  for (const int node : placed.cut.node) EXPECT_EQ(node, comm.size() > 1 ? PlacedCut::kNone : 0);
}

TEST(CutBetweenRanks, AHubOfThousandsOfSpokesIsNotCutThereAndASmallOneIs) {
  const Communicator comm = Communicator::world();
  for (const GlobalId spokes : {100, 3000}) {
    JointGraph wheel;  // separators have less than a sixth of the rows
    const GlobalId hub = wheel.new_bodies(1);
    for (GlobalId s = 0; s < spokes; ++s) {
      const GlobalId first = wheel.new_bodies(6);
      wheel.join({hub, first});
      for (GlobalId k = 1; k < 6; ++k) wheel.join({first + k - 1, first + k});
    }
    const auto owner_of = [&](GlobalId body) {
      return body == hub ? 0 : static_cast<int>((body - hub - 1) / 6 * comm.size() / spokes);
    };

    const Placed placed = placed_cut(comm, wheel, owner_of);

    const bool large = spokes == 3000;
    EXPECT_EQ(placed.cut.parts.size(), comm.size() > 1 && !large ? 1U : 0U);
    for (const int node : placed.cut.node)
      EXPECT_EQ(node == PlacedCut::kNone, comm.size() > 1 && large);
  }
}

TEST(CutMechanisms, AMechanismThatSeparatorsWouldMakeUpStaysWhole) {
  const Communicator comm = Communicator::world();
  JointGraph star;
  star.star(1200);
  for (const auto& [key, node] : nodes_of(comm, star, kDealings[1], 1, 100000)) EXPECT_EQ(node, 0);
  JointGraph clique;
  const GlobalId first = clique.new_bodies(12);
  for (GlobalId a = 0; a < 12; ++a)
    for (GlobalId b = 0; b < a; ++b) clique.join({first + a, first + b});
  for (const auto& [key, node] : nodes_of(comm, clique, kDealings[1], 1, 100000))
    EXPECT_EQ(node, 0);
}

TEST(PartTree, PlacesAreThoseOfAWalkWithSeparatorsAfterTheirParts) {
  for (const int levels : {0, 1, 4}) {
    const PartTree tree{levels};
    int next = 0;
    const std::function<void(int)> walk = [&](int node) {
      if (!tree.is_part(node)) {
        walk(2 * node);
        walk(2 * node + 1);
      }
      EXPECT_EQ(tree.place(node), next++);
      EXPECT_EQ(DealtTree::in_order(tree, tree.n_parts()).rank_of(node), tree.first_part(node));
    };
    walk(1);
  }
}

}  // namespace
}  // namespace catena
