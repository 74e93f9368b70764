// Whole steps in periodic boxes and in the plane, and with cohesion: few bodies, hand-made models.
#include <gtest/gtest.h>

#include <cmath>

#include "catena/base/random.hpp"
#include "stepper/hand_run.hpp"

namespace catena {
namespace {

using namespace test;

TEST(PeriodicStep, BodiesMeetAcrossTheSideAsTheyDoInTheOpen) {
  // head on across x = 0, off centre; the same pair in the open
  const Model model = periodic_model();
  Model open = model;
  open.periodic = {};
  const std::vector<BodyRecord> apart = {ball(0, 0.1, {0.15, 0, 0.03}, {-1, 0.2, 0}),
                                         ball(1, 0.1, {1.85, 0, 0}, {2, 0, 0})};
  std::vector<BodyRecord> together = apart;
  together[1].state.pose.p.x() -= 2.0;
  HandRun periodic(Communicator::self(), model, apart),
      reference(Communicator::self(), open, together);

  const StepReport& a = periodic.steps(100);
  const StepReport& b = reference.steps(100);

  EXPECT_NEAR(a.energy_residual, 0.0, 1e-12);
  EXPECT_GT(b.audit[EnergyTerm::dissipation_impact], 0.1);
  EXPECT_NEAR(a.audit[EnergyTerm::dissipation_impact], b.audit[EnergyTerm::dissipation_impact],
              1e-12);
  EXPECT_NEAR(a.audit[EnergyTerm::dissipation_friction], b.audit[EnergyTerm::dissipation_friction],
              1e-12);
  for (const GlobalId id : {0, 1}) {
    const BodyMotionState &x = periodic.body(id), &y = reference.body(id);
    EXPECT_NEAR((x.twist.v - y.twist.v).norm(), 0.0, 1e-12);
    EXPECT_NEAR((x.twist.w - y.twist.w).norm(), 0.0, 1e-11);
    EXPECT_NEAR((x.pose.p - model.periodic.wrapped(y.pose.p)).norm(), 0.0, 1e-12);
    EXPECT_GE(x.pose.p.x(), 0.0);
    EXPECT_LE(x.pose.p.x(), 2.0);
  }
}

TEST(PeriodicStep, AFallThroughTheSidesIsInTheAudit) {
  Model model = periodic_model();
  model.gravity = {kGravity, 0, 0};
  HandRun run(Communicator::self(), model, {ball(0, 0.1, {1, 0, 0}, {0, 0, 0})});

  const StepReport& r = run.steps(1000);

  // g t^2 / 2 = 19.6 m, nine or ten periods; the residual is that of a free fall, -m g^2 h t / 2
  EXPECT_NEAR(r.kinetic, 0.5 * std::pow(kGravity * 2.0, 2), 1e-9);
  EXPECT_GT(r.audit[EnergyTerm::external_work], 100.0);
  EXPECT_NEAR(r.energy_residual, -0.5 * kGravity * kGravity * kStep * 2.0, 1e-10);
}

TEST(PlanarStep, NothingLeavesThePlaneInTenThousandSteps) {
  Model model = model_of({.name = "m", .friction = 0.4});
  model.planar = true;
  for (int k = 0; k < 3; ++k) {
    const Vec3 at[] = {{0, 0, 0}, {-0.6, 0, 0}, {0.6, 0, 0}};
    const Vec3 normal[] = {{0.1, 0, 1}, {1, 0, 0}, {-1, 0, 0}};
    model.unbounded.push_back(plane(100 + k, at[k], normal[k].normalized()));
  }
  std::vector<BodyRecord> scene;
  for (int i = 0; i < 6; ++i) {
    const auto k = static_cast<std::uint64_t>(i);
    BodyRecord b = ball(i, 0.09, Vec3(0.25 * (i % 4) - 0.4, 0.0, 0.3 + 0.22 * (i / 4)),
                        Vec3(uniform_pm1(5, k, 0), 0, uniform_pm1(5, k, 1)));
    b.state.twist.w.y() = 10.0 * uniform_pm1(5, k, 2);
    if (i % 3 == 0) {
      b.constants.shape = {ShapeType::box, {0.09, 0.05, 0.07}};
      b.constants.inertia = {1e-3, 2e-3, 3e-3};
    } else if (i % 3 == 1) {
      // a disc: a cylinder along y, turned there with round-off
      b.constants.shape = {ShapeType::cylinder, {0.08, 0.05, 0}};
      b.constants.inertia = {2e-3, 2e-3, 3e-3};
      b.state.pose.q = Quat(Eigen::AngleAxisd(0.5 * M_PI, Vec3::UnitX()));
    }
    scene.push_back(b);
  }
  HandRun run(Communicator::self(), model, scene, 20);

  const StepReport& r = run.steps(10000);

  for (const BodyMotionState& s : run.state.body) {
    EXPECT_EQ(s.pose.p.y(), 0.0);
    EXPECT_EQ(s.twist.v.y(), 0.0);
    EXPECT_EQ(s.twist.w.x(), 0.0);
    EXPECT_EQ(s.twist.w.z(), 0.0);
    EXPECT_GT(s.pose.p.z(), 0.0);  // nobody fell through the floor
  }
  EXPECT_LT(r.kinetic, 1e-3);
}

TEST(PlanarStep, ABoxSlidesWithTheFrictionOfTheWholeBox) {
  Model model = model_of({.name = "m", .friction = 0.3});
  model.planar = true;
  model.unbounded.push_back(plane(100, Vec3::Zero(), Vec3::UnitZ()));
  BodyRecord box = ball(0, 0.1, {0, 0, 0.1}, {1.5, 0, 0});
  box.constants.shape = {ShapeType::box, {0.2, 0.1, 0.1}};
  box.constants.inertia = {0.01, 0.02, 0.02};
  HandRun run(Communicator::self(), model, {box});

  run.steps(100);

  EXPECT_EQ(run.stepper().n_contacts(), 2U);
  EXPECT_NEAR(run.body(0).twist.v.x(), 1.5 - 0.3 * kGravity * 100 * kStep, 1e-9);
  EXPECT_NEAR(run.body(0).pose.p.z(), 0.1, 1e-9);
}

TEST(CohesiveStep, ABallHangsUnderACeilingThatHoldsMoreThanItsWeight) {
  // m = 1 kg: 9.81 N
  for (const double holds : {10.0, 9.6}) {
    Model model = model_of({.name = "m", .friction = 0.5, .cohesion = holds});
    model.contact.cohesion_range = 1e-5;
    model.unbounded.push_back(plane(100, {0, 0, 1}, -Vec3::UnitZ()));
    HandRun run(Communicator::self(), model, {ball(0, 0.1, {0, 0, 0.9}, {0, 0, 0})});

    const StepReport& r = run.steps(200);

    const double drop = 0.9 - run.body(0).pose.p.z();
    if (holds > kGravity) {
      EXPECT_NEAR(drop, 0.0, 1e-9);
      EXPECT_NEAR(run.stepper().contact(0).impulse.z(),
                  -run.bodies.constants[0].mass * kGravity * kStep, 1e-9);
    } else {
      // pulled back while within range only
      EXPECT_GT(drop, 0.4);
      EXPECT_NEAR(r.energy_residual, 0.0, 0.05);
    }
  }
}

TEST(RollingStep, ARollingBallIsSlowedByTheCoupleAndASlidingOneBesideItIsNot) {
  // (I + m r^2) d omega/dt = -mu_r m g, I = 0.4 m r^2: dv/dt = -mu_r g / (1.4 r)
  constexpr double kRadius = 0.1, kRolling = 2e-3, kSpeed = 0.5;
  Model model;
  model.materials = MaterialTable({{.name = "rough", .friction = 0.5, .rolling_friction = kRolling},
                                   {.name = "smooth", .friction = 0.0}});
  model.materials.set_pair(0, 1, {0.0, 0.0, 0.0, 0.0, 0.0});
  model.unbounded.push_back(plane(100, Vec3::Zero(), Vec3::UnitZ()));
  std::vector<BodyRecord> scene;
  for (int i = 0; i < 6; ++i) {
    scene.push_back(ball(i, kRadius, Vec3(0, 0.5 * i, kRadius), {kSpeed, 0, 0}));
    scene.back().constants.material = i % 2;  // rough and smooth ones by turns
    scene.back().state.twist.w.y() = kSpeed / kRadius;
  }
  HandRun run(Communicator::self(), model, scene);

  run.steps(100);

  const double slower = kSpeed - kRolling * kGravity / (1.4 * kRadius) * 100 * kStep;
  ASSERT_EQ(run.stepper().n_contacts(), 6U);
  EXPECT_EQ(run.stepper().problem().contacts.size(), 3U);
  EXPECT_EQ(run.stepper().problem().blocks.size(), 3);
  EXPECT_EQ(run.state.impulses.size(), 6U);
  ASSERT_EQ(run.state.couples.size(), 3U);
  for (int i = 0; i < 6; ++i) {
    const BodyMotionState& s = run.body(i);
    EXPECT_NEAR(s.twist.v.x(), i % 2 == 0 ? slower : kSpeed, 1e-8) << i;
    EXPECT_NEAR(s.twist.w.y() * kRadius, s.twist.v.x(), 1e-8);
    // the plane is b: the ball pushes it down and turns it on
    const auto k = static_cast<std::size_t>(i);
    const double weight = scene[k].constants.mass * kGravity * kStep;
    const ContactRecord force = run.stepper().contact(k);
    EXPECT_NEAR(force.impulse.z(), -weight, 1e-8 * weight);
    EXPECT_NEAR((force.couple - Vec3(0, i % 2 == 0 ? kRolling * weight : 0.0, 0)).norm(), 0.0,
                1e-8 * weight);
    EXPECT_EQ(run.stepper().contact(k).key, run.state.impulses[k].key);
  }
  // all that the balls lost went into the couples
  const StepReport& r = run.stepper().report();
  EXPECT_GT(r.audit[EnergyTerm::dissipation_friction], 0.05);
  EXPECT_NEAR(r.energy_residual, 0.0, 1e-9);
  EXPECT_NEAR(r.audit[EnergyTerm::initial_energy] - r.kinetic - r.potential,
              r.audit[EnergyTerm::dissipation_friction], 1e-9);
}

}  // namespace
}  // namespace catena
