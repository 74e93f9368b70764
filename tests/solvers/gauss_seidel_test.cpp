// Gauss-Seidel on one rank: hand problems, the dense reference, formulations, relaxation,
// sweep orders, subdomains in one process.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "catena/base/error.hpp"
#include "catena/solvers/solver_factory.hpp"
#include "support/assembled.hpp"
#include "support/dense_reference.hpp"
#include "support/hand_problems.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

using test::distance;
using test::Scene;
using test::solve;
using test::Solved;

/// To the natural map given, m/s; errors are looked at after every sweep.
SolverSettings to_tolerance(double natural_map, int max_iterations = 20000) {
  SolverSettings settings;
  settings.joints.method = JointMethod::iterative;  // the sweeps are what is tested here
  settings.stop = test::stop_at(Metric::natural_map, natural_map, max_iterations);
  return settings;
}

/// Exactly that many sweeps, and the last iterate.
SolverSettings sweeps(int n) {
  SolverSettings settings;
  settings.joints.method = JointMethod::iterative;  // the sweeps are what is tested here
  settings.stop = test::iterations(n);
  return settings;
}

ConstraintProblem pile(ContactLaw law, int n = 60, double friction = 0.5) {
  ConstraintProblem problem = whole(test::sphere_pile(n, 3 * n, friction, 0.005, 7));
  problem.law = law;
  return problem;
}

TEST(GaussSeidel, BlockOnInclineSticksIfFrictionExceedsTanOfTilt) {
  constexpr double kMass = 2.0, kTilt = 0.5, kStep = 0.01;
  const Solved s = solve(test::block_on_incline(kMass, kTilt, 0.6, kStep), to_tolerance(1e-14));

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  // at rest the impulse balances the weight: p = m g h (cos, sin, 0)
  const double weight = kMass * test::kGravity * kStep;
  EXPECT_NEAR(s.impulses[0], weight * std::cos(kTilt), 1e-14);
  EXPECT_NEAR(s.impulses[1], weight * std::sin(kTilt), 1e-14);
}

TEST(GaussSeidel, BlockOnInclineSlidesIfFrictionIsBelowTanOfTilt) {
  constexpr double kMass = 2.0, kTilt = 0.5, kStep = 0.01, kFriction = 0.3;
  const Solved s =
      solve(test::block_on_incline(kMass, kTilt, kFriction, kStep), to_tolerance(1e-14));

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  const double normal = kMass * test::kGravity * kStep * std::cos(kTilt);
  EXPECT_NEAR(s.impulses[0], normal, 1e-14);
  EXPECT_NEAR(s.impulses[1], kFriction * normal, 1e-14);
  // down the slope with g h (sin - mu cos)
  const double speed = test::kGravity * kStep * (std::sin(kTilt) - kFriction * std::cos(kTilt));
  EXPECT_NEAR(std::hypot(s.velocities[6], s.velocities[8]), speed, 1e-14);
}

TEST(GaussSeidel, PendulumsJointCarriesItsShareOfTheWeight) {
  const Solved s = solve(whole(test::pendulum(2.0, 0.1, 0.5, 0.01)), to_tolerance(1e-14));

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_EQ(s.report.iterations, s.report.history.back().iteration);
  EXPECT_NEAR(s.impulses[2], 2.0 * test::kGravity * 0.01 * 0.1 / (0.1 + 2.0 * 0.25), 1e-14);
}

TEST(GaussSeidel, RelaxedJointGoesThatPartOfTheWay) {
  SolverSettings settings = sweeps(1);
  settings.gauss_seidel.relaxation = 0.25;

  const Solved s = solve(whole(test::pendulum(2.0, 0.1, 0.5, 0.01)), settings);

  EXPECT_NEAR(s.impulses[2], 0.25 * 2.0 * test::kGravity * 0.01 * 0.1 / (0.1 + 2.0 * 0.25), 1e-14);
}

