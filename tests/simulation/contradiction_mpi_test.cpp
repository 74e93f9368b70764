// Steps without a solution are told from steps that are hard: the proof's numbers are those of
// plain formulas, and scenes that look alike but have a solution get none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "simulation/diagnosis/contradiction.hpp"
#include "simulation/diagnosis/post_mortem.hpp"
#include "support/case_text.hpp"

namespace catena {
namespace {

using test::simulate;

bool has_missed(const Simulation& sim) {
  const SolveStatus status = sim.stepper().report().solve.status;
  return status == SolveStatus::iteration_limit || status == SolveStatus::time_limit;
}

/// The simulation after its first step that missed its tolerance, or after all.
std::unique_ptr<Simulation> until_miss(std::unique_ptr<Simulation> sim, int most) {
  for (int i = 0; i < most; ++i) {
    sim->step();
    if (has_missed(*sim)) break;
  }
  return sim;
}

std::unique_ptr<Simulation> until_miss(const std::string& yaml, int most) {
  return until_miss(simulate(Communicator::world(), test::with_rigid_contacts(yaml)), most);
}

std::unique_ptr<Simulation> trial(const char* name, int most) {
  const std::string path = std::string(CATENA_TEST_DATA) + "/trials/" + name;
  const Communicator comm = Communicator::world();
  return until_miss(
      std::make_unique<Simulation>(
          comm, read_case(comm, path, {"contact.stiffness=rigid", "contact.margin=1 mm"})),
      most);
}

bool names(const PostMortem& p, const std::string& word) {
  return p.advice.text.find(word) != std::string::npos;
}

bool has_reason(const PostMortem& p, const std::string& reason) {
  return std::find(p.advice.reasons.begin(), p.advice.reasons.end(), reason) !=
         p.advice.reasons.end();
}

/// What must hold of every proof: the step's own error is not below what it says is left at least.
void expect_sound(const PostMortem& p) {
  const Contradiction& c = p.measures.contradiction.measured;
  EXPECT_TRUE(c.found);
  EXPECT_GT(c.least_error, 0.0);
  EXPECT_GE(p.measures.energy, c.least_error * (1.0 - 1e-6));
  EXPECT_GT(c.closing, 0.0);
}

constexpr const char* kSteel = "materials: {steel: {density: 7800, friction: 0.3}}\n";
constexpr const char* kFloor = "  - {name: floor, material: steel, shape: {plane: {}}}\n";
constexpr const char* kPress =
    "  - {name: press, material: steel, shape: {box: {size: [1, 1, 0.1]}}, "
    "position: [0, 0, 0.2505], motion: {velocity: [0, 0, -0.5]}}\n";
constexpr const char* kBall =
    "  - {name: ball, material: steel, shape: {sphere: {radius: 0.1}}, position: [0, 0, 0.1]}\n";
constexpr const char* kTime = "time: {step: 1 ms, end: 1}\n";

TEST(Contradiction, OfAPressOnABallIsTheFormulas) {
  const auto sim =
      until_miss(std::string(kSteel) + "bodies:\n" + kFloor + kPress + kBall + kTime, 5);
  const PostMortem p = examine_step(*sim, nullptr);
  expect_sound(p);
  EXPECT_EQ(p.advice.reasons, (std::vector<std::string>{"no_solution"}));
  // w_floor + w_press = sum of the biases - 0.5 whatever the ball does, and the energy error is not
  // below 1/2 (w_1^2 + w_2^2)/a, which is least where they are equal; a = N_nn + mu^2 N_tt with
  // N_nn = 1/m and N_tt = 1/m + r^2/I = 3.5/m
  double biases = 0.0;
  for (const RigidContact& c : sim->stepper().problem().contacts) biases += c.bias;
  const double missing = 0.5 - sim->communicator().sum(biases);
  const double mass = 7800.0 * 4.0 / 3.0 * std::numbers::pi * 1e-3;
  const Contradiction& c = p.measures.contradiction.measured;
  EXPECT_NEAR(c.least_error, 0.25 * mass * missing * missing / (1.0 + 0.09 * 3.5), 1e-9);
  EXPECT_NEAR(c.closing, 0.5 * missing, 1e-9);
  EXPECT_EQ(c.n_constraints, 2U);
  EXPECT_FALSE(c.friction);
  EXPECT_TRUE(names(p, "press (moving) against floor")) << p.advice.text;
  EXPECT_TRUE(names(p, "bodies.press.motion")) << p.advice.text;
}

TEST(Contradiction, IsFoundThroughAColumnAndCohesionAndEveryLawAndMethod) {
  const std::string column =
      "bodies:\n" + std::string(kFloor) +
      "  - {name: press, material: steel, shape: {box: {size: [1, 1, 0.1]}}, "
      "position: [0, 0, 1.05], motion: {velocity: [0, 0, -0.5]}}\n"
      "generators:\n"
      "  - lattice: {name: balls, material: steel, shape: {sphere: {radius: 0.1}}, "
      "count: [1, 1, 5], spacing: 0.2, origin: [0, 0, 0.1]}\n";
  for (const char* law : {"coulomb", "ccp", "box", "frictionless"}) {
    for (const char* method : {"gauss_seidel", "jacobi", "apgd"}) {
      const auto sim = until_miss(
          "materials: {steel: {density: 7800, friction: 0.3, cohesion: 10, rolling_friction: "
          "1e-3}}\n" +
              column + "contact: {law: " + law + "}\nsolver: {method: " + method +
              ", max_iterations: 50}\n" + kTime,
          1);
      const PostMortem p = examine_step(*sim, nullptr);
      EXPECT_EQ(p.advice.reasons, (std::vector<std::string>{"no_solution"}))
          << law << " " << method << ": " << p.advice.text;
      EXPECT_EQ(p.measures.contradiction.measured.n_constraints, 6U);
      expect_sound(p);
    }
  }
}

TEST(Contradiction, OfPlatesThatStickInWallsNamesThemAndTheirJoints) {
  const auto sim = trial("box_overlap_advice.yaml", 1);
  const PostMortem p = examine_step(*sim, nullptr);
  EXPECT_EQ(p.advice.reasons, (std::vector<std::string>{"no_solution"})) << p.advice.text;
  expect_sound(p);
  EXPECT_TRUE(names(p, "the world (joint j")) << p.advice.text;
  EXPECT_TRUE(names(p, "bottom") || names(p, "xm") || names(p, "ym")) << p.advice.text;
  EXPECT_TRUE(names(p, "contact.no_collisions")) << p.advice.text;
  EXPECT_FALSE(names(p, "heavy")) << p.advice.text;
  EXPECT_FALSE(names(p, "interior_point")) << p.advice.text;
}

TEST(Contradiction, OfTheSqueezedBallIsSaidOnceItCloses) {
  const auto sim = trial("squeeze.yaml", 40);
  EXPECT_TRUE(has_missed(*sim));
  EXPECT_EQ(sim->state().step, 21) << "10 mm at 0.5 m/s";
  const PostMortem p = examine_step(*sim, nullptr);
  EXPECT_EQ(p.advice.reasons, (std::vector<std::string>{"no_solution"})) << p.advice.text;
}

TEST(Contradiction, OfAnOverlapBetweenFixedBodiesNamesIt) {
  const auto sim = until_miss(
      std::string(kSteel) + "bodies:\n" + kFloor +
          "  - {name: lid, material: steel, fixed: true, shape: {box: {size: [1, 1, 0.1]}}, "
          "position: [0, 0, 0.23]}\n" +
          kBall + kTime,
      1);
  const PostMortem p = examine_step(*sim, nullptr);
  EXPECT_EQ(p.advice.reasons, (std::vector<std::string>{"no_solution"})) << p.advice.text;
  EXPECT_TRUE(names(p, "by 0.02 m")) << p.advice.text;
  EXPECT_TRUE(names(p, "bodies.lid.position")) << p.advice.text;
}

TEST(Contradiction, OfAMotorAgainstALimitNamesTheJoint) {
  const auto sim = until_miss(
      "bodies:\n  - {name: arm, mass: 2, inertia: [0.1, 0.2, 0.2], position: [1, 0, 0]}\n"
      "joints:\n  - {name: hinge, type: revolute, between: [world, arm], at: [0, 0, 0], "
      "axis: [0, 1, 0], limits: [-0.1, 0.1], motor: {velocity: 1}}\n"
      "time: {step: 10 ms, end: 1}\n",
      20);
  EXPECT_TRUE(has_missed(*sim));
  const PostMortem p = examine_step(*sim, nullptr);
  EXPECT_EQ(p.advice.reasons, (std::vector<std::string>{"no_solution"})) << p.advice.text;
  EXPECT_TRUE(names(p, "hinge")) << p.advice.text;
  EXPECT_TRUE(names(p, "give it a motor.max_force")) << p.advice.text;
  EXPECT_NEAR(static_cast<double>(sim->state().step), 11.0, 1.0);
}

TEST(Contradiction, IsFoundAmongThousandsOfSoundContacts) {
  std::string press = kPress;
  press.replace(press.find("0.2505"), 6, "0.25");  // on the ball from the start
  const auto sim = until_miss(
      std::string(kSteel) + "bodies:\n" + kFloor + press + kBall +
          "generators:\n"
          "  - lattice: {name: grains, material: steel, shape: {sphere: {radius: 0.05}}, "
          "count: [12, 12, 4], spacing: 0.1, origin: [2, 0, 0.05]}\n"
          "solver: {max_iterations: 60, relative_tolerance: 1e-4}\n" +
          kTime,
      1);
  const PostMortem p = examine_step(*sim, nullptr);
  EXPECT_EQ(p.advice.reasons[0], "no_solution") << p.advice.text;
  EXPECT_TRUE(names(p, "press (moving) against floor")) << p.advice.text;
}

// Scenes that look alike and have a solution: a miss for want of iterations is none of a solution.

void expect_none(const std::string& yaml, int steps) {
  const auto sim = simulate(Communicator::world(), test::with_rigid_contacts(yaml));
  for (int i = 0; i < steps; ++i) sim->step();
  const PostMortem p = examine_step(*sim, nullptr);
  EXPECT_FALSE(p.measures.contradiction.measured.found)
      << "balance " << p.measures.contradiction.measured.balance;
  EXPECT_FALSE(has_reason(p, "no_solution") || has_reason(p, "jammed")) << p.advice.text;
}

constexpr const char* kHasty = "solver: {max_iterations: 2, relative_tolerance: 1e-12}\n";

TEST(Contradiction, IsNoneWhereThePressYields) {
  expect_none(std::string(kSteel) + "bodies:\n" + kFloor + kBall +
                  "  - {name: press, material: steel, shape: {box: {size: [1, 1, 0.1]}}, "
                  "mass: 1e4, inertia: [1e3, 1e3, 1e3], position: [0, 0, 0.2501]}\n"
                  "joints:\n  - {name: slide, type: prismatic, between: [world, press], "
                  "at: [0, 0, 0.25], axis: [0, 0, 1], motor: {velocity: -0.5, max_force: 1e5}}\n" +
                  kHasty + kTime,
              4);
}

TEST(Contradiction, IsNoneWhereTheBallRestsOnAFreeAnvil) {
  expect_none("gravity: [0, 0, 0]\n" + std::string(kSteel) + "bodies:\n" + kPress + kBall +
                  "  - {name: anvil, material: steel, shape: {box: {size: [1, 1, 1]}}, mass: 3e7, "
                  "inertia: [5e6, 5e6, 5e6], position: [0, 0, -0.5]}\n" +
                  kHasty + kTime,
              4);
}

TEST(Contradiction, IsNoneWhereAWedgeLetsTheBallOut) {
  // frictionless, 20 degrees
  expect_none(
      "materials: {steel: {density: 7800, friction: 0}}\nbodies:\n" + std::string(kFloor) + kBall +
          "  - {name: press, material: steel, shape: {box: {size: [0.6, 1, 0.1]}}, "
          "position: [-0.0513030, 0, 0.2409539], orientation: {axis: [0, 1, 0], angle: -20 deg}, "
          "motion: {velocity: [0, 0, -0.5]}}\n" +
          kHasty + kTime,
      1);
}

TEST(Contradiction, IsNoneWhereAJointIsCompliant) {
  const std::string plate =
      std::string(kSteel) + "gravity: [0, 0, 0]\nbodies:\n" + kFloor +
      "  - {name: plate, material: steel, shape: {box: {size: [0.1, 0.1, 0.1]}}, "
      "position: [0, 0, 0.04]}\n"
      "joints:\n  - {name: slide, type: prismatic, between: [world, plate], at: [0, 0, 0.04], "
      "axis: [1, 0, 0]";
  expect_none(plate + ", compliance: 1e-9, angular_compliance: 1e-9}\n" + kHasty + kTime, 1);
  const auto sim = until_miss(plate + "}\n" + kTime, 1);
  const PostMortem p = examine_step(*sim, nullptr);
  EXPECT_EQ(p.advice.reasons, (std::vector<std::string>{"no_solution"})) << p.advice.text;
}

TEST(Contradiction, IsNoneInAHeapThatAFewSweepsDoNotSettle) {
  expect_none(std::string(kSteel) + "bodies:\n" + kFloor +
                  "generators:\n"
                  "  - lattice: {name: grains, material: steel, shape: {sphere: {radius: 0.1}}, "
                  "count: [3, 3, 6], spacing: 0.2, origin: [0, 0, 0.1], position_jitter: 2 mm}\n" +
                  kHasty + "time: {step: 5 ms, end: 1}\n",
              3);
}

/// A ball on the floor under a plate that is inclined by 20 degrees and comes down.
std::string wedge(double friction, const char* law) {
  return "materials: {steel: {density: 7800, friction: " + std::to_string(friction) +
         "}}\nbodies:\n" + kFloor + kBall +
         "  - {name: plate, material: steel, shape: {box: {size: [0.6, 1, 0.1]}}, "
         "position: [-0.0513030, 0, 0.2409539], orientation: {axis: [0, 1, 0], angle: -20 deg}, "
         "motion: {velocity: [0, 0, -0.5]}}\n"
         "contact: {law: " +
         law + "}\nsolver: {max_iterations: 300}\n" + kTime;
}

TEST(Contradiction, NeedsFrictionThatHoldsTheWedge) {
  // tan(10 deg) = 0.176: cones of 0.5 hold a ball between planes at 20 degrees, those of 0.1 do not
  const auto held = until_miss(wedge(0.5, "ccp"), 3);
  const PostMortem p = examine_step(*held, nullptr);
  EXPECT_EQ(p.advice.reasons, (std::vector<std::string>{"no_solution"})) << p.advice.text;
  EXPECT_TRUE(p.measures.contradiction.measured.friction);
  const auto jammed = until_miss(wedge(0.5, "coulomb"), 3);
  EXPECT_TRUE(has_missed(*jammed));
  const PostMortem q = examine_step(*jammed, nullptr);
  EXPECT_EQ(q.advice.reasons[0], "jammed") << q.advice.text;
  expect_none(wedge(0.1, "ccp"), 1);
  expect_none(wedge(0.1, "coulomb"), 1);
}

TEST(Contradiction, OfNothingIsNone) {
  expect_none(std::string(kSteel) + "bodies:\n" + kBall + kTime, 1);
  expect_none(std::string(kSteel) + "bodies:\n" + kFloor + kTime, 1);
}

}  // namespace
}  // namespace catena
