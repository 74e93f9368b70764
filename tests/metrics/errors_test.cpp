// Each kind of block at a hand-made solution (no error) and off it (an error by hand).
#include "catena/metrics/errors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "metrics/row_errors.hpp"
#include "support/dense_reference.hpp"
#include "support/hand_problems.hpp"

namespace catena {
namespace {

constexpr double kStep = 0.01;
constexpr double kFall = test::kGravity * kStep;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Errors errors_of(const ConstraintProblem& problem, const std::vector<double>& impulses) {
  DelassusOperator op(problem);
  return ErrorEvaluator(problem, op).evaluate(impulses);
}

void expect_solved(const Errors& e, const char* what) {
  EXPECT_LE(e.energy, 1e-24) << what;
  EXPECT_LE(e.natural_map, 1e-12) << what;
  EXPECT_LE(e.natural_map_rms, 1e-12) << what;
  EXPECT_LE(e.natural_map_angular, 1e-12) << what;
  EXPECT_LE(e.siconos, 1e-12) << what;
  EXPECT_LE(e.fclib_merit, 1e-12) << what;
  EXPECT_LE(e.scaled, 1e-12) << what;
  EXPECT_LE(e.fischer_burmeister, 1e-12) << what;
}

TEST(Errors, OfAPendulumJointAreItsSlipSquaredOverItsDiagonal) {
  const double m = 2.0, inertia = 0.3, length = 0.7;
  const ConstraintProblem problem = test::whole(test::pendulum(m, inertia, length, kStep));
  expect_solved(errors_of(problem, {0, 0, m * kFall * inertia / (inertia + m * length * length)}),
                "solution");

  const Errors e = errors_of(problem, {0, 0, 0});

  // 1/2 w^2/N_zz with w = -g h, N_zz = 1/m + l^2/I
  const double n_zz = 1.0 / m + length * length / inertia;
  EXPECT_NEAR(e.energy_joint, 0.5 * kFall * kFall / n_zz, 1e-15);
  EXPECT_EQ(e.energy, e.energy_joint);
  EXPECT_NEAR(e.natural_map, kFall, 1e-15);
  EXPECT_NEAR(e.natural_map_rms, kFall / std::sqrt(3.0), 1e-15);
  EXPECT_EQ(e.natural_map_angular, 0.0);
}

TEST(Errors, OfALimitAreTheLesserOfImpulseAndSlip) {
  const double m = 2.0;
  const ConstraintProblem hit = test::whole(test::limit(m, 0.0, kStep));
  expect_solved(errors_of(hit, {m * kFall}), "held");
  expect_solved(errors_of(test::whole(test::limit(m, 1.0, kStep)), {0.0}), "clear");
  // pulling: -1 N s beyond the bound, 1/2 a x^2, while w = -g h - 1/m is negative too:
  // x - P(x - w/a) = w/a if w/a < x, i.e. here 1/2 w^2/a
  const double w = -kFall - 1.0 / m;
  EXPECT_NEAR(errors_of(hit, {-1.0}).energy_limit, 0.5 * m * w * w, 1e-14);
  // pushing by 1 N s too much: w = 1/m, w/a = 1 < x
  const Errors pushed = errors_of(hit, {m * kFall + 1.0});
  EXPECT_NEAR(pushed.energy_limit, 0.5 / m, 1e-14);
  EXPECT_NEAR(pushed.natural_map, 1.0 / m, 1e-14);
}

TEST(Errors, OfAMotorAreAngularAndStopAtItsBounds) {
  const ConstraintProblem problem = test::whole(test::motor(0.5, 2.0, 0.3));
  expect_solved(errors_of(problem, {0.3}), "at its limit");
  EXPECT_NEAR(errors_of(problem, {0.3}).gap, 0.0, 1e-15);
  const Errors e = errors_of(problem, {0.1});
  // 0.2 N m s short of the bound, a = 1/I = 2: natural map 0.4 rad/s, 1/2 a 0.2^2
  EXPECT_NEAR(e.natural_map_angular, 0.4, 1e-15);
  EXPECT_EQ(e.natural_map, 0.0);
  EXPECT_EQ(e.natural_map_rms, 0.0);
  EXPECT_NEAR(e.energy_limit, 0.04, 1e-15);
  // beyond its bound
  EXPECT_NEAR(errors_of(problem, {0.5}).energy_limit, 0.04, 1e-15);
}

TEST(Errors, VanishForABlockThatSticksOrSlidesOnAnIncline) {
  const double m = 2.0;
  for (const double tilt : {0.2, 0.7}) {
    const double mu = 0.5;
    const double n = m * kFall * std::cos(tilt);
    const double t = std::min(m * kFall * std::sin(tilt), mu * n);
    expect_solved(errors_of(test::block_on_incline(m, tilt, mu, kStep), {n, t, 0}), "incline");
  }
}

TEST(Errors, OfAPointMassWithoutImpulsesAreItsFreeFall) {
  const double m = 2.0, tilt = 0.2;
  const Errors e = errors_of(test::block_on_incline(m, tilt, 0.5, kStep), {0, 0, 0});
  // D = 1/m: y - P(y - z) = -P(-z) with what_n = -g h cos + mu g h sin, w_t = -g h sin
  const Vec3 z(kFall * (-std::cos(tilt) + 0.5 * std::sin(tilt)), -kFall * std::sin(tilt), 0);
  const Vec3 p = project_cone(-z, 0.5);
  EXPECT_NEAR(e.energy_normal, 0.5 * m * p[0] * p[0], 1e-15);
  EXPECT_NEAR(e.energy_friction, 0.5 * m * p[1] * p[1], 1e-15);
  EXPECT_NEAR(e.natural_map, p.norm(), 1e-15);
  EXPECT_NEAR(e.siconos, p.norm() / kFall, 1e-14);
  EXPECT_NEAR(e.fclib_merit, p.norm() / (1.0 + std::sqrt(kFall)), 1e-15);
  EXPECT_EQ(e.gap, 1.0);
}

TEST(Errors, OfAFrictionlessContactAreThoseOfAScalarRow) {
  // at mu = 0 the cone's error is [E] (5); a tangential impulse left over counts
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::frictionless}) {
    test::Scene scene = test::incline_scene(2.0, 0.0, 0.0, kStep);
    scene.law = law;
    const ConstraintProblem problem = test::whole(scene);
    expect_solved(errors_of(problem, {2.0 * kFall, 0, 0}), "weight");
    EXPECT_NEAR(errors_of(problem, {0, 0, 0}).energy, 0.5 * 2.0 * kFall * kFall, 1e-16);
    EXPECT_NEAR(errors_of(problem, {2.0 * kFall, 0.1, 0}).energy_friction, 0.5 * 0.01 / 2.0, 1e-16);
  }
}

