// Rolling and spinning friction and cohesion in the sweeps: problems solved by hand, the dense
// reference, formulations, conservation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "catena/solvers/solver_factory.hpp"
#include "support/dense_reference.hpp"
#include "support/hand_problems.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

using test::distance;
using test::Scene;
using test::solve;
using test::Solved;

SolverSettings to_tolerance(double tolerance) {
  SolverSettings settings;
  settings.stop = test::stop_at(Metric::energy, tolerance, 20000);
  return settings;
}

SolverSettings sweeps(int n, Formulation formulation) {
  SolverSettings settings;
  settings.stop = test::iterations(n);
  settings.gauss_seidel.formulation = formulation;
  return settings;
}

constexpr double kMass = 2.0, kRadius = 0.1, kStep = 1e-3;
constexpr double kInertia = 0.4 * kMass * kRadius * kRadius;

/// A sphere on the plane z = 0 with V_free after a step's fall; body 1. x along t1.
Scene sphere_on_plane(const Twist& twist, double friction, double rolling, double spinning,
                      double cohesion = 0.0) {
  Scene scene;
  scene.add_prescribed();
  Twist free = twist;
  free.v[2] -= test::kGravity * kStep;
  scene.add_rigid(kMass, Vec3::Constant(kInertia), free);
  RigidContact c;
  c.body_a = 0;
  c.body_b = 1;
  c.normal = Vec3::UnitZ();
  c.tangent = Vec3::UnitX();
  c.arm_a = Vec3::Zero();
  c.arm_b = Vec3(0.0, 0.0, -kRadius);
  c.friction = friction;
  scene.blocks.push_back(test::wide_block(c, rolling, spinning, cohesion));
  return scene;
}

class EveryFormulation : public testing::TestWithParam<Formulation> {
 protected:
  SolverSettings settings() const {
    SolverSettings s = to_tolerance(1e-30);
    s.stop.max_iterations = 50;
    s.gauss_seidel.formulation = GetParam();
    return s;
  }
};
INSTANTIATE_TEST_SUITE_P(All, EveryFormulation,
                         testing::Values(Formulation::velocity, Formulation::residual,
                                         Formulation::acceleration));

TEST_P(EveryFormulation, RollingSphereIsSlowedByItsRollingFriction) {
  // v = omega R; couple mu_r m g against omega and traction T = m a:
  //   I omega' = -mu_r m g + T R, m v' = -T  =>  v' = -mu_r m g / (m R + I/R)
  constexpr double kRolling = 2e-3;
  const double slowed = kRolling * kMass * test::kGravity / (kMass * kRadius + kInertia / kRadius);
  const Twist rolling{Vec3(1.0, 0.0, 0.0), Vec3(0.0, 10.0, 0.0)};

  const Solved s = solve(test::whole(sphere_on_plane(rolling, 0.5, kRolling, 1e-3)), settings());

  EXPECT_NEAR(s.velocities[6], 1.0 - slowed * kStep, 1e-14);
  EXPECT_NEAR(s.velocities[10], (1.0 - slowed * kStep) / kRadius, 1e-13);
  EXPECT_NEAR(s.velocities[8], 0.0, 1e-15);
  EXPECT_NEAR(s.impulses[0], kMass * test::kGravity * kStep, 1e-15);
  EXPECT_NEAR(std::hypot(s.impulses[3], s.impulses[4]), kRolling * s.impulses[0], 1e-17);
}

TEST_P(EveryFormulation, SlowlyRollingSphereIsStopped) {
  const Twist rolling{Vec3(1e-5, 0.0, 0.0), Vec3(0.0, 1e-4, 0.0)};
  const Solved s = solve(test::whole(sphere_on_plane(rolling, 0.5, 2e-3, 1e-3)), settings());
  for (std::size_t i = 6; i < 12; ++i) EXPECT_NEAR(s.velocities[i], 0.0, 1e-15);
}

