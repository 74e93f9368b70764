// The solver interior_point: its way through convex problems, the outer fixed point and Newton's
// method, its limits and what it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "catena/base/error.hpp"
#include "support/dense_reference.hpp"
#include "support/fclib_problem.hpp"
#include "support/hand_problems.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

constexpr double kStep = 0.005;

struct Solved : test::Solved {
  bool says(const std::string& words) const {
    return report.reason.find(words) != std::string::npos;
  }
};

SolverSettings to_tolerance(double tolerance, Metric metric = Metric::natural_map) {
  SolverSettings settings{.method = SolverMethod::interior_point};
  settings.stop = test::stop_at(metric, tolerance);
  return settings;
}

Solved solve_interior(const ConstraintProblem& problem, const SolverSettings& settings,
                      std::vector<double> guess = {}) {
  return {test::solve_with(*make_solver(settings), problem, std::move(guess))};
}

TEST(InteriorPoint, VelocitiesAreThoseOfTheDenseReference) {
  for (const test::Scene& scene :
       {test::box_on_plane(0.3, kStep, 0.2), test::sphere_pile(12, 30, 0.5, kStep, 7),
        test::pendulum(2.0, 0.1, 0.5, kStep)}) {
    for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::frictionless}) {
      const ConstraintProblem problem = test::whole(scene, law);
      const test::DenseSolution expected = test::solve_dense(problem);

      const Solved s = solve_interior(problem, to_tolerance(1e-11));

      EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
      ASSERT_EQ(s.velocities.size(), expected.velocities.size());
      for (std::size_t i = 0; i < s.velocities.size(); ++i)
        EXPECT_NEAR(s.velocities[i], expected.velocities[i], 1e-8) << s.report.reason;
    }
  }
}

TEST(InteriorPoint, StickingNeedsNoNewtonSteps) {
  // nothing slides: s = 0, and the convex problem's solution is Coulomb's
  const Solved s = solve_interior(test::block_on_incline(2.0, 0.3, 0.5, kStep), to_tolerance(1e-6));

  EXPECT_EQ(s.report.status, SolveStatus::converged);
  EXPECT_TRUE(s.says("convex problem")) << s.report.reason;
  EXPECT_FALSE(s.says("Newton")) << s.report.reason;
}

TEST(InteriorPoint, PublishedProblemsReachTheLastDigitsUnderCoulombsLaw) {
  for (const std::string name :
       {"Capsules-i101-404", "OneObject-i100000-316", "local_problem_test", "Rover1040"}) {
    SolverSettings settings = to_tolerance(1e-8, Metric::siconos);
    settings.stop.max_iterations = 300;
    const Solved s = solve_interior(test::fclib_problem(name + ".hdf5"), settings);

    EXPECT_EQ(s.report.status, SolveStatus::converged) << name << ": " << s.report.reason;
    EXPECT_LE(s.report.errors.scaled, 1e-6) << name;
    EXPECT_GT(s.report.linear_iterations, 0);
  }
}

TEST(InteriorPoint, SolutionOfAnotherStepSavesStages) {
  ConstraintProblem problem =
      test::whole(test::sphere_pile(30, 80, 0.5, kStep, 3), ContactLaw::ccp);
  const Solved cold = solve_interior(problem, to_tolerance(1e-9));
  for (double& v : problem.bodies.free_velocity) v *= 1.001;
  const Solved again = solve_interior(problem, to_tolerance(1e-9));
  const Solved warm = solve_interior(problem, to_tolerance(1e-9), cold.impulses);

  EXPECT_EQ(warm.report.status, SolveStatus::converged) << warm.report.reason;
  EXPECT_LT(warm.report.iterations, again.report.iterations);
}

TEST(InteriorPoint, LimitsEndTheSolve) {
  const ConstraintProblem problem = test::fclib_problem("local_problem_test.hdf5");
  SolverSettings few = to_tolerance(1e-14, Metric::siconos), late = few;
  few.stop.max_iterations = 3;
  late.stop.time_limit = 0.0;

  const Solved stopped = solve_interior(problem, few);

  EXPECT_EQ(stopped.report.status, SolveStatus::iteration_limit) << stopped.report.reason;
  EXPECT_EQ(stopped.report.iterations, 3);
  EXPECT_EQ(solve_interior(problem, late).report.status, SolveStatus::time_limit);
}

TEST(InteriorPoint, ProblemWithoutSolutionIsCertified) {
  // a ball between planes that come nearer
  test::Scene scene;
  scene.add_prescribed();
  scene.add_prescribed({Vec3(0, 0, -0.1), Vec3::Zero()});
  scene.add_rigid(1.0, Vec3::Constant(0.004), {Vec3(0.1, 0, -0.01), Vec3::Zero()});
  scene.add_contact(0, 2, Vec3::UnitZ(), Vec3::Zero(), Vec3(0, 0, -0.1), 0.0, 0.5);
  scene.add_contact(1, 2, -Vec3::UnitZ(), Vec3::Zero(), Vec3(0, 0, 0.1), 0.0, 0.5);
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp}) {
    const Solved s = solve_interior(test::whole(scene, law), to_tolerance(1e-9));

    EXPECT_EQ(s.report.status, SolveStatus::iteration_limit) << s.report.reason;
    EXPECT_TRUE(s.says("no solution exists")) << s.report.reason;
    EXPECT_FALSE(s.says("Newton")) << s.report.reason;
  }
}

TEST(InteriorPoint, NumbersThatAreNotFiniteAreABreakdown) {
  ConstraintProblem problem = test::block_on_incline(2.0, 0.3, 0.5, kStep);
  problem.bodies.free_velocity[8] = std::numeric_limits<double>::quiet_NaN();

  EXPECT_EQ(solve_interior(problem, to_tolerance(1e-9)).report.status, SolveStatus::breakdown);
}

TEST(InteriorPoint, LawsThatItDoesNotKnowAreRefused) {
  ConstraintProblem problem = test::block_on_incline(2.0, 0.3, 0.5, kStep);
  SolverSettings fang = to_tolerance(1e-9);
  fang.interior_point.form = InteriorPointForm::kkt;

  EXPECT_THROW(solve_interior(problem, fang), Error);  // [F14]'s forms: ccp only
  problem.law = ContactLaw::box;
  EXPECT_THROW(solve_interior(problem, to_tolerance(1e-9)), Error);
}

}  // namespace
}  // namespace catena
