// Packings whose sweeps circle: mixing with a long memory, restless contacts, and auto.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "catena/constraints/block_diagonal.hpp"
#include "solvers/batches/simd/dispatch.hpp"
#include "solvers/gauss_seidel/sweep_engine.hpp"
#include "solvers/patches/deep_mixing.hpp"
#include "solvers/patches/patched_sweeps.hpp"
#include "solvers/patches/restless_contacts.hpp"
#include "support/hand_problems.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

/// Spheres whose contacts give by 0.4 % of what they move.
test::Scene soft_pile(int spheres, int contacts, double friction, std::uint64_t seed) {
  test::Scene scene = test::sphere_pile(spheres, contacts, friction, 5e-3, seed);
  const ConstraintProblem rigid = test::whole(scene);
  for (std::size_t k = 0; k < scene.contacts.size(); ++k) {
    const auto d = cone_diagonal(rigid, to_index(k));
    scene.contacts[k].compliance = 0.004 * d[0];
    scene.contacts[k].tangent_compliance = 0.004 * d[1];
  }
  return scene;
}

StopRule to_a_millionth(int iterations) {
  StopRule stop;
  stop.relative_tolerance = 1e-6;
  stop.absolute_tolerance = 0.0;
  stop.max_iterations = iterations;
  return stop;
}

/// Energy error over that at zero impulses, by the evaluator.
double error_left(const ConstraintProblem& problem, const std::vector<double>& impulses) {
  DelassusOperator op(problem);
  ErrorEvaluator evaluator(problem, op);
  return evaluator.evaluate(impulses).energy / evaluator.evaluate_zero().energy;
}

// y -> M y + b turns by 0.3 and grows by 1.1 in three planes: sweeps leave the fixed point
TEST(DeepMixing, FindsAFixedPointThatIteratesLeave) {
  const Communicator comm = Communicator::world();
  const double cosine = 1.1 * std::cos(0.3), sine = 1.1 * std::sin(0.3);
  const auto next = [&](const std::vector<double>& y) {
    std::vector<double> g(y.size());
    for (std::size_t i = 0; i < y.size(); i += 2) {
      const double grows = static_cast<double>(i + 2) / 6.0;
      g[i] = grows * (cosine * y[i] - sine * y[i + 1]) + 1.0;
      g[i + 1] = grows * (sine * y[i] + cosine * y[i + 1]) - 2.0;
    }
    return g;
  };
  std::vector<double> y = {5.0, 1.0, -3.0, 2.0, 4.0, 4.0};
  DeepMixing mixing(comm, {1.0, 2.0, 1.0, 0.5, 3.0, 1.0});
  mixing.begin(y);

  for (int k = 0; k < 12; ++k) {
    const std::span<const double> mixed = mixing.next(next(y));
    y.assign(mixed.begin(), mixed.end());
  }

  EXPECT_LE(test::distance(next(y), y), 1e-9);
  EXPECT_LE(mixing.change(), 1e-15);
}

/// Rigid, rolling and explicit contacts.
test::Scene all_batches() {
  test::Scene scene = soft_pile(24, 50, 0.6, 11);
  for (int i = 0; i < 10; ++i) {
    scene.blocks.push_back(test::wide_block(scene.contacts.back(), i % 2 ? 0.01 : -1.0,
                                            i % 3 ? 0.02 : -1.0, 0.01 * i));
    scene.contacts.pop_back();
  }
  scene.contacts[3].cohesion = 0.05;
  scene.contacts[5].arm_a += Vec3(0.01, 0.02, 0.0);
  return scene;
}

TEST(SweepEngine, GoesOnFromLoadedImpulsesAsANewOneDoes) {
  const Communicator comm = Communicator::world();
  const test::Scene scene = all_batches();
  const test::LocalScene local = test::distribute(scene, comm, test::slabs(comm, scene));
  const ConstraintProblem& problem = local.problem;
  DelassusOperator op(problem);
  SweepOptions options;
  options.kernels = choose_kernels(KernelPath::automatic);
  std::vector<double> given(problem.n_rows(), 0.0);
  const auto engine = make_hybrid_engine();
  engine->start(problem, op, options, nullptr, given);
  for (int k = 0; k < 3; ++k) engine->sweep(true);
  engine->store_impulses(given);

  for (int k = 0; k < 4; ++k) engine->sweep(true);
  engine->load(op, given);
  const auto fresh = make_hybrid_engine();
  fresh->start(problem, op, options, nullptr, given);
  std::vector<double> loaded(given.size()), expected(given.size());
  engine->store_impulses(loaded);
  EXPECT_LE(test::distance(loaded, given), 1e-13);
  for (int k = 0; k < 2; ++k) {
    engine->sweep(true);
    fresh->sweep(true);
  }
  engine->store_impulses(loaded);
  fresh->store_impulses(expected);

  EXPECT_LE(test::distance(loaded, expected), 1e-12);
}

