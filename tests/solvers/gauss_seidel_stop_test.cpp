// When Gauss-Seidel stops, what it returns, and what its report says.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "catena/solvers/linear_settings.hpp"
#include "catena/solvers/solver_factory.hpp"
#include "support/dense_reference.hpp"
#include "support/hand_problems.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

using test::solve;
using test::Solved;

ConstraintProblem pile() { return whole(test::sphere_pile(60, 180, 0.5, 0.005, 7)); }

TEST(StopRule, MetAtTheRelativeToleranceOfTheValueAtZeroImpulses) {
  SolverSettings settings;
  settings.stop.relative_tolerance = 1e-3;
  settings.stop.absolute_tolerance = 0.0;
  settings.stop.max_iterations = 5000;

  const Solved s = solve(pile(), settings);

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_DOUBLE_EQ(s.report.threshold, 1e-3 * s.report.initial.energy);
  EXPECT_LE(s.report.errors.energy, s.report.threshold);
  EXPECT_EQ(s.report.iterations % settings.stop.check_interval, 0);
  // the evaluation before was not enough
  EXPECT_GT(s.report.history[s.report.history.size() - 2].errors.energy, s.report.threshold);
}

TEST(StopRule, ReportedErrorsAreThoseOfTheImpulsesReturned) {
  for (const int max_iterations : {7, 5000}) {
    SolverSettings settings;
    settings.stop.relative_tolerance = 1e-4;
    settings.stop.max_iterations = max_iterations;
    const ConstraintProblem problem = pile();

    const Solved s = solve(problem, settings);

    DelassusOperator op(problem);
    ErrorEvaluator evaluator(problem, op);
    const Errors errors = evaluator.evaluate(s.impulses);
    EXPECT_DOUBLE_EQ(s.report.errors.energy, errors.energy);
    EXPECT_DOUBLE_EQ(s.report.errors.natural_map, errors.natural_map);
    // and the velocities are V_free + M^-1 G^T lambda, here by dense matrices
    const test::DenseProblem dense = test::dense_problem(problem);
    const Eigen::Map<const Eigen::VectorXd> impulses(s.impulses.data(), problem.n_rows());
    const Eigen::VectorXd v =
        dense.free_velocity + dense.inverse_mass * (dense.G.transpose() * impulses);
    for (Index i = 0; i < problem.bodies.n_dofs(); ++i)
      EXPECT_NEAR(s.velocities[static_cast<std::size_t>(i)], v[i], 1e-13);
  }
}

TEST(StopRule, EnergyAtRoundOffIsAlwaysEnough) {
  SolverSettings settings;
  settings.stop.relative_tolerance = 0.0;
  settings.stop.absolute_tolerance = 0.0;

  const Solved s = solve(test::block_on_incline(2.0, 0.5, 0.6, 0.01), settings);

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_GT(s.report.threshold, 0.0);
  EXPECT_LT(s.report.threshold, 1e-25);  // J; the step's energy is 1e-2 J
}

TEST(StopRule, LimitOfSweepsIsEvaluatedEvenBetweenChecks) {
  SolverSettings settings;
  settings.stop.relative_tolerance = 0.0;
  settings.stop.absolute_tolerance = 0.0;
  settings.stop.max_iterations = 7;
  settings.stop.check_interval = 100;

  const Solved s = solve(pile(), settings);

  EXPECT_EQ(s.report.status, SolveStatus::iteration_limit) << s.report.reason;
  EXPECT_EQ(s.report.iterations, 7);
  // the guess, then after 1, 2, 4 and 7 sweeps
  ASSERT_EQ(s.report.history.size(), 5U);
  EXPECT_EQ(s.report.history[3].iteration, 4);
  EXPECT_EQ(s.report.history[4].iteration, 7);
}

TEST(StopRule, TimeLimitEndsASolveThatWouldGoOn) {
  SolverSettings settings;
  settings.stop.relative_tolerance = 0.0;
  settings.stop.absolute_tolerance = 0.0;
  settings.stop.max_iterations = std::numeric_limits<int>::max();
  settings.stop.metric = Metric::natural_map;
  settings.stop.time_limit = 0.5;  // s: a first sweep fits in under the sanitizers, too

  const Solved s = solve(pile(), settings);

  EXPECT_EQ(s.report.status, SolveStatus::time_limit) << s.report.reason;
  EXPECT_GE(s.report.wall_s, 0.5);
  EXPECT_GT(s.report.iterations, 0);
}

