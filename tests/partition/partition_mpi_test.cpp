#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "catena/partition/balance.hpp"
#include "catena/partition/plan.hpp"
#include "partition/lattice_scene.hpp"

namespace catena {
namespace {

using test::Lattice;
using test::Scene;

int scattered(const Communicator& comm, GlobalId id) {
  return static_cast<int>(mix64(static_cast<std::uint64_t>(id) + 77) %
                          static_cast<std::uint64_t>(comm.size()));
}

Scene scattered_share(const Communicator& comm, const Lattice& lattice) {
  return test::share_of(comm, lattice, [&](GlobalId id) { return scattered(comm, id); });
}

struct Split {
  PartitionQuality quality;
  std::map<GlobalId, std::int64_t> part;
};

Split split(const Communicator& comm, const Lattice& lattice, int n_parts,
            const BalanceSettings& settings = {}) {
  const Scene scene = scattered_share(comm, lattice);
  const ContactSet contacts = test::contacts_of(comm, lattice, scene);
  Split result;
  const auto part = partition_bodies(comm, scene.bodies, scene.state, contacts, n_parts, settings,
                                     result.quality);
  result.part = test::gather_by_id(comm, scene.bodies, {part.begin(), part.end()});
  return result;
}

// Rows between parts, counted from the lattice alone.
std::int64_t rows_cut(const Lattice& lattice, const std::map<GlobalId, std::int64_t>& part) {
  std::int64_t rows = 0;
  for (GlobalId id = 0; id < lattice.size(); ++id) {
    if (lattice.fixed(id)) continue;
    for (const GlobalId other : lattice.neighbours(id)) {
      if (other > id && !lattice.fixed(other) && part.at(id) != part.at(other)) rows += 3;
    }
  }
  return rows;
}

std::vector<std::int64_t> sizes(const std::map<GlobalId, std::int64_t>& part, int n_parts) {
  std::vector<std::int64_t> size(static_cast<std::size_t>(n_parts), 0);
  for (const auto& [id, p] : part) ++size[static_cast<std::size_t>(p)];
  return size;
}

TEST(PartitionByCurve, CountsDifferByAtMostOneAndDoNotDependOnRanks) {
  const Communicator comm = Communicator::world();
  const Lattice lattice{{7, 5, 3}};
  for (const int n_parts : {1, 2, 3, 7, 8, 105, 200}) {
    const auto cut = [&](const Communicator& c) {
      const Scene scene = scattered_share(c, lattice);
      const auto part = partition_by_curve(c, scene.bodies, scene.state, n_parts);
      return test::gather_by_id(c, scene.bodies, {part.begin(), part.end()});
    };
    const auto part = cut(comm);
    EXPECT_EQ(part, cut(Communicator::self())) << n_parts;
    const auto size = sizes(part, n_parts);
    EXPECT_LE(
        *std::max_element(size.begin(), size.end()) - *std::min_element(size.begin(), size.end()),
        1)
        << n_parts;
  }
}

TEST(PartitionByCurve, CoincidentAndNonFinitePointsAreCountedByTheirIds) {
  const Communicator comm = Communicator::world();
  Scene scene = scattered_share(comm, Lattice{{10, 10, 1}});
  for (std::size_t i = 0; i < scene.state.body.size(); ++i) {
    scene.state.body[i].pose.p = Vec3::Ones();
    if (scene.bodies.constants[i].id == 40) scene.state.body[i].pose.p.x() = std::nan("");
  }
  const auto part = partition_by_curve(comm, scene.bodies, scene.state, 3);
  const auto by_id = test::gather_by_id(comm, scene.bodies, {part.begin(), part.end()});
  const auto size = sizes(by_id, 3);
  EXPECT_LE(
      *std::max_element(size.begin(), size.end()) - *std::min_element(size.begin(), size.end()), 1);
  for (GlobalId id = 1; id < 100; ++id) {
    if (id == 40 || id == 41) continue;
    EXPECT_GE(by_id.at(id), by_id.at(id - 1));
  }
}

TEST(PartitionByCurve, NoBodiesAtAllGiveNoParts) {
  const Communicator comm = Communicator::world();
  const Scene scene;
  EXPECT_TRUE(partition_by_curve(comm, scene.bodies, scene.state, 4).empty());
}

TEST(PartitionBodies, LatticeCutIsNearSlabsOrBlocksAndBalanced) {
  const Communicator comm = Communicator::world();
  constexpr std::int64_t n = 14;
  const Lattice lattice{{n, n, n}};
  const std::int64_t all_rows = 3 * 3 * n * n * (n - 1);
  // Faces of n x n contacts that the best plain cuts go through: slabs, or 2 x 2 (x 2) blocks.
  const std::map<int, int> faces{{2, 1}, {3, 2}, {4, 2}, {8, 3}};
  for (const auto& [n_parts, count] : faces) {
    const Split s = split(comm, lattice, n_parts);
    EXPECT_EQ(s.quality.edge_cut, rows_cut(lattice, s.part)) << n_parts;
    EXPECT_EQ(s.quality.vertices, n * n * n);
    EXPECT_EQ(s.quality.edges, 3 * n * n * (n - 1));
    EXPECT_FALSE(s.quality.aggregated);
    EXPECT_LE(s.quality.balance.all, 1.1) << n_parts;
    EXPECT_LE(static_cast<double>(s.quality.edge_cut), 1.25 * 3 * n * n * count) << n_parts;
    EXPECT_LE(4 * s.quality.edge_cut, all_rows * (n_parts - 1) / n_parts) << "against random";
  }
}

TEST(PartitionBodies, PartsDoNotDependOnRanksAndRepeat) {
  const Communicator comm = Communicator::world();
  const Lattice lattice{{9, 8, 7}};
  for (const int n_parts : {3, 12}) {
    BalanceSettings settings;
    for (const std::int64_t max_graph : {100000, 1300, 450}) {
      settings.max_graph = max_graph;
      const Split first = split(comm, lattice, n_parts, settings);
      EXPECT_EQ(first.part, split(comm, lattice, n_parts, settings).part);
      EXPECT_EQ(first.part, split(Communicator::self(), lattice, n_parts, settings).part);
    }
  }
}

TEST(PartitionBodies, AggregatedCutIsWithinAFifthOfTheFullGraphs) {
  const Communicator comm = Communicator::world();
  const Lattice lattice{{30, 30, 30}};
  BalanceSettings cells;
  cells.max_graph = 27000 / 16;
  const Split full = split(comm, lattice, 8);
  const Split aggregated = split(comm, lattice, 8, cells);
  EXPECT_FALSE(full.quality.aggregated);
  EXPECT_TRUE(aggregated.quality.aggregated);
  EXPECT_EQ(aggregated.quality.vertices, cells.max_graph);
  EXPECT_LE(static_cast<double>(aggregated.quality.edge_cut),
            1.2 * static_cast<double>(full.quality.edge_cut));
  EXPECT_LE(aggregated.quality.balance.all, 1.1);
  EXPECT_EQ(aggregated.quality.edge_cut, rows_cut(lattice, aggregated.part));
  RecordProperty("cut_full", static_cast<int>(full.quality.edge_cut));
  RecordProperty("cut_aggregated", static_cast<int>(aggregated.quality.edge_cut));
}

TEST(PartitionBodies, TooFewCellsOrNoContactsCutTheCurve) {
  const Communicator comm = Communicator::world();
  Lattice lattice{{10, 10, 10}};
  BalanceSettings few;
  few.max_graph = 250;  // under 100 a part
  const Split coarse = split(comm, lattice, 3, few);
  EXPECT_EQ(coarse.quality.vertices, 0);
  EXPECT_LE(coarse.quality.balance.all, 1.1);
  EXPECT_GT(coarse.quality.edge_cut, 0);

  lattice.touches = [](GlobalId, GlobalId) { return false; };
  const Split free = split(comm, lattice, 3);
  EXPECT_EQ(free.quality.vertices, 0);
  EXPECT_EQ(free.quality.edge_cut, 0);
  const auto size = sizes(free.part, 3);
  EXPECT_LE(*std::max_element(size.begin(), size.end()), 334);
}

TEST(PartitionBodies, WorkNotBodiesIsBalanced) {
  const Communicator comm = Communicator::world();
  Lattice lattice{{8, 8, 24}};
  const auto layer = [](GlobalId id) { return id / 64; };
  // A packing below, free bodies above: about 10 rows a body against 1.
  lattice.touches = [&](GlobalId, GlobalId upper) { return layer(upper) < 8; };
  const Split s = split(comm, lattice, 4);
  EXPECT_LE(s.quality.balance.all, 1.1);
  const auto size = sizes(s.part, 4);
  EXPECT_GE(*std::max_element(size.begin(), size.end()), 500);
  // Free bodies stay with their neighbours along the curve instead of filling gaps: of the
  // pairs side by side, few are apart.
  Lattice whole{{8, 8, 24}};
  EXPECT_LE(rows_cut(whole, s.part), 3 * 64 * 8);
}

TEST(PartitionBodies, PrescribedBodiesWeighNothingAndFollowTheirNeighbours) {
  const Communicator comm = Communicator::world();
  Lattice lattice{{12, 12, 5}};
  lattice.fixed = [](GlobalId id) { return id < 144; };
  const Split s = split(comm, lattice, 4);
  EXPECT_EQ(s.quality.vertices, 4 * 144);
  EXPECT_LE(s.quality.balance.all, 1.1);
  EXPECT_EQ(s.quality.edge_cut, rows_cut(lattice, s.part));
  // On one rank all neighbours are at hand.
  const Split serial = split(Communicator::self(), lattice, 4);
  int apart = 0;
  for (GlobalId id = 0; id < 144; ++id) {
    if (serial.part.at(id) != serial.part.at(id + 144)) ++apart;
  }
  EXPECT_LE(apart, 36);

  lattice.fixed = [](GlobalId) { return true; };
  const Split fixed = split(comm, lattice, 4);
  const auto size = sizes(fixed.part, 4);
  EXPECT_EQ(*std::max_element(size.begin(), size.end()), 180);
  EXPECT_EQ(fixed.quality.balance.all, 1.0);
}

TEST(PartitionBodies, FewerBodiesThanPartsAndNoneAtAll) {
  const Communicator comm = Communicator::world();
  const Split two = split(comm, Lattice{{2, 1, 1}}, 8);
  EXPECT_NE(two.part.at(0), two.part.at(1));
  const Split none = split(comm, Lattice{{0, 1, 1}}, 8);
  EXPECT_TRUE(none.part.empty());
  EXPECT_EQ(none.quality.balance.all, 1.0);
}

TEST(PartitionBodies, ManyPartsAreBalancedByKway) {
  const Communicator comm = Communicator::world();
  const Split s = split(comm, Lattice{{16, 16, 16}}, 32);
  EXPECT_LE(s.quality.balance.all, 1.1);
  const auto size = sizes(s.part, 32);
  EXPECT_GT(*std::min_element(size.begin(), size.end()), 64);
}

// A plan of the lattice against a count over its pairs.
void expect_plan_is_a_naive_count(const Communicator& comm, const Lattice& lattice, int n_ranks) {
  const Scene scene = scattered_share(comm, lattice);
  const ContactSet contacts = test::contacts_of(comm, lattice, scene);
  const PartitionPlan plan = plan_partition(comm, scene.bodies, scene.state, contacts, n_ranks, {});
  const Split s = split(comm, lattice, n_ranks);

  const auto n = static_cast<std::size_t>(n_ranks);
  std::vector<std::set<GlobalId>> ghosts(n);
  std::vector<std::set<std::int64_t>> neighbours(n);
  std::vector<double> held(n, 0.0);
  for (GlobalId id = 0; id < lattice.size(); ++id) {
    for (const GlobalId other : lattice.neighbours(id)) {
      const GlobalId home = home_of(lattice.body(id).constants, lattice.body(other).constants);
      if (home != id) continue;
      const auto p = static_cast<std::size_t>(s.part.at(id));
      held[p] += 1.0;
      if (s.part.at(id) == s.part.at(other) || lattice.fixed(other)) continue;
      const auto q = static_cast<std::size_t>(s.part.at(other));
      ghosts[p].insert(other);
      neighbours[p].insert(s.part.at(other));
      neighbours[q].insert(s.part.at(id));
    }
  }
  const auto most = [](const auto& sets) {
    std::size_t largest = 0;
    for (const auto& some : sets) largest = std::max(largest, some.size());
    return static_cast<double>(largest);
  };
  const auto all = [](const auto& sets) {
    std::size_t sum = 0;
    for (const auto& some : sets) sum += some.size();
    return static_cast<double>(sum);
  };
  EXPECT_EQ(plan.bodies, lattice.size());
  EXPECT_EQ(plan.halo.max, most(ghosts));
  EXPECT_NEAR(plan.halo.mean * n_ranks, all(ghosts), 1e-9);
  EXPECT_EQ(plan.neighbours.max, most(neighbours));
  EXPECT_NEAR(plan.neighbours.mean * n_ranks, all(neighbours), 1e-9);
  EXPECT_EQ(plan.contacts_per_rank.max, *std::max_element(held.begin(), held.end()));
  EXPECT_EQ(plan.contacts_per_rank.min, *std::min_element(held.begin(), held.end()));
  EXPECT_EQ(plan.quality.edge_cut, s.quality.edge_cut);
  EXPECT_NEAR(plan.bodies_per_rank.mean * n_ranks, static_cast<double>(lattice.size()), 1e-9);
  EXPECT_GE(plan.memory.max, plan.memory.mean);
  EXPECT_GT(plan.split_memory, plan.quality.vertices * 8);
}

TEST(PartitionPlan, CountsMatchANaiveCountOverTheLattice) {
  const Communicator comm = Communicator::world();
  Lattice block{{10, 9, 8}};
  block.fixed = [](GlobalId id) { return id < 90; };
  expect_plan_is_a_naive_count(comm, block, 6);
  // Small spheres between large ones: ghosts go one way only over a cut, messages both.
  Lattice row{{60, 1, 1}};
  row.radius = [](GlobalId id) { return id % 2 == 0 ? 0.9 : 0.1; };
  expect_plan_is_a_naive_count(comm, row, 5);
}

}  // namespace
}  // namespace catena
