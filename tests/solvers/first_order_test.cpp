// Projected Jacobi and accelerated projected gradient on one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "solvers/first_order/row_scales.hpp"
#include "support/assembled.hpp"
#include "support/dense_algebra.hpp"
#include "support/dense_reference.hpp"
#include "support/fclib_problem.hpp"
#include "support/hand_problems.hpp"
#include "support/sanitized.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

using test::distance;
using test::fclib_problem;
using test::Scene;
using test::solve;
using test::Solved;

constexpr double kStep = 0.01;
constexpr double kWeight = 9.81 * kStep;  // of 1 kg in a step, N s

StopRule to_natural_map(double tolerance, int max_iterations = 200000) {
  return test::stop_at(Metric::natural_map, tolerance, max_iterations);
}

SolverSettings jacobi(const StopRule& stop, JointMethod joints = JointMethod::automatic) {
  SolverSettings settings{.method = SolverMethod::jacobi};
  settings.stop = stop;
  settings.joints.method = joints;
  return settings;
}

SolverSettings apgd(const StopRule& stop, JointMethod joints = JointMethod::automatic) {
  SolverSettings settings{.method = SolverMethod::apgd};
  settings.stop = stop;
  settings.joints.method = joints;
  return settings;
}

/// By Jacobi and by accelerated gradients.
std::vector<Solved> run_both(const ConstraintProblem& problem, const StopRule& stop,
                             JointMethod joints = JointMethod::automatic) {
  return {solve(problem, jacobi(stop, joints)), solve(problem, apgd(stop, joints))};
}

TEST(FirstOrder, BlockOnInclineSticksOrSlidesAsItsFrictionSays) {
  const double tilt = 0.4;
  for (const double friction : {0.6, 0.2}) {
    const ConstraintProblem problem = test::block_on_incline(1.0, tilt, friction, kStep);
    const double along = std::min(std::sin(tilt), friction * std::cos(tilt));

    for (const Solved& s : run_both(problem, to_natural_map(1e-13))) {
      EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
      EXPECT_NEAR(s.impulses[0], kWeight * std::cos(tilt), 1e-12);
      EXPECT_NEAR(s.impulses[1], kWeight * along, 1e-12);
      EXPECT_NEAR(s.impulses[2], 0.0, 1e-12);
    }
  }
}

TEST(FirstOrder, JointLimitAndMotorHaveTheirClosedForms) {
  for (const JointMethod method : {JointMethod::automatic, JointMethod::iterative}) {
    const StopRule stop = to_natural_map(1e-13);
    for (const Solved& s :
         run_both(test::whole(test::pendulum(2.0, 0.3, 0.5, kStep)), stop, method))
      EXPECT_NEAR(s.impulses[2], 2.0 * kWeight * 0.3 / (0.3 + 2.0 * 0.25), 1e-12);
  }
  StopRule stop = to_natural_map(1e-13);
  for (const Solved& s : run_both(test::whole(test::limit(2.0, 2e-4, kStep)), stop))
    EXPECT_NEAR(s.impulses[0], 2.0 * (kWeight - 2e-4 / kStep), 1e-12);
  stop.metric = Metric::energy;  // natural_map leaves out angular rows
  for (const Solved& s : run_both(test::whole(test::motor(0.5, 3.0, 1.0)), stop))
    EXPECT_NEAR(s.impulses[0], 1.0, 1e-12);
}

/// Largest eigenvalue of S^-1 N S^-1.
double largest_scaled(const ConstraintProblem& problem, double splitting) {
  std::vector<double> by_scale;
  first_order::scale_rows(problem, true, splitting, by_scale);
  Eigen::MatrixXd n = test::dense_problem(problem).N;
  const Eigen::Map<Eigen::VectorXd> by(by_scale.data(), n.rows());
  n = by.asDiagonal() * n * by.asDiagonal();
  return test::symmetric_eigenvalues(n).maxCoeff();
}

/// A pile, a stack, all kinds of rows, couples, and the pile's assembled operator.
std::vector<ConstraintProblem> convex_problems() {
  std::vector<ConstraintProblem> problems;
  for (Scene scene :
       {test::sphere_pile(30, 80, 0.5, 0.005, 3), test::box_stack(3, 0.4, kStep),
        test::mixed_ring(7, 11),
        test::with_couples(test::sphere_pile(20, 50, 0.5, 0.005, 4), 0.02, 0.01, 1e-3)}) {
    scene.law = ContactLaw::ccp;
    problems.push_back(test::whole(scene));
  }
  problems.push_back(test::assembled_problem(problems.front()));
  return problems;
}