TEST(GaussSeidel, LimitAndMotorMeetTheirBounds) {
  // falling g h past a clearance c within the step: lambda = m (g h - c/h)
  const Solved stopped = solve(whole(test::limit(2.0, 0.0005, 0.01)), to_tolerance(1e-14));
  EXPECT_NEAR(stopped.impulses[0], 2.0 * (test::kGravity * 0.01 - 0.05), 1e-14);
  const Solved free = solve(whole(test::limit(2.0, 0.01, 0.01)), to_tolerance(1e-14));
  EXPECT_EQ(free.impulses[0], 0.0);
  // the natural map leaves angular rows out
  SolverSettings energy;
  energy.stop.relative_tolerance = energy.stop.absolute_tolerance = 0.0;
  const Solved strong = solve(whole(test::motor(0.5, 3.0, 10.0)), energy);
  EXPECT_NEAR(strong.impulses[0], 1.5, 1e-14);
  const Solved weak = solve(whole(test::motor(0.5, 3.0, 1.0)), energy);
  EXPECT_NEAR(weak.impulses[0], 1.0, 1e-14);
}

TEST(GaussSeidel, EveryLawAgreesWithTheDenseReferenceOnAPile) {
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::frictionless}) {
    const ConstraintProblem problem = pile(law, 20);
    const test::DenseSolution dense = test::solve_dense(problem, 1e-12);

    const Solved s = solve(problem, to_tolerance(1e-11, 200000));

    EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
    EXPECT_LT(distance(s.velocities, dense.velocities), 1e-8) << static_cast<int>(law);
  }
}

TEST(GaussSeidel, BoxLawAgreesWithTheDenseReferenceOnAPile) {
  const ConstraintProblem problem = pile(ContactLaw::box, 20);
  const test::DenseSolution dense = test::solve_dense(problem, 1e-12);

  const Solved s = solve(problem, to_tolerance(1e-11, 200000));

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_LT(distance(s.velocities, dense.velocities), 1e-8);
}

TEST(GaussSeidel, AllKindsOfBlocksAgreeWithTheDenseReference) {
  const ConstraintProblem problem = whole(test::mixed_ring(8, 3));
  const test::DenseSolution dense = test::solve_dense(problem, 1e-13);

  const Solved s = solve(problem, to_tolerance(1e-12, 200000));

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_LT(distance(s.velocities, dense.velocities), 1e-9);
}

TEST(GaussSeidel, RankDeficientBoxStackStands) {
  const Solved s = solve(whole(test::box_stack(3, 0.5, 0.01)), to_tolerance(1e-10, 100000));

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  for (const double v : s.velocities) EXPECT_NEAR(v, 0.0, 1e-7);
  double lowest = 0.0;  // normal impulses of the lowest joint carry all three cubes
  for (std::size_t k = 0; k < 4; ++k) lowest += s.impulses[3 * k];
  EXPECT_NEAR(lowest, 3.0 * test::kGravity * 0.01, 1e-6);
}

TEST(GaussSeidel, EveryLocalSolveReachesTheSameSolutionOnSpheres) {
  const ConstraintProblem problem = pile(ContactLaw::coulomb, 20);
  const Solved exact = solve(problem, to_tolerance(1e-11, 200000));
  for (const LocalSolve local : {LocalSolve::project, LocalSolve::sliding, LocalSolve::scalar}) {
    SolverSettings settings = to_tolerance(1e-11, 200000);
    settings.gauss_seidel.local = local;
    const Solved s = solve(problem, settings);
    EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
    EXPECT_LT(distance(s.velocities, exact.velocities), 1e-8) << static_cast<int>(local);
  }
  const ConstraintProblem convex = pile(ContactLaw::ccp, 20);
  SolverSettings cone = to_tolerance(1e-11, 200000);
  cone.gauss_seidel.local = LocalSolve::cone;
  EXPECT_LT(distance(solve(convex, cone).velocities,
                     solve(convex, to_tolerance(1e-11, 200000)).velocities),
            1e-8);
}

/// Two scenes whose contacts are packed in different ways: spheres, and cubes (full D).
class FormulationTest : public testing::TestWithParam<ContactLaw> {
 protected:
  static std::vector<ConstraintProblem> problems() {
    std::vector<ConstraintProblem> all;
    all.push_back(pile(GetParam(), 30));
    all.push_back(whole(test::box_stack(4, 0.4, 0.01)));
    all.push_back(whole(test::mixed_ring(7, 5)));
    for (ConstraintProblem& problem : all) problem.law = GetParam();
    // a push, so that the cubes slide and turn
    for (std::size_t i = 6; i < all[1].bodies.free_velocity.size(); ++i)
      all[1].bodies.free_velocity[i] += 0.02 * std::sin(static_cast<double>(i));
    return all;
  }
};