TEST(Errors, OfBoxFrictionUseTheCurrentNormalImpulse) {
  test::Scene scene = test::incline_scene(2.0, 0.7, 0.5, kStep);
  scene.law = ContactLaw::box;
  const ConstraintProblem problem = test::whole(scene);
  const double n = 2.0 * kFall * std::cos(0.7);
  expect_solved(errors_of(problem, {n, 0.5 * n, 0}), "sliding");
  // 0.1 N s beyond the bound of mu times the current normal impulse
  EXPECT_NEAR(errors_of(problem, {n, 0.5 * n + 0.1, 0}).energy_friction, 0.5 * 0.01 / 2.0, 1e-15);
}

TEST(Errors, VanishAtTheDenseReferenceOfPilesUnderEveryLaw) {
  for (const ContactLaw law :
       {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box, ContactLaw::frictionless}) {
    test::Scene scene = test::sphere_pile(12, 20, 0.4, kStep, 7);
    scene.law = law;
    const ConstraintProblem problem = test::whole(scene);
    const Errors e = errors_of(problem, test::solve_dense(problem, 1e-13, 20000).impulses);
    EXPECT_LE(e.natural_map, 1e-11) << static_cast<int>(law);
    EXPECT_LE(e.energy, 1e-20) << static_cast<int>(law);
    EXPECT_LE(e.scaled, 1e-11) << static_cast<int>(law);
    EXPECT_LE(e.fischer_burmeister, 1e-10) << static_cast<int>(law);
    if (law == ContactLaw::ccp || law == ContactLaw::frictionless) {
      EXPECT_LE(e.gap, 1e-11);
    }
  }
}

TEST(Errors, ConvexObjectiveIsLeastAtTheSolution) {
  test::Scene scene = test::sphere_pile(6, 10, 0.4, kStep, 2);
  scene.law = ContactLaw::ccp;
  const ConstraintProblem problem = test::whole(scene);
  std::vector<double> x = test::solve_dense(problem).impulses;
  const Errors best = errors_of(problem, x);
  for (double& v : x) v *= 0.9;
  EXPECT_GT(errors_of(problem, x).objective, best.objective);
  EXPECT_LT(best.objective, 0.0);
}

