// Bodies that come and go: nothing is lost, and nothing depends on the number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "catena/partition/balance.hpp"
#include "catena/partition/state_hash.hpp"
#include "simulation/flow_cases.hpp"
#include "support/same_bits.hpp"

namespace catena::test {
namespace {

/// Spheres that fall through space and out of it, without ever touching.
constexpr const char* kRain = R"(
materials: {m: {density: 1000, friction: 0}}
contact: {margin: 1 um, law: frictionless}
generators:
  - insertion: {name: rain, material: m, shape: {sphere: {radius: 1 mm}}, sizes: {uniform: [0.5, 1]},
                region: {lower: [0, 0, 1], upper: [3, 2, 1.2]}, number_rate: 2000, count: 1000000,
                velocity: [0, 0, -20], angular_velocity: [1, 2, 3], random_orientation: true}
outflow:
  - {name: low, lower: [-.inf, -.inf, -.inf], upper: [.inf, .inf, -2]}
  - {name: lower, lower: [-.inf, -.inf, -.inf], upper: [.inf, .inf, -3]}
time: {step: 2 ms, end: 1}
parallel: {rebalance_steps: 7, imbalance: 1.01, move_price: 0}
)";

TEST(Flow, RainIsBitwiseTheSameOnAnyNumberOfRanks) {
  const Communicator comm = Communicator::world();
  const auto sim = simulate(comm, kRain);
  const auto alone = simulate(Communicator::self(), kRain);

  for (int step = 0; step < 150; ++step) {
    sim->step();
    alone->step();
  }

  const std::vector<Known> here = all_bodies(*sim), there = all_bodies(*alone);
  EXPECT_GT(here.size(), 300U);
  EXPECT_GT(sim->state().flow.removed, 200);
  // on its way for -3 m of 20 m/s and more: 2000 per second times 0.3 s
  EXPECT_EQ(sim->state().flow.inserted, 600);
  EXPECT_EQ(sim->state().outflow[0], sim->state().flow.removed);
  EXPECT_EQ(sim->state().outflow[1], 0);
  EXPECT_EQ(here.size(), there.size());
  for (std::size_t i = 0; i < std::min(here.size(), there.size()); ++i) {
    EXPECT_EQ(here[i].id, there[i].id);
    EXPECT_EQ(here[i].mass, there[i].mass);
    EXPECT_EQ(here[i].state.pose.p, there[i].state.pose.p);
    EXPECT_EQ(here[i].state.pose.q.coeffs(), there[i].state.pose.q.coeffs());
    EXPECT_EQ(here[i].state.twist.v, there[i].state.twist.v);
    EXPECT_EQ(here[i].state.twist.w, there[i].state.twist.w);
  }
  EXPECT_EQ(state_hash(comm, sim->bodies(), sim->state()),
            state_hash(Communicator::self(), alone->bodies(), alone->state()));
  EXPECT_EQ(sim->state().flow.inserted_mass, alone->state().flow.inserted_mass);
  EXPECT_EQ(sim->state().flow.removed_mass, alone->state().flow.removed_mass);
  EXPECT_EQ(sim->state().inflow[0].made, alone->state().inflow[0].made);
  EXPECT_EQ(sim->state().inflow[0].refused, alone->state().inflow[0].refused);
  expect_balance(*sim, 0, 0.0);
  // all ranks have work
  const double mean = static_cast<double>(here.size()) / comm.size();
  EXPECT_LT(static_cast<double>(sim->bodies().size()), 1.5 * mean + 30.0);
}

/// A box with a hole in its floor: grains come in above, pile up, and leave below.
constexpr const char* kHopper = R"(
materials: {m: {density: 1000, friction: 0.3}}
bodies:
  - {name: left, material: m, shape: {box: {size: [0.5, 1.4, 0.1]}}, position: [-0.45, 0, 0], fixed: true}
  - {name: right, material: m, shape: {box: {size: [0.5, 1.4, 0.1]}}, position: [0.45, 0, 0], fixed: true}
  - {name: west, material: m, shape: plane, position: [-0.6, 0, 0], orientation: {axis: [0, 1, 0], angle: 90 deg}}
  - {name: east, material: m, shape: plane, position: [0.6, 0, 0], orientation: {axis: [0, 1, 0], angle: -90 deg}}
  - {name: south, material: m, shape: plane, position: [0, -0.5, 0], orientation: {axis: [1, 0, 0], angle: -90 deg}}
  - {name: north, material: m, shape: plane, position: [0, 0.5, 0], orientation: {axis: [1, 0, 0], angle: 90 deg}}
generators:
  - lattice: {name: bed, material: m, shape: {sphere: {radius: 0.05}}, count: [6, 6, 2], spacing: 0.11,
              origin: [-0.3, -0.3, 0.11]}
  - insertion: {name: grains, material: m, shape: {sphere: {radius: 0.05}}, sizes: {uniform: [0.7, 1.1]},
                region: {lower: [-0.6, -0.5, 0.7], upper: [0.6, 0.5, 1]}, mass_rate: 80, count: 2000,
                velocity: [0, 0, -3]}
outflow:
  - {name: drain, lower: [-2, -2, -3], upper: [2, 2, -0.3]}
time: {step: 5 ms, end: 1}
solver: {max_iterations: 30, relative_tolerance: 1e-4}
parallel: {rebalance_steps: 5, imbalance: 1.02, move_price: 0}
)";

