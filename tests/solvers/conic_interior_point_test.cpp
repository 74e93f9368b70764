#include "solvers/interior_point/conic_interior_point.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/metrics/errors.hpp"
#include "support/dense_reference.hpp"
#include "support/fclib_problem.hpp"
#include "support/hand_problems.hpp"
#include "support/sanitized.hpp"

namespace catena {
namespace {

using Outcome = ConicInteriorPoint::Outcome;

/// A gap that round-off does not allow: goes on while there is progress. (The gap is quadratic in
/// the velocities: 1e-13 in it are six digits of those.)
constexpr double kLastDigits = 1e-18;

struct Result {
  ConicInteriorPoint::Report report;
  std::vector<double> impulses, velocities;
  Errors errors;  ///< of the problem without shift
};

struct Start {
  std::vector<double> shift = {}, guess = {};
};

Result solve_conic(const ConstraintProblem& problem, double gap = 1e-12, const Start& start = {}) {
  Result result;
  result.impulses = start.guess;
  result.impulses.resize(static_cast<std::size_t>(problem.n_rows()), 0.0);
  result.velocities.resize(static_cast<std::size_t>(problem.bodies.n_dofs()));
  DelassusOperator op(problem);
  NewtonSystem system(problem, op, {}, "test");
  ConicInteriorPoint method(problem, op, system);
  ConicInteriorPoint::Goal goal;
  goal.gap = gap;
  result.report = method.solve(start.shift, !start.guess.empty(), goal, result.impulses);
  result.errors = ErrorEvaluator(problem, op).evaluate(result.impulses, result.velocities);
  return result;
}

ConstraintProblem convex(const test::Scene& scene, ContactLaw law = ContactLaw::ccp) {
  return test::whole(scene, law);
}

ConstraintProblem read(const std::string& name) {
  return test::fclib_problem(name, ContactLaw::ccp);
}

/// A ball of 1 kg between planes below and above without room, which come nearer by `speed`.
test::Scene ball_in_press(double speed) {
  test::Scene scene;
  scene.add_prescribed();
  scene.add_prescribed({Vec3(0, 0, -speed), Vec3::Zero()});
  scene.add_rigid(1.0, Vec3::Constant(0.004), {Vec3(0.1, 0, -0.01), Vec3::Zero()});
  scene.add_contact(0, 2, Vec3::UnitZ(), Vec3::Zero(), Vec3(0, 0, -0.1), 0.0, 0.5);
  scene.add_contact(1, 2, -Vec3::UnitZ(), Vec3::Zero(), Vec3(0, 0, 0.1), 0.0, 0.5);
  scene.law = ContactLaw::ccp;
  return scene;
}

void expect_velocities(const Result& result, const std::vector<double>& expected,
                       double tolerance) {
  ASSERT_EQ(result.velocities.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(result.velocities[i], expected[i], tolerance) << i;
}

TEST(ConicInteriorPoint, BlockSticksOnAnInclineWithTheWeightsImpulse) {
  const double tilt = 0.3, h = 1e-3;
  ConstraintProblem problem = test::block_on_incline(2.0, tilt, 0.6, h);
  problem.law = ContactLaw::ccp;

  const Result result = solve_conic(problem);

  EXPECT_EQ(result.report.outcome, Outcome::target) << result.report.remark;
  const double weight = 2.0 * test::kGravity * h;
  EXPECT_NEAR(result.impulses[0], weight * std::cos(tilt), 1e-10 * weight);
  EXPECT_NEAR(result.impulses[1], weight * std::sin(tilt), 1e-10 * weight);
  EXPECT_NEAR(result.impulses[2], 0.0, 1e-10 * weight);
}

TEST(ConicInteriorPoint, SlidingBlockLiftsAsTheConvexLawSays) {
  // N = 1/m: the minimiser is the projection of the sticking impulse on the cone
  const double tilt = 1.0, mu = 0.4, weight = 2.0 * test::kGravity * 1e-3;
  ConstraintProblem problem = test::block_on_incline(2.0, tilt, mu, 1e-3);
  problem.law = ContactLaw::ccp;

  const Result result = solve_conic(problem);

  const double normal = weight * (std::cos(tilt) + mu * std::sin(tilt)) / (1.0 + mu * mu);
  EXPECT_NEAR(result.impulses[0], normal, 1e-9 * weight);
  EXPECT_NEAR(result.impulses[1], mu * normal, 1e-9 * weight);
  EXPECT_NEAR(result.errors.natural_map, 0.0, 1e-9);
}

TEST(ConicInteriorPoint, ShiftMovesTheNormalSlip) {
  // w_n + shift >= 0: the block may rise by less
  const double h = 1e-3, shift = 0.002;
  ConstraintProblem problem = test::block_on_incline(2.0, 0.0, 0.6, h);
  problem.law = ContactLaw::ccp;

  const Result result = solve_conic(problem, 1e-12, {.shift = {shift, 0.0, 0.0}});

  EXPECT_NEAR(result.impulses[0], 2.0 * (test::kGravity * h - shift), 1e-12);
}

TEST(ConicInteriorPoint, VelocitiesOfAPileAreThoseOfTheDenseReference) {
  const ConstraintProblem problem = convex(test::sphere_pile(12, 24, 0.4, 1e-3, 3));

  const Result result = solve_conic(problem, kLastDigits);

  EXPECT_LE(result.errors.gap, 1e-13);
  expect_velocities(result, test::solve_dense(problem, 1e-12).velocities, 1e-6);
}

TEST(ConicInteriorPoint, RollingSpinningAndCohesiveContactsAreThoseOfTheDenseReference) {
  const ConstraintProblem problem = convex(test::with_couples(
      test::sphere_pile(test::kSanitized ? 3 : 5, test::kSanitized ? 4 : 8, 0.4, 1e-3, 3), 4e-3,
      2e-3, 2e-3));

  const Result result = solve_conic(problem, kLastDigits);

  EXPECT_LE(result.errors.gap, 1e-13);
  expect_velocities(result, test::solve_dense(problem, 1e-11).velocities, 1e-6);
}

TEST(ConicInteriorPoint, CohesionHoldsUpToItsLimit) {
  test::Scene scene;
  scene.add_prescribed();
  scene.add_rigid(1.0, Vec3::Constant(0.1), {Vec3(0, 0, 0.5), Vec3::Zero()});
  scene.add_contact(0, 1, Vec3::UnitZ(), Vec3::Zero(), Vec3::Zero(), 0.0, 0.3).cohesion = 0.2;
  const Result torn = solve_conic(convex(scene));
  scene.contacts[0].cohesion = 0.7;
  const Result held = solve_conic(convex(scene));

  EXPECT_NEAR(torn.impulses[0], -0.2, 1e-10);
  EXPECT_NEAR(torn.velocities[8], 0.3, 1e-10);
  EXPECT_NEAR(held.impulses[0], -0.5, 1e-10);
}

TEST(ConicInteriorPoint, ContactsWithoutFrictionHaveNoTangentialImpulse) {
  for (const ContactLaw law : {ContactLaw::ccp, ContactLaw::frictionless}) {
    const double friction = law == ContactLaw::ccp ? 0.0 : 0.4;
    const ConstraintProblem problem = convex(test::sphere_pile(6, 10, friction, 1e-3, 3), law);

    const Result result = solve_conic(problem, kLastDigits);

    for (std::size_t i = 0; i < result.impulses.size(); i += 3) {
      EXPECT_EQ(result.impulses[i + 1], 0.0);
      EXPECT_EQ(result.impulses[i + 2], 0.0);
    }
    const ConstraintProblem smooth =
        convex(test::sphere_pile(6, 10, 0.0, 1e-3, 3), ContactLaw::frictionless);
    expect_velocities(result, test::enumerate_active_sets(smooth).velocities, 1e-6);
  }
}

TEST(ConicInteriorPoint, JointLimitAndMotorsImpulsesAreThoseOfTheHand) {
  const double h = 1e-3;
  const Result joint = solve_conic(convex(test::pendulum(2.0, 0.3, 0.8, h)));
  const Result limit = solve_conic(convex(test::limit(2.0, 2e-6, h)));
  const Result away = solve_conic(convex(test::limit(2.0, 2e-2, h)));
  const Result strong = solve_conic(convex(test::motor(0.5, 3.0, 2.0)));
  const Result weak = solve_conic(convex(test::motor(0.5, 3.0, 0.7)));

  EXPECT_NEAR(joint.impulses[2], 2.0 * test::kGravity * h * 0.3 / (0.3 + 2.0 * 0.8 * 0.8), 1e-12);
  EXPECT_NEAR(limit.impulses[0], 2.0 * (test::kGravity * h - 2e-6 / h), 1e-10);
  EXPECT_NEAR(away.impulses[0], 0.0, 1e-10);
  EXPECT_NEAR(strong.impulses[0], 1.5, 1e-10);
  EXPECT_NEAR(weak.impulses[0], 0.7, 1e-10);
}

TEST(ConicInteriorPoint, BoundsWideNarrowOrEqualAreMet) {
  for (const double upper : {0.2, 0.2 + 1e-9, 0.3, std::numeric_limits<double>::infinity()}) {
    test::Scene scene = test::motor(0.5, 3.0, 1.0);
    scene.blocks[0].lower = {0.2};
    scene.blocks[0].upper = {upper};

    const Result result = solve_conic(convex(scene));

    EXPECT_NEAR(result.impulses[0], std::min(upper, 1.5), 1e-10) << upper;
    EXPECT_GE(result.impulses[0], 0.2 * (1.0 - 1e-15));
  }
}

TEST(ConicInteriorPoint, RedundantContactsOfABoxShareItsWeight) {
  const ConstraintProblem problem = convex(test::box_on_plane(0.5, 1e-3, 0.0));

  const Result result = solve_conic(problem);

  double normal = 0.0;
  for (std::size_t i = 0; i < 12; i += 3) normal += result.impulses[i];
  EXPECT_EQ(result.report.outcome, Outcome::target) << result.report.remark;
  EXPECT_NEAR(normal, test::kGravity * 1e-3, 1e-12);
}

TEST(ConicInteriorPoint, PublishedProblemsReachTheLastDigitsOfTheGap) {
  // rank-deficient; unsymmetric in the fourth digit; hyperstatic at rest
  for (const std::string name :
       {"local_problem_test.hdf5", "Capsules-i103-990.hdf5", "OneObject-i100000-316.hdf5",
        "LMGC_100_PR_PerioBox-i00361-60-03000.hdf5"}) {
    const Result result = solve_conic(read(name));

    EXPECT_EQ(result.report.outcome, Outcome::target) << name << ": " << result.report.remark;
    EXPECT_LE(result.errors.gap, 1e-12) << name;
    EXPECT_LE(result.report.stages, 25) << name;
  }
}

TEST(ConicInteriorPoint, SettledSpheresTakeFewStagesColdAndFewerFromAGuess) {
  const ConstraintProblem problem = read("s512.hdf5");
  // the optimum as first-order methods give it to all its digits
  const double optimum = -21.0990902112;

  const Result cold = solve_conic(problem, 1e-8);
  const Result warm = solve_conic(problem, 1e-8, {.guess = cold.impulses});

  EXPECT_LE(cold.report.stages, 20);
  EXPECT_LE(cold.errors.gap, 1e-8);
  EXPECT_NEAR(cold.errors.objective, optimum, 1e-7);
  EXPECT_LE(warm.report.stages, 5);
  EXPECT_LE(warm.errors.gap, 1e-8);
}

TEST(ConicInteriorPoint, GuessOfNoUseCostsLittle) {
  const ConstraintProblem problem = convex(test::sphere_pile(12, 24, 0.4, 1e-3, 3));
  std::vector<double> far(static_cast<std::size_t>(problem.n_rows()));
  for (std::size_t i = 0; i < far.size(); ++i) far[i] = 1e3 * std::sin(static_cast<double>(i));

  const Result cold = solve_conic(problem);
  const Result warm = solve_conic(problem, 1e-12, {.guess = far});

  EXPECT_EQ(warm.report.outcome, Outcome::target) << warm.report.remark;
  EXPECT_LE(warm.report.stages, cold.report.stages + 8);
  EXPECT_NEAR(warm.errors.objective, cold.errors.objective,
              2e-12 * std::abs(cold.errors.objective));
}

TEST(ConicInteriorPoint, ClosingPressHasNoSolutionAndSaysSo) {
  const Result result = solve_conic(test::whole(ball_in_press(0.3)));

  EXPECT_EQ(result.report.outcome, Outcome::unbounded);
  EXPECT_NE(result.report.remark.find("no solution"), std::string::npos) << result.report.remark;
}

TEST(ConicInteriorPoint, StandingPressIsSolvedThoughNoSlipIsStrictlyFeasible) {
  const Result result = solve_conic(test::whole(ball_in_press(0.0)), 1e-10);

  // any squeeze is as good as any other; held by friction the ball stands still
  EXPECT_LE(result.errors.gap, 1e-9) << result.report.remark;
  EXPECT_NEAR(result.velocities[12], 0.0, 1e-6);
  EXPECT_NEAR(result.velocities[14], 0.0, 1e-6);
}

TEST(ConicInteriorPoint, StopIsAskedAfterEveryStageAndMayEndTheSolve) {
  const ConstraintProblem problem = convex(test::sphere_pile(12, 24, 0.4, 1e-3, 3));
  DelassusOperator op(problem);
  NewtonSystem system(problem, op, {}, "test");
  ConicInteriorPoint method(problem, op, system);
  std::vector<double> impulses(static_cast<std::size_t>(problem.n_rows()), 0.0);
  std::vector<int> asked;
  ConicInteriorPoint::Goal goal;
  goal.stop = [&](int stage) {
    asked.push_back(stage);
    // inside the cones at every stage
    for (std::size_t i = 0; i < impulses.size(); i += 3)
      EXPECT_LE(std::hypot(impulses[i + 1], impulses[i + 2]), 0.4 * impulses[i]);
    return stage == 3;
  };

  const ConicInteriorPoint::Report report = method.solve({}, false, goal, impulses);

  EXPECT_EQ(report.outcome, Outcome::done);
  EXPECT_EQ(asked, (std::vector<int>{1, 2, 3}));
}

TEST(ConicInteriorPoint, StageLimitIsKept) {
  const ConstraintProblem problem = convex(test::sphere_pile(12, 24, 0.4, 1e-3, 3));
  DelassusOperator op(problem);
  NewtonSystem system(problem, op, {}, "test");
  std::vector<double> impulses(static_cast<std::size_t>(problem.n_rows()), 0.0);
  ConicInteriorPoint::Goal goal;
  goal.max_stages = 2;

  const ConicInteriorPoint::Report report =
      ConicInteriorPoint(problem, op, system).solve({}, false, goal, impulses);

  EXPECT_EQ(report.outcome, Outcome::stage_limit);
  EXPECT_EQ(report.stages, 2);
}

TEST(ConicInteriorPoint, NumbersThatAreNoneAreABreakdown) {
  ConstraintProblem problem = convex(test::sphere_pile(12, 24, 0.4, 1e-3, 3));
  problem.bodies.free_velocity.back() = std::numeric_limits<double>::quiet_NaN();

  EXPECT_EQ(solve_conic(problem).report.outcome, Outcome::breakdown);
}

TEST(ConicInteriorPoint, LawBoxIsRefused) {
  const ConstraintProblem problem =
      convex(test::sphere_pile(12, 24, 0.4, 1e-3, 3), ContactLaw::box);

  EXPECT_THROW(solve_conic(problem), Error);
}

TEST(ConicInteriorPoint, NoBlocksAreSolvedAtOnce) {
  test::Scene scene;
  scene.add_rigid(1.0, Vec3::Ones());

  EXPECT_EQ(solve_conic(convex(scene)).report.outcome, Outcome::target);
}

}  // namespace
}  // namespace catena
