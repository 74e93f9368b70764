// A run resumed from its middle goes on as the uninterrupted one does: bitwise on as many ranks,
// within the solver's tolerance on others.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catena/io/checkpoint.hpp"
#include "catena/partition/state_hash.hpp"
#include "regression/scenes.hpp"
#include "support/first_ranks.hpp"

namespace catena {
namespace {

struct Case {
  const char* name;
  std::string yaml;      ///< or the name of a case of tests/data/cases
  int steps;             ///< to the checkpoint, and after it
  double tolerance;      ///< m/s, of the first step after it on another number of ranks
  bool any_ranks_alike;  ///< the bits do not depend on the number of ranks
  std::vector<std::string> set = {};  ///< what the scene is changed by, as by --set
};

/// Grains that fall over a floor, tightly solved; some come in, some leave.
std::string flowing() {
  return "materials: {m: {density: 1000, friction: 0.3, rolling_friction: 1 mm}}\n"
         "generators:\n"
         "  - container: {name: floor, material: m, size: [.inf, .inf, .inf], origin: [-5, -5, "
         "0]}\n"
         "  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, count: [3, 3, "
         "4], "
         "spacing: 0.205, origin: [0, 0, 0.11], position_jitter: 5 mm}\n"
         "  - insertion: {name: feed, material: m, shape: {sphere: {radius: 0.05}}, region: "
         "{lower: "
         "[0, 0, 1.2], upper: [0.5, 0.5, 1.6]}, number_rate: 300, count: 1000, velocity: [0, 0, "
         "-2]}\n"
         "outflow:\n"
         "  - {name: side, lower: [0.45, -9, -1], upper: [9, 9, 9]}\n"
         "time: {step: 5 ms, end: 1}\n"
         "solver: {max_iterations: 20, relative_tolerance: 1e-8}\n"
         "parallel: {rebalance_steps: 10, imbalance: 1.01}\n";
}

/// A chain across the ranks that falls on a pile of grains.
std::string chain_on_grains() {
  return "materials: {m: {density: 1000, friction: 0.4}}\n"
         "generators:\n"
         "  - container: {name: bin, material: m, size: [1.0, 1.0, .inf], origin: [0, 0, 0]}\n"
         "  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, count: [4, 4, "
         "2], "
         "spacing: 0.21, origin: [0.15, 0.15, 0.11], position_jitter: 5 mm}\n"
         "  - chain: {name: cable, links: 12, joint: spherical, from: [0.1, 0.5, 0.6], to: [0.9, "
         "0.5, 0.6], anchored: none, material: m, shape: {capsule: {radius: 1 cm, length: 4 cm}}}\n"
         "time: {step: 2 ms, end: 1}\n"
         "solver: {max_iterations: 3000, relative_tolerance: 1e-14, absolute_tolerance: 1e-18 J}\n"
         "parallel: {rebalance_steps: 11, imbalance: 1.01}\n";
}

/// Four-bars: rings of planar hinges in space, whose rows depend on others.
std::string four_bars() {
  std::string yaml = "bodies:\n";
  std::string joints = "joints:\n";
  for (int k = 0; k < 3; ++k) {
    const std::string y = test::text_of(0.5 * k), n = std::to_string(k);
    const double x[] = {0.0, 0.5, 1.0}, z[] = {0.25, 0.5, 0.25};
    const double size_x[] = {0.01, 1.0, 0.01}, size_z[] = {0.5, 0.01, 0.5};
    for (int i = 0; i < 3; ++i)
      yaml += "  - {name: bar" + n + "-" + std::to_string(i) + ", mass: 1, inertia: [" +
              test::text_of((1e-4 + size_z[i] * size_z[i]) / 12) + ", " +
              test::text_of((size_x[i] * size_x[i] + size_z[i] * size_z[i]) / 12) + ", " +
              test::text_of((1e-4 + size_x[i] * size_x[i]) / 12) + "], position: [" +
              test::text_of(x[i]) + ", " + y + ", " + test::text_of(z[i]) + "]}\n";
    const auto hinge = [&](int i, const std::string& a, const std::string& b, double px,
                           double pz) {
      joints += "  - {name: h" + n + "-" + std::to_string(i) + ", type: revolute, between: [" + a +
                ", " + b + "], at: [" + test::text_of(px) + ", " + y + ", " + test::text_of(pz) +
                "], axis: [0, 1, 0]}\n";
    };
    const std::string bar = "bar" + n + "-";
    hinge(0, "world", bar + "0", 0.0, 0.0);
    hinge(1, bar + "0", bar + "1", 0.0, 0.5);
    hinge(2, bar + "1", bar + "2", 1.0, 0.5);
    hinge(3, bar + "2", "world", 1.0, 0.0);
  }
  // a push, so that they move
  return yaml + joints +
         "gravity: [3, 0, -9.81]\n"
         "time: {step: 2 ms, end: 1}\n"
         "parallel: {rebalance_steps: 10, imbalance: 1.01}\n";
}

/// Grains in a bin that goes along, stirred by balls whose motion a controller drives: the same
/// bits on any number of ranks.
std::string stirred() {
  return "materials: {m: {density: 1000, friction: 0.3}}\n"
         "bodies: [{name: paddle, material: m, shape: {box: {size: [0.1, 0.5, 0.2]}}, position: "
         "[-0.15, 0.2, 0.2], motion: {velocity: [0.1, 0, 0]}}, {name: bob, material: m, shape: "
         "{sphere: {radius: 0.05}}, position: [0.65, 0.65, 0.7]}]\n"
         "joints: [{name: cord, type: distance, between: [stirrers-7, bob], at: [[0.65, 0.65, "
         "0.95], [0.65, 0.65, 0.7]]}]\n"
         "generators:\n"
         "  - container: {name: bin, material: m, size: [.inf, .inf, .inf], origin: [-1, -1, 0], "
         "motion: {velocity: [0.02, 0, 0]}}\n"
         "  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, count: [3, 3, "
         "3], spacing: 0.205, origin: [0, 0, 0.11], position_jitter: 5 mm}\n"
         "  - lattice: {name: stirrers, material: m, shape: {sphere: {radius: 0.05}}, count: [2, "
         "2, "
         "2], spacing: 0.9, origin: [-0.25, -0.25, 0.05], motion: {velocity: [0, 0.2, 0], about: "
         "[0.2, 0.2, 0], harmonics: [{amplitude: [0, 0, 0.05], frequency: 3 Hz}]}}\n"
         "time: {step: 4 ms, end: 1}\n"
         "solver: {max_iterations: 30}\n"
         "probes: [{name: paddle, type: force, on: paddle}]\n"
         "controllers:\n"
         "  - {name: turn, type: expression, drive: stirrers, about: [0, 0, 1], expression: 3 * "
         "sin(20 * t)}\n"
         "  - {name: push, type: pid, measure: paddle.force_x, target: -20 N, drive: paddle, "
         "along: "
         "[1, 0, 0], kp: 0.001, interval: 8 ms, limits: [-1, 1]}\n"
         "  - {name: shift, type: expression, drive: bin, along: [0, 1, 0], expression: 0.1 * t, "
         "interval: 12 ms}\n"
         "parallel: {deterministic: true, tile_bodies: 8, rebalance_steps: 5}\n";
}

std::vector<Case> cases() {
  // grains: velocities of the order of 1 m/s; the tolerance of the energy error is its square
  const std::vector<std::string> tight = {
      "parallel.rebalance_steps=8", "solver.max_iterations=3000", "solver.relative_tolerance=1e-14",
      "solver.absolute_tolerance=1e-18 J"};
  return {{"column", test::collapsing_column(), 6, 1e-5, false, tight},
          {"flow", flowing(), 15, kNone, false},
          {"chain", chain_on_grains(), 8, 1e-5, false},
          {"four-bars", four_bars(), 12, 1e-9, false},
          // on across the step at which tiles are made anew
          {"packing", "deterministic_packing.yaml", 13, kNone, true},
          {"mechanisms", "deterministic_chain.yaml", 11, kNone, true},
          {"drum", "deterministic_drum.yaml", 7, kNone, true},
          {"stirred", stirred(), 9, kNone, true}};
}

CaseSettings settings_of(const Case& c) {
  if (c.yaml.ends_with(".yaml"))
    return read_case(Communicator::self(), std::string(CATENA_TEST_DATA) + "/cases/" + c.yaml);
  return test::case_of(c.yaml, c.set);
}

/// Collective. Energies of the audit and what flowed: equal bits where the state is.
std::vector<double> sums_of(const Simulation& sim) {
  std::vector<double> sums;
  for_each_scalar(
      [&](const char*, const auto& value) {
        // numbers that a controller does not have yet are alike
        const auto number = static_cast<double>(value);
        sums.push_back(std::isnan(number) ? -1e300 : number);
      },
      sim.state());
  const StepReport& r = sim.stepper().report();
  for (const double x : {r.kinetic, r.potential, r.energy_residual, sim.imbalance()})
    sums.push_back(x);
  return sums;
}

/// What a run did after its checkpoint.
struct After {
  std::vector<std::uint64_t> hashes;
  std::vector<std::vector<double>> sums;
  std::vector<test::BodyTwist> first;  ///< twists after the first step
};

After go_on(Simulation& sim, int steps) {
  After after;
  for (int i = 0; i < steps; ++i) {
    sim.step();
    if (i == 0) after.first = test::twists_by_id(sim);
    after.hashes.push_back(state_hash(sim.communicator(), sim.bodies(), sim.state()));
    after.sums.push_back(sums_of(sim));
  }
  return after;
}

/// Not collective: some ranks may do without it.
std::string file_of(const Case& c) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return std::string("resume-") + c.name + "-np" + std::to_string(size) + ".h5";
}

/// On `comm`: to the checkpoint, and on.
After run_through(const Communicator& comm, const Case& c) {
  Simulation sim(comm, settings_of(c));
  for (int i = 0; i < c.steps; ++i) sim.step();
  CheckpointNotes notes;
  notes.n_parts = sim.number_of_parts();
  write_checkpoint(comm, file_of(c), notes, sim.bodies(), sim.state());
  return go_on(sim, c.steps);
}

After resume_on(const Communicator& comm, const Case& c, int steps) {
  Checkpoint checkpoint = read_checkpoint(comm, file_of(c));
  Simulation sim(comm, settings_of(c), checkpoint);
  EXPECT_EQ(sim.state().step, c.steps);
  return go_on(sim, steps);
}

/// The first step after the checkpoint at which two runs differ; 0: none.
template <class T>
std::size_t first_difference(const std::vector<T>& a, const std::vector<T>& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i] != b[i]) return i + 1;
  return a.size() == b.size() ? 0 : std::min(a.size(), b.size()) + 1;
}