TEST_P(EveryFormulation, SpinningSphereIsSlowedAndStoppedByItsSpinningFriction) {
  constexpr double kSpinning = 1e-3;
  const double lost = kSpinning * kMass * test::kGravity * kStep / kInertia;
  for (const double rolling : {-1.0, 2e-3}) {
    const Solved fast = solve(
        test::whole(sphere_on_plane({Vec3::Zero(), Vec3(0, 0, 5.0)}, 0.5, rolling, kSpinning)),
        settings());
    EXPECT_NEAR(fast.velocities[11], 5.0 - lost, 1e-14);
    const Solved slow = solve(test::whole(sphere_on_plane({Vec3::Zero(), Vec3(0, 0, -0.9 * lost)},
                                                          0.5, rolling, kSpinning)),
                              settings());
    EXPECT_NEAR(slow.velocities[11], 0.0, 1e-15);
  }
}

TEST_P(EveryFormulation, SphereHangsByItsCohesionUpToItsBound) {
  // the plane above: n from the ceiling (body 0) to the sphere is -z
  const double weight = kMass * test::kGravity * kStep;
  for (const double share : {1.5, 1.0 + 1e-9, 0.75}) {
    for (const bool wide : {false, true}) {
      Scene scene;
      scene.add_prescribed();
      scene.add_rigid(kMass, Vec3::Constant(kInertia),
                      {Vec3(0.0, 0.0, -test::kGravity * kStep), Vec3::Zero()});
      RigidContact& c =
          scene.add_contact(0, 1, -Vec3::UnitZ(), Vec3::Zero(), Vec3(0, 0, kRadius), 0.0, 0.3);
      c.cohesion = share * weight;
      if (wide) scene = test::with_couples(scene, 1e-3, 1e-3, share * weight);

      const Solved s = solve(test::whole(scene), settings());

      const double held = std::min(share, 1.0);
      EXPECT_NEAR(s.impulses[0], -held * weight, 1e-15);
      EXPECT_NEAR(s.velocities[8], -(1.0 - held) * test::kGravity * kStep, 1e-15);
      EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
    }
  }
}

TEST_P(EveryFormulation, CohesionHoldsASphereOnAVerticalWallByFriction) {
  // gravity along the wall: |lambda_t| <= mu c with no normal load at all
  const double weight = kMass * test::kGravity * kStep;
  for (const double share : {1.2, 0.5}) {
    Scene scene;
    scene.add_prescribed();
    scene.add_rigid_full(1.0 / kMass, Mat3::Zero(),  // does not turn
                         {Vec3(0.0, 0.0, -test::kGravity * kStep), Vec3::Zero()});
    scene.add_contact(0, 1, Vec3::UnitX(), Vec3::Zero(), Vec3(-kRadius, 0, 0), 0.0, 0.5).cohesion =
        share * weight / 0.5;

    const Solved s = solve(test::whole(scene), settings());

    const double held = std::min(share, 1.0);
    EXPECT_NEAR(s.velocities[8], -(1.0 - held) * test::kGravity * kStep, 1e-13);
    EXPECT_NEAR(s.velocities[6], 0.0, 1e-15);
  }
}

TEST(Couples, PileAgreesWithTheDenseReferenceUnderBothLaws) {
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp}) {
    for (const double cohesion : {0.0, 5e-3}) {
      Scene scene =
          test::with_couples(test::sphere_pile(6, 11, 0.4, kStep, 7), 4e-3, 2e-3, cohesion);
      scene.law = law;
      const ConstraintProblem problem = test::whole(scene);
      const test::DenseSolution dense = test::solve_dense(problem, 1e-12, 3000);
      ASSERT_LE(dense.residual, 1e-12);

      const Solved s = solve(problem, to_tolerance(1e-26));

      EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
      EXPECT_LT(distance(s.velocities, dense.velocities), 1e-9);
    }
  }
}