TEST_P(FormulationTest, VelocityResidualAndAccelerationGiveTheSameIterates) {
  for (const ConstraintProblem& problem : problems()) {
    for (const SweepOrder order : {SweepOrder::forward, SweepOrder::symmetric}) {
      SolverSettings settings = sweeps(20);
      settings.gauss_seidel.order = order;
      settings.gauss_seidel.relaxation = 0.9;
      const Solved velocity = solve(problem, settings);
      double scale = 0.0;
      for (const double x : velocity.impulses) scale = std::max(scale, std::abs(x));
      for (const Formulation f : {Formulation::residual, Formulation::acceleration}) {
        settings.gauss_seidel.formulation = f;
        const Solved other = solve(problem, settings);

        EXPECT_EQ(other.report.iterations, 20);
        EXPECT_LT(distance(other.impulses, velocity.impulses), 1e-12 * scale)
            << static_cast<int>(f) << " bodies " << problem.bodies.size();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Laws, FormulationTest,
                         testing::Values(ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box,
                                         ContactLaw::frictionless));

TEST(GaussSeidel, RelaxationChangesTheSweepsNeededButNotTheSolution) {
  const ConstraintProblem problem = pile(ContactLaw::frictionless, 100);
  const Solved plain = solve(problem, to_tolerance(1e-9));
  for (const double omega : {0.7, 1.3}) {
    SolverSettings settings = to_tolerance(1e-9);
    settings.gauss_seidel.relaxation = omega;
    const Solved relaxed = solve(problem, settings);
    EXPECT_EQ(relaxed.report.status, SolveStatus::converged) << relaxed.report.reason;
    EXPECT_LT(distance(relaxed.velocities, plain.velocities), 1e-6);
    if (omega < 1.0)
      EXPECT_GT(relaxed.report.iterations, plain.report.iterations);
    else
      EXPECT_LT(relaxed.report.iterations, plain.report.iterations);
  }
}

TEST(GaussSeidel, RelaxedFrictionReachesTheSameSolution) {
  const ConstraintProblem problem = pile(ContactLaw::ccp, 20);
  const Solved plain = solve(problem, to_tolerance(1e-10, 200000));
  for (const double omega : {0.7, 1.3}) {
    SolverSettings settings = to_tolerance(1e-10, 200000);
    settings.gauss_seidel.relaxation = omega;
    EXPECT_LT(distance(solve(problem, settings).velocities, plain.velocities), 1e-7);
  }
}

TEST(GaussSeidel, AllSweepOrdersReachTheSameSolutionByDifferentIterates) {
  const ConstraintProblem problem = pile(ContactLaw::ccp, 20);
  const Solved forward = solve(problem, to_tolerance(1e-10, 200000));
  const Solved one_forward = solve(problem, sweeps(3));
  for (const SweepOrder order : {SweepOrder::backward, SweepOrder::symmetric}) {
    SolverSettings settings = to_tolerance(1e-10, 200000);
    settings.gauss_seidel.order = order;
    EXPECT_LT(distance(solve(problem, settings).velocities, forward.velocities), 1e-7);
    SolverSettings few = sweeps(3);
    few.gauss_seidel.order = order;
    EXPECT_GT(distance(solve(problem, few).impulses, one_forward.impulses), 1e-6);
  }
}

TEST(GaussSeidel, WarmStartFromTheSolutionNeedsNoSweep) {
  const ConstraintProblem problem = pile(ContactLaw::coulomb, 40);
  const Solved cold = solve(problem, to_tolerance(1e-6));
  ASSERT_EQ(cold.report.status, SolveStatus::converged) << cold.report.reason;

  const Solved warm = solve(problem, to_tolerance(1e-6 * 1.001), cold.impulses);
  std::vector<double> near = cold.impulses;
  for (double& x : near) x *= 1.01;
  const Solved nearby = solve(problem, to_tolerance(1e-6), near);

  EXPECT_EQ(warm.report.iterations, 0);
  EXPECT_LT(nearby.report.iterations, cold.report.iterations);
}

TEST(GaussSeidel, InadmissibleFirstGuessIsMadeAdmissible) {
  const ConstraintProblem problem = test::block_on_incline(2.0, 0.5, 0.3, 0.01);

  const Solved s = solve(problem, to_tolerance(1e-14), {-1.0, 5.0, 3.0});

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_NEAR(s.impulses[0], 2.0 * test::kGravity * 0.01 * std::cos(0.5), 1e-14);
}

TEST(GaussSeidel, RunningErrorIsWhatTheBlocksFoundBeforeTheirTurn) {
  // one joint: its residual at the first turn is G V_free = fall of the point, g h
  const Solved s = solve(whole(test::pendulum(2.0, 0.1, 0.5, 0.01)), sweeps(1));

  const double fall = test::kGravity * 0.01;
  EXPECT_NEAR(s.report.history.back().running_error, fall * fall, 1e-15);
}

TEST(GaussSeidel, AssembledOperatorGivesTheBodyProblemsIterates) {
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp}) {
    // contacts are swept by body, those with the plane after those with cubes: put them so
    ConstraintProblem problem = whole(test::box_stack(4, 0.4, 0.01));
    std::rotate(problem.contacts.begin(), problem.contacts.begin() + 4,
                problem.contacts.begin() + 8);
    problem.law = law;
    for (std::size_t i = 6; i < problem.bodies.free_velocity.size(); ++i)
      problem.bodies.free_velocity[i] += 0.02 * std::sin(static_cast<double>(i));
    const ConstraintProblem assembled = test::assembled_problem(problem);

    const Solved bodies = solve(problem, sweeps(15));
    const Solved rows = solve(assembled, sweeps(15));

    EXPECT_LT(distance(bodies.impulses, rows.impulses), 1e-12);
    EXPECT_TRUE(rows.velocities.empty());
  }
}

TEST(GaussSeidel, RefusesWhatItCannotDo) {
  const ConstraintProblem problem = pile(ContactLaw::coulomb, 10);
  SolverSettings cone;
  cone.gauss_seidel.local = LocalSolve::cone;
  EXPECT_THROW(solve(problem, cone), Error);
  SolverSettings residual;
  residual.gauss_seidel.formulation = Formulation::residual;
  EXPECT_THROW(solve(test::assembled_problem(problem), residual), Error);
  const ConstraintProblem split =
      whole(test::sphere_pile(10, 20, 0.5, 0.005, 7), [](GlobalId b) { return Index(b % 2); });
  EXPECT_THROW(solve(split, residual), Error);
}

/// A pile whose spheres are cut by id into n subdomains.
ConstraintProblem pile_in(int n_subdomains, ContactLaw law, int n_spheres, double friction) {
  ConstraintProblem problem =
      whole(test::sphere_pile(n_spheres, 3 * n_spheres, friction, 0.005, 7),
            [=](GlobalId b) { return static_cast<Index>((b - 1) * n_subdomains / n_spheres); });
  problem.law = law;
  return problem;
}

/// Normal impulses of a column of three balls on a floor after two sweeps from zero, in units of a
/// ball's weight times the step; `subdomain` of each ball, from below.
std::array<double, 3> two_sweeps_of_column(std::array<Index, 3> subdomain) {
  constexpr double kMass = 2.0, kRadius = 0.1, kStep = 0.01;
  const Vec3 up = Vec3::UnitZ(), arm = kRadius * up;
  const double inertia = 0.4 * kMass * kRadius * kRadius;
  const Twist falling = {-test::kGravity * kStep * up, Vec3::Zero()};
  Scene scene;
  scene.law = ContactLaw::frictionless;
  scene.add_prescribed();
  for (GlobalId ball = 1; ball <= 3; ++ball) {
    scene.add_rigid(kMass, Vec3::Constant(inertia), falling);
    scene.add_contact(ball - 1, ball, up, arm, -arm, 0.0, 0.0);
  }
  const Solved s = solve(
      whole(scene, [=](GlobalId b) { return b == 0 ? Index{0} : subdomain[b - 1]; }), sweeps(2));
  const double weight = kMass * test::kGravity * kStep;
  return {s.impulses[0] / weight, s.impulses[3] / weight, s.impulses[6] / weight};
}

TEST(Subdomains, BlocksBetweenThemComeFirstAndSplitTheMassesThatSeveralOfThemMove) {
  // In the first sweep the lowest ball alone has a contact that closes, which holds it with weight
  // 1. In the second its contact with the next ball, between two subdomains, closes at g h.
  // The highest two in one subdomain: no body is split. D = 2/m, impulse 1/2, and of the speeds
  // that this leaves, g h / 2 each, the floor takes 1/2 and the contact above 1/4.
  const std::array<double, 3> pair = two_sweeps_of_column({0, 1, 1});
  // Each in its own: the middle ball's other contact moves it, too, so that it is split in two.
  // D = 1/m + 2/m, impulse 1/3, and the lowest ball has g h / 3 of its speed again.
  const std::array<double, 3> each = two_sweeps_of_column({0, 1, 2});

  const std::array<double, 3> of_pair = {1.5, 0.5, 0.25}, of_each = {4.0 / 3.0, 1.0 / 3.0, 0.0};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(pair[i], of_pair[i], 1e-14) << i;
    EXPECT_NEAR(each[i], of_each[i], 1e-14) << i;
  }
}