/// Without the balance of the ranks, which is the last.
std::vector<std::vector<double>> audits_of(const After& after) {
  std::vector<std::vector<double>> sums = after.sums;
  for (std::vector<double>& step : sums) step.pop_back();
  return sums;
}

TEST(Resume, OnAsManyRanksGivesTheSameBitsAsTheUninterruptedRun) {
  const Communicator comm = Communicator::world();
  for (const Case& c : cases()) {
    const After whole = run_through(comm, c);
    const After resumed = resume_on(comm, c, c.steps);

    EXPECT_EQ(first_difference(resumed.hashes, whole.hashes), 0) << c.name;
    EXPECT_EQ(first_difference(resumed.sums, whole.sums), 0) << c.name;
  }
}

TEST(Resume, FromAStepThatWasBrokenOffGivesTheSameBitsAsTheUninterruptedRun) {
  const Communicator comm = Communicator::world();
  int broken_off = 0;
  for (const Case& c : cases()) {
    const After whole = run_through(comm, c);
    Simulation sim(comm, settings_of(c));
    for (int i = 0; i < c.steps; ++i) sim.step();
    const std::uint64_t before = state_hash(comm, sim.bodies(), sim.state());
    // one rank is asked, when the solve has looked at the clock a few times
    int looks = 0;
    sim.watch().asked = [&] { return ++looks > 2 && comm.rank() == comm.size() - 1; };
    try {
      sim.step();
      continue;  // solved before
    } catch (const StopAsked&) {
      ++broken_off;
    }
    EXPECT_EQ(sim.state().step, c.steps) << c.name;
    const bool flows = !sim.changes().inflow().none() || !sim.settings().outflow.empty();
    if (!flows) {
      EXPECT_EQ(state_hash(comm, sim.bodies(), sim.state()), before) << c.name;
    }
    CheckpointNotes notes;
    notes.n_parts = sim.number_of_parts();
    write_checkpoint(comm, file_of(c), notes, sim.bodies(), sim.state());
    sim.watch() = {};

    const After made_again = go_on(sim, c.steps);
    const After resumed = resume_on(comm, c, c.steps);

    EXPECT_EQ(first_difference(made_again.hashes, whole.hashes), 0) << c.name;
    EXPECT_EQ(first_difference(made_again.sums, whole.sums), 0) << c.name;
    EXPECT_EQ(first_difference(resumed.hashes, whole.hashes), 0) << c.name;
    EXPECT_EQ(first_difference(resumed.sums, whole.sums), 0) << c.name;
  }
  EXPECT_GT(broken_off, 1);
}

