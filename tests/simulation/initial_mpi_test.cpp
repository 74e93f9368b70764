// A case that begins with the end of another run (`initial`): what goes on, what is new, and that
// nothing is lost between both.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "catena/io/checkpoint.hpp"
#include "catena/partition/state_hash.hpp"
#include "simulation/initial/added_names.hpp"
#include "support/case_text.hpp"
#include "support/error_of.hpp"
#include "support/first_ranks.hpp"

namespace catena {
namespace {

using test::simulate;
using test::sphere_text;
using test::text_of;

/// Collective. An empty directory of this test's and this number of ranks' own.
std::string fresh_directory(const Communicator& comm, const std::string& name) {
  const std::string path = "initial-" + name + "-np" + std::to_string(comm.size());
  if (comm.rank() == 0) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directory(path);
  }
  comm.barrier();
  return path;
}

/// Collective. What a run leaves: its checkpoint in `directory`.
void leave(const Simulation& sim, const std::string& directory) {
  CheckpointNotes notes;
  notes.config = print_case(sim.settings());
  notes.n_parts = sim.number_of_parts();
  keep_names(sim.communicator(), sim.model(), notes);
  write_checkpoint(sim.communicator(), checkpoint_path(directory, sim.state().step), notes,
                   sim.bodies(), sim.state());
}

void take_steps(Simulation& sim, int n) {
  for (int i = 0; i < n; ++i) sim.step();
}

/// Collective. Pose and twist of a body, on every rank.
BodyMotionState state_of(const Simulation& sim, GlobalId id) {
  std::vector<double> x(13, 0.0);
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i) {
    if (sim.bodies().constants[i].id != id) continue;
    const BodyMotionState& s = sim.state().body[i];
    const auto& q = s.pose.q.coeffs();
    x = {s.pose.p[0],  s.pose.p[1],  s.pose.p[2],  q[0],         q[1],         q[2],        q[3],
         s.twist.v[0], s.twist.v[1], s.twist.v[2], s.twist.w[0], s.twist.w[1], s.twist.w[2]};
  }
  sim.communicator().sum(x);
  return {{Vec3(x[0], x[1], x[2]), Quat(x[6], x[3], x[4], x[5])},
          {Vec3(x[7], x[8], x[9]), Vec3(x[10], x[11], x[12])}};
}