TEST(Couples, RigidContactsWithCohesionAgreeWithTheDenseReference) {
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::frictionless}) {
    Scene scene = test::sphere_pile(5, 8, 0.4, kStep, 7);
    for (RigidContact& c : scene.contacts) c.cohesion = 5e-3;
    scene.law = law;
    const ConstraintProblem problem = test::whole(scene);
    const test::DenseSolution dense = test::solve_dense(problem, 1e-11, 3000);
    ASSERT_LE(dense.residual, 1e-11);
    for (const Formulation formulation : {Formulation::residual, Formulation::acceleration}) {
      SolverSettings settings = to_tolerance(1e-26);
      settings.gauss_seidel.formulation = formulation;
      const Solved s = solve(problem, settings);
      EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
      EXPECT_LT(distance(s.velocities, dense.velocities), 1e-9);
    }
  }
}

TEST(Couples, FormulationsGiveTheSameIterates) {
  for (const ContactLaw law :
       {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box, ContactLaw::frictionless}) {
    Scene scene = test::with_couples(test::sphere_pile(20, 40, 0.4, kStep, 3), 4e-3, 2e-3, 1e-3);
    scene.law = law;
    const ConstraintProblem problem = test::whole(scene);
    const Solved velocity = solve(problem, sweeps(20, Formulation::velocity));
    for (const Formulation other : {Formulation::residual, Formulation::acceleration})
      EXPECT_LT(distance(velocity.impulses, solve(problem, sweeps(20, other)).impulses), 1e-12);
  }
}

TEST(Couples, WithoutRollingAndSpinningTheIteratesAreThoseOfRigidContacts) {
  const Scene plain = test::sphere_pile(20, 40, 0.4, kStep, 3);
  const Solved three = solve(test::whole(plain), sweeps(20, Formulation::velocity));
  const Solved six =
      solve(test::whole(test::with_couples(plain, 0.0, 0.0)), sweeps(20, Formulation::velocity));
  EXPECT_LT(distance(three.velocities, six.velocities), 1e-11);
  EXPECT_NEAR(three.report.errors.energy, six.report.errors.energy,
              1e-9 * three.report.errors.energy);
}

TEST(Couples, BlocksOfThreeAndOfSixRowsWithoutRollingHaveOneSolution) {
  const Scene plain = test::sphere_pile(20, 40, 0.4, kStep, 3);
  const Solved three =
      solve(test::whole(test::with_couples(plain, -1.0, -1.0)), to_tolerance(1e-24));
  const Solved six = solve(test::whole(test::with_couples(plain, 0.0, 0.0)), to_tolerance(1e-24));
  EXPECT_LT(distance(three.velocities, six.velocities), 1e-9);
}

TEST(Couples, LocalSolvesOfThePapersApproachTheSolutionOfSpheres) {
  // project and sliding ignore part of the coupling of slip and rolling: not the solution, but
  // a small part of the error at zero impulses must be left
  const Scene scene = test::with_couples(test::sphere_pile(12, 22, 0.4, kStep, 5), 4e-3, 2e-3);
  for (const LocalSolve local : {LocalSolve::project, LocalSolve::sliding, LocalSolve::scalar}) {
    SolverSettings settings = to_tolerance(0.0);
    settings.gauss_seidel.local = local;
    settings.stop.max_iterations = 500;
    const Solved s = solve(test::whole(scene), settings);
    EXPECT_LT(s.report.errors.energy, 2e-2 * s.report.initial.energy) << static_cast<int>(local);
  }
}

TEST(Couples, ProjectedGradientOfTheConvexLawReachesTheExactSolvesSolution) {
  Scene scene = test::with_couples(test::sphere_pile(6, 11, 0.4, kStep, 7), 4e-3, 2e-3, 1e-3);
  scene.law = ContactLaw::ccp;
  const ConstraintProblem problem = test::whole(scene);
  SolverSettings cone = to_tolerance(1e-24);
  cone.gauss_seidel.local = LocalSolve::cone;
  const Solved a = solve(problem, cone);
  const Solved b = solve(problem, to_tolerance(1e-26));
  EXPECT_EQ(a.report.status, SolveStatus::converged) << a.report.reason;
  EXPECT_LT(distance(a.velocities, b.velocities), 1e-9);
}