TEST(Flow, NothingIsLostThroughAHopperWithMigration) {
  const Communicator comm = Communicator::world();
  const auto sim = simulate(comm, kHopper);
  const auto alone = simulate(Communicator::self(), kHopper);
  const double mass = 72 * 1000.0 * 4.0 / 3.0 * M_PI * std::pow(0.05, 3);

  std::int64_t migrations = 0;
  std::map<GlobalId, int> owner;
  for (int step = 0; step < 200; ++step) {
    sim->step();
    alone->step();
    for (const BodyConstants& body : sim->bodies().constants) {
      const auto [at, fresh] = owner.try_emplace(body.id, step);
      if (!fresh && at->second != step - 1) ++migrations;
      at->second = step;
    }
    if (step % 10 == 9) expect_balance(*sim, 2 + 72, mass);
  }

  EXPECT_GT(sim->state().flow.removed, 50);
  EXPECT_GT(sim->state().flow.inserted, 100);
  // who comes in does not depend on the ranks, who left may by a grain: the sweeps differ
  EXPECT_EQ(sim->state().flow.inserted, alone->state().flow.inserted);
  EXPECT_EQ(sim->state().flow.inserted_mass, alone->state().flow.inserted_mass);
  EXPECT_NEAR(static_cast<double>(sim->state().flow.removed),
              static_cast<double>(alone->state().flow.removed), 12.0);
  EXPECT_EQ(sim->state().outflow[0], sim->state().flow.removed);
  EXPECT_GE(comm.sum(migrations), comm.size() > 1 ? 1 : 0);
  // due are 80 kg/s; what is owed is less than one body
  const double owed = sim->state().inflow[0].owed;
  EXPECT_NEAR(sim->state().flow.inserted_mass + owed, 80.0, 1e-9);
  EXPECT_LT(owed, 1000.0 * 4.0 / 3.0 * M_PI * std::pow(0.055, 3));
}

TEST(Flow, DeterministicRunsInsertAndLoseTheSameBodiesWithTheSameBits) {
  std::string yaml = kHopper;
  yaml.erase(yaml.find("parallel:"));
  // tiles are made anew every 25 steps, and early, when a fifth of the bodies has come or left
  const auto sim = test::expect_same_bits(
      yaml + "parallel: {deterministic: true, tile_bodies: 12, rebalance_steps: 25}\n", 45,
      "hopper");
  EXPECT_GT(sim->state().flow.inserted, 30);
  EXPECT_GT(sim->state().flow.removed, 5);
}

TEST(Flow, DeterministicRunsThatBeginEmptyFill) {
  const auto sim = test::expect_same_bits(
      "materials: {m: {density: 1000, friction: 0.3}}\n"
      "bodies: [{name: floor, material: m, shape: {box: {size: [2, 2, 0.1]}}, position: [0.5, 0.5, "
      "-0.05], fixed: true}]\n"
      "generators:\n"
      "  - insertion: {name: rain, material: m, shape: {sphere: {radius: 0.05}}, number_rate: "
      "800,\n"
      "                region: {lower: [0, 0, 0.1], upper: [1, 1, 0.4]}, count: 1000, "
      "velocity: [0, 0, -2]}\n"
      "time: {step: 4 ms, end: 1}\n"
      "parallel: {deterministic: true, tile_bodies: 10, rebalance_steps: 1000}\n",
      20, "rain");
  EXPECT_GT(sim->state().flow.inserted, 80);
  // as it grows it is dealt to the ranks without waiting for its 1000 steps
  const Communicator comm = Communicator::world();
  EXPECT_GT(comm.min(narrow<std::int64_t>(sim->bodies().size())), 0);
}

/// Collective. Keys of this kind of list over all ranks.
template <class Keyed>
std::set<ContactKey> all_keys(const Communicator& comm, const std::vector<Keyed>& list) {
  std::vector<ContactKey> own;
  for (const Keyed& item : list) own.push_back(item.key);
  const std::vector<ContactKey> all = all_of(comm, own);
  return {all.begin(), all.end()};
}