TEST(Resume, SubStepsOfDop853AreBrokenOffAndMadeAgainWithTheSameBits) {
  const Communicator comm = Communicator::world();
  // a double pendulum
  const std::string yaml =
      "bodies:\n"
      "  - {name: a, mass: 1, inertia: [0.1, 0.1, 0.1], position: [0.5, 0, 0]}\n"
      "  - {name: b, mass: 1, inertia: [0.1, 0.1, 0.1], position: [1.5, 0, 0]}\n"
      "joints:\n"
      "  - {name: j, type: revolute, between: [world, a], at: [0, 0, 0], axis: [0, 1, 0]}\n"
      "  - {name: k, type: revolute, between: [a, b], at: [1, 0, 0], axis: [0, 1, 0]}\n"
      "time: {stepper: natural, natural: {scheme: dop853}, step: 0.1, end: 10}\n";
  Simulation whole(comm, test::case_of(yaml));
  Simulation sim(comm, test::case_of(yaml));
  for (int step = 0; step < 6; ++step) {
    const std::uint64_t before = state_hash(comm, sim.bodies(), sim.state());
    sim.watch().asked = [&] { return step % 2 == 1 && comm.rank() == comm.size() - 1; };
    bool broken_off = false;
    try {
      sim.step();
    } catch (const StopAsked&) {
      broken_off = true;
    }
    EXPECT_EQ(broken_off, step % 2 == 1);
    if (broken_off) {
      EXPECT_EQ(state_hash(comm, sim.bodies(), sim.state()), before);
      sim.watch() = {};
      sim.step();
    }
    whole.step();
    EXPECT_EQ(state_hash(comm, sim.bodies(), sim.state()),
              state_hash(comm, whole.bodies(), whole.state()));
  }
}