TEST(Couples, ConvexObjectiveFallsInEverySweepAlsoOverRelaxed) {
  for (const double omega : {1.0, 1.5}) {
    Scene scene = test::with_couples(test::sphere_pile(20, 40, 0.4, kStep, 3), 4e-3, 2e-3);
    scene.law = ContactLaw::ccp;
    SolverSettings settings = sweeps(40, Formulation::velocity);
    settings.stop.check_interval = 1;
    settings.gauss_seidel.relaxation = omega;
    const Solved s = solve(test::whole(scene), settings);
    for (std::size_t i = 1; i < s.report.history.size() && omega == 1.0; ++i)
      EXPECT_LE(s.report.history[i].errors.objective,
                s.report.history[i - 1].errors.objective + 1e-15);
    EXPECT_LT(s.report.errors.energy, 1e-2 * s.report.initial.energy);
  }
}

TEST(Couples, ImpulsesConserveLinearAndAngularMomentum) {
  // two spheres in mid-air, no other body: what one gets the other gives
  Scene scene;
  const Vec3 p_a(0.0, 0.0, 0.0), p_b(0.12, 0.16, 0.0);
  scene.add_rigid(1.0, Vec3::Constant(4e-3), {Vec3(1.0, 0.3, 0.0), Vec3(3.0, -1.0, -2.0)});
  scene.add_rigid(3.0, Vec3::Constant(9e-3), {Vec3(-1.0, 0.0, 0.5), Vec3(-1.0, 4.0, 5.0)});
  const Vec3 n = (p_b - p_a).normalized();
  scene.add_contact(0, 1, n, 0.1 * n, -0.1 * n, 0.0, 0.4);
  const auto momentum = [&](const std::vector<double>& v) {
    Eigen::Matrix<double, 6, 1> sum;
    const Vec3 v_a(v[0], v[1], v[2]), v_b(v[6], v[7], v[8]);
    sum.head<3>() = 1.0 * v_a + 3.0 * v_b;
    sum.tail<3>() =
        p_b.cross(3.0 * v_b) + 4e-3 * Vec3(v[3], v[4], v[5]) + 9e-3 * Vec3(v[9], v[10], v[11]);
    return sum;
  };

  const ConstraintProblem problem = test::whole(test::with_couples(scene, 5e-3, 5e-3, 0.1));
  const Solved s = solve(problem, to_tolerance(1e-28));

  EXPECT_LT((momentum(s.velocities) - momentum(problem.bodies.free_velocity)).norm(), 1e-14);
  EXPECT_GT(std::abs(s.impulses[3]) + std::abs(s.impulses[4]), 1e-6);
  EXPECT_GT(std::abs(s.impulses[5]), 1e-6);
}

TEST(Couples, ProblemsWithWrongCouplesAreRefused) {
  const auto broken = [](auto&& spoil) {
    ConstraintProblem problem = test::whole(sphere_on_plane({}, 0.5, 1e-3, 1e-3));
    spoil(problem.blocks);
    EXPECT_THROW(check_problem(problem), std::logic_error);
  };
  broken([](GeneralBlocks& b) { b.rolling = {-0.5}; });
  broken([](GeneralBlocks& b) { b.rolling = {-1.0}; });  // two rows too many
  broken([](GeneralBlocks& b) { b.spinning = {NAN}; });
  broken([](GeneralBlocks& b) { b.cohesion = {-1.0}; });
  broken([](GeneralBlocks& b) { b.cohesion = {0.0, 0.0}; });
  broken([](GeneralBlocks& b) { b.spinning.clear(); });
}

}  // namespace
}  // namespace catena