TEST(Subdomains, EveryNumberOfThemReachesTheSameVelocities) {
  const Solved one = solve(pile_in(1, ContactLaw::ccp, 30, 0.5), to_tolerance(1e-11, 200000));
  for (const int n : {2, 8, 30}) {
    const Solved s = solve(pile_in(n, ContactLaw::ccp, 30, 0.5), to_tolerance(1e-11, 200000));

    EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
    EXPECT_LT(distance(s.velocities, one.velocities), 1e-8) << n;
  }
}

TEST(Subdomains, ConvexObjectiveFallsInEverySweep) {
  for (const int n : {1, 8, 64}) {
    for (const ContactLaw law : {ContactLaw::ccp, ContactLaw::frictionless}) {
      SolverSettings settings = sweeps(60);
      settings.stop.check_interval = 1;
      const Solved s = solve(pile_in(n, law, 200, 0.5), settings);
      ASSERT_EQ(s.report.history.size(), 61U);
      for (std::size_t i = 1; i < s.report.history.size(); ++i) {
        const double before = s.report.history[i - 1].errors.objective;
        EXPECT_LE(s.report.history[i].errors.objective, before + 1e-13 * std::abs(before))
            << n << " subdomains, sweep " << i;
      }
    }
  }
}

TEST(Subdomains, FrictionlessPileInTwoHalvesNeedsAtMostAFifthMoreSweeps) {
  // 8 x 8 x 8 spheres by id on a lattice, cut in the middle of the height
  Scene scene = test::sphere_pile(512, 1536, 0.0, 0.005, 7);
  scene.law = ContactLaw::frictionless;
  const ConstraintProblem halves =
      whole(scene, [](GlobalId b) { return static_cast<Index>((b - 1) / 256); });

  const Solved one = solve(whole(scene), to_tolerance(1e-8));
  const Solved many = solve(halves, to_tolerance(1e-8));

  EXPECT_EQ(many.report.status, SolveStatus::converged) << many.report.reason;
  EXPECT_LE(many.report.iterations, 1.2 * one.report.iterations)
      << one.report.iterations << " sweeps of one";
}

