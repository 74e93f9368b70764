// Surfaces that move while their body stays: conveyors, and a vehicle on tracks.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "analytic/case_runner.hpp"
#include "support/gravity.hpp"

namespace catena::test {
namespace {

constexpr double kFriction = 0.3, kBelt = 1.5;

std::string scene(const std::string& contact, const std::string& bodies, double end,
                  const std::string& material = "") {
  return "materials: {m: {density: 1000, friction: 0.3" + material + "}}\ncontact: {" + contact +
         "}\nbodies:\n" + bodies + "time: {step: 1 ms, end: " + text_of(end) +
         "}\nsolver: {max_iterations: 2000, metric: natural_map, relative_tolerance: 0, "
         "absolute_tolerance: 1e-12, check_interval: 1}\n";
}

const std::string kBeltText =
    "  - {name: belt, material: m, shape: plane, surface_velocity: [1.5, 0, 0]}\n";

/// Audit of the run so far.
double term(const Simulation& sim, EnergyTerm which) { return sim.stepper().report().audit[which]; }

class Conveyor : public testing::TestWithParam<const char*> {};

/// The box gains mu g until it has the belt's speed V, at t = V/(mu g). Then m V^2/2 is its own,
/// as much went into friction, and the belt's drive gave both: mu m g V t = m V^2.
TEST_P(Conveyor, BringsABoxToItsSpeedAndItsDriveGivesTwiceItsEnergy) {
  const auto sim =
      simulate(scene(GetParam(),
                     kBeltText + "  - {name: box, material: m, shape: {box: {size: [0.4, 0.4, "
                                 "0.1]}}, position: [0, 0, 0.05]}\n",
                     2.0));
  const double mass = 16.0, reached = kBelt / (kFriction * kG);
  run_until(*sim, 0.3);
  EXPECT_NEAR(body_of(*sim, 1).twist.v.x(), kFriction * kG * sim->state().time, 5e-3);
  run_until(*sim, reached + 0.1);
  EXPECT_NEAR(body_of(*sim, 1).twist.v.x(), kBelt, 1e-3);
  const double energy = 0.5 * mass * kBelt * kBelt;
  EXPECT_NEAR(term(*sim, EnergyTerm::external_work), 2.0 * energy, 0.02 * energy);
  EXPECT_NEAR(term(*sim, EnergyTerm::dissipation_friction), energy, 0.02 * energy);
  EXPECT_NEAR(sim->stepper().report().energy_residual, 0.0, 1e-9 * energy);
  const double place = body_of(*sim, 1).pose.p.x();
  run_until(*sim, reached + 0.6);
  EXPECT_NEAR(body_of(*sim, 1).pose.p.x() - place, 0.5 * kBelt, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Laws, Conveyor,
                         testing::Values("stiffness: rigid", "stiffness: auto", "stiffness: 1e6",
                                         "law: lagged", "law: box"));

/// f = mu m g and 2/5 m r^2 dw/dt = -f r: the point of contact has the belt's speed at
/// t = 2 V/(7 mu g), with v = 2/7 V.
TEST(ConveyorBelt, RollsABallAwayWithTwoSeventhsOfItsSpeed) {
  const auto sim =
      simulate(scene("stiffness: auto", kBeltText + sphere_text("ball", 0.0, 0.1), 2.0));
  run_until(*sim, 0.1);
  EXPECT_NEAR(body_of(*sim, 1).twist.v.x(), kFriction * kG * sim->state().time, 5e-3);
  run_until(*sim, 0.5);
  EXPECT_NEAR(body_of(*sim, 1).twist.v.x(), 2.0 / 7.0 * kBelt, 1e-3);
  EXPECT_NEAR(body_of(*sim, 1).twist.w.y(), -5.0 / 7.0 * kBelt / 0.1, 1e-2);
  EXPECT_NEAR(sim->stepper().report().energy_residual, 0.0, 1e-9);
}

/// Rolling friction c slows the ball against the belt by 5/7 c g until it rides along; its rows
/// are those of general blocks. The drive gives what the ball has and what friction took.
TEST(ConveyorBelt, CarriesABallWithRollingFrictionAlong) {
  for (const char* contact : {"stiffness: rigid", "stiffness: auto"}) {
    const auto sim = simulate(scene(contact, kBeltText + sphere_text("ball", 0.0, 0.1), 9.0,
                                    ", rolling_coefficient: 0.2"));
    run_until(*sim, 3.0);
    EXPECT_NEAR(body_of(*sim, 1).twist.v.x(), kBelt, 2e-3) << contact;
    EXPECT_NEAR(body_of(*sim, 1).twist.w.norm(), 0.0, 2e-2) << contact;
    const double mass = 4.0 / 3.0 * M_PI, energy = 0.5 * mass * kBelt * kBelt;
    EXPECT_NEAR(
        term(*sim, EnergyTerm::external_work) - term(*sim, EnergyTerm::dissipation_friction),
        energy, 0.02 * energy);
    EXPECT_NEAR(sim->stepper().report().energy_residual, 0.0, 1e-9 * energy) << contact;
  }
}

/// Up a slope of 10 degrees, given on the axes of the belt, a box rides without sliding: the drive
/// lifts it, m g V sin(theta) t.
TEST(ConveyorBelt, LiftsABoxUpASlope) {
  const double theta = 10.0 * M_PI / 180.0, mass = 16.0;
  const Quat turn(Eigen::AngleAxisd(-theta, Vec3::UnitY()));
  const Vec3 along = turn * Vec3::UnitX(), p = turn * Vec3(0.0, 0.0, 0.05);
  const auto sim = simulate(scene(
      "stiffness: auto",
      "  - {name: belt, material: m, fixed: true, shape: {box: {size: [20, 2, 0.2]}}, position: " +
          text_of(Vec3(turn * Vec3(0.0, 0.0, -0.1))) + ", orientation: " + text_of(turn) +
          ", surface_velocity: [1.5, 0, 0]}\n  - {name: box, material: m, shape: {box: {size: "
          "[0.4, 0.4, 0.1]}}, position: " +
          text_of(p) + ", orientation: " + text_of(turn) +
          ", velocity: " + text_of(Vec3(kBelt * along)) + "}\n",
      2.0));
  run_until(*sim, 0.2);
  const double start = term(*sim, EnergyTerm::external_work);
  const Vec3 from = body_of(*sim, 1).pose.p;
  run_until(*sim, 1.2);
  EXPECT_NEAR((body_of(*sim, 1).pose.p - from).dot(along), kBelt, 1e-3);
  EXPECT_NEAR(term(*sim, EnergyTerm::external_work) - start, mass * kG * kBelt * std::sin(theta),
              0.01 * mass * kG);
  EXPECT_LT(term(*sim, EnergyTerm::dissipation_friction), 1e-3 * mass * kG);
}

/// A free body whose surface runs backwards drives off with mu g up to that speed, along its own
/// axes; what it gains the ground loses.
TEST(SurfaceVelocity, DrivesAVehicleOnTracks) {
  const Quat turn(Eigen::AngleAxisd(0.5, Vec3::UnitZ()));
  const auto sim = simulate(scene(
      "stiffness: auto",
      std::string(kFloorText) +
          "  - {name: car, material: m, shape: {box: {size: [0.4, 0.4, 0.1]}}, position: [0, 0, "
          "0.05], orientation: " +
          text_of(turn) + ", surface_velocity: [-1.5, 0, 0]}\n",
      2.0));
  const Vec3 along = turn * Vec3::UnitX();
  run_until(*sim, 0.3);
  EXPECT_NEAR(body_of(*sim, 1).twist.v.dot(along), kFriction * kG * sim->state().time, 5e-3);
  run_until(*sim, 1.0);
  EXPECT_NEAR((body_of(*sim, 1).twist.v - kBelt * along).norm(), 0.0, 1e-3);
  EXPECT_NEAR(sim->stepper().report().energy_residual, 0.0, 1e-8);
}

/// v = int g dt, exactly, across the corners of the table; what the change of g does to m g . x is
/// external work.
TEST(GravityTable, GivesTheIntegralOfItsRows) {
  const double h = 1e-3;
  const auto sim = simulate(
      "gravity_table: {rows: [[0, 0, 0, -9.81], [0.1005, 0, 0, -9.81], [0.3, 6, 2, 0], [0.4, 6, 2, "
      "0]]}\nbodies:\n  - {name: a, mass: 2, inertia: [1, 1, 1], position: [1, 2, 3]}\n"
      "time: {step: 1 ms, end: 1}\n");
  run_until(*sim, 0.5);
  const double ramp = 0.5 * (0.3 - 0.1005), level = 0.2;
  const Vec3 v(6.0 * (ramp + level), 2.0 * (ramp + level), -9.81 * (0.1005 + ramp));
  EXPECT_NEAR((body_of(*sim, 0).twist.v - v).norm(), 0.0, 1e-12);
  // semi-implicit steps leave m g h v/2 at most
  const StepReport& r = sim->stepper().report();
  EXPECT_NEAR(r.potential, -2.0 * Vec3(6.0, 2.0, 0.0).dot(body_of(*sim, 0).pose.p), 1e-9);
  EXPECT_LT(std::abs(r.energy_residual), 2.0 * 9.81 * h * v.norm());
  EXPECT_GT(std::abs(r.audit[EnergyTerm::external_work]), 1.0);
}

}  // namespace
}  // namespace catena::test
