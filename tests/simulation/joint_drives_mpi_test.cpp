// Brakes, limits and bounded motors of joints over ranks, and a chain on a pile.
#include <gtest/gtest.h>

#include "support/all_ranks.hpp"
#include "support/case_text.hpp"

namespace catena {
namespace {

/// Positions of all bodies by id after some steps, on every rank.
std::vector<double> positions(const Communicator& comm, const std::string& text, int steps,
                              double& misfit) {
  const auto sim = test::simulate(comm, text);
  misfit = 0.0;
  for (int i = 0; i < steps; ++i) misfit = std::max(misfit, sim->step().projected.linear);
  return test::positions_by_id(*sim);
}

TEST(JointDrives, MoveAChainAlikeOnAnyNumberOfRanks) {
  // braked hinges, one end driven to a limit, the other loaded
  const std::string text =
      "bodies: [{name: arm, mass: 1, inertia: [1e-3, 1e-3, 1e-3], position: [0, 0, 2]}, {name: "
      "load, mass: 30, inertia: [1, 1, 1], position: [20, 0, 0]}]\n"
      "generators: [{chain: {name: c, links: 20, mass: 1, inertia: [0.1, 0.1, 0.1], anchored: "
      "first, from: [0, 0, 0], to: [20, 0, 0], joint: revolute, friction: 50}}]\n"
      "joints:\n"
      "  - {name: end, type: fixed, between: [c-19, load], at: [20, 0, 0]}\n"
      "  - {name: hinge, type: revolute, between: [world, arm], at: [0, 0, 1], axis: [0, 1, 0], "
      "motor: {velocity: 2, max_force: 30}, limits: [-0.1, 0.1]}\n"
      "time: {step: 2 ms, end: 1}\n"
      "solver: {max_iterations: 500, relative_tolerance: 1e-16, absolute_tolerance: 1e-20}\n";
  double misfit = 0.0;

  const std::vector<double> alone = positions(Communicator::self(), text, 80, misfit);
  const std::vector<double> together = positions(Communicator::world(), text, 80, misfit);

  if (!test::all_ranks_have(Communicator::world(), alone.size(), together.size())) return;
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(alone[i], together[i], 1e-8) << i;
  EXPECT_LT(alone[5], -0.01);  // the load falls
}

/// Links of 1 m and 1 kg in a row along x, hinged about y, the first to the world, with a motor
/// that holds each hinge with `most` at the most: more drives than are solved by their dense
/// matrix.
std::string beam(int links, double most) {
  std::string bodies = "gravity: [0, 0, -10]\nbodies:\n", joints = "joints:\n";
  for (int i = 0; i < links; ++i) {
    const std::string name = "b" + std::to_string(i);
    bodies +=
        "  - {name: " + name +
        ", mass: 1, inertia: [0.01, 0.0833333333333333333, 0.0833333333333333333], position: [" +
        test::text_of(i + 0.5) + ", 0, 0]}\n";
    joints += "  - {name: j" + std::to_string(i) + ", type: revolute, between: [" +
              (i == 0 ? "world" : "b" + std::to_string(i - 1)) + ", " + name + "], at: [" +
              std::to_string(i) +
              ", 0, 0], axis: [0, 1, 0], motor: {velocity: 0, max_force: " + test::text_of(most) +
              "}}\n";
  }
  return bodies + joints + "time: {step: 1 ms, end: 1}\n";
}

TEST(JointDrives, MoreOfThemThanADenseMatrixTakesMoveABeamAlikeOnAnyNumberOfRanks) {
  // its weight asks the root's motor for g n^2/2, which gives a tenth less; all others hold
  constexpr int kLinks = 150, kSteps = 5;
  constexpr double kG = 10.0, kH = 1e-3, kWeighs = kG * kLinks * kLinks / 2.0;
  const std::string text = beam(kLinks, 0.9 * kWeighs);
  double misfit = 0.0;

  const std::vector<double> alone = positions(Communicator::self(), text, kSteps, misfit);
  const std::vector<double> together = positions(Communicator::world(), text, kSteps, misfit);

  if (!test::all_ranks_have(Communicator::world(), alone.size(), together.size())) return;
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(alone[i], together[i], 1e-11) << i;
  // the whole turns about the root as a rod, whose n^3/3 resist; h^2 (1 + 2 + ... + 5) of the rate
  const double turn = 0.1 * kWeighs / (kLinks * kLinks * kLinks / 3.0);
  const double fall = turn * (kLinks - 0.5) * kH * kH * kSteps * (kSteps + 1) / 2.0;
  EXPECT_NEAR(-alone.back(), fall, 1e-6 * fall);
}

TEST(ChainOnPile, HoldsItsJointsToTheProjectionWithAHeavyLastLink) {
  // a small form of configs/studies/mixed.yaml
  const std::string text =
      "materials: {m: {density: 2500, friction: 0.5}}\n"
      "bodies: [{name: load, material: m, shape: {sphere: {radius: 0.04}}, mass: 67, inertia: "
      "[0.043, 0.043, 0.043], position: [0.45, 0.25, 0.44]}]\n"
      "generators:\n"
      "  - container: {name: bin, material: m, size: [0.5, 0.5, .inf], origin: [0, 0, 0]}\n"
      "  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.05}}, count: [4, 4, 3], "
      "spacing: 0.11, origin: [0.08, 0.08, 0.05]}\n"
      "  - chain: {name: c, material: m, shape: {sphere: {radius: 0.04}}, links: 4, from: [0, "
      "0.25, "
      "0.44], to: [0.4, 0.25, 0.44]}\n"
      "joints: [{name: last, type: spherical, between: [c-3, load], at: [0.4, 0.25, 0.44]}]\n"
      "time: {step: 5 ms, end: 1}\n"
      "solver: {max_iterations: 50, relative_tolerance: 1e-3, joints: {projection: 1e-9}}\n";
  double misfit = 0.0;

  const std::vector<double> at = positions(Communicator::world(), text, 100, misfit);

  EXPECT_LE(misfit, 1e-9);
  for (std::size_t i = 2; i < at.size(); i += 3) EXPECT_GT(at[i], -1e-3) << i;
}

/// A net that sags from its corners, projected far: moves are cut back or left out, alike on all
/// ranks, whose bodies would part else.
TEST(Projection, IsCutBackAlikeOnAnyNumberOfRanks) {
  const std::string text =
      "materials: {rope: {density: 1400}}\n"
      "generators: [{net: {name: net, material: rope, shape: {sphere: {radius: 25 mm}}, count: [7, "
      "7], from: [-0.3, -0.3, 1], spacing: [[0.1, 0, 0], [0, 0.1, 0]], anchored: corners, joint: "
      "distance}}]\n"
      "time: {step: 1 ms, end: 1 s}\nsolver: {joints: {projection: 1e-10}}\n";
  Simulation sim(Communicator::world(), test::case_of(text));
  const Communicator& comm = sim.communicator();
  std::int64_t helped = 0, cut = 0;

  for (int i = 0; i < 60; ++i) {
    const StepReport& r = sim.step();
    cut += r.projection_cuts + (r.projection_dropped ? 1 : 0);
    helped += r.projections;
  }

  EXPECT_GT(cut, 0);
  EXPECT_GT(helped, 0);
  EXPECT_EQ(comm.max(cut), comm.min(cut));
  EXPECT_EQ(comm.max(helped), comm.min(helped));
  EXPECT_LT(sim.stepper().report().misfit.linear, 1e-3);
}

}  // namespace
}  // namespace catena
