// The reference solver against problems solved by hand.
#include "support/dense_reference.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/hand_problems.hpp"

namespace catena {
namespace {

constexpr double kStep = 0.01;
constexpr double kFall = test::kGravity * kStep;

TEST(DenseReference, BlockSticksOnAnInclineIfFrictionExceedsTanOfTilt) {
  const double tilt = 0.3;
  const test::DenseSolution s = test::solve_dense(test::block_on_incline(2.0, tilt, 0.5, kStep));
  EXPECT_NEAR(s.impulses[0], 2.0 * kFall * std::cos(tilt), 1e-14);
  EXPECT_NEAR(s.impulses[1], 2.0 * kFall * std::sin(tilt), 1e-14);
  EXPECT_NEAR(s.velocities[6], 0.0, 1e-14);
}

TEST(DenseReference, BlockSlidesDownAnInclineAgainstItsFriction) {
  const double tilt = 0.6, mu = 0.2;
  const test::DenseSolution s = test::solve_dense(test::block_on_incline(2.0, tilt, mu, kStep));
  EXPECT_NEAR(s.impulses[1], mu * s.impulses[0], 1e-14);
  // along the slope: g h (sin - mu cos) downwards
  EXPECT_NEAR(s.slips[1], -kFall * (std::sin(tilt) - mu * std::cos(tilt)), 1e-14);
  EXPECT_NEAR(s.slips[0], 0.0, 1e-14);
}

TEST(DenseReference, ConvexLawLiftsASlidingBlock) {
  test::Scene scene = test::incline_scene(2.0, 0.6, 0.2, kStep);
  scene.law = ContactLaw::ccp;
  const test::DenseSolution s = test::solve_dense(test::whole(scene));
  EXPECT_NEAR(s.slips[0], 0.2 * std::abs(s.slips[1]), 1e-14);
  EXPECT_GT(s.slips[0], 1e-3);
}

TEST(DenseReference, PendulumJointCarriesWhatTurnsTheBody) {
  const double m = 2.0, inertia = 0.3, length = 0.7;
  const test::DenseSolution s =
      test::solve_dense(test::whole(test::pendulum(m, inertia, length, kStep)));
  EXPECT_NEAR(s.impulses[2], m * kFall * inertia / (inertia + m * length * length), 1e-14);
  EXPECT_NEAR(s.slips[2], 0.0, 1e-14);
  // the end falls by rotation alone: v_z = -w_y length... of the centre, v_z = -length w_y
  EXPECT_NEAR(s.velocities[2] + length * s.velocities[4], 0.0, 1e-14);
}

TEST(DenseReference, LimitStopsAFallAtItsClearance) {
  const test::DenseSolution hit = test::solve_dense(test::whole(test::limit(2.0, 1e-4, kStep)));
  EXPECT_NEAR(hit.impulses[0], 2.0 * (kFall - 1e-4 / kStep), 1e-14);
  const test::DenseSolution clear = test::solve_dense(test::whole(test::limit(2.0, 1.0, kStep)));
  EXPECT_EQ(clear.impulses[0], 0.0);
  EXPECT_GT(clear.slips[0], 0.0);
}

TEST(DenseReference, MotorReachesItsSpeedOrItsLimit) {
  EXPECT_NEAR(test::solve_dense(test::whole(test::motor(0.5, 2.0, 10.0))).impulses[0], 1.0, 1e-14);
  EXPECT_NEAR(test::solve_dense(test::whole(test::motor(0.5, 2.0, 0.3))).impulses[0], 0.3, 1e-14);
  EXPECT_NEAR(test::solve_dense(test::whole(test::motor(0.5, -2.0, 0.3))).impulses[0], -0.3, 1e-14);
}

TEST(DenseReference, BoxRestsOnFourRedundantCorners) {
  const test::DenseSolution s = test::solve_dense(test::whole(test::box_on_plane(0.5, kStep, 0.0)));
  EXPECT_LE(s.residual, 1e-13);
  double sum = 0.0;
  for (std::size_t k = 0; k < 4; ++k) sum += s.impulses[3 * k];
  EXPECT_NEAR(sum, kFall, 1e-12);
  for (std::size_t d = 6; d < 12; ++d) EXPECT_NEAR(s.velocities[d], 0.0, 1e-12);
}

TEST(DenseReference, SlidingBoxIsSlowedByItsFriction) {
  // edges stay down: tipping needs mu > 1
  const test::DenseSolution s = test::solve_dense(test::whole(test::box_on_plane(0.3, kStep, 1.0)));
  EXPECT_LE(s.residual, 1e-13);
  EXPECT_NEAR(s.velocities[6], 1.0 - 0.3 * kFall, 1e-11);
  EXPECT_NEAR(s.velocities[10], 0.0, 1e-11);
}

TEST(DenseReference, SpheresPressedTogetherShareTheirMomentum) {
  const test::DenseSolution s =
      test::solve_dense(test::whole(test::two_spheres_on_plane(0.0, kStep, 0.1)));
  EXPECT_NEAR(s.impulses[6], 0.1, 1e-14);
  EXPECT_NEAR(s.velocities[6], 0.0, 1e-14);
  EXPECT_NEAR(s.impulses[0], kFall, 1e-14);
}

TEST(DenseReference, EnumerationAgreesWithSweepsOnFrictionlessProblems) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    test::Scene scene = test::sphere_pile(4, 6, 0.5, kStep, seed);
    scene.law = ContactLaw::frictionless;
    const ConstraintProblem problem = test::whole(scene);
    const test::DenseSolution swept = test::solve_dense(problem);
    const test::DenseSolution exact = test::enumerate_active_sets(problem);
    EXPECT_LE(swept.residual, 1e-13);
    EXPECT_LE(exact.residual, 1e-12);
    for (std::size_t d = 0; d < exact.velocities.size(); ++d)
      EXPECT_NEAR(swept.velocities[d], exact.velocities[d], 1e-11);
  }
}

TEST(DenseReference, ConvergesOnFrictionalPilesUnderEveryLaw) {
  for (const ContactLaw law :
       {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box, ContactLaw::frictionless}) {
    test::Scene scene = test::sphere_pile(12, 20, 0.4, kStep, 7);
    scene.law = law;
    const test::DenseSolution s = test::solve_dense(test::whole(scene), 1e-12, 20000);
    EXPECT_LE(s.residual, 1e-12) << static_cast<int>(law) << " after " << s.sweeps;
  }
}

}  // namespace
}  // namespace catena
