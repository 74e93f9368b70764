// When bodies move, and how many: decisions from counted work, the same on every rank.
#include <gtest/gtest.h>

#include <cmath>

#include "catena/partition/balance.hpp"
#include "partition/lattice_scene.hpp"

namespace catena {
namespace {

using test::Lattice;
using test::Scene;

/// Sums after `steps` steps of two ranks' work, `ratio` the largest over the mean.
BalanceSums uneven(double ratio, int steps) {
  BalanceSums sums;
  sums.bodies = 10000;
  sums.rows = 60000;
  sums.mean_work = counted_work(sums.rows, 20.0, sums.bodies) / 2.0;
  sums.largest_work = ratio * sums.mean_work;
  sums.lost = std::max(0.0, ratio - 1.02) * sums.mean_work * steps;
  sums.steps = steps;
  sums.sweeps = 20.0 * steps;
  return sums;
}

double price(const BalanceSums& sums) {
  const WorkSize size{sums.bodies, sums.rows, 200000, 2};
  return price_of_split(size) + price_of_move(size);
}

TEST(NoteWork, AddsUpWhatTheBusiestRankDoesAboveAnEvenShare) {
  const Communicator comm = Communicator::world();
  BalanceSums sums;
  const std::int64_t rows = comm.rank() == 0 ? 3000 : 1000;

  note_work(comm, {rows, 0, 100}, 10.0, 1.0, sums);
  note_work(comm, {rows, 0, 100}, 30.0, 1.0, sums);

  const auto n = static_cast<double>(comm.size());
  const auto mean = [&](double sweeps) {
    return (counted_work(3000, sweeps, 100) + (n - 1.0) * counted_work(1000, sweeps, 100)) / n;
  };
  EXPECT_DOUBLE_EQ(imbalance_of(sums), counted_work(3000, 30.0, 100) / mean(30.0));
  EXPECT_EQ(sums.rows, 3000 + 1000 * (comm.size() - 1));
  EXPECT_EQ(sums.bodies, 100 * comm.size());
  EXPECT_DOUBLE_EQ(sums.sweeps, 40.0);
  EXPECT_EQ(sums.steps, 2);
  const auto above = [&](double sweeps) {
    return std::max(0.0, counted_work(3000, sweeps, 100) - 1.02 * mean(sweeps));
  };
  EXPECT_NEAR(sums.lost, above(10.0) + above(30.0), 1e-9 * mean(30.0));
}

TEST(NoteWork, RanksWaitForEachOtherBetweenContactsAndJoints) {
  // all contacts on the first rank and all joints on the last: nothing is even, whatever the sums
  const Communicator comm = Communicator::world();
  const bool first = comm.rank() == 0, last = comm.rank() + 1 == comm.size();
  const auto rows = static_cast<std::int64_t>(joint_work(100, 20.0) / counted_work(1, 20.0, 0));
  BalanceSums sums;

  const WorkBalance balance =
      note_work(comm, {first ? rows : 0, last ? 100 : 0, 0}, 20.0, 1.0, sums);

  EXPECT_NEAR(balance.contacts, comm.size(), 1e-12);
  EXPECT_NEAR(balance.joints, comm.size(), 1e-12);
  EXPECT_NEAR(balance.all, comm.size(), 1e-12);
  EXPECT_DOUBLE_EQ(imbalance_of(sums), balance.all);
}

TEST(NoteWork, WithoutAnyIsEven) {
  BalanceSums sums;
  note_work(Communicator::world(), {}, 1.0, 1.0, sums);
  EXPECT_EQ(imbalance_of(sums), 1.0);
  EXPECT_FALSE(split_pays(sums, {}, Communicator::world().size(), true));
}

TEST(SplitPays, AtALookIfTheStepsToTheNextOneSaveMoreThanItCosts) {
  const BalanceSums sums = uneven(1.3, 0);
  BalanceSettings settings;
  const double steps = price(sums) / ((1.3 - 1.02) * sums.mean_work);

  settings.rebalance_steps = static_cast<int>(std::ceil(1.01 * steps));
  EXPECT_TRUE(split_pays(sums, settings, 2, true));
  EXPECT_FALSE(split_pays(sums, settings, 2, false)) << "no look is due";
  settings.rebalance_steps = static_cast<int>(0.99 * steps);
  EXPECT_FALSE(split_pays(sums, settings, 2, true));
  settings.move_price = 0.5;
  EXPECT_TRUE(split_pays(sums, settings, 2, true));
}

TEST(SplitPays, BetweenLooksOnceAsMuchWasLostAsItCosts) {
  BalanceSettings settings;
  settings.rebalance_steps = 1;  // too few to save anything
  BalanceSums sums = uneven(1.3, 0);
  sums.lost = 0.99 * price(sums);
  EXPECT_FALSE(split_pays(sums, settings, 2, false));
  sums.lost = 1.01 * price(sums);
  EXPECT_TRUE(split_pays(sums, settings, 2, false));
  sums.split_price_factor = 2.0;
  EXPECT_FALSE(split_pays(sums, settings, 2, false)) << "the last split was of no use";
}

TEST(SplitPays, BetweenLooksAfterAQuarterOfThatWhereMuchIsToBeSaved) {
  BalanceSettings settings;
  settings.rebalance_steps = 1000000;
  BalanceSums sums = uneven(1.3, 0);
  sums.lost = 0.24 * price(sums);
  EXPECT_FALSE(split_pays(sums, settings, 2, false)) << "it may be over in a moment";
  sums.lost = 0.26 * price(sums);
  EXPECT_TRUE(split_pays(sums, settings, 2, false));
}

TEST(SplitPays, NeverBelowTheImbalanceThatIsAllowed) {
  const BalanceSums sums = uneven(1.09, 1000000);
  EXPECT_FALSE(split_pays(sums, {}, 2, true));
  BalanceSettings free;
  free.move_price = 0.0;
  EXPECT_FALSE(split_pays(sums, free, 2, true));
  EXPECT_TRUE(split_pays(uneven(1.2, 0), free, 2, true)) << "without a price at once";
  EXPECT_FALSE(split_pays(uneven(1.2, 1000), free, 2, false)) << "but at looks alone";
}

TEST(RebalanceIfItPays, MovesTheLeastThatEvensOutTwoPartsAndThenNothing) {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) return;
  // a row of bodies, split so that rank 0 holds half as many again as an even share
  const Lattice lattice{{60 * comm.size(), 4, 4}};
  const GlobalId n = lattice.size(), first = 3 * n / comm.size() / 2;
  const auto owner = [&](GlobalId id) {
    const GlobalId place = id % (60 * comm.size()) * 16;
    if (place < first) return 0;
    return 1 + static_cast<int>((place - first) * (comm.size() - 1) / (n - first));
  };
  Scene scene = test::share_of(comm, lattice, owner);
  scene.state.subdomain.assign(scene.state.body.size(), comm.rank());
  BalanceSums& sums = scene.state.balance;
  const auto look = [&](const BalanceSettings& settings) {
    const ContactSet contacts = test::contacts_of(comm, lattice, scene);
    sums = {};
    note_work(comm,
              {3 * static_cast<std::int64_t>(contacts.contacts.size()), 0, scene.bodies.size()},
              20.0, 1.0, sums);
    return rebalance_if_it_pays(comm, scene.bodies, scene.state, contacts, settings, {});
  };