TEST(RestlessContacts, AreGroupedByBodiesThatNoOtherRankKnows) {
  const Communicator comm = Communicator::world();
  const test::Scene scene = soft_pile(40, 90, 1.0, 5);
  const test::LocalScene local = test::distribute(scene, comm, test::slabs(comm, scene));
  const ConstraintProblem& problem = local.problem;
  RestlessContacts restless(problem);
  std::vector<double> impulses(problem.n_rows(), 0.0);
  restless.begin(impulses);
  for (double& x : impulses) x += 1.0;
  restless.note(impulses);

  const std::vector<std::vector<Index>> groups = restless.groups();

  std::vector<int> group_of_body(problem.bodies.size(), -1);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    EXPECT_LE(groups[g].size(), RestlessContacts::kMost);
    for (const Index k : groups[g]) {
      for (const Index body : {problem.contacts[k].body_a, problem.contacts[k].body_b}) {
        if (problem.bodies.is_prescribed(body)) continue;
        EXPECT_LT(body, problem.bodies.n_owned);
        for (const HaloPlan::Neighbour& other : problem.ghosts.neighbours)
          for (const Index sent : other.send) EXPECT_NE(body, sent);
        int& group = group_of_body[body];
        EXPECT_TRUE(group == -1 || group == static_cast<int>(g)) << "two groups share a body";
        group = static_cast<int>(g);
      }
    }
  }
  EXPECT_TRUE(comm.size() > 1 || !groups.empty());
}

// sweeps alone do not get there in ten times the work
TEST(PatchedSweeps, SolvePilesWhoseSweepsCircle) {
  for (const std::uint64_t seed : {3, 7, 126, 135}) {
    const ConstraintProblem problem = test::whole(soft_pile(60, 150, 1.0, seed));
    SolverSettings sweeps;
    sweeps.stop = to_a_millionth(5000);
    const test::Solved circling = test::solve(problem, sweeps);

    const auto engine = make_hybrid_engine();
    const test::Solved solved =
        test::solve_with(*make_patched_sweeps(to_a_millionth(4000), {}, *engine), problem);

    EXPECT_GT(error_left(problem, circling.impulses), 1e-5) << seed;
    EXPECT_EQ(solved.report.status, SolveStatus::converged) << solved.report.reason;
    EXPECT_LE(error_left(problem, solved.impulses), 1e-6) << seed;
    EXPECT_EQ(solved.report.reason.find(" 0 patches"), std::string::npos) << solved.report.reason;
  }
}

TEST(PatchedSweeps, AutoTakesThemOnAnyNumberOfRanks) {
  const Communicator comm = Communicator::world();
  const test::Scene scene = soft_pile(60, 150, 1.0, 3);
  SolverSettings settings;
  settings.method = SolverMethod::automatic;
  settings.stop.absolute_tolerance = 0.0;
  for (const bool one_rank : {true, false}) {
    const test::LocalScene local =
        test::distribute(scene, comm, one_rank ? test::first_rank() : test::slabs(comm, scene));
    const test::Solved found = test::solve_with(*make_solver(settings), local.problem);
    const test::Solved again = test::solve_with(*make_solver(settings), local.problem);

    EXPECT_EQ(found.report.status, SolveStatus::converged) << found.report.reason;
    EXPECT_LE(error_left(local.problem, found.impulses), 1e-6);
    EXPECT_NE(found.report.choice.find("patches"), std::string::npos) << found.report.choice;
    EXPECT_EQ(test::distance(found.impulses, again.impulses), 0.0);
  }
}

TEST(PatchedSweeps, LeaveProblemsThatDoNotCircleAlone) {
  const Communicator comm = Communicator::world();
  const auto takes = [&](const test::Scene& scene) {
    return may_patch(test::distribute(scene, comm, test::slabs(comm, scene)).problem);
  };
  EXPECT_TRUE(takes(soft_pile(30, 60, 0.5, 1)));
  EXPECT_FALSE(takes(soft_pile(30, 60, 0.0, 1)));
  EXPECT_FALSE(takes(test::sphere_pile(30, 60, 0.5, 5e-3, 1)));
  test::Scene convex = soft_pile(30, 60, 0.5, 1);
  convex.law = ContactLaw::ccp;
  EXPECT_FALSE(takes(convex));
  EXPECT_FALSE(takes(test::pendulum(1.0, 1.0, 0.5, 5e-3)));
}

}  // namespace
}  // namespace catena
