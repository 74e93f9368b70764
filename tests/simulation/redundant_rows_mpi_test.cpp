// Rows of joints that come to depend on others while a mechanism moves.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "catena/base/log.hpp"
#include "simulation/run/run_notes.hpp"
#include "support/case_text.hpp"

namespace catena {
namespace {

constexpr int kWindows = 12, kJoints = 3 * kWindows + 1;
constexpr int kStepsBefore = 10;
constexpr double kStep = 1e-3, kRate = 1.0;

/// Parallelograms side by side: cranks of 1 m turn about feet that stand 2 m apart, rods join their
/// ends. All lie along the feet's line, x, after kStepsBefore steps.
std::string row_of_windows() {
  const double angle = -kRate * kStep * kStepsBefore;  // about y, from x on
  const Vec3 crank(std::cos(angle), 0.0, -std::sin(angle));
  const Vec3 speed = kRate * Vec3(-std::sin(angle), 0.0, -std::cos(angle));
  const auto foot = [](int i) { return Vec3(2.0 * i, 0.0, 0.0); };
  const auto bar = [](const std::string& name, double length, const Vec3& at, const Vec3& v) {
    return "  - {name: " + name + ", material: m, collide: false, shape: {box: {size: [" +
           test::text_of(length) + ", 0.1, 0.1]}}, position: " + test::text_of(at) +
           ", velocity: " + test::text_of(v);
  };
  const auto hinge = [](const std::string& name, const std::string& between, const Vec3& at) {
    return "  - {name: " + name + ", type: revolute, between: [" + between +
           "], at: " + test::text_of(at) + ", axis: [0, 1, 0]}\n";
  };
  std::string bodies, joints;
  for (int i = 0; i <= kWindows; ++i) {
    const std::string k = std::to_string(i), next = std::to_string(i + 1);
    bodies += bar("crank" + k, 1.0, foot(i) + 0.5 * crank, 0.5 * speed) +
              ", angular_velocity: " + test::text_of(Vec3(0.0, kRate, 0.0)) + ", orientation: " +
              test::text_of(Quat(std::cos(0.5 * angle), 0.0, std::sin(0.5 * angle), 0.0)) + "}\n";
    joints += hinge("foot" + k, "world, crank" + k, foot(i));
    if (i == kWindows) break;
    bodies += bar("rod" + k, 2.0, foot(i) + crank + Vec3(1.0, 0.0, 0.0), speed) + "}\n";
    joints += hinge("left" + k, "crank" + k + ", rod" + k, foot(i) + crank);
    joints += hinge("right" + k, "rod" + k + ", crank" + next, foot(i + 1) + crank);
  }
  return "gravity: [0, 0, 0]\nmaterials: {m: {density: 1000}}\nbodies:\n" + bodies + "joints:\n" +
         joints + "time: {step: " + test::text_of(kStep) +
         ", end: " + test::text_of(kStep * (kStepsBefore + 5)) +
         "}\nsolver: {joints: {cut_from: 5}}\n";
}

TEST(RedundantRows, AParallelogramHasAFourthOneInLineAndPassesOnAsIfItHadNot) {
  const Communicator comm = Communicator::world();
  Simulation sim(comm, test::case_of(row_of_windows()));
  const double start = sim.step().kinetic;
  const bool cut = comm.size() > 1;

  for (int step = 2; step <= kStepsBefore + 5; ++step) {
    const StepReport& report = sim.step();

    // a planar loop of four hinges has three; in line its cranks can turn either way: four
    const JointReport& joints = report.solve.joints;
    EXPECT_EQ(joints.cut_joints, cut ? kJoints : 0);
    EXPECT_EQ(std::ssize(joints.redundant), (step == kStepsBefore + 1 ? 4 : 3) * kWindows) << step;
    // misfits of the order of (rate h)^2 are taken back
    EXPECT_NEAR(report.kinetic, start, 10.0 * kRate * kStep * kRate * kStep * start) << step;
  }
}

TEST(RedundantRows, TheLogNamesThemWheneverTheirSetChanges) {
  const Communicator comm = Communicator::world();
  Simulation sim(comm, test::case_of(row_of_windows()));
  RunOptions options;
  options.directory = "redundant_rows_" + std::to_string(comm.size());
  options.force = true;
  Log log(comm.rank() == 0, true);

  EXPECT_EQ(sim.run(options, log), ExitCode::done);

  if (comm.rank() > 0) return;
  std::ifstream file(options.directory + "/log.jsonl");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const auto times = [&](const std::string& what) {
    int n = 0;
    for (std::size_t at = all.find(what); at != std::string::npos; at = all.find(what, at + 1)) ++n;
    return n;
  };
  const std::string rows = " rows of joints depend on others";
  const auto at = [&](int step, int n) {
    return "step " + std::to_string(step) + ": " + std::to_string(n * kWindows) + rows;
  };
  EXPECT_EQ(times(at(1, 3)), 1) << all;
  EXPECT_EQ(times(at(kStepsBefore + 1, 4)), 1) << all;
  EXPECT_EQ(times(at(kStepsBefore + 2, 3)), 1) << all;
  EXPECT_EQ(times(rows), 3) << all;
}

TEST(RedundantRows, EnergyThatRigidJointsLoseWithThemIsWarnedOf) {
  const Communicator comm = Communicator::world();
  Simulation sim(comm, test::case_of(row_of_windows()));
  const StepReport report = sim.step();
  const std::string file = "redundant_rows_lost_" + std::to_string(comm.size()) + ".jsonl";
  Log log(comm.rank() == 0, true);
  if (comm.rank() == 0) {
    std::filesystem::remove(file);
    log.open_json(file);
  }
  RunNotes notes(sim, log);
  const auto expect = [&](bool warned, double lost, double forbidden, bool redundant) {
    StepReport r = report;
    r.passive_work = -lost * report.kinetic;
    r.forbidden_energy = forbidden * report.kinetic;
    if (!redundant) r.solve.joints.redundant.clear();
    notes.after_step(r);
    if (comm.rank() > 0) return;
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    EXPECT_EQ(text.str().find("rigid joints have taken") != std::string::npos, warned) << lost;
  };

  expect(false, 0.019, 0.0, true);
  expect(false, 0.03, 0.02, true);  // the impact of the start
  expect(false, 0.03, 0.0, false);  // a rope that goes taut, say
  expect(true, 0.03, 0.0, true);
}

/// Steps a beam that rests on two hinges under `load`, which is YAML.
void expect_a_beam_to_lose_nothing(const std::string& load, const std::string& file) {
  const Communicator comm = Communicator::world();
  Simulation sim(
      comm, test::case_of("bodies: [{name: beam, mass: 1, inertia: [1, 1, 1]}]\njoints:\n"
                          "  - {name: left, type: revolute, between: [world, beam], at: [-0.5, 0, "
                          "0], axis: [0, 1, 0]}\n"
                          "  - {name: right, type: revolute, between: [world, beam], at: [0.5, 0, "
                          "0], axis: [0, 1, 0]}\n"
                          "time: {step: 1 ms, end: 1}\n" +
                          load));
  Log log(comm.rank() == 0, true);
  if (comm.rank() == 0) {
    std::filesystem::remove(file);
    log.open_json(file);
  }
  RunNotes notes(sim, log);

  for (int step = 1; step <= 200; ++step) {
    const StepReport& report = sim.step();
    notes.after_step(report);

    // both hinges hold along x: of what they do, round-off alone is left
    EXPECT_FALSE(report.solve.joints.redundant.empty());
    EXPECT_LT(report.kinetic, 1e-28);
    EXPECT_EQ(report.passive_work, 0.0) << step;
  }
  if (comm.rank() > 0) return;
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str().find("rigid joints have taken"), std::string::npos) << text.str();
}

TEST(RedundantRows, ABodyThatTheyHoldAtRestLosesNothingToThem) {
  const std::string ranks = std::to_string(Communicator::world().size());
  expect_a_beam_to_lose_nothing("", "redundant_rows_rest_" + ranks + ".jsonl");
}

TEST(RedundantRows, NorDoesOneThatAForceAlonePressesOnThem) {
  const std::string ranks = std::to_string(Communicator::world().size());
  expect_a_beam_to_lose_nothing(
      "gravity: [0, 0, 0]\n"
      "forces: [{name: push, type: force, body: beam, force: [3, 0, -10]}]\n",
      "redundant_rows_pushed_" + ranks + ".jsonl");
}

/// Steps the case on all ranks, cut, and whole on one; `none`: no rows may be named redundant.
/// Returns the bytes that ranks sent in the last step.
std::int64_t expect_the_same_as_whole(const std::string& yaml, int steps, bool none) {
  const Communicator comm = Communicator::world();
  const std::string text =
      yaml + "time: {step: 1 ms, end: 1}\nsolver: {joints: {cut_from: 1000}}\n";
  Simulation cut(comm, test::case_of(text));
  std::optional<Simulation> whole;
  if (comm.rank() == 0) whole.emplace(Communicator::self(), test::case_of(text));
  std::int64_t sent = 0;
  for (int step = 1; step <= steps; ++step) {
    const std::int64_t before = comm.traffic().bytes;
    const StepReport& report = cut.step();
    sent = comm.sum(comm.traffic().bytes - before);
    EXPECT_GT(report.solve.joints.cut_joints, 0);
    EXPECT_TRUE(!none || report.solve.joints.redundant.empty()) << step;
    const double expected = comm.max(whole ? whole->step().kinetic : 0.0);
    EXPECT_NEAR(report.kinetic, expected, 1e-6 * expected) << step;
  }
  return sent;
}

TEST(RedundantRows, ACutNetWhoseEdgesAreTautMovesAsOneThatIsWhole) {
  if (Communicator::world().size() != 2) GTEST_SKIP() << "one cut shows it, in a second";
  // edges between held corners are straight at first and sag by micrometres in the next steps: rows
  // that were redundant come to be genuine, soft ones
  expect_the_same_as_whole(
      "materials: {m: {density: 7800}}\ngenerators:\n"
      "  - net: {name: n, material: m, shape: {sphere: {radius: 0.05}}, count: [52, 52], spacing: "
      "[[0.3, 0, 0], [0, 0.3, 0]], anchored: corners, collide: false}\n",
      3, false);
}

TEST(RedundantRows, ATreeOfLongArmsHasNoneAndMovesAsOneThatIsWhole) {
  if (Communicator::world().size() != 2) GTEST_SKIP() << "one cut shows it";
  // arms of a hundred metres at cubes of two centimetres: pivots of genuine rows are small enough
  // to be suspected, in numbers
  const std::int64_t sent = expect_the_same_as_whole(
      "materials: {m: {density: 1000}}\ngenerators:\n"
      "  - tree: {name: t, material: m, shape: {box: {size: [0.02, 0.02, 0.02]}}, branching: 2, "
      "levels: 12, drop: [0, 0.1, 0], spread: [0.1, 0, 0], joint: spherical, anchored: true, "
      "collide: false}\n",
      5, true);

  // joints are eliminated where they are held: what travels is of the few at which the tree is cut,
  // and not the 400 bytes of each of 8,191
  EXPECT_LT(sent, 10000);
}

}  // namespace
}  // namespace catena
