// What max_iterations means in a run: heavy plates on light grains, which no method solves quickly.
// What a run says of components that a solver takes apart.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "catena/base/log.hpp"
#include "support/all_ranks.hpp"
#include "support/case_text.hpp"

namespace catena {
namespace {

CaseSettings heavy_plates(SolverMethod method, int iterations) {
  CaseSettings settings = read_case(
      Communicator::self(), std::string(CATENA_TEST_DATA) + "/trials/box_heavy_plates.yaml");
  settings.contact.stiffness = Stiffness::rigid;
  settings.contact.margin = 1e-3;
  settings.solver.method = method;
  settings.solver.stop.max_iterations = iterations;
  settings.solver.stop.relative_tolerance = 1e-12;
  return settings;
}

TEST(Budget, AutoDoesNoMoreThanTheWorkOfSoManySweeps) {
  const Communicator comm = Communicator::world();
  constexpr int kMost = 300;
  Simulation sim(comm, heavy_plates(SolverMethod::automatic, kMost));
  int missed = 0, others = 0;
  for (int step = 0; step < 30; ++step) {
    const SolveReport& r = sim.step().solve;
    EXPECT_LE(r.iterations, kMost + kMost / 100) << r.reason;
    missed += r.status == SolveStatus::iteration_limit;
    // the limit is what ends it, not one of its parts alone
    others += r.choice.find("apgd") != std::string::npos;
    if (r.status != SolveStatus::iteration_limit) continue;
    EXPECT_GE(r.iterations, kMost - kMost / 10) << r.reason;
  }
  EXPECT_GT(missed, 5);
  EXPECT_GT(others, 5);
}

TEST(Apart, TheLogNamesTheBodiesOfAComponentThatDantzigDidNotSolve) {
  // a ball on the floor under a press that comes down, and one that falls beside
  const std::string yaml =
      "materials: {m: {density: 1000, friction: 0.3}}\nbodies:\n"
      "  - {name: floor, material: m, shape: {plane: {}}}\n"
      "  - {name: squeezed, material: m, shape: {sphere: {radius: 0.1}}, position: [0, 0, 0.1]}\n"
      "  - {name: press, material: m, shape: {box: {size: [0.5, 0.5, 0.1]}}, position: [0, 0, "
      "0.25], motion: {velocity: [0, 0, -1]}}\n"
      "  - {name: beside, material: m, shape: {sphere: {radius: 0.1}}, position: [2, 0, 0.1], "
      "velocity: [0, 0, -1]}\n"
      "time: {step: 1 ms, end: 2 ms}\n"
      "solver: {method: dantzig, max_iterations: 20, relative_tolerance: 1e-12}\n";
  const Communicator self = Communicator::self();
  Simulation sim(self, test::case_of(test::with_rigid_contacts(yaml)));
  RunOptions options;
  options.directory = "apart_" + std::to_string(Communicator::world().rank());
  options.force = true;
  Log log(true, true);

  EXPECT_EQ(sim.run(options, log), ExitCode::done);

  std::ifstream file(options.directory + "/log.jsonl");
  std::stringstream text;
  text << file.rdbuf();
  const auto at = text.str().find("connected components were not solved by passes of dantzig");
  if (!test::all_ranks_have(Communicator::world(), at != std::string::npos, true)) return;
  const std::string line = text.str().substr(at, text.str().find('\n', at) - at);
  EXPECT_NE(line.find("squeezed"), std::string::npos) << line;
  EXPECT_EQ(line.find("beside"), std::string::npos) << line;
  // the one beside has stopped on the floor
  constexpr GlobalId kBeside = 3;
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i)
    if (sim.bodies().constants[i].id == kBeside) {
      EXPECT_NEAR(sim.state().body[i].twist.v.z(), 0.0, 1e-9);
    }
  std::filesystem::remove_all(options.directory);
}

TEST(Budget, PivotsUnderAHeavyTopComeToAnEnd) {
  // Four cubes of 1 kg under a heavy one: under round-off rows take turns at their bounds, for ever
  // if nothing but the clock ends it. Which masses do so depends on the last bits. A step takes
  // less than 3 s on a core of its own; a hang alone reaches the limit on a busy machine, too.
  for (const double top : {1.5e4, 1e5, 1e6}) {
    std::string yaml =
        "materials: {m: {friction: 0.5}}\ncontact: {stiffness: rigid}\nbodies:\n"
        "  - {name: floor, material: m, shape: {plane: {}}}\n";
    for (int i = 0; i < 5; ++i) {
      const double mass = i < 4 ? 1.0 : top;
      const std::string moment = std::to_string(mass / 6.0);
      yaml += "  - {name: b" + std::to_string(i) + ", material: m, mass: " + std::to_string(mass) +
              ", inertia: [" + moment + ", " + moment + ", " + moment +
              "], shape: {box: {size: [1, 1, 1]}}, position: [0, 0, " + std::to_string(i + 0.5) +
              "]}\n";
    }
    yaml +=
        "time: {step: 5 ms, end: 1}\n"
        "solver: {method: dantzig, max_iterations: 100, relative_tolerance: 1e-8, time_limit: "
        "60}\n";
    Simulation sim(Communicator::self(), test::case_of(yaml));
    for (int step = 0; step < 60; ++step) {
      const SolveReport& r = sim.step().solve;
      ASSERT_NE(r.status, SolveStatus::time_limit) << top << ", step " << step << ": " << r.reason;
    }
  }
}

TEST(Budget, TheUsualNumberDependsOnTheMethod) {
  const Communicator comm = Communicator::world();
  for (const SolverMethod method : {SolverMethod::gauss_seidel, SolverMethod::automatic}) {
    CaseSettings settings = heavy_plates(method, kUsualIterations);
    settings.solver.stop.relative_tolerance = 0.0;
    settings.solver.stop.absolute_tolerance = 0.0;
    Simulation sim(comm, settings);
    int most = 0;
    for (int step = 0; step < 9; ++step) most = std::max(most, sim.step().solve.iterations);
    if (method == SolverMethod::gauss_seidel) {
      EXPECT_EQ(most, kUsualSweeps);
    } else {
      EXPECT_GT(most, kUsualSweeps);
    }
    EXPECT_LE(most, kUsualAutomatic);
  }
}

}  // namespace
}  // namespace catena
