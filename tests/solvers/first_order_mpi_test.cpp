// Projected Jacobi and accelerated projected gradient on any number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "solvers/first_order/iterates.hpp"
#include "solvers/gauss_seidel/sweep_engine.hpp"
#include "support/fclib_problem.hpp"
#include "support/hand_problems.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

using test::distance;
using test::LocalScene;
using test::Scene;
using test::solve_with;
using test::Solved;

StopRule iterations(int n, double natural_map = 0.0) {
  StopRule stop = test::iterations(n);
  stop.absolute_tolerance = natural_map;
  stop.check_interval = 100;
  return stop;
}

std::vector<std::unique_ptr<Solver>> both(const StopRule& stop) {
  SolverSettings jacobi{.method = SolverMethod::jacobi};
  jacobi.stop = stop;
  SolverSettings apgd{.method = SolverMethod::apgd};
  apgd.stop = stop;
  std::vector<std::unique_ptr<Solver>> solvers;
  solvers.push_back(make_solver(jacobi));
  solvers.push_back(make_solver(apgd));
  return solvers;
}

/// Spheres of a pile, the first eight of them joined in a chain by spherical joints.
Scene pile_with_chain() {
  Scene scene = test::sphere_pile(24, 60, 0.5, 0.005, 3);
  scene.law = ContactLaw::ccp;
  for (GlobalId b = 1; b < 8; ++b) {
    test::SceneBlock joint;
    joint.kind = BlockKind::bilateral;
    joint.bodies = {b, b + 1};
    // v_b + w_b x (-r) - v_a - w_a x r, r = (l, 0, 0)
    const double l = 0.1;
    joint.jacobians = {{-1, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, -l, 0, 0, -1, 0, l, 0},
                       {1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, -l, 0, 0, 1, 0, l, 0}};
    joint.q = {0, 0, 0};
    scene.blocks.push_back(joint);
  }
  return scene;
}

class FirstOrderMpi : public testing::Test {
 protected:
  Communicator comm_ = Communicator::world();
};

TEST_F(FirstOrderMpi, IteratesAreThoseOfOneRank) {
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp}) {
    Scene scene = test::sphere_pile(40, 100, 0.5, 0.005, 3);
    scene.law = law;
    for (const std::unique_ptr<Solver>& solver : both(iterations(25))) {
      const Solved one = solve_with(*solver, distribute(scene, comm_, test::first_rank()));
      for (const test::Owner& owner : {test::slabs(comm_, scene), test::deal(comm_)}) {
        const Solved many = solve_with(*solver, distribute(scene, comm_, owner));

        EXPECT_EQ(many.report.iterations, 25);
        EXPECT_LT(distance(many.impulses, one.impulses), 1e-11) << solver->name();
      }
    }
  }
}

TEST_F(FirstOrderMpi, JointsAcrossRanksAreMetInEveryIterate) {
  const Scene scene = pile_with_chain();
  for (const std::unique_ptr<Solver>& solver : both(iterations(25))) {
    const Solved one = solve_with(*solver, distribute(scene, comm_, test::first_rank()));
    const Solved many = solve_with(*solver, distribute(scene, comm_, test::deal(comm_)));

    EXPECT_LT(distance(many.velocities, one.velocities), 1e-10) << solver->name();
    EXPECT_EQ(many.report.joints.joints, 7);
    for (const HistoryEntry& entry : many.report.history)
      EXPECT_LT(entry.errors.energy_joint, 1e-20) << solver->name();
  }
}

TEST_F(FirstOrderMpi, JointsDenseBodiesAndAllKindsOfRowsHaveTheVelocitiesOfOneRank) {
  Scene scene = test::mixed_ring(13, 11);
  scene.law = ContactLaw::ccp;
  SolverSettings settings{.method = SolverMethod::apgd};
  settings.stop = iterations(20000, 1e-11);
  for (const JointMethod method : {JointMethod::automatic, JointMethod::iterative}) {
    settings.joints.method = method;
    const Solved one =
        solve_with(*make_solver(settings), distribute(scene, comm_, test::first_rank()));
    const Solved many =
        solve_with(*make_solver(settings), distribute(scene, comm_, test::deal(comm_)));

    EXPECT_EQ(many.report.status, SolveStatus::converged) << many.report.reason;
    EXPECT_LT(distance(many.velocities, one.velocities), 1e-8);
  }
}

/// Estimates of batches beside evaluations of the same iterates.
TEST_F(FirstOrderMpi, LooksAreTheErrorsOfTheIterates) {
  for (const bool boxes : {false, true})
    for (const double cohesion : {0.0, 0.01}) {
      Scene scene =
          boxes ? test::box_stack(3, 0.4, 0.005) : test::sphere_pile(40, 100, 0.5, 0.005, 3);
      for (auto& contact : scene.contacts) contact.cohesion = cohesion;
      const LocalScene local = distribute(scene, comm_, test::slabs(comm_, scene));
      DelassusOperator op(local.problem);
      const std::unique_ptr<first_order::BodyIterates> iterates = first_order::make_body_iterates();
      const std::vector<double> zeros(local.problem.n_rows(), 0.0);
      iterates->start(local.problem, op, nullptr, 1.0, zeros);
      EXPECT_TRUE(iterates->knows_errors());
      EXPECT_EQ(iterates->errors_at_zero() != nullptr, cohesion == 0.0);
      StopRule evaluated = test::iterations(40);
      evaluated.metric = Metric::energy;
      evaluated.check_interval = 5;
      StopRule estimated = evaluated;
      estimated.history_set = estimated.report_set = ErrorSet::energy;
      const std::vector<HistoryEntry> expected =
          solve_with(*both(evaluated)[1], local).report.history;
      const std::vector<HistoryEntry> found = solve_with(*both(estimated)[1], local).report.history;

      EXPECT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
        SCOPED_TRACE(expected[i].iteration);
        EXPECT_EQ(found[i].iteration, expected[i].iteration);
        // estimates do not know natural maps; the last iterate is evaluated
        EXPECT_TRUE(std::isnan(found[i].errors.natural_map));
        EXPECT_NEAR(found[i].errors.energy_normal, expected[i].errors.energy_normal,
                    1e-10 * expected[0].errors.energy);
        EXPECT_NEAR(found[i].errors.energy_friction, expected[i].errors.energy_friction,
                    1e-10 * expected[0].errors.energy);
      }
    }
}

