// Mechanisms leave whole, once each of their bodies has been in an outflow, on any number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "catena/io/checkpoint.hpp"
#include "catena/partition/balance.hpp"
#include "catena/partition/state_hash.hpp"
#include "simulation/flow_cases.hpp"

namespace catena::test {
namespace {

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
  const std::vector<GlobalId> all = all_of(comm, own);
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

}  // namespace
}  // namespace catena::test