TEST(Flow, WhatLeavesTakesItsContactsAlongOnAllRanks) {
  const Communicator comm = Communicator::world();
  const auto sim = simulate(
      comm,
      "materials: {m: {density: 1000, friction: 0.5, rolling_friction: 1 mm}}\n"
      "generators:\n"
      "  - container: {name: bin, material: m, size: [1.005, 1.005, .inf]}\n"
      "  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, count: [5, 5, 3],\n"
      "              spacing: 0.2, origin: [0.1, 0.1, 0.1]}\n"
      "time: {step: 2 ms, end: 1}\n"
      "parallel: {rebalance_steps: 1, imbalance: 1.01, move_price: 0}\n");
  for (int step = 0; step < 4; ++step) sim->step();
  Bodies bodies = sim->bodies();
  State state = sim->state();
  const auto impulses = all_keys(comm, state.impulses), couples = all_keys(comm, state.couples);
  std::set<GlobalId> gone;
  for (const Known& body : all_bodies(*sim)) {
    if (body.state.pose.p[0] < 0.55 && body.state.pose.p[2] > 0.2) gone.insert(body.id);
  }
  state.outflow.resize(2);
  const std::vector<OutflowSettings> regions = {{"nowhere", Vec3(5, 5, 5), Vec3(6, 6, 6)},
                                                {"corner", Vec3(-1, -1, 0.2), Vec3(0.55, 2, 9)}};

  const std::int64_t removed = remove_outflow(comm, sim->model(), regions, bodies, state);

  EXPECT_EQ(gone.size(), 30U);
  EXPECT_EQ(removed, 30);
  EXPECT_EQ(state.flow.removed, 30);
  EXPECT_EQ(state.outflow, (std::vector<std::int64_t>{0, 30}));
  EXPECT_GT(impulses.size(), 100U);
  EXPECT_GT(couples.size(), 0U);
  const auto left_of = [&](std::set<ContactKey> keys) {
    std::erase_if(keys,
                  [&](const ContactKey& k) { return gone.contains(k.a) || gone.contains(k.b); });
    return keys;
  };
  EXPECT_EQ(all_keys(comm, state.impulses), left_of(impulses));
  EXPECT_EQ(all_keys(comm, state.couples), left_of(couples));
  EXPECT_LT(left_of(impulses).size(), impulses.size());
  // and the rest can move on: every kept impulse has its home
  std::vector<int> part(bodies.constants.size());
  for (std::size_t i = 0; i < part.size(); ++i) {
    part[i] = static_cast<int>(bodies.constants[i].id % comm.size());
  }
  migrate(comm, bodies, state, part, comm.size());
  EXPECT_EQ(comm.sum(static_cast<std::int64_t>(bodies.size())), 75 - 30);
}

TEST(Flow, BodiesLieAlongTheCurveAfterInflowOnOneRankToo) {
  const Communicator comm = Communicator::world();
  const auto sim = simulate(comm,
                            "materials: {m: {density: 1000}}\ngravity: [0, 0, 0]\ngenerators:\n"
                            "  - insertion: {material: m, shape: {sphere: {radius: 1 mm}}, "
                            "number_rate: 20000, count: 150,\n"
                            "                region: {lower: [0, 0, 0], upper: [1, 1, 1]}}\n"
                            "time: {step: 1 ms, end: 1}\nparallel: {rebalance_steps: 10}\n");
  const auto in_order = [&] {
    Bodies bodies = sim->bodies();
    State state = sim->state();
    const std::vector<int> part(bodies.constants.size(), comm.rank());
    migrate(comm, bodies, state, part, comm.size());
    bool same = true;
    for (std::size_t i = 0; i < part.size(); ++i) {
      same = same && bodies.constants[i].id == sim->bodies().constants[i].id;
    }
    return comm.min(static_cast<std::int64_t>(same ? 1 : 0)) == 1;
  };

  for (int step = 0; step < 9; ++step) sim->step();
  EXPECT_EQ(sim->state().flow.inserted, 150);
  const bool early = in_order();
  EXPECT_FALSE(comm.size() == 1 && early) << "nothing to see";
  for (int step = 9; step < 11; ++step) sim->step();
  EXPECT_TRUE(in_order());
}

