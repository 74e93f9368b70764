// The pivoting solver: hand problems, friction boxes in closed form, Gauss-Seidel's converged
// answers, and what it refuses. On several ranks every rank solves problems of its own.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "catena/base/error.hpp"
#include "solvers/dantzig_cases.hpp"
#include "solvers/pivoting/sparse_operator.hpp"
#include "support/assembled.hpp"
#include "support/dense_reference.hpp"
#include "support/hand_problems.hpp"

namespace catena {
namespace {

using test::Scene;
using test::Solved;
using test::to_tolerance;

Solved solve_exactly(const ConstraintProblem& problem,
                     const SolverSettings& settings = to_tolerance(1e-12)) {
  return test::solve(problem, settings);
}

Solved by_gauss_seidel(const ConstraintProblem& problem) {
  SolverSettings settings;
  settings.joints.method = JointMethod::iterative;
  settings.stop = to_tolerance(1e-11, 100000).stop;
  return test::solve(problem, settings);
}

void expect_same(const ConstraintProblem& problem, const char* what) {
  const Solved s = solve_exactly(problem);
  const Solved reference = by_gauss_seidel(problem);

  EXPECT_EQ(s.report.status, SolveStatus::converged) << what << ": " << s.report.reason;
  EXPECT_EQ(reference.report.status, SolveStatus::converged) << what;
  // 1e-11 m/s of slip times the condition of what is left of N
  EXPECT_LT(test::distance(s.velocities, reference.velocities), 1e-8) << what;
}

/// A point mass of 2 kg that comes down on a plane with `v`, m/s.
ConstraintProblem falling_point(const Vec3& v, double friction, double cohesion, ContactLaw law) {
  Scene scene;
  scene.add_prescribed();
  scene.add_rigid(2.0, Vec3::Ones(), {v, Vec3::Zero()});
  scene.add_contact(0, 1, Vec3::UnitZ(), Vec3::Zero(), Vec3::Zero(), 0.0, friction).cohesion =
      cohesion;
  scene.contacts[0].tangent = Vec3::UnitX();
  return whole(scene, law);
}

TEST(Dantzig, BlockOnInclineSticksOrSlidesInClosedForm) {
  const double weight = 2.0 * test::kGravity * 0.01;
  for (const double friction : {0.6, 0.2}) {
    const Solved s = solve_exactly(test::block_on_incline(2.0, 0.5, friction, 0.01));

    EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
    const double normal = weight * std::cos(0.5);
    EXPECT_NEAR(s.impulses[0], normal, 1e-14);
    EXPECT_NEAR(s.impulses[1], std::min(weight * std::sin(0.5), friction * normal), 1e-14);
    EXPECT_NEAR(s.impulses[2], 0.0, 1e-14);
  }
}

TEST(Dantzig, BoxBoundsEachDirectionAndCoulombTheirLength) {
  // normal impulse 2 kg 1 m/s, pushed with 3 and 4 m/s: friction at its bounds; with cohesion
  // 0.5 N s the bound grows by mu 0.5
  for (const double cohesion : {0.0, 0.5}) {
    const double bound = 0.3 * (2.0 + cohesion);
    const Solved box =
        solve_exactly(falling_point(Vec3(3.0, 4.0, -1.0), 0.3, cohesion, ContactLaw::box));
    const Solved disc =
        solve_exactly(falling_point(Vec3(3.0, 4.0, -1.0), 0.3, cohesion, ContactLaw::coulomb));

    EXPECT_LT(test::distance(box.impulses, {2.0, -bound, -bound}), 1e-13);
    EXPECT_LT(test::distance(disc.impulses, {2.0, -0.6 * bound, -0.8 * bound}), 1e-12);
    EXPECT_EQ(disc.report.status, SolveStatus::converged) << disc.report.reason;
  }
  const Solved frictionless =
      solve_exactly(falling_point(Vec3(3.0, 4.0, -1.0), 0.3, 0.0, ContactLaw::frictionless));
  EXPECT_LT(test::distance(frictionless.impulses, {2.0, 0.0, 0.0}), 1e-14);
}

TEST(Dantzig, JointLimitAndMotorInClosedForm) {
  const double h = 0.01;
  const Solved joint = solve_exactly(test::whole(test::pendulum(2.0, 0.5, 0.8, h)));
  const Solved stop = solve_exactly(test::whole(test::limit(2.0, 0.0005, h)));
  SolverSettings energy{.method = SolverMethod::dantzig};  // natural_map does not see angular rows
  energy.stop.relative_tolerance = 1e-20;
  const Solved motor = solve_exactly(test::whole(test::motor(0.5, 4.0, 1.5)), energy);

  const double weight = 2.0 * test::kGravity * h;
  EXPECT_LT(test::distance(joint.impulses, {0.0, 0.0, weight * 0.5 / (0.5 + 2.0 * 0.64)}), 1e-13);
  EXPECT_LT(test::distance(stop.impulses, {2.0 * (test::kGravity * h - 0.0005 / h)}), 1e-13);
  EXPECT_LT(test::distance(motor.impulses, {1.5}), 1e-13);
}

TEST(Dantzig, AllKindsOfBlocksEqualTheDenseReference) {
  const ConstraintProblem problem = whole(test::mixed_ring(6, 3), ContactLaw::frictionless);
  const Solved s = solve_exactly(problem);
  const test::DenseSolution expected = test::solve_dense(problem);

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_LT(test::distance(s.velocities, expected.velocities), 1e-10);
}

TEST(Dantzig, OperatorIsThatOfTheDenseReference) {
  const ConstraintProblem problem = test::whole(test::mixed_ring(6, 4));
  const SymmetricRows n = sparse_operator(problem).symmetric;
  const Eigen::MatrixXd expected = test::dense_problem(problem).N;

  Eigen::MatrixXd found = Eigen::MatrixXd::Zero(expected.rows(), expected.cols());
  for (Eigen::Index i = 0; i < n.size(); ++i)
    for (auto e = n.row_begin[static_cast<std::size_t>(i)];
         e < n.row_begin[static_cast<std::size_t>(i) + 1]; ++e)
      found(i, n.column[static_cast<std::size_t>(e)]) += n.value[static_cast<std::size_t>(e)];
  EXPECT_LT((found - expected).norm(), 1e-13 * expected.norm());
}

TEST(Dantzig, PilesEqualGaussSeidel) {
  const Scene pile = test::sphere_pile(20, 50, 0.3, 0.005, 7);
  expect_same(whole(pile, ContactLaw::frictionless), "frictionless");
  expect_same(whole(pile, ContactLaw::box), "box");
  expect_same(whole(pile, ContactLaw::coulomb), "coulomb");
  expect_same(whole(test::with_couples(test::sphere_pile(8, 16, 0.3, 0.005, 7), 0.002, 0.001, 1e-3),
                    ContactLaw::box),
              "rolling, spinning and cohesion in boxes");
}

TEST(Dantzig, AssembledOperatorGivesTheSameImpulses) {
  const ConstraintProblem problem =
      whole(test::sphere_pile(12, 24, 0.3, 0.005, 5), ContactLaw::box);
  const Solved bodies = solve_exactly(problem);
  const Solved assembled = solve_exactly(test::assembled_problem(problem));

  EXPECT_EQ(assembled.report.status, SolveStatus::converged) << assembled.report.reason;
  double largest = 0.0;
  for (const double x : bodies.impulses) largest = std::max(largest, std::abs(x));
  EXPECT_LT(test::distance(assembled.impulses, bodies.impulses), 1e-8 * largest);
}

TEST(Dantzig, SaysThatRowsHangOnEachOther) {
  const Solved s = solve_exactly(whole(test::box_stack(3, 0.0, 0.01), ContactLaw::frictionless));

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_NE(s.report.reason.find("rows depend on each other"), std::string::npos)
      << s.report.reason;
  double carried = 0.0;  // by the four contacts on the ground: the weight of three cubes of 1 kg
  for (std::size_t k = 0; k < 4; ++k) carried += s.impulses[3 * k];
  EXPECT_NEAR(carried, 3.0 * test::kGravity * 0.01, 1e-12);
}

TEST(Dantzig, UnfinishedImpulsesStayWithinTheirBounds) {
  const ConstraintProblem problem =
      whole(test::sphere_pile(20, 50, 0.8, 0.005, 7), ContactLaw::coulomb);
  SolverSettings one = to_tolerance(1e-12, 1);
  one.stop.keep_best = false;
  const Solved s = solve_exactly(problem, one);

  EXPECT_EQ(s.report.status, SolveStatus::iteration_limit);
  EXPECT_GT(s.report.errors.natural_map, 1e-12);
  for (std::size_t k = 0; k < problem.contacts.size(); ++k) {
    EXPECT_GE(s.impulses[3 * k], 0.0);
    EXPECT_LE(std::hypot(s.impulses[3 * k + 1], s.impulses[3 * k + 2]),
              (1.0 + 1e-12) * 0.8 * s.impulses[3 * k]);
  }

  SolverSettings late = to_tolerance(1e-12);
  late.stop.time_limit = 0.0;
  EXPECT_EQ(solve_exactly(problem, late).report.status, SolveStatus::time_limit);
}

TEST(Dantzig, RefusesTheConvexLawAndSeveralRanks) {
  const Communicator world = Communicator::world();
  EXPECT_THROW(solve_exactly(whole(test::box_stack(1, 0.5, 0.01), ContactLaw::ccp)), Error);
  const test::LocalScene local = test::distribute(
      test::box_stack(2, 0.5, 0.01), world, test::slabs(world, test::box_stack(2, 0.5, 0.01)));
  if (world.size() > 1)
    EXPECT_THROW(solve_exactly(local.problem), Error);
  else
    EXPECT_NO_THROW(solve_exactly(local.problem));
}

}  // namespace
}  // namespace catena
