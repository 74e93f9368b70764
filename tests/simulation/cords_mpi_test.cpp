// Rods and ropes whose bodies lie on several ranks: the answers of one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/case_text.hpp"

namespace catena {
namespace {

CaseSettings net(const std::string& joint, bool deterministic) {
  return test::case_of(
      "materials: {m: {density: 1000, friction: 0.5}}\n"
      "generators: [{net: {name: net, material: m, shape: {sphere: {radius: 28 mm}}, count: [7, "
      "7], "
      "from: [-0.3, -0.3, 0], spacing: [[0.1, 0, 0], [0, 0.1, 0]], anchored: corners, joint: " +
      joint +
      "}}]\nbodies: [{name: box, material: m, shape: {sphere: {radius: 0.12}}, mass: 16, "
      "position: [0, 0, 0.16]}]\ntime: {step: 1 ms, end: 1 s}\nsolver: {max_iterations: 5000, "
      "relative_tolerance: 1e-12}\nparallel: {rebalance_steps: 10" +
      (deterministic ? ", deterministic: true, tile_bodies: 10" : "") + "}\n");
}

/// A load of 500 kg, thrown sideways, on 20 links of 50 g: h^2 T/(m L) = 1.
CaseSettings load(const std::string& joint) {
  return test::case_of(
      "materials: {m: {density: 1000}}\n"
      "generators: [{chain: {name: cable, material: m, links: 20, shape: {sphere: {radius: 20 "
      "mm}}, "
      "mass: 0.05, joint: " +
      joint +
      ", from: [0, 0, 0], to: [0, 0, -2], anchored: first}}]\n"
      "bodies: [{name: load, material: m, shape: {sphere: {radius: 0.2}}, mass: 500, position: "
      "[0, 0, -2.3], velocity: [2, 0, 0]}]\n"
      "joints: [{name: hook, type: " +
      joint +
      ", between: [cable-19, load], at: [[0, 0, -1.95], [0, 0, -2.1]]}]\n"
      "time: {step: 1 ms, end: 2 s}\nparallel: {rebalance_steps: 10}\n");
}

double least_impulse(const Simulation& sim) {
  double least = 0.0;
  for (std::size_t j = 0; j < sim.state().joints.size(); ++j)
    if (sim.bodies().joints[j].type == JointType::rope)
      least = std::min(least, sim.state().joints[j].impulse[0]);
  return sim.communicator().min(least);
}

TEST(CordsMpi, AnswersAreThoseOfOneRank) {
  for (const std::string joint : {"distance", "rope"}) {
    Simulation one(Communicator::self(), load(joint));
    Simulation many(Communicator::world(), load(joint));
    std::int64_t held = 0;
    double least = 0.0;
    for (int i = 0; i < 300; ++i) {
      held += one.step().cords_held;
      many.step();
      least = std::min(least, least_impulse(many));
    }
    EXPECT_GE(least, 0.0) << joint;
    EXPECT_GT(held, 0) << joint;
    const std::vector<double> a = test::positions_by_id(one), b = test::positions_by_id(many);
    double worst = 0.0;
    for (std::size_t k = 0; k < a.size(); ++k) worst = std::max(worst, std::abs(a[k] - b[k]));
    EXPECT_LE(worst, 1e-8) << joint;
  }
}

TEST(CordsMpi, DeterministicRunsGiveTheSameBits) {
  for (const std::string joint : {"distance", "rope"}) {
    Simulation one(Communicator::self(), net(joint, true));
    Simulation many(Communicator::world(), net(joint, true));
    for (int i = 0; i < 60; ++i) {
      one.step();
      many.step();
    }
    const std::vector<double> a = test::positions_by_id(one), b = test::positions_by_id(many);
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(double)), 0) << joint;
  }
}

}  // namespace
}  // namespace catena
