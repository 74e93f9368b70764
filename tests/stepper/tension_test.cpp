// Geometric stiffness: chains whose tension is too high for the step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "support/case_text.hpp"

namespace catena {
namespace {

/// `links` rods of 0.1 m and 0.04 kg hang from the origin, tilted by 0.1 rad, with a ball of
/// `load` kg at the end; h = 2 ms.
std::string hanging(int links, double load, bool stiffness) {
  const double tilt = 0.1, length = 0.1 * links;
  const auto at = [&](double s) {
    return test::text_of(Vec3(s * std::sin(tilt), 0.0, -s * std::cos(tilt)));
  };
  std::string text = R"(materials: {steel: {density: 1000}}
generators:
  - chain: {name: cable, links: )" +
                     std::to_string(links) +
                     R"(, anchored: first, collide: false, material: steel,
            shape: {box: {size: [0.1, 0.02, 0.02]}}, from: [0, 0, 0], to: )" +
                     at(length) + "}\n";
  if (load > 0.0) {
    text += "bodies:\n  - {name: load, mass: " + std::to_string(load) + ", inertia: [" +
            std::to_string(load) + ", " + std::to_string(load) + ", " + std::to_string(load) +
            "], position: " + at(length) +
            "}\njoints:\n  - {name: hook, type: spherical, between: " + "[cable-" +
            std::to_string(links - 1) + ", load], at: " + at(length) + "}\n";
  }
  text += "time: {step: 2 ms, end: 1 s}\nsolver: {joints: {geometric_stiffness: ";
  text += stiffness ? "true}}\n" : "false}}\n";
  return text;
}

struct Swing {
  double misfit = 0.0;      ///< m, largest
  double lost = 0.0;        ///< J, most that the energy falls ...
  double gained = 0.0;      ///< ... and rises
  std::int64_t raised = 0;  ///< bodies, most
  double end_x = 0.0;       ///< m, of body 0: the load where there is one
  double residual = 0.0;    ///< J, of the audit, largest
};

Swing swing(const std::string& text) {
  Simulation run(Communicator::self(), test::case_of(text));
  const double start = run.state().audit[EnergyTerm::initial_energy];
  Swing s;
  for (std::int64_t i = 0; i < run.n_steps(); ++i) {
    const StepReport& r = run.step();
    const double energy = r.kinetic + r.potential;
    s.misfit = std::max(s.misfit, r.misfit.linear);
    s.lost = std::max(s.lost, start - energy);
    s.gained = std::max(s.gained, energy - start);
    s.raised = std::max(s.raised, r.stiffened);
    s.residual = std::max(s.residual, std::abs(r.energy_residual));
  }
  for (std::size_t i = 0; i < run.bodies().constants.size(); ++i)
    if (run.bodies().constants[i].id == 0) s.end_x = run.state().body[i].pose.p.x();
  return s;
}

// A load of 1000 links at 20 links of 0.1 m: h^2 K/I = 12 T h^2/(m L) = 4.7, above the 4 that an
// explicit step bears.
TEST(Tension, HeavyLoadsSwingSteadilyAtStepsThatTearChainsOtherwise) {
  const Swing with = swing(hanging(20, 40.0, true));
  const Swing without = swing(hanging(20, 40.0, false));

  EXPECT_EQ(with.raised, 20);
  EXPECT_LT(with.misfit, 1e-6);
  EXPECT_EQ(without.raised, 0);
  EXPECT_GT(without.misfit, 1e-4) << "the scene no longer asks for the raise";
  // the pendulum of 40 kg at 2 m falls by m g l (1 - cos 0.1) = 3.9 J at most
  EXPECT_LT(with.lost, 0.02 * 3.9);
  EXPECT_LT(with.gained, 0.02 * 3.9);
}

// The raise slows only links, not the swing of the load: against a pendulum of the same length.
TEST(Tension, TheSwingOfTheLoadStaysThatOfAPendulum) {
  const Swing s = swing(hanging(20, 40.0, true));

  // physical pendulum: 40 kg with I = 40 kg m^2 hanging from a joint: the ball does not turn, so
  // theta'' = -g/l sin(theta), l = 2 m; chain of 0.8 kg: 1 % of the load
  double theta = 0.1, rate = 0.0;
  for (int i = 0; i < 100000; ++i) {
    rate -= 1e-5 * 9.81 / 2.0 * std::sin(theta);
    theta += 1e-5 * rate;
  }
  EXPECT_NEAR(s.end_x, 2.0 * std::sin(theta), 0.02 * 0.2);
}

// Below h^2 K = I nothing is touched: bit for bit the same motion.
TEST(Tension, ScenesThatTheStepFollowsAreNotTouched) {
  const Swing on = swing(hanging(10, 0.0, true)), off = swing(hanging(10, 0.0, false));

  EXPECT_EQ(on.raised, 0);
  EXPECT_EQ(on.end_x, off.end_x);
  EXPECT_EQ(on.misfit, off.misfit);
}

}  // namespace
}  // namespace catena