TEST(Resume, OnOtherRanksTheFirstStepAgreesWithinTheTolerance) {
  const Communicator world = Communicator::world();
  // all of them where there is time
  const bool all = world.size() == 8;
  for (const Case& c : cases()) {
    if (!all && std::string_view("column mechanisms").find(c.name) == std::string_view::npos)
      continue;
    for (const int writers : {1, 2, 3, 4, 8}) {
      if (writers > world.size()) continue;
      std::optional<After> whole;
      if (const auto comm = test::first_ranks(writers)) whole = run_through(*comm, c);
      for (const int readers : {1, 2, 3, 4, 8}) {
        world.barrier();
        const auto comm = test::first_ranks(std::min(readers, world.size()));
        if (!comm || readers > world.size() || readers == writers) continue;
        const After resumed = resume_on(*comm, c, c.any_ranks_alike ? c.steps : 1);
        if (!whole) continue;
        if (c.any_ranks_alike) {
          EXPECT_EQ(first_difference(resumed.hashes, whole->hashes), 0)
              << c.name << " " << writers << " " << readers;
          EXPECT_EQ(first_difference(audits_of(resumed), audits_of(*whole)), 0)
              << c.name << " " << writers << " " << readers;
        }
        if (std::isnan(c.tolerance)) continue;
        EXPECT_LE(test::largest_difference(resumed.first, whole->first, test::kRadius), c.tolerance)
            << c.name << " " << writers << " " << readers;
      }
      world.barrier();
    }
  }
}

}  // namespace
}  // namespace catena