/// Whether one of these remarks or warnings has this text in it.
bool tells(const std::vector<std::string>& lines, const std::string& text) {
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

std::string initial(const std::string& directory, const std::string& keys) {
  return "initial: {from: " + directory + keys + "}\n";
}

/// Grains under a paddle whose motion is a table, balls that move through them, a chain, some
/// grains that come and some that leave.
std::string busy(const std::string& parallel) {
  return "materials: {m: {density: 1000, friction: 0.3}}\n"
         "bodies:\n"
         "  - {name: paddle, material: m, shape: {box: {size: [0.1, 0.8, 0.3]}}, position: "
         "[-0.25, 0.3, 0.2], motion: {table: {file: " CATENA_TEST_DATA "/cases/paddle.csv}}}\n" +
         sphere_text("ball", 0.3, 1.2) +
         "generators:\n"
         "  - container: {name: floor, material: m, size: [.inf, .inf, .inf], origin: [-5, -5, "
         "0]}\n"
         "  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, count: [3, 3, "
         "3], spacing: 0.205, origin: [0, 0, 0.11], position_jitter: 5 mm}\n"
         "  - lattice: {name: rakes, material: m, shape: {sphere: {radius: 0.05}}, count: [1, 3, "
         "2], "
         "spacing: 0.2, origin: [-0.45, 0.05, 0.06], motion: {velocity: [1, 0, 0], "
         "angular_velocity: [0, 0, 1], about: [0, 0, 0]}}\n"
         "  - chain: {name: cable, links: 6, joint: spherical, from: [0, 0.2, 0.8], to: [0.4, "
         "0.2, 0.8], anchored: none, material: m, shape: {capsule: {radius: 1 cm, length: 4 "
         "cm}}}\n" +
         parallel;
}

constexpr const char* kFlow =
    "  - insertion: {name: feed, material: m, shape: {sphere: {radius: 0.05}}, region: {lower: [0, "
    "0, 1.3], upper: [0.5, 0.5, 1.6]}, number_rate: 300, count: 100, velocity: [0, 0, -2]}\n"
    "outflow: [{name: side, lower: [0.45, -9, -1], upper: [9, 9, 9]}]\n"
    "parallel: {rebalance_steps: 9, imbalance: 1.01}\n";
constexpr const char* kAlike =
    "parallel: {deterministic: true, tile_bodies: 8, rebalance_steps: 9}\n";
constexpr const char* kTime = "time: {step: 4 ms, end: ";

/// Collective on `comm`. A hash per step of the unbroken run, from step `from` on.
std::vector<std::uint64_t> hashes(Simulation& sim, int steps) {
  std::vector<std::uint64_t> all;
  for (int i = 0; i < steps; ++i) {
    sim.step();
    all.push_back(state_hash(sim.communicator(), sim.bodies(), sim.state()));
  }
  return all;
}

constexpr int kBefore = 14, kAfter = 12;

TEST(Initial, WithTimeKeptTheBitsAreThoseOfOneUnbrokenRun) {
  const Communicator comm = Communicator::world();
  for (const bool alike : {false, true}) {
    const std::string yaml = busy(alike ? kAlike : kFlow);
    const std::string directory = fresh_directory(comm, alike ? "alike" : "flow");
    Simulation whole(comm, test::case_of(yaml + kTime + "1}\n"));
    take_steps(whole, kBefore);
    const std::vector<std::uint64_t> expected = hashes(whole, kAfter);
    {
      Simulation first(comm, test::case_of(yaml + kTime + "56 ms}\n"));
      take_steps(first, kBefore);
      leave(first, directory);
    }
    Simulation second(comm,
                      test::case_of(yaml + kTime + "1}\n" + initial(directory, ", time: keep")));

    EXPECT_EQ(second.state().step, kBefore);
    EXPECT_EQ(hashes(second, kAfter), expected) << yaml;
    for (const EnergyTermEntry& e : kEnergyTerms)
      EXPECT_EQ(second.state().audit[e.term], whole.state().audit[e.term]) << e.name;
    EXPECT_EQ(second.state().flow.inserted, whole.state().flow.inserted);
    EXPECT_EQ(second.state().flow.removed, whole.state().flow.removed);
  }
}

TEST(Initial, ADeterministicRunGoesOnWithTheSameBitsOnAnyOtherNumberOfRanks) {
  const Communicator world = Communicator::world();
  const std::string yaml = busy(kAlike), directory = fresh_directory(world, "ranks");
  Simulation whole(world, test::case_of(yaml + kTime + "1}\n"));
  take_steps(whole, kBefore);
  const std::vector<std::uint64_t> expected = hashes(whole, kAfter);
  for (int writers = 1; writers <= world.size(); ++writers) {
    world.barrier();
    if (const auto comm = test::first_ranks(writers)) {
      Simulation first(*comm, test::case_of(yaml + kTime + "56 ms}\n"));
      take_steps(first, kBefore);
      leave(first, directory);
    }
    for (int readers = 1; readers <= world.size(); ++readers) {
      world.barrier();
      const auto comm = test::first_ranks(readers);
      if (!comm) continue;
      Simulation second(*comm,
                        test::case_of(yaml + kTime + "1}\n" + initial(directory, ", time: keep")));
      EXPECT_EQ(hashes(second, kAfter), expected) << writers << " " << readers;
    }
  }
}

/// Bodies in the order of this list, far from each other, above a floor.
std::string flyers(const std::string& bodies) {
  return "materials: {m: {density: 1000, friction: 0.3}}\n"
         "bodies:\n" +
         bodies + "generators:\n" +
         "  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, count: [4, 3, "
         "1], spacing: 0.5, origin: [2, 0, 5], velocity: [1, 0, 0]}\n";
}

TEST(Initial, BodiesAreMatchedByNameWhateverTheirIdsAndFlyOnAlongTheirParabolas) {
  const Communicator comm = Communicator::world();
  const std::string directory = fresh_directory(comm, "names");
  constexpr double h = 0.01;
  const std::string time = "time: {step: 10 ms, end: 0.1}\n";
  {
    Simulation first(comm,
                     test::case_of(flyers(sphere_text("a", 0.0, 5.0, ", velocity: [0, 2, 3]") +
                                          sphere_text("gone", -5.0, 5.0)) +
                                   time));
    take_steps(first, 10);
    leave(first, directory);
  }
  Simulation second(
      comm, test::case_of(flyers(sphere_text("new", -9.0, 7.0) + sphere_text("a", 99.0, 99.0) +
                                 sphere_text("next", 12.0, 7.0)) +
                          time + initial(directory, "")));
  EXPECT_EQ(second.state().step, 0);
  EXPECT_EQ(second.state().time, 0.0);
  EXPECT_EQ(comm.sum(std::ssize(second.bodies())), 15);
  take_steps(second, 10);

  // symplectic Euler over n steps: v0 n h - g h^2 n (n + 1)/2
  const auto fallen = [](int n) { return -9.81 * h * h * n * (n + 1) / 2.0; };
  const Vec3 a = state_of(second, 1).pose.p;
  EXPECT_NEAR(a[1], 2.0 * 20 * h, 1e-12);
  EXPECT_NEAR(a[2], 5.0 + 3.0 * 20 * h + fallen(20), 1e-12);
  EXPECT_NEAR(state_of(second, 0).pose.p[2], 7.0 + fallen(10), 1e-12);  // new
  EXPECT_NEAR(state_of(second, 2).pose.p[2], 7.0 + fallen(10), 1e-12);  // next
  for (int k = 0; k < 12; ++k) {
    const Vec3 p = state_of(second, 3 + k).pose.p;
    EXPECT_NEAR(p[0], 2.0 + 0.5 * (k % 4) + 20 * h, 1e-12) << k;
    EXPECT_NEAR(p[2], 5.0 + fallen(20), 1e-12) << k;
  }
}

TEST(Initial, ABodyThatAProgramAddedGoesOnByItsName) {
  const Communicator comm = Communicator::world();
  const std::string directory = fresh_directory(comm, "added");
  const std::string time = "time: {step: 10 ms, end: 0.1}\n";
  {
    Simulation first(comm, test::case_of(flyers(sphere_text("a", 0.0, 5.0)) + time));
    first.add_body(
        "{name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: [0, 0, 9], velocity: "
        "[0, 2, 0]}",
        "ball", ".");
    take_steps(first, 10);
    leave(first, directory);
  }
  const Simulation second(
      comm, test::case_of(flyers(sphere_text("ball", 50.0, 5.0) + sphere_text("a", 99.0, 5.0)) +
                          time + initial(directory, "")));

  EXPECT_NEAR(state_of(second, 0).pose.p[0], 0.0, 1e-12);
  EXPECT_NEAR(state_of(second, 0).pose.p[1], 0.2, 1e-12);
  EXPECT_NEAR(state_of(second, 0).twist.v[1], 2.0, 1e-12);
  EXPECT_FALSE(tells(second.warnings(), "left out"));
  // a case without the name says whom it leaves out
  const Simulation third(
      comm, test::case_of(flyers(sphere_text("a", 99.0, 5.0)) + time + initial(directory, "")));
  EXPECT_TRUE(tells(third.warnings(), "1 bodies of the earlier run are left out"));
  EXPECT_TRUE(tells(third.warnings(), ": ball"));
}

TEST(Initial, VelocitiesMayBeginAtZeroAndOnlyNamedBodiesMayGoOn) {
  const Communicator comm = Communicator::world();
  const std::string directory = fresh_directory(comm, "zero");
  const std::string yaml = flyers(sphere_text("a", 0.0, 5.0, ", velocity: [0, 2, 3]")) +
                           "time: {step: 10 ms, end: 0.1}\n";
  {
    Simulation first(comm, test::case_of(yaml));
    take_steps(first, 10);
    leave(first, directory);
  }
  const Simulation second(
      comm, test::case_of(yaml + initial(directory, ", velocities: zero, bodies: [a]")));

  EXPECT_NEAR(state_of(second, 0).pose.p[1], 0.2, 1e-12);
  EXPECT_EQ(state_of(second, 0).twist.v, Vec3(0, 0, 0));
  EXPECT_EQ(state_of(second, 1).pose.p, Vec3(2, 0, 5));  // starts anew
  EXPECT_EQ(state_of(second, 1).twist.v, Vec3(1, 0, 0));
}

TEST(Initial, AMotionTakesABodyOnFromWhereItIsAndAResumeKnowsWhere) {
  const Communicator comm = Communicator::world();
  const std::string directory = fresh_directory(comm, "motion");
  const std::string time = "time: {step: 10 ms, end: 0.4}\n";
  {
    Simulation first(comm, test::case_of(flyers(sphere_text("lid", 0.0, 5.0)) + time));
    take_steps(first, 10);
    leave(first, directory);
  }
  const std::string yaml =
      flyers(sphere_text("lid", 0.0, 5.0, ", motion: {velocity: [1, 0, 0.5]}")) + time;
  Simulation second(comm, test::case_of(yaml + initial(directory, "")));
  const double z = 5.0 - 9.81 * 1e-4 * 55;
  EXPECT_NEAR(state_of(second, 0).pose.p[2], z, 1e-12);
  take_steps(second, 10);
  EXPECT_NEAR(state_of(second, 0).pose.p[0], 0.1, 1e-12);
  EXPECT_NEAR(state_of(second, 0).pose.p[2], z + 0.05, 1e-12);

  // through the checkpoint of a run, as --resume reads it
  const std::string after = fresh_directory(comm, "motion-after");
  {
    Log log(false);
    CaseSettings shorter = test::case_of(yaml + initial(directory, ""));
    shorter.time.end = 0.1;
    Simulation run(comm, shorter);
    RunOptions options;
    options.directory = after;
    EXPECT_EQ(run.run(options, log), ExitCode::done);
  }
  Log log(false);
  RunOptions options;
  options.directory = after;
  const auto resumed = resume(comm, test::case_of(yaml), "", options, log);
  for (int i = 0; i < 5; ++i) {
    second.step();
    resumed->step();
  }
  EXPECT_EQ(state_hash(comm, resumed->bodies(), resumed->state()),
            state_hash(comm, second.bodies(), second.state()));
}

TEST(Initial, EachBodyOfALatticeGoesOnFromWhereItWas) {
  const Communicator comm = Communicator::world();
  const std::string directory = fresh_directory(comm, "lattice-motion");
  const auto yaml = [](const std::string& motion) {
    return "materials: {m: {density: 1000}}\ngravity: [0, 0, 0]\n"
           "generators:\n"
           "  - lattice: {name: pins, material: m, shape: {sphere: {radius: 0.05}}, count: [4, 1, "
           "1], spacing: 1, motion: " +
           motion + "}\ntime: {step: 10 ms, end: 1}\n";
  };
  {
    Simulation first(comm, test::case_of(yaml("{velocity: [0, 1, 0]}")));
    take_steps(first, 20);
    leave(first, directory);
  }
  Simulation second(comm, test::case_of(yaml("{velocity: [0, 0, 1]}") + initial(directory, "")));
  take_steps(second, 10);
  for (GlobalId id = 0; id < 4; ++id)
    EXPECT_LT((state_of(second, id).pose.p - Vec3(static_cast<double>(id), 0.2, 0.1)).norm(),
              1e-12);
  const auto told = [&](const std::string& text) { return tells(second.remarks(), text); };
  EXPECT_TRUE(
      told("pins-0, pins-1, pins-2, pins-3: motions go on from where the earlier run left "
           "these bodies, up to 0.2 m"));
}

TEST(Initial, ANewJointHoldsABodyWhereItIsNow) {
  const Communicator comm = Communicator::world();
  const std::string directory = fresh_directory(comm, "joint");
  const std::string bodies = flyers(sphere_text("a", 0.0, 5.0) + sphere_text("b", 0.5, 5.0));
  const std::string link =
      "  - {name: link, type: distance, between: [a, b], at: [[0, 0, 5], [0.5, 0, 5]]}\n";
  const std::string time = "time: {step: 1 ms, end: 0.5}\n";
  {
    Simulation first(comm, test::case_of(bodies + "joints:\n" + link + time));
    take_steps(first, 100);
    leave(first, directory);
  }
  const double z = 5.0 - 9.81 * 1e-6 * 100 * 101 / 2.0;
  const std::string hinge =
      "  - {name: hinge, type: spherical, between: [world, a], at: [0, 0, " + text_of(z) + "]}\n";
  Simulation second(
      comm, test::case_of(bodies + "joints:\n" + link + hinge + time + initial(directory, "")));
  take_steps(second, 200);

  const Vec3 a = state_of(second, 0).pose.p, b = state_of(second, 1).pose.p;
  EXPECT_LT((a - Vec3(0, 0, z)).norm(), 1e-6);
  EXPECT_NEAR((b - a).norm(), 0.5, 1e-4);  // of a swing with h = 1 ms
  EXPECT_LT(b[2], z - 0.05);               // b swings about a
}

TEST(Initial, AJointThatBrokeInTheLastStepStaysBroken) {
  const Communicator comm = Communicator::world();
  const std::string directory = fresh_directory(comm, "broken");
  const std::string scene =
      flyers(sphere_text("a", 0.0, 5.0) + sphere_text("b", 0.5, 5.0)) +
      "joints:\n"
      "  - {name: holds, type: spherical, between: [world, a], at: [0, 0, 5]}\n"
      "  - {name: wire, type: distance, between: [world, b], at: [[0.5, 0, 6], "
      "[0.5, 0, 5]], break_force: 1e-3}\n"
      "time: {step: 1 ms, end: 0.5}\n";
  {
    Simulation first(comm, test::case_of(scene));
    first.step();
    // the next step is without it, and it is still among this one's joints
    EXPECT_EQ(first.state().broken_joints, 1);
    EXPECT_EQ(comm.sum(std::ssize(first.bodies().joints)), 2);
    leave(first, directory);
  }
  Simulation second(comm, test::case_of(scene + initial(directory, "")));
  EXPECT_EQ(comm.sum(std::ssize(second.bodies().joints)), 1);
  const double before = state_of(second, 1).twist.v[2];
  take_steps(second, 100);

  EXPECT_NEAR(state_of(second, 1).twist.v[2] - before, -9.81 * 0.1, 1e-9);
  EXPECT_NEAR(state_of(second, 0).twist.v[2], 0.0, 1e-9);
}

/// A block of 5 x 2 x 3 glued ones, thrown at a floor, where it breaks.
std::string thrown(const std::string& glue) {
  return "materials: {m: {density: 1000, friction: 0.5}}\n"
         "bodies: [{name: floor, material: m, shape: {plane: {}}}]\n"
         "generators:\n"
         "  - lattice: {name: block, material: m, shape: {box: {size: [0.1, 0.1, 0.1]}}, count: "
         "[5, "
         "2, 3], spacing: 0.1, origin: [0, 0, 0.06], velocity: [3, 0, -2]}\n"
         "  - bonds: {name: " +
         glue +
         ", between: [block], gap: 1 mm, compliance: 1e-7, angular_compliance: 1e-4, "
         "break_tension: 300 N, break_shear: 300 N, break_torque: 15 N m}\n"
         "time: {step: 1 ms, end: 5}\n"
         "solver: {method: gauss_seidel, max_iterations: 30}\n"
         "parallel: {deterministic: true, tile_bodies: 8, rebalance_steps: 10}\n";
}

TEST(Initial, BondsOfTheSameNameGoOnBrokenAsTheyWere) {
  const Communicator comm = Communicator::world();
  const std::string directory = fresh_directory(comm, "bonds");
  Simulation whole(comm, test::case_of(thrown("glue")));
  take_steps(whole, 40);
  const std::int64_t broken = whole.state().broken_joints;
  ASSERT_GT(broken, 5);
  leave(whole, directory);

  Simulation second(comm, test::case_of(thrown("glue") + initial(directory, ", time: keep")));
  EXPECT_EQ(second.n_bonds(), 59 - broken);
  take_steps(whole, 20);
  take_steps(second, 20);

  for (GlobalId id = 1; id <= 30; ++id) {
    const BodyMotionState a = state_of(whole, id), b = state_of(second, id);
    EXPECT_EQ(a.pose.p, b.pose.p) << id;
    EXPECT_EQ(a.twist.v, b.twist.v) << id;
  }
  EXPECT_EQ(broken + second.state().broken_joints, whole.state().broken_joints);
  // of another name they are made where bodies lie now
  Simulation third(comm, test::case_of(thrown("mortar") + initial(directory, "")));
  EXPECT_NE(third.n_bonds(), 59 - broken);
}

TEST(Initial, BondsThatDoNotGoOnAreCounted) {
  const Communicator comm = Communicator::world();
  const std::string directory = fresh_directory(comm, "lost-bonds");
  {
    Simulation first(comm, test::case_of(thrown("glue")));
    first.step();
    ASSERT_EQ(first.state().broken_joints, 0);
    leave(first, directory);
  }
  const std::string flies = "velocity: [3, 0, -2]";
  std::string held = thrown("glue");
  held.replace(held.find(flies), flies.size(), "fixed: true");

  // between bodies that this case fixes
  Simulation second(comm, test::case_of(held + initial(directory, "")));
  EXPECT_EQ(second.n_bonds(), 0);
  EXPECT_EQ(comm.sum(std::ssize(second.bodies().joints)), 0);
  EXPECT_TRUE(tells(second.remarks(), "59 bonds are left out"));
  EXPECT_FALSE(tells(second.warnings(), "bonds and added joints"));
  second.step();
  // of another name
  const Simulation third(comm, test::case_of(thrown("mortar") + initial(directory, "")));
  EXPECT_TRUE(tells(third.warnings(), "59 bonds and added joints"));
}

/// A ball of 1 kg on a floor whose contacts have this stiffness.
std::string pressed(double stiffness) {
  return "materials: {m: {}}\ncontact: {stiffness: " + text_of(stiffness) +
         ", margin: 1 mm}\nbodies:\n" + test::kFloorText +
         "  - {name: ball, material: m, mass: 1, shape: {sphere: {radius: 0.1}}, position: [0, 0, "
         "0.0999]}\n"
         "time: {step: 1 ms, end: 9}\n"
         "solver: {relative_tolerance: 1e-14}\n";
}

TEST(Initial, InStifferContactsOverlapsRelaxWithoutAThrow) {
  const Communicator comm = Communicator::world();
  const std::string directory = fresh_directory(comm, "stiff");
  {
    Simulation first(comm, test::case_of(pressed(1e4)));
    take_steps(first, 3000);
    EXPECT_NEAR(0.1 - state_of(first, 1).pose.p[2], 9.81 / 1e4, 1e-7);  // m g / k
    leave(first, directory);
  }
  Simulation second(comm, test::case_of(pressed(1e6) + initial(directory, "")));
  double fastest = 0.0;
  for (int i = 0; i < 1000; ++i) {
    second.step();
    fastest = std::max(fastest, state_of(second, 1).twist.v[2]);
  }

  EXPECT_NEAR(0.1 - state_of(second, 1).pose.p[2], 9.81 / 1e6, 1e-7);
  // let go at once it would be thrown with some g sqrt(m k') / k = 1 m/s
  EXPECT_LT(fastest, 0.05);
  EXPECT_LT(std::abs(second.stepper().report().energy_residual), 1e-6);
  bool told = false;
  for (const std::string& remark : second.remarks())
    told = told || remark.find("go from 0.000981 m to 9.81e-06 m") != std::string::npos;
  EXPECT_TRUE(told);
}

/// A ball on another one that is held, both on one side of the box at first and on two in the box
/// of the case that goes on. What holds it along its slope is the contact's stretch.
TEST(Initial, ContactsGoOnInTheImagesOfAnotherPeriodicBox) {
  const Communicator comm = Communicator::world();
  const auto balls = [](const std::string& sides) {
    return "materials: {m: {density: 1000, friction: 0.8}}\nperiodic: {x: [" + sides +
           "]}\ncontact: {stiffness: 1e4}\nsolver: {relative_tolerance: 1e-12}\n"
           "time: {step: 1 ms, end: 1}\nbodies:\n"
           "  - {name: low, fixed: true, material: m, shape: {sphere: {radius: 0.1}}, "
           "position: [0.98, 0, 0]}\n"
           "  - {name: high, material: m, shape: {sphere: {radius: 0.1}}, "
           "position: [1.02, 0, 0.195]}\n";
  };
  Simulation whole(comm, test::case_of(balls("0, 2")));
  take_steps(whole, 60);
  const std::string directory = fresh_directory(comm, "images");
  {
    Simulation first(comm, test::case_of(balls("0, 2")));
    take_steps(first, 30);
    leave(first, directory);
  }
  for (const char* sides : {"0, 2", "-1, 1"}) {
    Simulation second(comm, test::case_of(balls(sides) + initial(directory, ", time: keep")));
    take_steps(second, 30);
    const BodyMotionState there = state_of(whole, 1), here = state_of(second, 1);
    EXPECT_NEAR(std::remainder(here.pose.p.x() - there.pose.p.x(), 2.0), 0.0, 1e-12) << sides;
    EXPECT_NEAR(here.pose.p.z(), there.pose.p.z(), 1e-12) << sides;
    EXPECT_LT((here.twist.v - there.twist.v).norm(), 1e-11) << sides;
  }
}

/// Why a case that goes on from `from` is refused.
std::string refusal(const Communicator& comm, const std::string& yaml, const std::string& from,
                    const std::string& keys = "") {
  return test::error_of([&] { simulate(comm, initial(from, keys) + yaml); });
}

TEST(Initial, WhatCannotGoOnIsRefusedAtItsPlace) {
  const Communicator comm = Communicator::world();
  const std::string directory = fresh_directory(comm, "refused");
  const std::string empty = fresh_directory(comm, "empty");
  const std::string time = "time: {step: 10 ms, end: 0.1}\n";
  const std::string yaml = flyers(sphere_text("a", 0.0, 5.0)) + time;
  {
    Simulation first(comm, test::case_of(yaml));
    take_steps(first, 10);
    leave(first, directory);
  }
  const auto begins = [](const std::string& message, const std::string& with) {
    EXPECT_EQ(message.substr(0, with.size()), with) << message;
  };
  const std::string at = "test.yaml:3:11: initial.from: ";
  begins(refusal(comm, yaml, "nowhere"), at + "there is no ");
  begins(refusal(comm, yaml, empty), at + "there is no checkpoint in ");
  begins(refusal(comm, yaml, CATENA_TEST_DATA "/cases/paddle.csv"), at);
  std::string other = yaml;
  other.replace(other.find("radius: 0.1"), 11, "radius: 0.2");
  begins(refusal(comm, other, directory),
         "test.yaml:6:5: bodies.a.shape: body a has another shape than in the earlier run");
  begins(refusal(comm, "materials: {m: {}}\nbodies:\n" + sphere_text("x", 0, 5) + time, directory),
         at + "no body of ");
  begins(refusal(comm, yaml, directory, ", bodies: [grain]"),
         "test.yaml:3:" + std::to_string(19 + directory.size()) +
             ": initial.bodies: there is no body or generator 'grain'; did you mean grains?");
  begins(refusal(comm, yaml, directory, ", time: keep"), "test.yaml:9:");
  std::string odd = yaml;
  odd.replace(odd.find("step: 10 ms, end: 0.1"), 21, "step: 3 ms, end: 0.3");
  EXPECT_NE(refusal(comm, odd, directory, ", time: keep").find("is no multiple of time.step"),
            std::string::npos);
}

}  // namespace
}  // namespace catena