  // dearer than what is to be gained, by far and by a little
  BalanceSettings dear;
  dear.move_price = 1e12;
  const RebalanceDecision too_dear = look(dear);
  const WorkSize size{sums.bodies, sums.rows, dear.max_graph, comm.size()};
  dear.move_price = 1.001 * too_dear.gain / price_of_move(size);
  const RebalanceDecision a_bit_too_dear = look(dear);
  const RebalanceDecision moving = look({});

  for (const RebalanceDecision& kept : {too_dear, a_bit_too_dear}) {
    EXPECT_FALSE(kept.taken);
    EXPECT_EQ(kept.quality.moved, 0);
    EXPECT_EQ(kept.gain, moving.gain);
  }

  EXPECT_TRUE(moving.taken);
  EXPECT_NEAR(moving.balance.all, 1.5, 0.02);
  EXPECT_LE(moving.quality.balance.all, 1.05);
  EXPECT_GT(moving.gain, moving.price);
  // the surplus of rank 0 passes through every border on its way: the k-th from the left takes
  // (size - k) / (size - 1) of it
  const double least = 0.5 * 960.0 * comm.size() / 2.0;
  EXPECT_GE(static_cast<double>(moving.quality.moved), 0.8 * least);
  EXPECT_LE(static_cast<double>(moving.quality.moved), 1.25 * least);
  const RebalanceDecision staying = look({});
  EXPECT_FALSE(staying.taken);
  EXPECT_EQ(staying.quality.moved, 0);
  EXPECT_EQ(sums.split_price_factor, 2.0);
  EXPECT_EQ(sums.lost, 0.0);
}

TEST(RebalanceIfItPays, BodiesOfARankWhoseClockRunsTwiceAsLongWeighTwice) {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) return;
  const Lattice lattice{{12, 12, 12}};
  const auto owner = [&](GlobalId id) {
    return static_cast<int>(id * comm.size() / lattice.size());
  };
  Scene scene = test::share_of(comm, lattice, owner);
  WorkRate rate;
  rate.factor = comm.rank() == 0 ? 2.0 : 1.0;
  BalanceSettings settings;
  settings.move_price = 0.0;

  const ContactSet contacts = test::contacts_of(comm, lattice, scene);
  const RebalanceDecision look =
      rebalance_if_it_pays(comm, scene.bodies, scene.state, contacts, settings, rate);

  EXPECT_NEAR(look.balance.all, 2.0 * comm.size() / (comm.size() + 1.0), 0.15);
  EXPECT_LE(look.quality.balance.all, 1.05);
  EXPECT_GT(look.quality.moved, 0);
  double weight = 0.0;
  for (const BodyConstants& body : scene.bodies.constants)
    weight += owner(body.id) == 0 ? 2.0 : 1.0;
  // all bodies but those of the surface have the same rows
  EXPECT_LE(comm.max(weight) * comm.size(), 1.1 * comm.sum(weight));
}

TEST(PartitionBodies, WorkOfPartsIsWithinFivePerCentOfTheMean) {
  // contacts below, none above: the work of a column that has begun to settle
  const Communicator comm = Communicator::world();
  Lattice lattice{{16, 16, 40}};
  lattice.touches = [&](GlobalId a, GlobalId b) { return std::max(a, b) < 16 * 16 * 13; };
  const Scene scene = test::share_of(
      comm, lattice, [&](GlobalId id) { return static_cast<int>(id * comm.size() / 10240); });
  const ContactSet contacts = test::contacts_of(comm, lattice, scene);
  for (const int parts : {2, 3, 4, 8, 16, 64}) {
    PartitionQuality quality;
    partition_bodies(comm, scene.bodies, scene.state, contacts, parts, {}, quality);
    EXPECT_LE(quality.balance.all, parts <= 8 ? 1.02 : 1.05) << parts;
  }
}

}  // namespace
}  // namespace catena
