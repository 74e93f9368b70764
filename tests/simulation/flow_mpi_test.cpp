// Bodies that come and go: nothing is lost, and nothing depends on the number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "catena/io/checkpoint.hpp"
#include "catena/partition/balance.hpp"
#include "catena/partition/state_hash.hpp"
#include "catena/simulation/simulation.hpp"

namespace catena {
namespace {

std::unique_ptr<Simulation> simulate(const Communicator& comm, const std::string& yaml) {
  return std::make_unique<Simulation>(
      comm, parse_case("catena: 1\nname: test\n" + yaml, "test.yaml", "."));
}

/// A body as all ranks know it.
struct Known {
  GlobalId id;
  double mass, radius;
  BodyMotionState state;
};

/// Collective. All owned bodies, ascending in id.
std::vector<Known> all_bodies(const Simulation& sim) {
  std::vector<Known> own;
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i) {
    const BodyConstants& body = sim.bodies().constants[i];
    own.push_back({body.id, body.mass, bounding_radius(body.shape), sim.state().body[i]});
  }
  const auto bytes = sim.communicator().all_gather_bytes(std::as_bytes(std::span(own)));
  std::vector<Known> all(bytes.size() / sizeof(Known));
  std::memcpy(static_cast<void*>(all.data()), bytes.data(), bytes.size());
  std::sort(all.begin(), all.end(), [](const Known& a, const Known& b) { return a.id < b.id; });
  return all;
}

/// Inserted less removed is what is there, in number exactly and in mass to round-off; columns
/// are whole, and every kept impulse belongs to bodies that are there.
void expect_balance(const Simulation& sim, std::int64_t at_start, double mass_at_start) {
  const std::vector<Known> all = all_bodies(sim);
  const FlowSums& flow = sim.state().flow;
  EXPECT_EQ(static_cast<std::int64_t>(all.size()), at_start + flow.inserted - flow.removed);
  double mass = 0.0;
  std::set<GlobalId> ids;
  for (const Known& body : all) {
    mass += body.mass;
    ids.insert(body.id);
  }
  EXPECT_EQ(ids.size(), all.size());
  EXPECT_NEAR(mass, mass_at_start + flow.inserted_mass - flow.removed_mass,
              1e-12 * (1.0 + flow.inserted_mass));
  for_each_body_column(
      [&](const char* name, const auto& column) {
        EXPECT_EQ(column.size(), sim.bodies().constants.size()) << name;
      },
      sim.bodies(), sim.state());
  for (const BodyRecord& body : sim.model().unbounded) ids.insert(body.constants.id);
  for (const KeyedImpulse& impulse : sim.state().impulses) {
    EXPECT_TRUE(ids.contains(impulse.key.a) && ids.contains(impulse.key.b));
  }
}

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

/// Collective. Keys of this kind of list over all ranks.
template <class Keyed>
std::set<ContactKey> all_keys(const Communicator& comm, const std::vector<Keyed>& list) {
  std::vector<ContactKey> own;
  for (const Keyed& item : list) own.push_back(item.key);
  const auto bytes = comm.all_gather_bytes(std::as_bytes(std::span(own)));
  std::vector<ContactKey> all(bytes.size() / sizeof(ContactKey));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
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

/// Bodies 0 .. 39 of 2 kg at x = id, dealt to the ranks in turn, and joints among them.
struct Row {
  struct Joined {
    JointType type;
    GlobalId a, b, carrier;
  };
  Row(const Communicator& comm, const std::vector<GlobalId>& fixed,
      const std::vector<Joined>& joined) {
    for (GlobalId id = 0; id < 40; ++id) {
      if (id % comm.size() != comm.rank()) continue;
      BodyConstants body;
      body.id = id;
      const bool is_fixed = std::count(fixed.begin(), fixed.end(), id) > 0;
      body.kind = is_fixed ? BodyKind::fixed : BodyKind::dynamic;
      body.mass = is_fixed ? 0.0 : 2.0;
      bodies.constants.push_back(body);
      state.body.push_back({{Vec3(static_cast<double>(id), 0.0, 0.0), Quat::Identity()}, {}});
      state.subdomain.push_back(0);
    }
    for (std::size_t j = 0; j < (comm.rank() == 0 ? joined.size() : 0); ++j) {
      JointConstants joint;
      joint.id = static_cast<GlobalId>(j);
      joint.type = joined[j].type;
      joint.body = {joined[j].a, joined[j].b, joined[j].carrier};
      bodies.joints.push_back(joint);
      state.joints.emplace_back();
    }
    const std::vector<int> part(bodies.constants.size(), comm.rank());
    migrate(comm, bodies, state, part, comm.size());
    state.outflow.resize(2);
  }
  Bodies bodies;
  State state;
};

/// Bodies `from` <= id <= `to` of a Row, after a region that holds none.
std::vector<OutflowSettings> region(double from, double to) {
  return {{"none", Vec3(-1, 5, -1), Vec3(50, 6, 1)},
          {"some", Vec3(from - 0.5, -1, -1), Vec3(to + 0.5, 1, 1)}};
}

/// Collective. Ids of all bodies, or of all joints.
template <class Item>
std::set<GlobalId> all_ids(const Communicator& comm, const std::vector<Item>& items) {
  std::vector<GlobalId> own;
  for (const Item& item : items) own.push_back(item.id);
  const auto bytes = comm.all_gather_bytes(std::as_bytes(std::span(own)));
  std::vector<GlobalId> all(bytes.size() / sizeof(GlobalId));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
  return {all.begin(), all.end()};
}

/// Links of joints name owned bodies that are there, and no others.
void expect_linked(const Communicator& comm, const Bodies& bodies) {
  EXPECT_EQ(bodies.links.body.size(), bodies.joints.size());
  for (std::size_t j = 0; j < bodies.links.body.size(); ++j) {
    for (std::size_t k = 0; k < kJointBodies; ++k) {
      const GlobalId id = bodies.joints[j].body[k];
      const Index at = bodies.links.body[j][k];
      EXPECT_EQ(at == kNoIndex, id == kNoBody || id % comm.size() != comm.rank());
      if (at == kNoIndex || at >= bodies.size()) continue;
      EXPECT_EQ(bodies.constants[static_cast<std::size_t>(at)].id, id);
    }
  }
  for (const auto& [rank, list] : bodies.links.offered) {
    for (const Index i : list) EXPECT_LT(i, bodies.size());
  }
}

TEST(Flow, MechanismsLeaveWholeAndThoseThatAreHeldStay) {
  const Communicator comm = Communicator::world();
  using enum JointType;
  const std::vector<Row::Joined> joined = {
      {spherical, 35, 20, kNoBody},
      {spherical, 20, 39, kNoBody},  // a chain over the ranks
      {spherical, 6, 5, kNoBody},    // a pair
      {revolute, kNoBody, 7, kNoBody},
      {fixed, 7, 30, kNoBody},                 // held to the world
      {distance, 13, 12, kNoBody},             // held to the fixed body 13
      {spring, 21, 22, kNoBody},               // a spring between two
      {torsion_spring, kNoBody, 23, kNoBody},  // a spring to the world
      {gear, 24, 25, kNoBody},                 // angles from the world's axes
      {gear, 26, 27, 14},                      // on a fixed carrier
      {spherical, 1, 2, kNoBody},
      {spherical, 2, 3, kNoBody},
      {spherical, 3, 1, kNoBody}};  // a loop
  Row row(comm, {13, 14, 15}, joined);
  std::vector<StayingMechanism> staying;

  const std::int64_t removed =
      remove_outflow(comm, Model(), region(0, 39), row.bodies, row.state, &staying);

  // what is held: 7 and 30, 12, 23, 26 and 27; what has no mass: 13, 14, 15
  const std::set<GlobalId> stay = {7, 30, 12, 23, 26, 27, 13, 14, 15};
  EXPECT_EQ(removed, 40 - 9);
  EXPECT_EQ(row.state.flow.removed, removed);
  EXPECT_EQ(row.state.flow.removed_mass, 2.0 * static_cast<double>(removed));
  EXPECT_EQ(row.state.outflow, (std::vector<std::int64_t>{0, removed}));
  EXPECT_EQ(all_ids(comm, row.bodies.constants), stay);
  EXPECT_EQ(all_ids(comm, row.bodies.joints), (std::set<GlobalId>{3, 4, 5, 7, 9}));
  EXPECT_EQ(row.state.joints.size(), row.bodies.joints.size());
  expect_linked(comm, row.bodies);
  // named once each, ascending in their first joint: body, joint that holds it, and to what
  EXPECT_EQ(staying.size(), 4U);
  const std::vector<std::array<GlobalId, 6>> expected = {{3, 7, 2, 2, 3, kNoBody},
                                                         {5, 12, 1, 1, 5, 13},
                                                         {7, 23, 1, 1, 7, kNoBody},
                                                         {9, 26, 2, 1, 9, 14}};
  for (std::size_t i = 0; i < std::min(expected.size(), staying.size()); ++i) {
    const StayingMechanism& m = staying[i];
    EXPECT_EQ((std::array<GlobalId, 6>{m.component, m.body, m.n_bodies, m.n_joints, m.anchor,
                                       m.anchor_body}),
              expected[i]);
    EXPECT_EQ(m.region, 1);
  }
  EXPECT_EQ(remove_outflow(comm, Model(), region(0, 39), row.bodies, row.state, &staying), 0);
  EXPECT_TRUE(staying.empty());
  // the rest moves on
  const std::vector<int> part(row.bodies.constants.size(), comm.size() - 1);
  migrate(comm, row.bodies, row.state, part, comm.size());
  EXPECT_EQ(all_ids(comm, row.bodies.joints), (std::set<GlobalId>{3, 4, 5, 7, 9}));
}

TEST(Flow, AMechanismHasLeftOnceEachOfItsBodiesHasBeenInAnOutflow) {
  const Communicator comm = Communicator::world();
  using enum JointType;
  // 8 .. 12 in a row, with a hub on a spring
  Row row(comm, {},
          {{spherical, 8, 9, kNoBody},
           {spherical, 9, 10, kNoBody},
           {revolute, 10, 11, kNoBody},
           {spring, 12, 10, kNoBody}});
  Bodies& bodies = row.bodies;
  std::vector<StayingMechanism> staying;
  const auto let_out = [&](double from, double to) {
    return remove_outflow(comm, Model(), region(from, to), bodies, row.state, &staying);
  };

  EXPECT_EQ(let_out(6, 9), 2);  // 6 and 7 leave, 8 and 9 wait for the others
  EXPECT_EQ(staying.size(), 1U);
  if (!staying.empty()) {
    EXPECT_EQ(staying[0].body, 8);
    EXPECT_EQ(staying[0].n_bodies, 5);
    EXPECT_EQ(staying[0].n_joints, 4);
    EXPECT_EQ(staying[0].anchor, kNoBody);
  }
  // what has been inside is remembered where the body goes
  const std::vector<int> part(bodies.constants.size(), 0);
  migrate(comm, bodies, row.state, part, comm.size());
  EXPECT_EQ(let_out(11, 12), 0);
  EXPECT_TRUE(staying.empty());
  EXPECT_EQ(let_out(11, 13), 1);  // 13 alone
  EXPECT_EQ(row.state.flow.removed, 3);
  EXPECT_EQ(let_out(10, 10), 5);
  EXPECT_TRUE(staying.empty());
  EXPECT_EQ(row.state.flow.removed, 8);
  EXPECT_EQ(row.state.flow.removed_mass, 16.0);
  EXPECT_EQ(row.state.outflow[1], 8);
  EXPECT_TRUE(all_ids(comm, bodies.joints).empty());
  EXPECT_EQ(all_ids(comm, bodies.constants).size(), 32U);
}

/// Two chains that fall, one of them after its mate has gone; the outflow is thinner than a chain
/// is long. A third one is held, a fourth swings beside the outflow.
constexpr const char* kFallingChains = R"(
materials: {m: {density: 1000, friction: 0.3}}
generators:
  - chain: {name: low, links: 8, joint: spherical, from: [0, 0, 1], to: [0.1, 0, 1.8], material: m,
            shape: {capsule: {radius: 1 cm, length: 8 cm}}}
  - chain: {name: high, links: 8, joint: revolute, from: [0, 0.3, 2.3], to: [0, 0.4, 3.1], axis: [1, 0, 0],
            material: m, shape: {capsule: {radius: 1 cm, length: 8 cm}}}
  - chain: {name: held, links: 6, joint: spherical, from: [1, 0, 0.8], to: [1.6, 0, 0.8], anchored: first,
            material: m, shape: {capsule: {radius: 1 cm, length: 8 cm}}}
  - chain: {name: aside, links: 6, joint: spherical, from: [5, 0, 2], to: [5.6, 0, 2], anchored: both,
            material: m, shape: {capsule: {radius: 1 cm, length: 8 cm}}}
outflow:
  - {name: slit, lower: [-4, -4, 0.3], upper: [4, 4, 0.6]}
time: {step: 5 ms, end: 1}
solver: {max_iterations: 20}
parallel: {deterministic: true, tile_bodies: 5, rebalance_steps: 7}
)";

TEST(Flow, ChainsLongerThanTheOutflowLeaveWithTheSameBitsOnAnyNumberOfRanks) {
  const Communicator comm = Communicator::world();
  const auto sim = simulate(comm, kFallingChains);
  const auto alone = simulate(Communicator::self(), kFallingChains);

  std::vector<std::int64_t> removed;
  std::map<GlobalId, int> named;
  double before = 0.0, unexplained = 0.0, unexplained_leaving = 0.0;
  for (int step = 0; step < 200; ++step) {
    sim->step();
    alone->step();
    // falling is off by m g^2 h^2 / 2 in each step, which the balance shows
    const double residual = sim->stepper().report().energy_residual;
    const bool leaving = !removed.empty() && removed.back() != sim->state().flow.removed;
    double& most = leaving ? unexplained_leaving : unexplained;
    most = std::max(most, std::abs(residual - before));
    before = residual;
    if (removed.empty() || removed.back() != sim->state().flow.removed)
      removed.push_back(sim->state().flow.removed);
    EXPECT_EQ(sim->state().flow.removed, alone->state().flow.removed) << step;
    EXPECT_EQ(sim->changes().staying().size(), alone->changes().staying().size()) << step;
    for (const StayingMechanism& m : sim->changes().staying()) ++named[m.component];
  }

  EXPECT_EQ(removed, (std::vector<std::int64_t>{0, 8, 16}));
  EXPECT_EQ(state_hash(comm, sim->bodies(), sim->state()),
            state_hash(Communicator::self(), alone->bodies(), alone->state()));
  EXPECT_EQ(sim->state().flow.removed_mass, alone->state().flow.removed_mass);
  EXPECT_EQ(sim->state().audit[EnergyTerm::flow_energy],
            alone->state().audit[EnergyTerm::flow_energy]);
  // the joints of low (0 .. 6), high (7 .. 13), held (14 .. 19), aside (20 .. 26)
  EXPECT_EQ(named, (std::map<GlobalId, int>{{0, 1}, {7, 1}, {14, 1}}));
  const std::set<GlobalId> joints = all_ids(comm, sim->bodies().joints);
  EXPECT_EQ(joints.size(), 6U + 7U);
  EXPECT_EQ(*joints.begin(), 14);
  // what left took its energy along: the balance of that step is as closed as that of others
  EXPECT_GT(std::abs(sim->state().audit[EnergyTerm::flow_energy]), 1000.0 * unexplained);
  EXPECT_LE(unexplained_leaving, 1.001 * unexplained);
}

TEST(Flow, AMechanismThatHasPartlyLeftIsKnownToACheckpoint) {
  const Communicator comm = Communicator::world();
  auto sim = simulate(comm, kFallingChains);
  bool partly = false;  // links of the low chain have been in the outflow, others not
  while (!partly && sim->state().step < 150) {
    sim->step();
    for (const StayingMechanism& m : sim->changes().staying()) partly = partly || m.component == 0;
  }
  EXPECT_TRUE(partly);
  for (int step = 0; step < 3; ++step) sim->step();
  EXPECT_EQ(sim->state().flow.removed, 0);
  const std::string path = "flow-" + std::to_string(comm.size()) + ".h5";
  write_checkpoint(comm, path, {}, sim->bodies(), sim->state());
  Checkpoint checkpoint = read_checkpoint(comm, path);
  checkpoint.notes.n_parts = sim->number_of_parts();
  Simulation resumed(comm, sim->settings(), checkpoint);

  bool again = false;
  for (int step = 0; step < 60; ++step) {
    sim->step();
    resumed.step();
    for (const StayingMechanism& m : resumed.changes().staying()) again = again || m.component == 0;
  }

  EXPECT_EQ(sim->state().flow.removed, 8);
  EXPECT_EQ(state_hash(comm, resumed.bodies(), resumed.state()),
            state_hash(comm, sim->bodies(), sim->state()));
  EXPECT_FALSE(again);  // it was named before
  comm.barrier();
  if (comm.rank() == 0) std::remove(path.c_str());
}

TEST(Flow, MechanismsInNaturalCoordinatesLeaveToo) {
  const Communicator comm = Communicator::world();
  const auto sim = simulate(comm, R"(
bodies:
  - {name: a, mass: 1, inertia: [0.1, 0.1, 0.1], position: [0, 0, 1]}
  - {name: b, mass: 1, inertia: [0.1, 0.1, 0.1], position: [1, 0, 1]}
  - {name: c, mass: 1, inertia: [0.1, 0.1, 0.1], position: [5, 0, 1]}
joints:
  - {name: pair, type: revolute, between: [a, b], at: [0.5, 0, 1], axis: [0, 1, 0]}
  - {name: pendulum, type: revolute, between: [world, c], at: [4, 0, 1], axis: [0, 1, 0]}
outflow: [{name: low, lower: [-9, -9, -9], upper: [9, 9, 0.5]}]
time: {stepper: natural, step: 1 ms, end: 1}
)");
  const double lost = 0.5 * 9.81;  // of each, m = 1 kg

  for (int step = 0; step < 500; ++step) sim->step();

  // after sqrt(2 0.5 / 9.81) = 0.319 s
  EXPECT_EQ(sim->state().flow.removed, 2);
  EXPECT_EQ(all_ids(comm, sim->bodies().joints), (std::set<GlobalId>{1}));
  // free fall: kinetic energy lost, potential energy m g z of what is left, 0.5 m
  EXPECT_NEAR(sim->state().audit[EnergyTerm::flow_energy], -2.0 * (lost + 0.5 * 9.81), 1e-9);
  EXPECT_LT(std::abs(sim->stepper().report().energy_residual), 1e-9);
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
}  // namespace catena