TEST(FirstOrder, SafeScaleIsAboveN) {
  for (const ConstraintProblem& problem : convex_problems()) {
    EXPECT_LE(largest_scaled(problem, 1.0), 1.0 + 1e-12);
    // the block diagonal alone is not
    EXPECT_GT(largest_scaled(problem, 0.0), 1.2);
  }
}

TEST(FirstOrder, ObjectiveFallsInEveryJacobiSweep) {
  StopRule stop = to_natural_map(0.0, 100);
  stop.check_interval = 1;
  for (const ConstraintProblem& problem : convex_problems())
    for (const JointMethod method : {JointMethod::automatic, JointMethod::iterative}) {
      const Solved s = solve(problem, jacobi(stop, method));

      ASSERT_EQ(s.report.history.size(), 101U) << s.report.reason;
      const double scale = std::abs(s.report.errors.objective);
      for (std::size_t i = 1; i < s.report.history.size(); ++i)
        EXPECT_LE(s.report.history[i].errors.objective,
                  s.report.history[i - 1].errors.objective + 1e-13 * scale)
            << i;
    }
}

TEST(FirstOrder, RelaxationLengthensTheStep) {
  const ConstraintProblem problem = test::block_on_incline(1.0, 0.4, 0.6, kStep);
  SolverSettings half = jacobi(to_natural_map(0.0, 1));
  half.jacobi.relaxation = 0.5;

  const Solved s = solve(problem, half);
  const Solved all = solve(problem, jacobi(to_natural_map(0.0, 1)));

  EXPECT_NEAR(s.impulses[0], 0.5 * all.impulses[0], 1e-12);
}

constexpr std::array<ContactLaw, 4> kLaws = {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box,
                                             ContactLaw::frictionless};

TEST(FirstOrder, AllLawsHaveTheVelocitiesOfTheDenseReference) {
  for (const ContactLaw law : kLaws) {
    Scene scene = test::sphere_pile(16, 40, 0.4, 0.005, 5);
    scene.law = law;
    const ConstraintProblem problem = test::whole(scene);
    const test::DenseSolution dense = test::solve_dense(problem, 1e-12);

    for (const Solved& s : run_both(problem, to_natural_map(1e-10))) {
      EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
      EXPECT_LT(distance(s.velocities, dense.velocities), 1e-8) << static_cast<int>(law);
    }
  }
}

TEST(FirstOrder, RollingSpinningAndCohesionHaveTheVelocitiesOfGaussSeidel) {
  for (const ContactLaw law : kLaws) {
    if (test::kSanitized && law != ContactLaw::ccp) continue;
    Scene scene = test::with_couples(test::sphere_pile(8, 18, 0.4, 0.005, 5), 0.02, 0.01, 1e-3);
    scene.law = law;
    const ConstraintProblem problem = test::whole(scene);
    SolverSettings settings;
    settings.stop = to_natural_map(1e-11, 20000);
    const Solved reference = solve(problem, settings);

    for (const Solved& s : run_both(problem, to_natural_map(1e-10))) {
      EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
      // angular rows are not in natural_map
      EXPECT_LT(distance(s.velocities, reference.velocities), 1e-7) << static_cast<int>(law);
    }
  }
}

TEST(FirstOrder, JointsDenseBodiesAndAllKindsOfRowsHaveTheVelocitiesOfTheDenseReference) {
  Scene scene = test::mixed_ring(7, 11);
  scene.law = ContactLaw::ccp;
  const ConstraintProblem problem = test::whole(scene);
  const test::DenseSolution dense = test::solve_dense(problem);
  for (const JointMethod method : {JointMethod::automatic, JointMethod::iterative}) {
    const Solved s = solve(problem, apgd(to_natural_map(1e-11), method));

    EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
    EXPECT_LT(distance(s.velocities, dense.velocities), 1e-8);
    EXPECT_EQ(s.report.joints.joints > 0, method == JointMethod::automatic);
  }
}

TEST(FirstOrder, SettledSpheresReachTheirOptimum) {
  if (test::kSanitized) GTEST_SKIP() << "takes a quarter of a minute under the sanitizers";
  const Solved s = solve(fclib_problem("s512.hdf5", ContactLaw::ccp), apgd(to_natural_map(1e-4)));

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_LT(s.report.iterations, 3000);
  EXPECT_NEAR(s.report.errors.objective, -21.0990902112, 1e-2);
}

TEST(FirstOrder, PublishedCoulombProblemsAreSolved) {
  StopRule stop = to_natural_map(0.0, 5000);
  stop.metric = Metric::siconos;
  stop.absolute_tolerance = 1e-8;
  for (const char* name : {"Capsules-i125-1213.hdf5", "OneObject-i100000-316.hdf5",
                           "local_problem_test.hdf5", "Rover9770.hdf5", "GFC3D_TwoRods1.hdf5"}) {
    const Solved s = solve(fclib_problem(name, ContactLaw::coulomb), apgd(stop));

    EXPECT_EQ(s.report.status, SolveStatus::converged) << name << ": " << s.report.reason;
  }
}