TEST(Errors, AreAllNanIfOneImpulseOrSlipIsNotFinite) {
  for (const ContactLaw law :
       {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box, ContactLaw::frictionless}) {
    test::Scene scene = test::sphere_pile(6, 10, 0.4, kStep, 2);
    scene.law = law;
    const ConstraintProblem problem = test::whole(scene);
    for (const double bad : {kNan, std::numeric_limits<double>::infinity()}) {
      std::vector<double> x(30, 0.1);
      x[13] = bad;
      const Errors e = errors_of(problem, x);
      for (std::size_t m = 0; m < kMetricNames.size(); ++m)
        EXPECT_TRUE(std::isnan(value_of(e, static_cast<Metric>(m)))) << kMetricNames[m];
      EXPECT_TRUE(std::isnan(e.natural_map_angular));
    }
  }
}

TEST(Errors, OfAProblemWithoutBlocksAreZero) {
  const ConstraintProblem problem(Communicator::self());
  const Errors e = errors_of(problem, {});
  for (std::size_t m = 0; m < kMetricNames.size(); ++m)
    EXPECT_EQ(value_of(e, static_cast<Metric>(m)), 0.0) << kMetricNames[m];
}

TEST(Errors, LeaveOutRowsThatNoImpulseCanMove) {
  // a contact between two prescribed bodies that approach each other
  test::Scene scene = test::incline_scene(1.0, 0.0, 0.0, kStep);
  scene.add_prescribed({Vec3(0, 0, -1), Vec3::Zero()});
  scene.add_contact(0, 2, Vec3::UnitZ(), Vec3::Zero(), Vec3::Zero(), 0.0, 0.5);
  const Errors e = errors_of(test::whole(scene), {kFall, 0, 0, 0, 0, 0});
  EXPECT_LE(e.energy, 1e-24);
  EXPECT_LE(e.natural_map, 1e-12);
  EXPECT_LE(e.scaled, 1e-12);
}

TEST(ErrorEvaluator, NamesTheWorstBlockAndGivesTheVelocities) {
  const ConstraintProblem problem = test::whole(test::box_stack(3, 0.5, kStep));
  std::vector<double> x(36, 0.0);
  x[3 * 5] = 10.0;
  DelassusOperator op(problem);
  ErrorEvaluator evaluator(problem, op);
  std::vector<double> v(static_cast<std::size_t>(problem.bodies.n_dofs())), expected(v.size());

  evaluator.begin(x, v);
  EXPECT_TRUE(evaluator.pending());
  const Errors e = evaluator.end();

  EXPECT_FALSE(evaluator.pending());
  op.velocities(x, expected);
  EXPECT_EQ(v, expected);
  double energy = 0.0;
  EXPECT_EQ(evaluator.worst_block(&energy), 5);
  EXPECT_GT(energy, e.energy / 12);
  EXPECT_LE(energy, e.energy);
}

TEST(FischerBurmeister, VanishesToRoundOffOnTheBoundaryOfTheCone) {
  // naive roots of the square's lower eigenvalue leave 1e-8
  for (double angle = 0.0; angle < 6.0; angle += 0.37) {
    const Vec3 d(1.0, std::cos(angle), std::sin(angle));
    const Vec3 opposite(1.0, -d[1], -d[2]);
    EXPECT_LE(row_errors::fischer_burmeister_cone(3.0 * d, Vec3::Zero()).norm(), 1e-14);
    EXPECT_LE(row_errors::fischer_burmeister_cone(Vec3::Zero(), 2.0 * d).norm(), 1e-14);
    EXPECT_LE(row_errors::fischer_burmeister_cone(3.0 * d, 0.2 * opposite).norm(), 1e-14);
    EXPECT_LE(row_errors::fischer_burmeister_cone(3.0 * d, 1e-9 * opposite).norm(), 1e-14);
    EXPECT_GE(row_errors::fischer_burmeister_cone(3.0 * d, 0.2 * d).norm(), 0.1);
  }
  EXPECT_EQ(row_errors::fischer_burmeister_cone(Vec3::Zero(), Vec3::Zero()).norm(), 0.0);
}

TEST(MetricNames, HaveUnits) {
  EXPECT_EQ(metric_unit(Metric::energy), "J");
  EXPECT_EQ(metric_unit(Metric::natural_map), "m/s");
  EXPECT_EQ(metric_unit(Metric::natural_map_rms), "m/s");
  EXPECT_EQ(metric_unit(Metric::scaled), "1");
  EXPECT_EQ(metric_unit(Metric::fischer_burmeister), "J^0.5");
}

}  // namespace
}  // namespace catena
