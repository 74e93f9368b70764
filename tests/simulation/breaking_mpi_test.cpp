// Joints that break and bonds between neighbours: loads against closed forms, all ranks alike.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "catena/comm/typed_exchange.hpp"
#include "catena/io/checkpoint.hpp"
#include "catena/partition/state_hash.hpp"
#include "catena/simulation/simulation.hpp"
#include "support/case_text.hpp"
#include "support/error_of.hpp"

namespace catena {
namespace {

constexpr double kH = 1e-3;

/// All ranks' joints that broke, ascending in time.
std::vector<BrokenJoint> broken_of(const Simulation& sim) {
  std::vector<BrokenJoint> all = all_gather_values(sim.communicator(), sim.state().broken);
  std::ranges::sort(all, {}, &BrokenJoint::time);
  return all;
}

std::int64_t joints_of(const Simulation& sim) {
  return sim.communicator().sum(std::ssize(sim.bodies().joints));
}

void run(Simulation& sim, int steps) {
  for (int i = 0; i < steps; ++i) sim.step();
}

/// 1 kg that a joint holds against its weight of 10 N and a pull that grows by 10 N a second.
std::string pulled(const std::string& joint) {
  return "gravity: [0, 0, -10]\n"
         "bodies: [{name: load, mass: 1, inertia: [0.01, 0.01, 0.01], position: [0, 0, -1]}]\n"
         "joints: [{name: wire, between: [world, load], " +
         joint +
         "}]\n"
         "forces: [{name: pull, type: force, body: load, force: [0, 0, -10], table: {rows: [[0, "
         "0], [10, 10]]}}]\n"
         "time: {step: 1 ms, end: 5}\n";
}

TEST(Breaking, AWireTearsAtItsForceAndTheLoadFallsFreely) {
  const auto sim =
      test::simulate(Communicator::world(),
                     pulled("type: distance, at: [[0, 0, 0], [0, 0, -1]], break_force: 15"));
  run(*sim, 490);
  EXPECT_EQ(sim->state().broken_joints, 0);
  EXPECT_EQ(joints_of(*sim), 1);
  run(*sim, 30);
  const std::vector<BrokenJoint> broken = broken_of(*sim);
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(sim->state().broken_joints, 1);
  EXPECT_EQ(joints_of(*sim), 0);
  EXPECT_EQ(broken[0].joint, 0);
  EXPECT_NEAR(broken[0].time, 0.5, 2.0 * kH);
  EXPECT_GT(broken[0].force, 15.0);
  EXPECT_LT(broken[0].force, 15.0 + 2.0 * 10.0 * kH);
  EXPECT_NEAR(broken[0].torque, 0.0, 1e-12);
  EXPECT_EQ(static_cast<double>(broken[0].step), std::round(broken[0].time / kH));

  run(*sim, 480);  // until 1 s: v = -int g + 10 t
  const double from = broken[0].time, to = sim->state().time;
  const double v = -10.0 * (to - from) - 5.0 * (to * to - from * from);
  EXPECT_NEAR(sim->scene().body_state(0).twist.v[2], v, 20.0 * kH);
  // the stepper's own in free fall: m g h v / 2
  EXPECT_NEAR(sim->stepper().report().energy_residual, 0.5 * 10.0 * kH * v, 1e-3);
}

TEST(Breaking, ASoftWireTearsAtTheEnergyThatItStores) {
  // E = C F^2 / 2: 15 N at 1 mm/N; taken slowly, so that it follows the force
  const auto sim = test::simulate(
      Communicator::world(),
      pulled("type: distance, at: [[0, 0, 0], [0, 0, -1]], compliance: 1e-5, break_energy: "
             "1.125e-3"));
  run(*sim, 600);
  const std::vector<BrokenJoint> broken = broken_of(*sim);
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_NEAR(broken[0].force, 15.0, 0.1);
  EXPECT_NEAR(broken[0].time, 0.5, 0.01);
  // the force is that of the step's mean
  EXPECT_NEAR(broken[0].energy, 0.5e-5 * broken[0].force * broken[0].force, 1e-5);
}

TEST(Breaking, ABondBreaksAtTheEnergyOfItsStretchHoweverFastItIsPulledAndDamped) {
  // so heavy that it flies on as if nothing held it: stretched by v t, turned by w t
  constexpr double kLinear = 1e-5, kAngular = 1e-3, kLimit = 0.5;
  const auto stored = [](double v, double w, double t) {
    return 0.5 * (v * v / kLinear + w * w / kAngular) * t * t;
  };
  for (const auto& [v, w] : {std::pair(0.01, 0.01), std::pair(1.0, 0.0), std::pair(0.1, 2.0)}) {
    for (const char* damping : {"0 s", "2 ms", "50 ms"}) {
      const auto sim = test::simulate(
          Communicator::world(),
          "gravity: [0, 0, 0]\n"
          "bodies: [{name: block, mass: 1e9, inertia: [1e9, 1e9, 1e9], position: [0, 0, 1], "
          "velocity: [0, 0, " +
              test::text_of(v) + "], angular_velocity: [0, 0, " + test::text_of(w) +
              "]}]\n"
              "joints: [{name: bond, type: fixed, between: [world, block], at: [0, 0, 1], "
              "compliance: 1e-5, angular_compliance: 1e-3, break_energy: 0.5, damping_time: " +
              damping + "}]\ntime: {step: 1 ms, end: 5}\n");
      const double steps = std::sqrt(kLimit / stored(v, w, kH));
      run(*sim, static_cast<int>(steps) + 5);

      const std::vector<BrokenJoint> broken = broken_of(*sim);
      ASSERT_EQ(broken.size(), 1U) << v << " " << damping;
      EXPECT_EQ(static_cast<double>(broken[0].step), std::ceil(steps)) << v << " " << damping;
      EXPECT_NEAR(broken[0].energy, stored(v, w, broken[0].time), 1e-5 * kLimit) << damping;
    }
  }
}

TEST(Breaking, TheEnergyOfAHingeIsThatOfItsRowsAndNotOfItsMotor) {
  // 10 N m about the free axis, which no compliance bears; the weight bends by 10 N at 1e-5 m/N
  const auto wheel = [](const std::string& limit) {
    return test::simulate(
        Communicator::world(),
        "gravity: [0, 0, -10]\n"
        "bodies: [{name: wheel, mass: 1, inertia: [1, 1, 1], position: [0, 0, 0]}]\n"
        "joints: [{name: axle, type: revolute, between: [world, wheel], at: [0, 0, 0], axis: [0, "
        "1, 0], motor: {force: 10}, compliance: 1e-5, angular_compliance: 1e-3, break_energy: " +
            limit + "}]\ntime: {step: 1 ms, end: 5}\n");
  };
  const auto holds = wheel("2e-3"), breaks = wheel("4e-4");
  run(*holds, 100);
  run(*breaks, 100);
  EXPECT_EQ(holds->state().broken_joints, 0);
  EXPECT_EQ(breaks->state().broken_joints, 1);
}

TEST(Breaking, ABeamBreaksAtItsMoment) {
  // 1 kg at 0.4 m: 4 N m where it is held
  const auto beam = [](const std::string& limit) {
    return test::simulate(
        Communicator::world(),
        "gravity: [0, 0, -10]\n"
        "bodies: [{name: beam, mass: 1, inertia: [0.01, 0.01, 0.01], position: [0.4, 0, 0]}]\n"
        "joints: [{name: root, type: fixed, between: [world, beam], at: [0, 0, 0], break_torque: " +
            limit + "}]\ntime: {step: 1 ms, end: 5}\n");
  };
  const auto holds = beam("4.01"), breaks = beam("3.99");
  run(*holds, 100);
  run(*breaks, 100);
  EXPECT_EQ(holds->state().broken_joints, 0);
  const std::vector<BrokenJoint> broken = broken_of(*breaks);
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken[0].step, 1);
  EXPECT_NEAR(broken[0].torque, 4.0, 1e-9);
  EXPECT_NEAR(broken[0].force, 10.0, 1e-9);
  EXPECT_NEAR(breaks->scene().body_state(0).twist.v[2], -0.99, 1e-9);  // from the second step on
}

/// 1 kg that reaches 1 mm into a base, held by a joint that its weight breaks in the first step;
/// contacts take 1e6 N/m, in which 1 mm would be 0.5 J.
const std::string kGluedInto =
    "materials: {m: {density: 1000, friction: 0.5}}\n"
    "gravity: [0, 0, -10]\n"
    "contact: {stiffness: 1e6}\n"
    "bodies:\n"
    "  - {name: base, material: m, fixed: true, shape: {box: {size: [0.1, 0.1, 0.1]}}, position: "
    "[0, 0, 0]}\n"
    "  - {name: block, material: m, shape: {box: {size: [0.1, 0.1, 0.1]}}, position: [0, 0, "
    "0.099]}\n"
    "joints: [{name: glue, type: fixed, between: [base, block], at: [0, 0, 0.05], break_force: "
    "9}]\n"
    "time: {step: 1 ms, end: 5}\n";

TEST(Breaking, OverlapsThatAJointAllowedAreNotThrownApart) {
  const auto sim = test::simulate(Communicator::world(), kGluedInto);
  const auto place = [&] { return sim->scene().body_state(1).pose.p[2]; };
  double fastest = 0.0;
  for (int i = 0; i < 1500; ++i) {
    sim->step();
    fastest = std::max(fastest, std::abs(sim->scene().body_state(1).twist.v[2]));
  }
  EXPECT_EQ(sim->state().broken_joints, 1);
  // a hundredth of what is left in a step: 10 mm/s at first; what sinks in under the weight besides
  EXPECT_LT(fastest, 0.02);
  // the weight sinks in by 10 N/(1e6 N/m), and what the audit has is what places say
  const double sunk = 0.1 - place();
  EXPECT_NEAR(sunk, 1e-5, 1e-7);  // something of the start is left
  const StepReport& r = sim->stepper().report();
  const double stored = 0.5e6 * sunk * sunk;
  EXPECT_NEAR(r.audit[EnergyTerm::elastic_energy], stored, 1e-7);
  // pushing apart has lifted the weight, and what contacts lost of it besides
  EXPECT_NEAR(r.audit[EnergyTerm::recovery_work] - r.audit[EnergyTerm::dissipation_impact],
              10.0 * (place() - 0.099) + stored, 1e-5);
  EXPECT_NEAR(r.audit[EnergyTerm::elastic_jump], 0.0, 1e-4);
  EXPECT_NEAR(r.energy_residual, 0.0, 1e-4);
}

TEST(Breaking, OverlapsThatAJointAllowedAreNoEnergyOfTheContact) {
  const auto sim = test::simulate(Communicator::world(), kGluedInto);
  sim->step();
  EXPECT_EQ(sim->state().broken_joints, 1);

  const StepReport next = sim->step();
  run(*sim, 100);
  const StepReport& later = sim->stepper().report();

  // taken for the contact's, 1 mm would be 0.5e6 * (1e-3)^2 = 0.5 J; a hundredth of it counts, and
  // the weight, which pushes by as much in a step, is undone by the contact
  EXPECT_NEAR(next.audit[EnergyTerm::elastic_energy], 0.5e6 * 1e-5 * 1e-5, 2e-6);
  EXPECT_NEAR(next.audit[EnergyTerm::recovery_work], 0.5e6 * 1e-5 * 1e-5, 1e-9);
  EXPECT_NEAR(next.audit[EnergyTerm::elastic_jump], 0.0, 1e-9);
  // 1 - 0.99^100 = 63 % of 1 mm are undone, against 10 N
  EXPECT_GT(later.audit[EnergyTerm::recovery_work], 10.0 * 0.6e-3);
}

/// Blocks of 0.1 m and 1 kg in a row along `axis`, the first fixed, bonded.
std::string row_of_blocks(const std::string& count, const std::string& spacing,
                          const std::string& gravity, const std::string& limits) {
  return "materials: {m: {density: 1000, friction: 0.5}}\n"
         "gravity: " +
         gravity +
         "\n"
         "bodies: [{name: base, material: m, fixed: true, shape: {box: {size: [0.1, 0.1, 0.1]}}, "
         "position: [0, 0, 0]}]\n"
         "generators:\n"
         "  - lattice: {name: row, material: m, shape: {box: {size: [0.1, 0.1, 0.1]}}, count: " +
         count + ", spacing: [0.1, 0.1, 0.1], origin: " + spacing +
         "}\n"
         "  - bonds: {name: glue, between: [base, row], gap: 1 mm, compliance: 1e-8, "
         "angular_compliance: 1e-5" +
         limits + "}\ntime: {step: 1 ms, end: 5}\nsolver: {method: gauss_seidel}\n";
}

TEST(Bonds, JoinEveryPairOfNeighboursOnce) {
  const auto lattice = [](const std::string& gap) {
    return test::simulate(
        Communicator::world(),
        "materials: {m: {density: 1000, friction: 0.5}}\n"
        "bodies:\n"
        "  - {name: floor, material: m, shape: {plane: {}}}\n"
        "generators:\n"
        "  - lattice: {name: balls, material: m, shape: {sphere: {radius: 0.05}}, count: [4, 3, "
        "2], spacing: 0.102, origin: [0, 0, 0.05]}\n"
        "  - bonds: {name: glue, between: [balls], joint: spherical, gap: " +
            gap + ", compliance: 1e-8}\ntime: {step: 1 ms, end: 5}\n");
  };
  // along x, y and z: 3*3*2 + 4*2*2 + 4*3*1; the floor is no neighbour
  const auto near = lattice("3 mm"), far = lattice("1 mm");
  EXPECT_EQ(near->n_bonds(), 46);
  EXPECT_EQ(joints_of(*near), 46);
  EXPECT_EQ(far->n_bonds(), 0);
  for (const JointConstants& bond : near->bodies().joints)
    for (std::size_t k = 0; k < 2; ++k) EXPECT_NEAR(bond.frame[k].p.norm(), 0.051, 1e-12);
  run(*near, 1);
  EXPECT_LT(near->stepper().report().misfit.linear, 1e-12);
}

TEST(Bonds, CarryPressureThatWouldTearThemAsTension) {
  // three blocks above or below a fixed one: 3 kg pull or press by 30 N
  const std::string limit = ", break_tension: 25 N";
  const auto hung = test::simulate(
      Communicator::world(), row_of_blocks("[1, 1, 3]", "[0, 0, -0.3]", "[0, 0, -10]", limit));
  const auto stood = test::simulate(
      Communicator::world(), row_of_blocks("[1, 1, 3]", "[0, 0, 0.1]", "[0, 0, -10]", limit));
  EXPECT_EQ(hung->n_bonds(), 3);
  run(*hung, 50);
  run(*stood, 50);
  EXPECT_EQ(stood->state().broken_joints, 0);
  const std::vector<BrokenJoint> broken = broken_of(*hung);
  ASSERT_EQ(broken.size(), 1U);  // the lower ones carry 20 and 10 N
  EXPECT_NEAR(broken[0].force, 30.0, 3.0);
}

TEST(Bonds, ShearAtTheWeightBesideThem) {
  const auto beside = [](const std::string& limit) {
    return test::simulate(Communicator::world(),
                          row_of_blocks("[1, 1, 1]", "[0.1, 0, 0]", "[0, 0, -10]", limit));
  };
  const auto holds = beside(", break_shear: 11 N"), breaks = beside(", break_shear: 9 N"),
             pulls = beside(", break_tension: 1 N");
  for (const auto& sim : {holds.get(), breaks.get(), pulls.get()}) run(*sim, 20);
  EXPECT_EQ(holds->state().broken_joints, 0);
  EXPECT_EQ(breaks->state().broken_joints, 1);
  EXPECT_EQ(pulls->state().broken_joints, 0);
}

TEST(Bonds, BreakAlikeOnAllRanksAndThroughAResume) {
  // a block of 5 x 2 x 3 thrown at a floor, where it breaks
  const std::string text =
      "materials: {m: {density: 1000, friction: 0.5}}\n"
      "bodies: [{name: floor, material: m, shape: {plane: {}}}]\n"
      "generators:\n"
      "  - lattice: {name: block, material: m, shape: {box: {size: [0.1, 0.1, 0.1]}}, count: [5, "
      "2, 3], spacing: 0.1, origin: [0, 0, 0.06], velocity: [3, 0, -2]}\n"
      "  - bonds: {name: glue, between: [block], gap: 1 mm, compliance: 1e-7, angular_compliance: "
      "1e-4, break_tension: 300 N, break_shear: 300 N, break_torque: 15 N m}\n"
      "time: {step: 1 ms, end: 5}\n"
      "solver: {method: gauss_seidel, max_iterations: 30}\n"
      "parallel: {deterministic: true, tile_bodies: 8, rebalance_steps: 10}\n";
  const Communicator self = Communicator::self(), world = Communicator::world();
  const auto alone = test::simulate(self, text), all = test::simulate(world, text);
  EXPECT_EQ(alone->n_bonds(), 59);
  EXPECT_EQ(state_hash(self, alone->bodies(), alone->state()),
            state_hash(world, all->bodies(), all->state()));
  const std::string path = "breaking_" + std::to_string(world.size()) + ".h5";
  std::int64_t written = -1;
  for (int i = 0; i < 40; ++i) {
    alone->step();
    all->step();
    EXPECT_EQ(state_hash(self, alone->bodies(), alone->state()),
              state_hash(world, all->bodies(), all->state()))
        << i;
    // after a step that broke something, whose joints are still there
    if (written < 0 && all->state().broken_joints > 0) {
      all->write_checkpoint(path);
      written = i + 1;
    }
  }
  EXPECT_GT(all->state().broken_joints, 5);
  EXPECT_LT(all->state().broken_joints, 59);
  ASSERT_GT(written, 0);
  Checkpoint checkpoint = read_checkpoint(self, path);
  Simulation resumed(self, alone->settings(), checkpoint);
  for (std::int64_t i = written; i < 40; ++i) resumed.step();
  EXPECT_EQ(state_hash(self, resumed.bodies(), resumed.state()),
            state_hash(self, alone->bodies(), alone->state()));
  world.barrier();
  if (world.rank() == 0) std::filesystem::remove(path);
}

/// Two loads of 1 kg, joined, of which an outflow holds the lower one from the start.
std::string over_an_outflow(const std::string& joints) {
  return "gravity: [0, 0, -10]\n"
         "bodies:\n"
         "  - {name: upper, mass: 1, inertia: [0.01, 0.01, 0.01], position: [0, 0, 0]}\n"
         "  - {name: lower, mass: 1, inertia: [0.01, 0.01, 0.01], position: [0, 0, -1]}\n"
         "joints:\n" +
         joints +
         "outflow: [{name: below, lower: [-1, -1, -9], upper: [1, 1, -0.5]}]\n"
         "time: {step: 1 ms, end: 5}\n";
}

TEST(Breaking, WhatABreakSetsFreeLeavesByTheOutflowThatItIsIn) {
  const Communicator comm = Communicator::world();
  // the wire bears 10 N and breaks in the first step; without it the lower load is on its own
  const auto sim = test::simulate(
      comm,
      over_an_outflow("  - {name: holds, type: spherical, between: [world, upper], at: [0, 0, "
                      "0]}\n  - {name: wire, type: distance, between: [upper, lower], at: [[0, "
                      "0, 0], [0, 0, -1]], break_force: 9}\n"));
  sim->step();
  EXPECT_EQ(sim->state().broken_joints, 1);
  EXPECT_EQ(comm.sum(std::ssize(sim->bodies().constants)), 2);
  run(*sim, 1);
  EXPECT_EQ(comm.sum(std::ssize(sim->bodies().constants)), 1);
  EXPECT_EQ(sim->state().flow.removed, 1);
}

TEST(Breaking, ATendonThatHoldsToTheWorldKeepsItsBodiesInTheRun) {
  // both are in the outflow, which lets go whole mechanisms that nothing holds
  const Communicator comm = Communicator::world();
  const auto bodies_left = [&](const std::string& first) {
    const auto sim = test::simulate(
        comm,
        "gravity: [0, 0, -10]\n"
        "bodies:\n"
        "  - {name: upper, mass: 1, inertia: [0.01, 0.01, 0.01], position: [0, 0, -1]}\n"
        "  - {name: lower, mass: 1, inertia: [0.01, 0.01, 0.01], position: [0, 0, -2]}\n"
        "joints: [{name: cable, type: tendon, through: [" +
            first +
            "{body: upper, at: [0, 0, -1]}, {body: lower, at: [0, 0, -2]}]}]\n"
            "outflow: [{name: below, lower: [-1, -1, -9], upper: [1, 1, -0.5]}]\n"
            "time: {step: 1 ms, end: 5}\n");
    run(*sim, 5);
    return comm.sum(std::ssize(sim->bodies().constants));
  };
  EXPECT_EQ(bodies_left("{body: world, at: [0, 0, 0.5]}, "), 2);
  EXPECT_EQ(bodies_left("{body: lower, at: [0.1, 0, -2]}, "), 0);
}

TEST(Breaking, KeysOfChainsThatAreHeldAreRefused) {
  const std::string error = test::error_of([] {
    (void)test::case_of(
        "materials: {m: {density: 1}}\n"
        "generators: [{chain: {name: rail, links: 3, from: [0, 0, 0], to: [1, 0, 0], fixed: true, "
        "material: m, shape: {sphere: {radius: 0.1}}, break_force: 1}}]\n"
        "time: {step: 1 ms, end: 1}\n");
  });
  EXPECT_NE(error.find("rail.break_force: has no effect"), std::string::npos) << error;
}

TEST(Breaking, WhatHasNoEffectIsRefused) {
  const auto error = [](const std::string& joint) {
    return test::error_of([&] { (void)test::case_of(pulled(joint)); });
  };
  EXPECT_NE(error("type: spherical, at: [0, 0, -1], break_torque: 3").find("break_torque"),
            std::string::npos);
  EXPECT_NE(error("type: spherical, at: [0, 0, -1], break_energy: 3").find("stores nothing"),
            std::string::npos);
  EXPECT_NE(error("type: spherical, at: [0, 0, -1], break_force: 0").find("break_force"),
            std::string::npos);
  const auto bonds = [](const std::string& keys) {
    return test::error_of([&] {
      (void)test::simulate(Communicator::world(),
                           "materials: {m: {density: 1}}\nbodies: []\n"
                           "generators:\n  - bonds: {name: glue, gap: 1 mm, " +
                               keys + "}\ntime: {step: 1 ms, end: 1}\n");
    });
  };
  EXPECT_NE(bonds("between: [nothing], compliance: 1e-8, angular_compliance: 1e-5")
                .find("'nothing' is no body or generator"),
            std::string::npos);
  EXPECT_NE(bonds("between: [nothing], angular_compliance: 1e-5").find("compliance"),
            std::string::npos);
  // where it is written, and that what is named has no neighbours
  const auto named = [](const std::string& name) {
    return test::error_of([&] {
      (void)test::case_of(
          "materials: {m: {density: 1}}\n"
          "bodies: [{name: floor, material: m, shape: plane}]\n"
          "generators:\n"
          "  - container: {name: bin, material: m, size: [1, 1, 1]}\n"
          "  - lattice: {name: row, material: m, shape: {sphere: {radius: 0.1}}, count: [2, 1, 1], "
          "spacing: 0.2}\n"
          "  - insertion: {name: rain, material: m, shape: {sphere: {radius: 0.1}}, count: 3, "
          "number_rate: 1, "
          "region: {lower: [-5, -5, 4], upper: [-1, -1, 8]}}\n"
          "  - bonds: {name: glue, gap: 1 mm, compliance: 1e-8, angular_compliance: 1e-5, between: "
          "[" +
          name + "]}\ntime: {step: 1 ms, end: 1}\n");
    });
  };
  EXPECT_EQ(named("row"), "no error");
  EXPECT_EQ(named("row-1"), "no error");
  for (const auto& [name, why] :
       {std::pair("rows", "'rows' is no body or generator"),
        std::pair("row-2", "'row-2' is no body"), std::pair("floor", "'floor' is a plane"),
        std::pair("bin", "'bin' makes planes"),
        std::pair("rain", "'rain' makes bodies that come in"),
        std::pair("glue", "'glue' makes no bodies")}) {
    EXPECT_NE(named(name).find(why), std::string::npos) << named(name);
    EXPECT_NE(named(name).find("generators.glue.between"), std::string::npos) << named(name);
  }
}

}  // namespace
}  // namespace catena
