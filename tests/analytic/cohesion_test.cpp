// Contacts that pull: how far they open under a load, and the load at which they part.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "analytic/case_runner.hpp"
#include "analytic/elastic_scenes.hpp"

namespace catena::test {
namespace {

constexpr double kRadius = 0.2, kMass = 0.5;  // of the ball that hangs, m and kg

/// A ball of 0.5 kg under a fixed one of 0.1 m that it just touches, without gravity and with a
/// pull that grows to 2, 4 and 7.6 N of the 8 N that hold it, and rests there until 0.3, 0.6 and
/// 0.9 s; then to 10 N.
std::string pulled_ball(const std::string& contact, const std::string& material,
                        const std::string& time) {
  return "gravity: [0, 0, 0]\nmaterials: {m: {density: 1000, friction: 0.5, cohesion: 8" +
         material + "}}\ncontact: {cohesion_range: 0.5 mm, margin: 2 mm, " + contact +
         "}\nbodies:\n"
         "  - {name: base, material: m, fixed: true, shape: {sphere: {radius: 0.1}}}\n"
         "  - {name: ball, material: m, mass: 0.5, inertia: [8e-3, 8e-3, 8e-3], position: [0, 0, "
         "-0.3], shape: {sphere: {radius: 0.2}}}\n"
         "forces:\n"
         "  - {name: pull, type: force, body: ball, force: [0, 0, -1], table: {rows: [[0, 0], "
         "[0.1, "
         "2], [0.3, 2], [0.4, 4], [0.6, 4], [0.7, 7.6], [0.9, 7.6], [1, 10]]}}\n" +
         kTight + "time: {end: 2, " + time + "}\n";
}

double opening(const Simulation& sim) { return -0.3 - body_of(sim, 1).pose.p.z(); }

struct Law {
  std::string contact, material, time;
  double step;                    // s
  double (*gap)(double, double);  // of the pull, N, and the step, m
};

TEST(Cohesion, ABallThatIsPulledOffOpensByForceTimesComplianceUntilItsLimit) {
  const Law laws[] = {
      // a stiffness that steps resolve, with all damping that no rebound asks for
      {"stiffness: 1e5", "", "step: 0.1 ms", 1e-4, [](double f, double) { return f / 1e5; }},
      {"stiffness: 1e5", "", "step: 0.1 ms, stepper: dvi", 1e-4,
       [](double f, double) { return f / 1e5; }},
      {"stiffness: 1e5, damping_time: 20 ms", "", "step: 1 ms", 1e-3,
       [](double f, double) { return f / 1e5; }},
      {"stiffness: 1e7", "", "step: 1 ms", 1e-3, [](double f, double) { return f / 1e7; }},
      {"stiffness: auto", "", "step: 1 ms", 1e-3,
       [](double f, double h) {
         // a third of the trace of N, arm and inertia those of a ball, times h^2 over the ratio
         const double mobility = (1.0 + 2.0 * (1.0 + 2.5)) / 3.0 / kMass;
         return f * mobility * h * h / 300.0;
       }},
      {"stiffness: rigid", "", "step: 1 ms", 1e-3, [](double, double) { return 0.0; }},
      // Hertz's law with its sign turned
      {"stiffness: material", ", youngs_modulus: 1e7, poisson_ratio: 0.3", "step: 0.1 ms", 1e-4,
       [](double f, double) {
         const double modulus = 1e7 / (2.0 * 0.91), radius = 0.1 * kRadius / 0.3;
         return std::pow(0.75 * f / (modulus * std::sqrt(radius)), 2.0 / 3.0);
       }}};
  for (const Law& law : laws) {
    const auto sim = simulate(pulled_ball(law.contact, law.material, law.time));

    for (const auto& [t, force] : {std::pair(0.3, 2.0), std::pair(0.6, 4.0), std::pair(0.9, 7.6)}) {
      run_until(*sim, t);
      const double expected = law.gap(force, law.step);
      // Hertz's law, soft at little force, creeps there longest
      EXPECT_NEAR(opening(*sim), expected, 2e-3 * expected + 1e-10) << law.contact << law.time;
    }
    run_until(*sim, 1.3);

    EXPECT_GT(opening(*sim), 0.5) << law.contact;
  }
}

TEST(Cohesion, ALittleOfItChangesNoReboundHoweverWideItsRange) {
  const auto rebound = [](const std::string& cohesion) {
    const auto sim = simulate(
        "gravity: [0, 0, 0]\nmaterials: {m: {density: 1000, friction: 0, restitution: 0.5" +
        cohesion +
        "}}\ncontact: {stiffness: 1e5, margin: 20 mm, cohesion_range: 10 mm}\nbodies:\n"
        "  - {name: ball, material: m, mass: 1, inertia: [4e-3, 4e-3, 4e-3], shape: {sphere: "
        "{radius: 0.1}}, position: [0, 0, 0.13], velocity: [0, 0, -1]}\n"
        "  - {name: ground, material: m, shape: plane}\n" +
        kTight + "time: {step: 0.1 ms, end: 0.2}\n");
    run_until(*sim, 0.2);
    return body_of(*sim, 0).twist.v.z();
  };

  const double without = rebound("");

  EXPECT_NEAR(without, 0.5, 0.02);
  EXPECT_NEAR(rebound(", cohesion: 1e-9"), without, 1e-6);
}

TEST(Cohesion, APairThatSwingsAboutItsTouchGainsNoEnergy) {
  // 1 kg on 1e5 N/m from 0.3 mm: at most 30 N, which the contact holds
  for (const char* damping : {"", ", damping_time: 0.5 ms"}) {
    const auto sim = simulate(
        "gravity: [0, 0, 0]\nmaterials: {m: {density: 1000, friction: 0, cohesion: 50}}\n"
        "contact: {stiffness: 1e5, margin: 2 mm, cohesion_range: 1 mm" +
        std::string(damping) +
        "}\nbodies:\n"
        "  - {name: ball, material: m, mass: 1, inertia: [4e-3, 4e-3, 4e-3], shape: {sphere: "
        "{radius: 0.1}}, position: [0, 0, 0.1003]}\n"
        "  - {name: ground, material: m, shape: plane}\n" +
        kTight + "time: {step: 0.1 ms, end: 1}\n");
    // the spring's energy in both signs
    double last = 0.5 * 1e5 * 9e-8;
    for (int i = 0; i < 1000; ++i) {
      sim->step();
      const BodyMotionState& ball = body_of(*sim, 0);
      const double gap = ball.pose.p.z() - 0.1, speed = ball.twist.v.z();
      const double energy = 0.5 * speed * speed + 0.5 * 1e5 * gap * gap;
      EXPECT_LE(energy, last * (1.0 + 1e-9)) << i;
      last = energy;
    }
    EXPECT_LT(last, 1e-4);
    EXPECT_NEAR(sim->stepper().report().energy_residual, 0.0, 1e-9);
  }
}

}  // namespace
}  // namespace catena::test
