// Friction of contacts that give: loops of loading, unloading and reloading against the spring with
// a slider, and that what sticks does not creep.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "analytic/case_runner.hpp"
#include "analytic/elastic_scenes.hpp"

namespace catena::test {
namespace {

// A ball of 1 kg that is guided along z rests on a table that moves along x.
constexpr double kStep = 1e-3;
constexpr double kTangent = 4e5;  // N/m
constexpr double kMost = 0.5 * kG;
constexpr double kAmplitude = 3.0 * kMost / kTangent;

/// `third`: amplitude of three times the frequency, in that of the frequency itself.
std::string guided_ball(int steps, double third) {
  const auto harmonic = [](double amplitude, double frequency) {
    return "{amplitude: " + text_of(Vec3(amplitude, 0.0, 0.0)) +
           ", frequency: " + text_of(frequency) + "}";
  };
  const double frequency = 1.0 / (kStep * steps);
  // tau = 3h/4: the springs act at the step's end
  return "materials: {m: {friction: 0.5}}\n"
         "contact: {stiffness: 1e6, tangential_ratio: 0.4, damping_time: 0.75 ms}\n"
         "bodies:\n"
         "  - {name: ball, material: m, mass: 1, inertia: [1, 1, 1], shape: {sphere: {radius: "
         "0.1}},"
         " position: [0, 0, 0.1]}\n"
         "  - {name: table, material: m, shape: plane, motion: {harmonics: [" +
         harmonic(kAmplitude, frequency) + ", " + harmonic(third * kAmplitude, 3.0 * frequency) +
         "]}}\n"
         "joints:\n"
         "  - {name: guide, type: prismatic, between: [ball, world], at: [0, 0, 0.1], "
         "axis: [0, 0, 1]}\n" +
         kTight + "time: {step: 1 ms, end: 1000}\n";
}

double table_place(std::int64_t step, int steps, double third) {
  const double angle = 2.0 * kPi * static_cast<double>(step) / steps;
  return kAmplitude * (std::sin(angle) + third * std::sin(3.0 * angle));
}

struct Loop {
  double worst = 0.0;    ///< force beside that of the spring with a slider, N
  double changed = 0.0;  ///< force at the same place of the first loop and of any other, N
  double area = 0.0;     ///< of the last loop, J
  double lost = 0.0;     ///< in it, by the audit, J
  double least = 0.0;    ///< loss of a step, J
  double most = 0.0;     ///< force, N
};

/// The ball settles during the first `before` loops.
Loop run_loops(int steps, int before, int loops, double third) {
  const auto sim = simulate(guided_ball(steps, third));
  std::vector<double> first(steps);
  Loop out;
  out.least = 1.0;
  double spring = 0.0, force = 0.0, place = 0.0, lost = 0.0;
  for (int loop = -before; loop < loops; ++loop) {
    out.area = out.lost = 0.0;
    for (int i = 0; i < steps; ++i) {
      const StepReport& r = sim->step();
      const double force_before = force, place_before = place;
      place = table_place(sim->state().step, steps, third);
      force = contact_force_on(*sim, 0).x();
      const double lost_now = r.audit[EnergyTerm::dissipation_friction] - lost;
      lost += lost_now;
      if (loop < 0) {
        spring = force;
        continue;
      }
      // exact for every step of a spring with a slider
      spring = std::clamp(spring + kTangent * (place - place_before), -kMost, kMost);
      out.worst = std::max(out.worst, std::abs(spring - force));
      out.area += 0.5 * (force + force_before) * (place - place_before);
      out.lost += lost_now;
      out.least = std::min(out.least, lost_now);
      out.most = std::max(out.most, force);
      if (loop == 0)
        first[i] = force;
      else
        out.changed = std::max(out.changed, std::abs(force - first[i]));
    }
  }
  return out;
}

TEST(ElasticFriction, LoadedAndUnloadedItIsASpringWithASlider) {
  const Loop loop = run_loops(2000, 1, 2, 0.0);
  EXPECT_LT(loop.worst, 1e-9 * kMost);
  EXPECT_NEAR(loop.most, kMost, 1e-9 * kMost);
  // two elastic flanks of 2 mu N/k_t, and the rest slides
  const double area = 4.0 * kMost * (kAmplitude - kMost / kTangent);
  EXPECT_NEAR(loop.area, area, 1e-5 * area);
  EXPECT_NEAR(loop.lost, area, 2e-3 * area);  // implicit springs lose k_t dx^2/2 a step besides
}

TEST(ElasticFriction, PartialUnloadingAndReloadingIsElastic) {
  // the third harmonic turns back six times in a loop, where the spring holds and where it slides
  for (const double third : {0.2, 0.6, 1.0}) {
    const Loop loop = run_loops(2000, 1, 1, third);
    EXPECT_LT(loop.worst, 1e-9 * kMost) << third;
    EXPECT_GE(loop.least, -1e-15) << third;
  }
}

void expect_loops_are_one(int loops) {
  const Loop loop = run_loops(20, 100, loops, 0.0);
  EXPECT_LT(loop.worst, 1e-9 * kMost);
  EXPECT_LT(loop.changed, 1e-9 * kMost);
  EXPECT_GE(loop.least, -1e-14);  // round-off of a sum of 5 J
}

TEST(ElasticFriction, AThousandLoopsAreOneAndNoStepGivesEnergy) { expect_loops_are_one(1000); }

TEST(ElasticFriction, TenThousandLoopsAreOneAndNoStepGivesEnergy) { expect_loops_are_one(10000); }

TEST(ElasticFriction, ShakenBlockOnASlopeDoesNotRatchetDown) {
  // friction between 0 and 0.95 of its bound: m g sin and the table's acceleration
  const double slope = std::atan(0.25), period = 0.04, rate = 2.0 * kPi / period;
  const double shaking = kG * (0.95 * 0.5 * std::cos(slope) - std::sin(slope)) / (rate * rate);
  const auto sim = simulate(
      "gravity: " + text_of(kG * Vec3(std::sin(slope), 0.0, -std::cos(slope))) +
      "\nmaterials: {m: {density: 1000, friction: 0.5}}\ncontact: {stiffness: auto}\n"
      "bodies:\n"
      "  - {name: cube, material: m, shape: {box: {size: [1, 1, 1]}}, position: [0, 0, 0.5]}\n"
      "  - {name: table, material: m, shape: plane, motion: {harmonics: [{amplitude: " +
      text_of(Vec3(shaking, 0.0, 0.0)) + ", frequency: 25}]}}\n" +
      "solver: {relative_tolerance: 1e-12}\ntime: {step: 1 ms, end: 100}\n");
  run_until(*sim, 50 * period);
  const Vec3 start = body_of(*sim, 0).pose.p;
  run_until(*sim, 150 * period);
  EXPECT_LT((body_of(*sim, 0).pose.p - start).norm(), 1e-12);
}

/// Two floors of four uprights and six planks each, some lying on two planks.
std::string house() {
  std::string yaml = "materials: {m: {friction: 0.8}}\nbodies:\n" + std::string(kFloorText);
  int n = 0;
  const auto add = [&](const Vec3& size, const Vec3& at) {
    const Vec3 square = size.cwiseAbs2() * (10.0 / 12.0);
    yaml +=
        "  - {name: b" + std::to_string(n++) + ", material: m, mass: 10, inertia: " +
        text_of(Vec3(square.y() + square.z(), square.x() + square.z(), square.x() + square.y())) +
        ", shape: {box: {size: " + text_of(size) + "}}, position: " + text_of(at) + "}\n";
  };
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) add({0.05, 0.25, 0.1}, {0.2 * j, 0.0, 0.2 * i + 0.05});
    for (int j = 0; j < 3; ++j)
      for (const double y : {j == 1 ? 0.1 : -0.1, j == 1 ? 0.0 : 0.1})
        add({0.2, 0.05, 0.1}, {0.2 * j + 0.1, y, 0.2 * i + 0.15});
  }
  return yaml;
}