TEST(StopRule, WithALeanHistoryTheSolveIsTheSameAndItsFinalErrorsAreComplete) {
  const ConstraintProblem problem = pile();
  for (const Metric metric : {Metric::energy, Metric::natural_map, Metric::scaled}) {
    for (const double relaxation : {1.0, 1.9}) {
      for (const int max_iterations : {35, 3000}) {
        SolverSettings settings;
        settings.gauss_seidel.relaxation = relaxation;
        settings.stop.metric = metric;
        settings.stop.relative_tolerance = relaxation == 1.0 ? 1e-2 : 1e-6;
        settings.stop.max_iterations = relaxation == 1.0 ? max_iterations : 40;
        settings.stop.check_interval = 5;
        const Solved full = solve(problem, settings);
        settings.stop.history_set = ErrorSet::energy;

        const Solved lean = solve(problem, settings);

        EXPECT_EQ(lean.report.status, full.report.status);
        EXPECT_EQ(lean.report.reason, full.report.reason);
        EXPECT_EQ(lean.report.iterations, full.report.iterations);
        EXPECT_EQ(lean.impulses, full.impulses);
        EXPECT_EQ(lean.velocities, full.velocities);
        for (std::size_t m = 0; m < kMetricNames.size(); ++m)
          EXPECT_EQ(value_of(lean.report.errors, static_cast<Metric>(m)),
                    value_of(full.report.errors, static_cast<Metric>(m)))
              << kMetricNames[m];
        const Errors& first = lean.report.history.front().errors;
        // known from the sweeps alone
        const double energy = full.report.history.front().errors.energy;
        EXPECT_NEAR(first.energy, energy, 1e-13 * energy);
        EXPECT_EQ(std::isnan(first.gap), metric != Metric::scaled);
      }
    }
  }
}

TEST(StopRule, KeepBestReturnsTheEvaluatedIterateOfLeastEnergy) {
  // over-relaxed Coulomb friction wanders: the last iterate is not the best
  SolverSettings settings;
  settings.gauss_seidel.relaxation = 1.9;
  settings.stop.relative_tolerance = 0.0;
  settings.stop.absolute_tolerance = 0.0;
  settings.stop.max_iterations = 40;
  settings.stop.check_interval = 1;
  const ConstraintProblem problem = pile();

  const Solved best = solve(problem, settings);
  settings.stop.keep_best = false;
  const Solved last = solve(problem, settings);

  double least = std::numeric_limits<double>::infinity();
  for (const HistoryEntry& entry : best.report.history)
    least = std::min(least, entry.errors.energy);
  EXPECT_EQ(best.report.errors.energy, least);
  DelassusOperator op(problem);
  EXPECT_DOUBLE_EQ(ErrorEvaluator(problem, op).evaluate(best.impulses).energy, least);
  EXPECT_EQ(last.report.errors.energy, last.report.history.back().errors.energy);
  EXPECT_GT(last.report.errors.energy, least) << "the scene does not show the difference";
}

TEST(StopRule, NanInTheProblemIsABreakdown) {
  ConstraintProblem problem = pile();
  problem.bodies.free_velocity[20] = std::numeric_limits<double>::quiet_NaN();

  const Solved s = solve(problem, {});

  EXPECT_EQ(s.report.status, SolveStatus::breakdown) << s.report.reason;
  EXPECT_EQ(s.report.iterations, 0);
}

TEST(StopRule, OverflowDuringTheSweepsIsABreakdown) {
  ConstraintProblem problem = pile();
  for (double& v : problem.bodies.free_velocity) v *= 1e155;  // squares overflow

  const Solved s = solve(problem, {});

  EXPECT_EQ(s.report.status, SolveStatus::breakdown) << s.report.reason;
}

TEST(StopRule, ProblemWithoutBlocksIsSolvedAtOnce) {
  test::Scene scene;
  scene.add_rigid(1.0, Vec3::Ones(), {Vec3(1, 2, 3), Vec3::Zero()});

  const Solved s = solve(whole(scene), {});

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_EQ(s.velocities[1], 2.0);
}

TEST(LinearAlgebraVersion, IsThreeNumbers) {
  int a = 0, b = 0, c = 0;
  EXPECT_EQ(std::sscanf(petsc_version().c_str(), "%d.%d.%d", &a, &b, &c), 3);
  EXPECT_GE(a, 3);
}

}  // namespace
}  // namespace catena