TEST(Flow, SubdomainsShareWhatComesInOnAnyNumberOfRanks) {
  const Communicator comm = Communicator::world();
  const auto sim = simulate(comm,
                            "materials: {m: {density: 1000}}\ngravity: [0, 0, 0]\ngenerators:\n"
                            "  - insertion: {material: m, shape: {sphere: {radius: 1 mm}}, "
                            "number_rate: 20000, count: 800,\n"
                            "                region: {lower: [0, 0, 0], upper: [1, 1, 1]}}\n"
                            "time: {step: 1 ms, end: 1}\n"
                            "parallel: {rebalance_steps: 10, subdomains: 8}\n");

  for (int step = 0; step < 51; ++step) sim->step();

  std::vector<std::int64_t> bodies(8, 0);
  for (const std::int32_t part : sim->state().subdomain) ++bodies[static_cast<std::size_t>(part)];
  comm.sum(bodies);
  // without contacts the curve is cut into equal counts; what came since is a tenth or less
  for (const std::int64_t n : bodies) EXPECT_NEAR(static_cast<double>(n), 100.0, 25.0);
}

TEST(Flow, ComesInAtItsRateFromStartToEnd) {
  const Communicator comm = Communicator::world();
  const auto sim = simulate(
      comm,
      "materials: {m: {density: 1000}}\ngravity: [0, 0, 0]\ngenerators:\n"
      "  - insertion: {material: m, shape: {sphere: {radius: 1 mm}}, number_rate: 130, count: 50,\n"
      "                start: 95 ms, end: 0.4, region: {lower: [0, 0, 0], upper: [1, 1, 1]}}\n"
      "time: {step: 10 ms, end: 1}\n");

  for (int step = 1; step <= 60; ++step) {
    sim->step();
    const double due = 130.0 * std::clamp(0.01 * step - 0.095, 0.0, 0.305);
    EXPECT_EQ(sim->state().flow.inserted, static_cast<std::int64_t>(std::floor(due + 1e-6)))
        << step;
  }
  EXPECT_EQ(sim->state().flow.inserted, 39);
  expect_balance(*sim, 0, 0.0);
}

TEST(Flow, NoBodyIsInsertedIntoAnother) {
  const Communicator comm = Communicator::world();
  const std::string yaml =
      "materials: {m: {density: 1000}}\ngravity: [0, 0, 0]\nperiodic: {x: [0, 1], y: [0, 1]}\n"
      "bodies:\n"
      "  - {name: slab, material: m, shape: {box: {size: [0.1, 0.1, 0.6]}}, fixed: true,\n"
      "     position: [0.3, 0.5, 0.5], orientation: {axis: [1, 0, 0], angle: 45 deg}}\n"
      "  - {name: floor, material: m, shape: plane, position: [0, 0, 0.2]}\n"
      "generators:\n"
      "  - insertion: {material: m, shape: {sphere: {radius: 0.06}}, number_rate: 50000, count: "
      "2000,\n"
      "                sizes: {uniform: [0.5, 1]}, region: {lower: [0, 0, 0], upper: [1, 1, 1]}, "
      "attempts: 50}\n"
      "time: {step: 10 ms, end: 1}\n";
  const auto sim = simulate(comm, yaml);
  sim->step();
  // bodies rest where they were put: nothing overlaps, so nothing pushes

  const std::vector<Known> all = all_bodies(*sim);
  EXPECT_GT(all.size(), 100U);
  EXPECT_GT(sim->state().inflow[0].refused, 100);
  EXPECT_EQ(sim->state().inflow[0].tried % 50, 0);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Vec3 p = all[i].state.pose.p;
    EXPECT_GE(p[2], 0.2 + all[i].radius);
    EXPECT_TRUE(p[0] >= 0.0 && p[0] < 1.0 && p[1] >= 0.0 && p[1] < 1.0);
    for (std::size_t j = 1; j < i; ++j) {
      Vec3 d = all[j].state.pose.p - p;
      for (int k = 0; k < 2; ++k) d[k] -= std::round(d[k]);
      EXPECT_GE(d.norm(), all[i].radius + all[j].radius);
    }
    // the slab turned by 45 degrees about x: distance to it in its frame
    const Vec3 d = p - Vec3(0.3, 0.5, 0.5);
    const Vec3 in_slab(d[0], (d[1] + d[2]) / std::sqrt(2.0), (d[2] - d[1]) / std::sqrt(2.0));
    const Vec3 out = (in_slab.cwiseAbs() - Vec3(0.05, 0.05, 0.3)).cwiseMax(0.0);
    EXPECT_GE(out.norm(), all[i].radius - 1e-12);
  }
  // places beside the slab that a box about it would take are used
  EXPECT_TRUE(std::any_of(all.begin() + 1, all.end(), [](const Known& body) {
    const Vec3 d = body.state.pose.p - Vec3(0.3, 0.5, 0.5);
    return std::abs(d[0]) < 0.05 && std::abs(d[1]) < 0.2 && std::abs(d[2]) < 0.2;
  }));
}

