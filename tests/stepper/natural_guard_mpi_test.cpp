// Whether a natural step is trusted is decided alike on all ranks, and all of them learn of its
// end.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "catena/stepper/natural_stepper.hpp"
#include "stepper/natural_run.hpp"

namespace catena::test {
namespace {

/// A row of five parallelograms that starts just above the position in line.
std::string flat_row() {
  std::string bodies, joints;
  const double angle = 0.02, c = std::cos(angle), s = std::sin(angle);
  constexpr int kLoops = 5;
  char line[400];
  for (int i = 0; i <= kLoops; ++i) {
    std::snprintf(
        line, sizeof line,
        "  - {name: crank%d, mass: 1, inertia: [0.01, 0.1, 0.1], position: [%.17g, %.17g, "
        "0], orientation: {axis: [0, 0, 1], angle: %.17g}, velocity: [%.17g, %.17g, 0], "
        "angular_velocity: [0, 0, -5]}\n",
        i, i + 0.5 * c, 0.5 * s, angle, 2.5 * s, -2.5 * c);
    bodies += line;
    std::snprintf(line, sizeof line,
                  "  - {name: base%d, type: revolute, between: [world, crank%d], at: [%d, 0, 0], "
                  "axis: [0, 0, 1]}\n",
                  i, i, i);
    joints += line;
  }
  for (int i = 0; i < kLoops; ++i) {
    std::snprintf(line, sizeof line,
                  "  - {name: bar%d, mass: 1, inertia: [0.01, 0.1, 0.1], position: [%.17g, %.17g, "
                  "0], velocity: [%.17g, %.17g, 0]}\n",
                  i, i + c + 0.5, s, 5.0 * s, -5.0 * c);
    bodies += line;
    for (const int end : {0, 1}) {
      std::snprintf(line, sizeof line,
                    "  - {name: pin%d-%d, type: revolute, between: [crank%d, bar%d], at: [%.17g, "
                    "%.17g, 0], axis: [0, 0, 1]}\n",
                    i, end, i + end, i, i + end + c, s);
      joints += line;
    }
  }
  return "gravity: [0, -9.81, 0]\nbodies:\n" + bodies + "joints:\n" + joints;
}

TEST(NaturalGuardOverRanks, EveryRankDividesOrEndsTheSameSteps) {
  const Communicator comm = Communicator::world();
  for (const char* step : {"4 ms", "1 ms", "0.37 ms"}) {
    const auto sim = natural_run(comm, flat_row(), step);
    std::int64_t divided = 0, ended = 0;
    double kinetic = 0.0, residual = 0.0;
    try {
      for (int i = 0; i < 30; ++i) {
        const StepReport& r = sim->step();
        divided += r.parts;
        kinetic = r.kinetic;
        residual = std::abs(r.energy_residual);
      }
    } catch (const BlowUp&) {
      ended = sim->state().step + 1;
    }
    EXPECT_EQ(comm.min(divided), comm.max(divided)) << step;
    EXPECT_EQ(comm.min(ended), comm.max(ended)) << step;
    EXPECT_LT(residual, 1e-3 * std::max(kinetic, 1.0)) << step;
  }
}

TEST(NaturalGuardOverRanks, AStepThatNoRankCanFollowEndsAllOfThem) {
  const Communicator comm = Communicator::world();
  // springs along a row of bodies, far too stiff for the step
  std::string bodies = "gravity: [0, 0, 0]\nbodies:\n", forces = "forces:\n";
  for (int i = 0; i < 6; ++i) {
    bodies += "  - {name: b" + std::to_string(i) + ", mass: 1, inertia: [1, 1, 1], position: [" +
              std::to_string(i) + ", 0, 0]}\n";
    if (i == 0) continue;
    forces += "  - {name: s" + std::to_string(i) + ", type: spring, between: [b" +
              std::to_string(i - 1) + ", b" + std::to_string(i) + "], at: [[" +
              std::to_string(i - 1) + ", 0, 0], [" + std::to_string(i) +
              ", 0, 0]], stiffness: 1e8, length: 0.9}\n";
  }
  const auto sim = natural_run(comm, bodies + forces, "1");
  std::int64_t ended = 0;
  try {
    sim->step();
  } catch (const BlowUp& blow_up) {
    ended = 1;
    EXPECT_EQ(blow_up.code(), ExitCode::blow_up);
  }
  EXPECT_EQ(comm.min(ended), 1);
  EXPECT_EQ(sim->state().step, 0);
}

}  // namespace
}  // namespace catena::test
