// Machine elements across ranks, and after a resume: the same bits in deterministic mode.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "support/same_bits.hpp"

namespace catena::test {
namespace {

/// A motor drives a belt to a pulley with a pinion; the rack carries a spindle in a bushing, and a
/// winch lifts a load from it.
const std::string kMachine = R"(
bodies:
  - {name: a, mass: 1, inertia: [0.01, 0.01, 0.01]}
  - {name: b, mass: 5, inertia: [0.2, 0.2, 0.2], position: [1, 0, 0]}
  - {name: rack, mass: 4, inertia: [0.1, 0.1, 0.1], position: [1, 0, -0.1]}
  - {name: spindle, mass: 2, inertia: [0.02, 0.02, 0.02], position: [1, 0, -0.5]}
  - {name: base, mass: 3, inertia: [0.1, 0.1, 0.1], position: [1, 0, -0.3]}
  - {name: load, mass: 20, inertia: [1, 1, 1], position: [1, 0, -3]}
joints:
  - {name: axle_a, type: revolute, between: [world, a], at: [0, 0, 0], axis: [0, 1, 0],
     motor: {table: {values: force, rows: [[0, 0], [0.1, 1]]}}}
  - {name: axle_b, type: revolute, between: [world, b], at: [1, 0, 0], axis: [0, 1, 0]}
  - {name: belt, type: belt, between: [a, b], axis: [0, 1, 0], radii: [0.1, 0.25]}
  - {name: guide, type: prismatic, between: [world, rack], at: [1, 0, -0.1], axis: [1, 0, 0]}
  - {name: mesh, type: rack_and_pinion, between: [b, rack], at: [1, 0, 0], axis: [0, 1, 0],
     axis_b: [1, 0, 0], radius: 0.1}
  - {name: mount, type: bushing, between: [rack, base], at: [1, 0, -0.3], stiffness: 1e4, damping: 50,
     angular_stiffness: 1e3, angular_damping: 5}
  - {name: thread, type: screw, between: [base, spindle], at: [1, 0, -0.5], axis: [0, 0, 1],
     pitch: 20 mm, radius: 10 mm, thread_friction: 0.1, motor: {velocity: 5}}
  - {name: winch, type: rope, between: [base, load], at: [[1, 0, -0.3], [1, 0, -3]],
     motor: {velocity: -0.3}}
time: {step: 1 ms, end: 5}
parallel: {deterministic: true, tile_bodies: 2, rebalance_steps: 7}
)";

TEST(MachineElements, HaveTheSameBitsOnAnyNumberOfRanksAndAfterAResume) {
  const auto sim = expect_same_bits(kMachine, 50, "machine");
  const double length = [&] {
    double sum = 0.0;
    for (std::size_t j = 0; j < sim->bodies().joints.size(); ++j)
      if (sim->bodies().joints[j].type == JointType::rope) sum += sim->state().joints[j].angle[0];
    return sim->communicator().sum(sum);
  }();
  EXPECT_NEAR(length, 2.7 - 0.3 * 0.1, 1e-12);
  EXPECT_LT(std::abs(sim->stepper().report().energy_residual),
            0.05 * sim->stepper().report().audit[EnergyTerm::motor_work]);
}

}  // namespace
}  // namespace catena::test