/// Batches that sweeps packed, with split masses and their own order, and swept.
TEST_F(FirstOrderMpi, WhatSweepsPackedGivesTheSameIterates) {
  for (Scene scene :
       {test::sphere_pile(40, 100, 0.5, 0.005, 3), test::box_stack(3, 0.4, 0.005),
        test::with_couples(test::sphere_pile(20, 50, 0.5, 0.005, 4), 0.02, 0.01, 1e-3),
        test::mixed_ring(13, 11)}) {
    const LocalScene local = distribute(scene, comm_, test::slabs(comm_, scene));
    const ConstraintProblem& problem = local.problem;
    DelassusOperator op(problem);
    const std::vector<double> zeros(problem.n_rows(), 0.0);
    const std::unique_ptr<HybridEngine> engine = make_hybrid_engine();
    engine->start(problem, op, {.local = {problem.law}, .kernels = plain_kernels()}, nullptr,
                  zeros);
    for (int sweep = 0; sweep < 3; ++sweep) engine->sweep(true);
    int asked = 0;
    const PackedBy packed = [&](const ConstraintProblem& of) {
      ++asked;
      return engine->packed(of);
    };
    const JointSolverSettings swept{.method = JointMethod::iterative};
    const auto own = make_apgd(iterations(25), swept, {});
    const auto borrowed = make_apgd(iterations(25), swept, {}, packed);

    const Solved expected = solve_with(*own, local);
    const Solved found = solve_with(*borrowed, local);

    EXPECT_EQ(asked, 1);
    EXPECT_TRUE(problem.n_blocks() == 0 || engine->packed(problem) != nullptr);
    EXPECT_LT(distance(found.impulses, expected.impulses), 1e-11);
    EXPECT_LT(distance(found.velocities, expected.velocities), 1e-10);
  }
}

TEST_F(FirstOrderMpi, AssembledOperatorHasTheIteratesOfOneRank) {
  const std::string file = "OneObject-i1028-138.hdf5";
  const ConstraintProblem part = test::fclib_problem(file, ContactLaw::coulomb, comm_);
  const ConstraintProblem whole = test::fclib_problem(file);
  const std::int64_t first = comm_.exclusive_sum(static_cast<std::int64_t>(part.n_rows()));
  for (const std::unique_ptr<Solver>& solver : both(iterations(25))) {
    std::vector<double> mine(static_cast<std::size_t>(part.n_rows()), 0.0);
    std::vector<double> all(static_cast<std::size_t>(whole.n_rows()), 0.0);
    solver->solve(part, mine, {});
    solver->solve(whole, all, {});

    for (std::size_t i = 0; i < mine.size(); ++i)
      EXPECT_NEAR(mine[i], all[static_cast<std::size_t>(first) + i], 1e-11) << solver->name();
  }
}

TEST_F(FirstOrderMpi, RanksWithoutBodiesTakePart) {
  Scene scene = test::sphere_pile(20, 50, 0.5, 0.005, 3);
  scene.law = ContactLaw::ccp;
  const int last = comm_.size() - 1;  // everything lies on the last rank but body 1
  const LocalScene local =
      distribute(scene, comm_, [&](GlobalId b) { return b == 1 && last > 1 ? 1 : last; });

  for (const std::unique_ptr<Solver>& solver : both(iterations(20000, 1e-8))) {
    const Solved s = solve_with(*solver, local);
    EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  }
}

TEST_F(FirstOrderMpi, NanOnOneRankIsABreakdownOnAll) {
  const Scene scene = test::sphere_pile(40, 100, 0.5, 0.005, 3);
  LocalScene local = distribute(scene, comm_, test::slabs(comm_, scene));
  if (comm_.rank() == comm_.size() - 1)
    local.problem.bodies.free_velocity[8] = std::numeric_limits<double>::quiet_NaN();

  for (const std::unique_ptr<Solver>& solver : both(iterations(100)))
    EXPECT_EQ(solve_with(*solver, local).report.status, SolveStatus::breakdown);
}

TEST_F(FirstOrderMpi, TimeLimitEndsAllRanksInTheSameIteration) {
  const Scene scene = test::sphere_pile(40, 100, 0.5, 0.005, 3);
  StopRule stop = iterations(std::numeric_limits<int>::max());
  stop.time_limit = 0.05;
  const LocalScene local = distribute(scene, comm_, test::deal(comm_));

  for (const std::unique_ptr<Solver>& solver : both(stop)) {
    const SolveReport report = solve_with(*solver, local).report;
    EXPECT_EQ(report.status, SolveStatus::time_limit) << report.reason;
    EXPECT_EQ(comm_.max(static_cast<std::int64_t>(report.iterations)), report.iterations);
  }
}

}  // namespace
}  // namespace catena