/// Ten bricks, four high, on a slope of 8 degrees.
std::string wall_on_slope() {
  std::string yaml =
      "gravity: [1.2, 0.7, -9.7]\nmaterials: {m: {friction: 0.6, density: 2000}}\nbodies:\n" +
      std::string(kFloorText);
  int n = 0;
  for (int row = 0; row < 4; ++row)
    for (int j = 0; j < 4 - row; ++j)
      yaml += "  - {name: b" + std::to_string(n++) +
              ", material: m, shape: {box: {size: [0.3, 0.2, 0.1]}}, position: " +
              text_of(Vec3(0.31 * j + 0.155 * row + 0.01 * (row % 2), 0.02 * j, 0.05 + 0.1 * row)) +
              "}\n";
  return yaml;
}

/// Mean places of the bodies over so many steps: what a tolerance leaves makes places jitter by
/// some g h^2 times its root, to and fro. A creep is what is left of it.
std::map<GlobalId, Vec3> mean_places(Simulation& sim, int steps) {
  std::map<GlobalId, Vec3> mean;
  for (int i = 0; i < steps; ++i) {
    sim.step();
    for (const auto& [id, p] : places(sim)) mean.try_emplace(id, Vec3::Zero()).first->second += p;
  }
  for (auto& [id, p] : mean) p /= steps;
  return mean;
}

double largest_distance(const std::map<GlobalId, Vec3>& a, const std::map<GlobalId, Vec3>& b) {
  double largest = 0.0;
  for (const auto& [id, p] : a) largest = std::max(largest, (p - b.at(id)).norm());
  return largest;
}

struct Creep {
  double drift = 0.0;  ///< of the mean places of 1,000 steps, m
  double moved = 0.0;  ///< between two single steps, m
};

Creep creep_of(const std::string& scene, const std::string& solver, int steps) {
  constexpr double kSettled = 2.0;
  const auto sim = simulate(Communicator::self(),
                            scene + "solver: {" + solver + "}\ntime: {step: 1 ms, end: 1000}\n");
  run_until(*sim, kSettled);
  const auto before = places(*sim);
  const auto start = mean_places(*sim, 1000);
  run_until(*sim, kSettled + 1e-3 * (steps - 1000));
  const auto end = mean_places(*sim, 1000);
  return {largest_distance(start, end), largest_move(*sim, before)};
}

TEST(ElasticCreep, WhatSticksStaysUnderTheDefaults) {
  for (const std::string& scene : {house(), wall_on_slope()}) {
    const Creep found = creep_of(scene, "", 10000);
    EXPECT_LT(found.drift, 5e-9);
    EXPECT_LT(found.moved, 3e-7);
  }
}

TEST(ElasticCreep, WhatSticksStaysToTheRootOfTheTolerance) {
  // the tolerance is of energies, and places follow its root: 1e-3 of the jitter of the defaults
  for (const std::string& scene : {house(), wall_on_slope()}) {
    const Creep found = creep_of(scene, "relative_tolerance: 1e-12, absolute_tolerance: 0", 3000);
    EXPECT_LT(found.drift, 1e-12);
    EXPECT_LT(found.moved, 1e-10);
  }
}

TEST(ElasticCreep, WhatSticksStaysToRoundOff) {
  const Creep found =
      creep_of(wall_on_slope(), "relative_tolerance: 1e-24, absolute_tolerance: 0", 3000);
  EXPECT_LT(found.moved, 1e-14);
}

}  // namespace
}  // namespace catena::test