TEST(Flow, WhatFindsNoRoomComesLater) {
  const Communicator comm = Communicator::world();
  const auto sim = simulate(
      comm,
      "materials: {m: {density: 1000}}\ngravity: [0, 0, 0]\n"
      "bodies:\n"
      "  - {name: lid, material: m, shape: {box: {size: [1.2, 1.2, 1.2]}}, position: [0.5, 0.5, "
      "0.5],\n"
      "     motion: {velocity: [20, 0, 0]}}\n"
      "generators:\n"
      "  - insertion: {material: m, shape: {sphere: {radius: 0.02}}, number_rate: 200, count: 40,\n"
      "                region: {lower: [0, 0, 0], upper: [1, 1, 1]}, attempts: 5}\n"
      "time: {step: 10 ms, end: 1}\n");

  // the lid leaves the last corner after 1.1 m / 20 m/s
  for (int step = 1; step <= 2; ++step) {
    sim->step();
    EXPECT_EQ(sim->state().flow.inserted, 0);
    EXPECT_EQ(sim->state().inflow[0].refused, 5 * step);
    EXPECT_EQ(sim->state().inflow[0].tried, 5 * step);
    EXPECT_DOUBLE_EQ(sim->state().inflow[0].owed, 2.0 * step);
  }
  for (int step = 3; step <= 8; ++step) sim->step();
  EXPECT_EQ(sim->state().flow.inserted, 16);  // all that was due
  for (int step = 9; step <= 30; ++step) sim->step();
  EXPECT_EQ(sim->state().flow.inserted, 40);  // `count` is the end
  expect_balance(*sim, 1, 0.0);
}

TEST(Flow, EnergyOfTheAuditHoldsWhatFlows) {
  const Communicator comm = Communicator::world();
  const auto sim = simulate(
      comm,
      "materials: {m: {density: 1000}}\ngravity: [0, 0, 0]\ngenerators:\n"
      "  - insertion: {material: m, shape: {sphere: {radius: 1 mm}}, number_rate: 1000, count: "
      "9999,\n"
      "                velocity: [0, 0, -10], angular_velocity: [0, 50, 0],\n"
      "                region: {lower: [0, 0, 0], upper: [1, 1, 1]}}\n"
      "outflow: [{name: low, lower: [-1, -1, -9], upper: [2, 2, -0.5]}]\n"
      "time: {step: 5 ms, end: 1}\n");
  for (int step = 0; step < 60; ++step) sim->step();

  // each body keeps its energy
  const double mass = 1000.0 * 4.0 / 3.0 * M_PI * 1e-9;
  const double one = 0.5 * mass * (100.0 + 0.4 * 1e-6 * 2500.0);
  const FlowSums& flow = sim->state().flow;
  EXPECT_GT(flow.removed, 50);
  const StepReport& r = sim->stepper().report();
  EXPECT_NEAR(r.kinetic, one * static_cast<double>(flow.inserted - flow.removed), 1e-12);
  EXPECT_NEAR(r.audit[EnergyTerm::flow_energy], r.kinetic, 1e-12 * r.kinetic);
  EXPECT_NEAR(r.energy_residual, 0.0, 1e-12 * r.kinetic);
}

TEST(Flow, MeetsPeriodicSidesAndOnlyThePlaneInTwoDimensions) {
  const Communicator comm = Communicator::world();
  const auto sim = simulate(
      comm,
      "dimension: 2\nmaterials: {m: {density: 1000}}\nperiodic: {x: [-1, 1]}\ngenerators:\n"
      "  - insertion: {material: m, shape: {sphere: {radius: 0.05}}, number_rate: 2000, count: "
      "100,\n"
      "                random_orientation: true, velocity: [30, 0, 0],\n"
      "                region: {lower: [-1, 0, 0], upper: [1, 0, 1]}}\n"
      "time: {step: 10 ms, end: 1}\n");
  for (int step = 0; step < 20; ++step) sim->step();

  EXPECT_EQ(sim->state().flow.inserted, 100);
  for (const Known& body : all_bodies(*sim)) {
    EXPECT_TRUE(body.state.pose.p[0] >= -1.0 && body.state.pose.p[0] < 1.0);
    EXPECT_EQ(body.state.pose.p[1], 0.0);
    EXPECT_EQ(body.state.pose.q.x(), 0.0);
    EXPECT_EQ(body.state.pose.q.z(), 0.0);
  }
}

}  // namespace
}  // namespace catena::test
