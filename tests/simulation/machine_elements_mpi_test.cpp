// Machine elements across ranks, and after a resume: the same bits in deterministic mode.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "catena/base/error.hpp"
#include "support/same_bits.hpp"

namespace catena::test {
namespace {

/// A motor drives a belt over a loose pulley to one with a pinion; the rack carries a spindle in a
/// bushing, and a winch lifts a load from it.
const std::string kMachine = R"(
bodies:
  - {name: a, mass: 1, inertia: [0.01, 0.01, 0.01]}
  - {name: b, mass: 5, inertia: [0.2, 0.2, 0.2], position: [1, 0, 0]}
  - {name: c, mass: 1, inertia: [0.01, 0.01, 0.01], position: [0.5, 0, 0.3]}
  - {name: rack, mass: 4, inertia: [0.1, 0.1, 0.1], position: [1, 0, -0.1]}
  - {name: spindle, mass: 2, inertia: [0.02, 0.02, 0.02], position: [1, 0, -0.5]}
  - {name: base, mass: 3, inertia: [0.1, 0.1, 0.1], position: [1, 0, -0.3]}
  - {name: load, mass: 20, inertia: [1, 1, 1], position: [1, 0, -3]}
joints:
  - {name: axle_a, type: revolute, between: [world, a], at: [0, 0, 0], axis: [0, 1, 0],
     motor: {table: {values: force, rows: [[0, 0], [0.1, 1]]}}}
  - {name: axle_b, type: revolute, between: [world, b], at: [1, 0, 0], axis: [0, 1, 0]}
  - {name: axle_c, type: revolute, between: [world, c], at: [0.5, 0, 0.3], axis: [0, 1, 0]}
  - {name: belt, type: belt, between: [a, b, c], axis: [0, 1, 0], radii: [0.1, 0.25, 0.05],
     reversed: [c]}
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

/// A cam lifts a tappet in its groove and pushes another; beads on a wire that is fixed to the
/// first tappet and around a ring; a tendon from the world over a bead and a weight to another, and
/// a winch of a tendon over an eyelet.
const std::string kGuided = R"(
bodies:
  - {name: shaft, mass: 1, inertia: [0.01, 0.01, 0.01]}
  - {name: held, mass: 2, inertia: [0.02, 0.02, 0.02], position: [0, 0, 0.5]}
  - {name: pushed, mass: 1, inertia: [0.02, 0.02, 0.02], position: [0, 0, -0.5]}
  - {name: bead, mass: 0.3, inertia: [0.01, 0.01, 0.01], position: [1, 0, 1]}
  - {name: ring, mass: 0.3, inertia: [0.01, 0.01, 0.01], position: [3, 0, 0], velocity: [0, 2, 0]}
  - {name: weight, mass: 2, inertia: [0.1, 0.1, 0.1], position: [2, 0, -1]}
  - {name: other, mass: 1, inertia: [0.1, 0.1, 0.1], position: [2.5, 0, -1]}
  - {name: load, mass: 5, inertia: [0.1, 0.1, 0.1], position: [-2, 0, -1]}
joints:
  - {name: axle, type: revolute, between: [world, shaft], at: [0, 0, 0], axis: [0, 1, 0], motor: {velocity: 15}}
  - {name: guide, type: prismatic, between: [world, held], at: [0, 0, 0.5], axis: [0, 0, 1]}
  - {name: guide_2, type: prismatic, between: [world, pushed], at: [0, 0, -0.5], axis: [0, 0, 1]}
  - {name: groove, type: cam, between: [shaft, held], at: [[0, 0, 0], [0, 0, 0.5]], axis: [0, 1, 0],
     axis_b: [0, 0, 1], lift: {rows: [[0, 0.5], [90 deg, 0.52], [180 deg, 0.55], [270 deg, 0.52], [360 deg, 0.5]]}}
  - {name: lobe, type: cam, between: [shaft, pushed], at: [[0, 0, 0], [0, 0, -0.5]], axis: [0, 1, 0],
     axis_b: [0, 0, 1], lift_off: true,
     lift: {rows: [[0, -0.5], [90 deg, -0.49], [180 deg, -0.46], [270 deg, -0.49], [360 deg, -0.5]]}}
  - {name: wire, type: point_on_curve, between: [held, bead], at: [1, 0, 1], friction: 0.1,
     curve: {points: [[1, 0, 1], [1.2, 0.1, 0.8], [1.5, 0, 0.7], [2, 0, 0.9]]}}
  - {name: track, type: point_on_curve, between: [world, ring], at: [3, 0, 0],
     curve: {closed: true, points: [[3, 0, 0], [2, 1, 0], [1, 0, 0.2], [2, -1, 0]]}}
  - {name: cord, type: tendon, through: [{body: bead, at: [1, 0, 1]}, {body: world, at: [2, 0, 1]},
     {body: weight, at: [2, 0, -1]}, {body: world, at: [2.5, 0, 1]}, {body: other, at: [2.5, 0, -1]}]}
  - {name: hoist, type: tendon, motor: {velocity: -0.2}, through: [{body: world, at: [-2, 0, 1]},
     {body: load, at: [-2, 0, -1]}, {body: world, at: [-2, 0.1, 1]}, {body: world, at: [-3, 0, 1]}]}
time: {step: 1 ms, end: 5}
parallel: {deterministic: true, tile_bodies: 2, rebalance_steps: 7}
)";

TEST(MachineElements, GuidedByCamsCurvesAndTendonsHaveTheSameBitsToo) {
  const auto sim = expect_same_bits(kGuided, 50, "guided");
  const StepReport& report = sim->stepper().report();
  EXPECT_LT(report.misfit.linear, 1e-3);
  EXPECT_LT(std::abs(report.energy_residual),
            0.05 * std::abs(report.audit[EnergyTerm::motor_work]));
}

/// On every rank, with the place.
TEST(MachineElements, AreRefusedWhereALiftIsNoTurnAndACurveNone) {
  const auto text = [](const std::string& keys) {
    return "bodies: [{name: a, mass: 1, inertia: [1, 1, 1]}]\njoints: [{name: j, between: [world, "
           "a], " +
           keys + "}]\ntime: {step: 1 ms, end: 1}\n";
  };
  const std::string cam = "type: cam, at: [0, 0, 0], axis: [0, 1, 0], axis_b: [0, 0, 1], lift: ";
  const std::string curve = "type: point_on_curve, at: [0, 0, 0], curve: ";
  for (const auto& [keys, message] :
       {std::pair(cam + "{rows: [[0, 0], [1, 1], [2, 2], [6, 0]]}",
                  "joints.j.lift: goes from 0 to 6 rad, which is no turn"),
        {cam + "{rows: [[0, 0], [1, 1], [2, 2], [360 deg, 1]]}",
         "joints.j.lift: ends with another lift than it begins with"},
        {curve + "{points: [[0, 0, 0], [0, 0, 0], [1, 0, 0]]}",
         "joints.j.curve: point 1 stands where the one before it does"},
        {curve + "{closed: true, points: [[0, 0, 0], [1, 0, 0]]}", "joints.j.curve: has 2 points"},
        {curve + "{points: [[0, 0.5, 0], [1, 0.5, 0]]}",
         "joints.j: its frames disagree at the start by 0.5 m"}}) {
    std::string found;
    try {
      simulate(Communicator::world(), text(keys));
    } catch (const Error& error) {
      found = error.what();
    }
    EXPECT_NE(found.find(message), std::string::npos) << message << "\n" << found;
  }
}

}  // namespace
}  // namespace catena::test