TEST(GaussSeidel, SlightlyUnsymmetricBlockIsSolvedInOneSweep) {
  // gyroscopic terms: N = W of a rover's wheel
  ConstraintProblem problem(Communicator::self());
  AssembledOperator& op = problem.assembled.emplace();
  op.row_begin = {0, 3, 6, 9};
  op.column = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  op.value = {1.358e-2, -1.438e-4, 7.924e-4, -1.427e-4, 1.062e-1,
              5.370e-5, 7.917e-4,  5.353e-5, 1.413e-3};
  op.r = {-0.0542, -0.157, -0.1065};
  op.friction = {0.7};
  op.name = {0};

  const Solved s = solve(problem, sweeps(1));

  EXPECT_LT(s.report.errors.siconos, 1e-13);
}

TEST(Subdomains, DenseBodiesAndJointsAreSharedToo) {
  const ConstraintProblem one = whole(test::mixed_ring(9, 11));
  const ConstraintProblem many =
      whole(test::mixed_ring(9, 11), [](GlobalId b) { return static_cast<Index>(b % 4); });
  for (const Formulation f : {Formulation::velocity, Formulation::acceleration}) {
    SolverSettings settings = to_tolerance(1e-11, 200000);
    settings.gauss_seidel.formulation = f;
    const Solved a = solve(one, settings);
    const Solved b = solve(many, settings);

    EXPECT_EQ(b.report.status, SolveStatus::converged) << b.report.reason;
    EXPECT_LT(distance(a.velocities, b.velocities), 1e-8);
  }
}

}  // namespace
}  // namespace catena
