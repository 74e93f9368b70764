// Scenes as users wrote them (tests/data/trials), in short forms: what can be worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "examples/example_runs.hpp"
#include "support/gravity.hpp"

namespace catena::test {
namespace {

std::unique_ptr<Simulation> trial(const std::string& name, const std::vector<std::string>& sets) {
  const Communicator comm = Communicator::self();
  return std::make_unique<Simulation>(
      comm, read_case(comm, std::string(CATENA_TEST_DATA) + "/trials/" + name + ".yaml", sets));
}

std::size_t joint_of(const Simulation& sim, const std::string& name) {
  for (std::size_t j = 0; j < sim.bodies().joints.size(); ++j)
    if (sim.model().joint_names.name_of(sim.bodies().joints[j].id) == name) return j;
  throw std::runtime_error("no joint " + name);
}

TEST(Trials, CraneCarriesTenThousandTimesALinksMassOnAStraightRope) {
  const auto sim = trial("crane", {"time.end=2"});
  const std::size_t hook = joint_of(*sim, "hook");
  const double straight = 6.0 - 1.0;  // centres of trolley and load at the start, rope straight
  double least = 1e9, most = 0.0, longest = 0.0, misfit = 0.0;

  while (sim->state().step < sim->n_steps()) {
    const StepReport& report = sim->step();
    const double force = sim->stepper().joint_reaction(hook).impulse.norm() / 1e-3;
    least = std::min(least, force);
    most = std::max(most, force);
    misfit = std::max(misfit, report.misfit.linear);
    longest =
        std::max(longest, (named(*sim, "trolley").pose.p - named(*sim, "load").pose.p).norm());
  }

  // the trolley goes 1 m in a second and stands 1.5 s: angles stay below a fifth of a radian
  EXPECT_GT(least, 0.9 * 1000.0 * kG);
  EXPECT_LT(most, 1.1 * 1000.0 * kG);
  EXPECT_LT(misfit, 1e-5);
  EXPECT_LT(longest, straight + 1e-4);
  EXPECT_GT(longest, straight - 1e-4);
}

TEST(Trials, NetCatchesBoxesAndGivesNothingOfItsOwn) {
  const auto sim = trial("net", {"time.end=0.32"});
  double kinetic = 0.0, work = 0.0, misfit = 0.0;

  // the first boxes meet it at 0.27 s
  while (sim->state().step < sim->n_steps()) {
    const StepReport& report = sim->step();
    kinetic = std::max(kinetic, report.kinetic);
    work = std::max(work, report.audit[EnergyTerm::joint_work]);
    misfit = std::max(misfit, report.misfit.linear);
    EXPECT_EQ(report.working_joint, kNoBody) << report.passive_work;
  }

  EXPECT_LE(work, 0.02 * kinetic);
  EXPECT_LE(misfit, 0.01 * 0.1);
}

TEST(Trials, ArmHoldsItsOwnWeightAtTheShoulder) {
  const auto sim = trial("arm", {"time.end=0.05"});
  const std::size_t shoulder = joint_of(*sim, "q2");

  while (sim->state().step < sim->n_steps()) sim->step();

  // weights times levers of all that lies behind the shoulder's axis; the table has not moved yet
  const double torque =
      kG * (5 * 0.2 + 3 * 0.6 + 1 * 0.83 + 1 * 0.89 + 0.5 * 0.935 + 2 * 0.1 * 0.99);
  const JointReaction reaction = sim->stepper().joint_reaction(shoulder);
  EXPECT_NEAR(std::abs(reaction.couple.y()) / 1e-3, torque, 0.02 * torque);
}

TEST(Trials, VehicleStandsOnItsSprings) {
  const auto sim = trial("vehicle", {"time.end=0.9", "generators.gravel.count=[1,1,1]"});
  double weight = kG * (300.0 + 4.0 * (8.0 + 15.0)), carried = 0.0;

  while (sim->state().step < sim->n_steps()) {
    sim->step();
    if (sim->state().time < 0.7) continue;
    for (const char* wheel : {"wheel-fl", "wheel-fr", "wheel-rl", "wheel-rr"})
      carried += contact_force_on(*sim, id_of(*sim, wheel)).z() / 200.0;
  }

  // at rest but for what is left of the bounce on springs and dampers
  EXPECT_NEAR(carried, weight, 0.03 * weight);
  EXPECT_LT(named(*sim, "chassis").twist.v.norm(), 0.1);
}

TEST(Trials, SiloIsShutUntilItsGateOpens) {
  const auto sim = trial("silo", {"time.end=0.12", "generators.grains.count=[8,8,6]",
                                  "generators.grains.origin=[-22 mm, -22 mm, 45 mm]",
                                  "generators.clumps.count=[4,4,1]",
                                  "generators.clumps.origin=[-12 mm, -12 mm, 100 mm]"});

  while (sim->state().step < sim->n_steps()) sim->step();

  const std::size_t n = 8 * 8 * 6 + 4 * 4 + 2;
  EXPECT_EQ(sim->bodies().constants.size(), n);
  for (std::size_t i = 0; i < sim->bodies().constants.size(); ++i) {
    const Vec3& x = sim->state().body[i].pose.p;
    if (sim->bodies().constants[i].kind != BodyKind::dynamic) continue;
    EXPECT_GT(x.z(), 0.0) << "grain " << sim->bodies().constants[i].id;
    EXPECT_LT(std::hypot(x.x(), x.y()), 0.05);
  }
}

TEST(Trials, ShearCellsLidMovesWithItsCarriageAsOneBody) {
  const auto sim = trial("shear", {"time.end=0.06"});
  const Vec3 before = named(*sim, "top15").pose.p - named(*sim, "top0").pose.p;
  const double x0 = named(*sim, "top0").pose.p.x();
  double misfit = 0.0;

  while (sim->state().step < sim->n_steps()) misfit = std::max(misfit, sim->step().misfit.linear);

  EXPECT_NEAR(named(*sim, "top0").pose.p.x() - x0, 0.2 * 0.06, 1e-6);
  Vec3 apart = named(*sim, "top15").pose.p - named(*sim, "top0").pose.p - before;
  apart.x() -= 0.08 * std::round(apart.x() / 0.08);  // bodies are put back into the cell one by one
  EXPECT_LT(apart.norm(), 1e-6);
  // the carriage is 0.2 mm ahead of the lid, which is at rest, when the first step corrects it by
  // 8/9
  EXPECT_LT(misfit, 0.2 * 1e-3 / 9.0 * (1.0 + 1e-6));
  // pressed down by 32 N and its own weight's none: gravity is 0
  EXPECT_LT(named(*sim, "top0").pose.p.z(), 0.1);
}

TEST(Trials, RollingFrictionSlowsTheHeapDown) {
  double kinetic[2] = {0.0, 0.0};
  for (const int with : {0, 1}) {
    const auto sim = trial("rolling_cost", {"generators.grains.count=[6,6,4]", "time.end=0.1",
                                            with ? "materials.grain.rolling_friction=0.1 mm"
                                                 : "materials.grain.rolling_friction=0"});
    double couples = 0.0;
    while (sim->state().step < sim->n_steps()) {
      const StepReport& report = sim->step();
      kinetic[with] = report.kinetic;
      EXPECT_LT(std::abs(report.energy_residual), 1e-3);
      for (std::size_t k = 0; k < sim->stepper().n_contacts(); ++k)
        couples = std::max(couples, sim->stepper().contact(k).couple.norm());
    }
    EXPECT_EQ(couples > 0.0, with == 1);
  }
  EXPECT_LT(kinetic[1], kinetic[0]);
}

}  // namespace
}  // namespace catena::test
