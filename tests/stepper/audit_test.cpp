// Where the energy audit puts the work of contacts: one ball on one plane, no gravity.
#include <gtest/gtest.h>

#include "support/case_text.hpp"

namespace catena {
namespace {

constexpr double kStep = 1e-3;     // s
constexpr double kOverlap = 1e-4;  // m
constexpr double kRestitution = 0.5;

/// One step of a ball of mass 2 kg that overlaps a plane and moves with `velocity`.
StepReport one_step(const std::string& stepper, const std::string& velocity) {
  const CaseSettings settings = test::case_of(test::with_rigid_contacts(
      "gravity: [0, 0, 0]\n"
      "materials: {m: {density: 1000, friction: 0.5, restitution: 0.5}}\n"
      "bodies:\n"
      "  - {name: floor, material: m, shape: plane}\n"
      "  - {name: ball, material: m, mass: 2, inertia: [1, 1, 1], shape: {sphere: {radius: 0.1}}, "
      "position: [0, 0, 0.0999], velocity: " +
      velocity +
      "}\n"
      "time: {step: 1 ms, end: 1, stepper: " +
      stepper + "}\n"));
  return Simulation(Communicator::self(), settings).step();
}

TEST(EnergyAudit, WhatRestitutionGivesBackIsNoRecovery) {
  const StepReport r = one_step("spook", "[0, 0, -1]");

  // 1 m/s in, 0.5 m/s out: 1/2 m (1 - e^2) is lost, though the ball overlaps the plane
  EXPECT_NEAR(r.audit[EnergyTerm::dissipation_impact], 1.0 - kRestitution * kRestitution, 1e-12);
  EXPECT_EQ(r.audit[EnergyTerm::recovery_work], 0.0);
  EXPECT_NEAR(r.energy_residual, 0.0, 1e-12);
}

TEST(EnergyAudit, PushingAnOverlapOutIsRecovery) {
  for (const auto& [stepper, speed] :
       {std::pair("spook", 4.0 / 9.0 * kOverlap / kStep), std::pair("dvi", kOverlap / kStep)}) {
    const StepReport r = one_step(stepper, "[0, 0, 0]");

    // from rest to 4 Upsilon / h or 1 / h of the overlap
    EXPECT_NEAR(r.audit[EnergyTerm::recovery_work], speed * speed, 1e-12) << stepper;
    EXPECT_NEAR(r.audit[EnergyTerm::dissipation_impact], 0.0, 1e-15) << stepper;
    EXPECT_NEAR(r.energy_residual, 0.0, 1e-12) << stepper;
  }
}

TEST(EnergyAudit, AMovingBodyWorksOnWhatItHits) {
  const CaseSettings settings = test::case_of(test::with_rigid_contacts(
      "gravity: [0, 0, 0]\n"
      "materials: {m: {density: 1000, friction: 0.5, restitution: 0.5}}\n"
      "bodies:\n"
      "  - {name: bat, material: m, shape: {box: {size: [1, 1, 0.1]}}, motion: {velocity: [0, 0, "
      "1]}}\n"
      "  - {name: ball, material: m, mass: 2, inertia: [1, 1, 1], shape: {sphere: {radius: 0.1}}, "
      "position: [0, 0, 0.1501]}\n"
      "time: {step: 1 ms, end: 1}\n"));

  const StepReport r = Simulation(Communicator::self(), settings).step();

  // from rest to (1 + e) of the bat's speed: an impulse of 3 N s on a body that moves at 1 m/s,
  // while the relative speed falls from 1 to e
  EXPECT_NEAR(r.kinetic, 2.25, 1e-12);
  EXPECT_NEAR(r.audit[EnergyTerm::external_work], 3.0, 1e-12);
  EXPECT_NEAR(r.audit[EnergyTerm::dissipation_impact], 0.75, 1e-12);
  EXPECT_NEAR(r.audit[EnergyTerm::dissipation_friction], 0.0, 1e-12);
  EXPECT_NEAR(r.energy_residual, 0.0, 1e-12);
}

}  // namespace
}  // namespace catena
