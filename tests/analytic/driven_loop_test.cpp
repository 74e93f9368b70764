// Closed loops driven by motors: jumps of a servo, targets that a loop does not allow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analytic/driven_loops.hpp"
#include "catena/base/error.hpp"

namespace catena::test {
namespace {

constexpr Loop kLoops[] = {{"four-bar", four_bar},
                           {"slider-crank", slider_crank},
                           {"bricard", bricard},
                           {"spherical", spherical_four_bar}};

/// Largest drift (of arms, or rad) and force of the first motor over some steps.
struct Driven {
  double worst = 0.0, last = 0.0;  ///< drift, ever and at the end
  double torque = 0.0, angle = 0.0;
};

Driven drive(Simulation& sim, int steps) {
  Driven d;
  for (int i = 0; i < steps; ++i) {
    const StepReport& r = sim.step();
    d.worst = std::max(d.worst, r.drift);
    d.last = r.drift;
    d.torque =
        std::max(d.torque, std::abs(sim.state().joints[0].drive[0][1]) / sim.settings().time.step);
  }
  d.angle = sim.stepper().joint_coordinates(sim.bodies(), sim.state(), 0)[0];
  return d;
}

/// Torque of the order of the mechanism's weight times its length, or above.
double torque_of(const Scale& scale) { return scale.mass() * 9.81 * scale.length; }

constexpr Scale kScales[] = {{1.0, 1000.0}, {1e-3, 8000.0}, {100.0, 100.0}};

/// Steps that suit the size: a pendulum's period goes with the root of its length.
double step_of(const Scale& scale, double fraction) { return fraction * std::sqrt(scale.length); }

TEST(DrivenLoop, StaysClosedWhenItsServoJumps) {
  for (const Loop& loop : kLoops)
    for (const Scale& scale : kScales)
      for (const double fraction : {1e-3, 4e-3}) {
        const auto sim = simulate(loop.make(scale, ", motor: {position: 0.5}", "") +
                                  time_of(step_of(scale, fraction)));
        const Driven d = drive(*sim, 400);
        // the servo turns its body by 4/9 of the jump in the first step, along straight lines
        EXPECT_LT(d.worst, 0.15) << loop.name << " " << scale.length << " m, " << fraction;
        EXPECT_LT(d.last, 1e-3) << loop.name << " " << scale.length << " m, " << fraction;
        EXPECT_NEAR(d.angle, 0.5, 1e-3) << loop.name << " " << scale.length << " m, " << fraction;
      }
}

TEST(DrivenLoop, ABoundedServoPushesNoHarderThanItMay) {
  for (const Loop& loop : kLoops)
    for (const Scale& scale : kScales) {
      const double bound = torque_of(scale);
      const auto sim = simulate(
          loop.make(scale, ", motor: {position: 0.5, max_force: " + text_of(bound) + "}", "") +
          time_of(step_of(scale, 2e-3)));
      const Driven d = drive(*sim, 400);
      EXPECT_LE(d.torque, bound * (1.0 + 1e-12)) << loop.name;
      EXPECT_LT(d.worst, 0.05) << loop.name << " " << scale.length;
    }
}

TEST(DrivenLoop, AMotorOnATriangleStallsAtItsBound) {
  for (const Scale& scale : kScales) {
    const double bound = torque_of(scale);
    const auto sim =
        simulate(truss(scale, ", motor: {velocity: 3, max_force: " + text_of(bound) + "}") +
                 time_of(step_of(scale, 2e-3)));
    const Driven d = drive(*sim, 100);

    EXPECT_LT(d.worst, 1e-9) << scale.length;
    EXPECT_NEAR(d.torque, bound, 1e-9 * bound) << scale.length;
    EXPECT_NEAR(d.angle, 0.0, 1e-9) << scale.length;
  }
}

TEST(DrivenLoop, AMotorWithoutBoundOnATriangleIsRefusedByName) {
  const auto sim = simulate(truss({}, ", motor: {velocity: 3}") + time_of(1e-3));
  try {
    sim->step();
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    const std::string found = e.what();
    EXPECT_NE(found.find("contradict"), std::string::npos) << found;
    EXPECT_NE(found.find("motors of j0 ask"), std::string::npos) << found;
  }
}

TEST(DrivenLoop, AMotorThatBeginsToPushATriangleLaterIsHeldBackAndNamed) {
  for (const Scale& scale : kScales) {
    const double h = step_of(scale, 2e-3);
    const std::string late = text_of(10.5 * h), later = text_of(11.5 * h);
    const auto sim = simulate(truss(scale, ", motor: {velocity: 3, table: {rows: [[0, 0], [" +
                                               late + ", 0], [" + later + ", 1]]}}") +
                              time_of(h));
    Driven d = drive(*sim, 10);
    EXPECT_TRUE(sim->stepper().report().held_drives.empty());

    d = drive(*sim, 100);

    EXPECT_LT(d.worst, 1e-9) << scale.length;
    EXPECT_EQ(sim->stepper().report().held_drives, std::vector<GlobalId>{0});
    EXPECT_NEAR(sim->stepper().report().drive_miss, 3.0, 1e-6);
    EXPECT_NEAR(d.angle, 0.0, 1e-9);
  }
}

TEST(DrivenLoop, TwoMotorsThatDisagreeLaterLeaveItClosed) {
  for (const Scale& scale : kScales) {
    const double h = step_of(scale, 2e-3);
    const std::string rows =
        "[[0, 0], [" + text_of(10.5 * h) + ", 0], [" + text_of(11.5 * h) + ", 1]]";
    const std::string motor = ", motor: {velocity: 0.3, table: {rows: " + rows + "}}";
    const auto sim = simulate(four_bar(scale, motor, motor) + time_of(h));
    const Driven d = drive(*sim, 100);
    EXPECT_LT(d.worst, 1e-4) << scale.length;
    EXPECT_EQ(sim->stepper().report().held_drives, (std::vector<GlobalId>{0, 3}));
  }
}

}  // namespace
}  // namespace catena::test