TEST(FirstOrder, RestartAndFrequentShiftsSaveProducts) {
  if (test::kSanitized) GTEST_SKIP() << "takes a quarter of a minute under the sanitizers";
  const SolverSettings settings = apgd(to_natural_map(1e-6, 20000));
  SolverSettings rare = settings, plain = settings;
  rare.apgd.shift_interval = 200;
  plain.apgd.restart = false;
  const auto products = [](const SolverSettings& s, ContactLaw law) {
    return solve(fclib_problem("Spheres-i099-356-679.hdf5", law), s).report.iterations;
  };

  EXPECT_GT(products(rare, ContactLaw::coulomb), 1.5 * products(settings, ContactLaw::coulomb));
  EXPECT_GT(products(plain, ContactLaw::ccp), 1.5 * products(settings, ContactLaw::ccp));
}

TEST(FirstOrder, BestIterateIsKeptWhereTheLastIsWorse) {
  StopRule stop = to_natural_map(0.0, 60);
  stop.check_interval = 1;
  Scene scene = test::box_stack(3, 0.4, kStep);
  scene.law = ContactLaw::ccp;
  const ConstraintProblem problem = test::whole(scene);
  // accelerated gradients do not fall in every step: stop where they have risen most
  const Solved all = solve(problem, apgd(stop));
  const auto energy = [&](std::size_t i) { return all.report.history[i].errors.energy; };
  std::size_t worst = 1;
  double best = energy(1), least = best;
  for (std::size_t i = 2; i < all.report.history.size(); ++i) {
    if (energy(i) / least > energy(worst) / best) {
      worst = i;
      best = least;
    }
    least = std::min(least, energy(i));
  }
  ASSERT_GT(energy(worst), 1.5 * best);
  stop.max_iterations = all.report.history[worst].iteration;

  const Solved kept = solve(problem, apgd(stop));
  stop.keep_best = false;
  const Solved last = solve(problem, apgd(stop));

  EXPECT_DOUBLE_EQ(kept.report.errors.energy, best);
  EXPECT_DOUBLE_EQ(last.report.errors.energy, energy(worst));
  EXPECT_NE(kept.report.reason.find("least energy"), std::string::npos) << kept.report.reason;
}

TEST(FirstOrder, SolutionAsGuessIsTheAnswer) {
  const ConstraintProblem problem =
      fclib_problem("OneObject-i100000-316.hdf5", ContactLaw::coulomb);
  const Solved first = solve(problem, apgd(to_natural_map(1e-10)));

  const Solved s = solve(problem, apgd(to_natural_map(1e-9)), first.impulses);

  EXPECT_EQ(s.report.iterations, 0) << s.report.reason;
}

TEST(FirstOrder, TimeIsLookedAtInEveryIteration) {
  StopRule stop = to_natural_map(0.0);
  stop.time_limit = 0.0;
  stop.check_interval = 1000;
  // a lower one comes to rest within the time, to the last bit
  Scene scene = test::box_stack(8, 0.4, kStep);
  StopRule late = stop;
  late.time_limit = 0.05;

  // a machine that stalls just at an evaluation ends the solve there
  std::array<bool, 2> between{};
  for (int tries = 0; tries < 5 && !(between[0] && between[1]); ++tries) {
    const auto both = run_both(test::whole(scene), late);
    for (std::size_t k = 0; k < both.size(); ++k) {
      EXPECT_EQ(both[k].report.status, SolveStatus::time_limit) << both[k].report.reason;
      between[k] = between[k] || both[k].report.iterations % 1000 != 0;
    }
  }
  EXPECT_TRUE(between[0] && between[1]);
}

TEST(FirstOrder, NanIsABreakdownAndWhatNothingMovesHasNoImpulse) {
  Scene scene = test::box_stack(2, 0.4, kStep);
  const GlobalId floor = scene.add_prescribed({Vec3(0, 0, -1), Vec3::Zero()});
  scene.add_contact(0, floor, Vec3::UnitZ(), Vec3::Zero(), Vec3::Zero(), 0.0, 0.5);
  ConstraintProblem problem = test::whole(scene);
  for (const Solved& s : run_both(problem, to_natural_map(0.0, 50)))
    EXPECT_EQ(s.impulses[s.impulses.size() - 3], 0.0);

  problem.bodies.free_velocity[8] = std::numeric_limits<double>::quiet_NaN();

  for (const Solved& s : run_both(problem, to_natural_map(1e-9)))
    EXPECT_EQ(s.report.status, SolveStatus::breakdown) << s.report.reason;
}

}  // namespace
}  // namespace catena
