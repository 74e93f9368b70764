// Interior point and proximal Newton on any number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "catena/solvers/interior_point.hpp"
#include "solvers/newton/proximal_newton.hpp"
#include "support/hand_problems.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

using test::distance;
using test::LocalScene;
using test::Scene;
using test::solve_with;
using test::Solved;

constexpr double kStep = 0.005;

std::unique_ptr<Solver> interior_point(double natural_map) {
  return make_interior_point(test::stop_at(Metric::natural_map, natural_map));
}

std::unique_ptr<Solver> proximal_newton(double natural_map) {
  return make_proximal_newton(test::stop_at(Metric::natural_map, natural_map));
}

/// A stack whose lowest cube hangs on a joint: contacts and bilateral rows.
Scene jointed_stack() {
  Scene scene = test::box_stack(4, 0.5, kStep);
  test::SceneBlock block;
  block.bodies = {3};
  block.jacobians = {{1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}};
  block.q = {0.02, 0.0};
  scene.blocks.push_back(block);
  return scene;
}

class InteriorPointMpi : public testing::Test {
 protected:
  Communicator comm_ = Communicator::world();

  void expect_velocities_of_one_rank(const Scene& scene, Solver& solver) {
    const Solved one = solve_with(solver, distribute(scene, comm_, test::first_rank()));
    const Solved many = solve_with(solver, distribute(scene, comm_, test::deal(comm_)));

    EXPECT_EQ(one.report.status, SolveStatus::converged) << one.report.reason;
    EXPECT_EQ(many.report.status, SolveStatus::converged) << many.report.reason;
    EXPECT_LT(distance(many.velocities, one.velocities), 1e-7) << many.report.reason;
  }
};

TEST_F(InteriorPointMpi, VelocitiesAreThoseOfOneRank) {
  for (const ContactLaw law : {ContactLaw::ccp, ContactLaw::coulomb}) {
    for (Scene scene : {test::sphere_pile(12, 30, 0.5, kStep, 7), jointed_stack()}) {
      scene.law = law;
      expect_velocities_of_one_rank(scene, *interior_point(1e-9));
    }
  }
}

TEST_F(InteriorPointMpi, ProximalNewtonHasTheVelocitiesOfOneRank) {
  expect_velocities_of_one_rank(jointed_stack(), *proximal_newton(1e-9));
}

TEST_F(InteriorPointMpi, NaNOnOneRankIsABreakdownOnAll) {
  LocalScene local = distribute(jointed_stack(), comm_, test::deal(comm_));
  // on the last rank that has a body to spoil
  const bool has_bodies = local.problem.bodies.n_owned > 0;
  const auto rank = static_cast<std::int64_t>(comm_.rank());
  if (comm_.max(has_bodies ? rank : std::int64_t{-1}) == rank)
    local.problem.bodies.free_velocity.front() = std::numeric_limits<double>::quiet_NaN();

  EXPECT_EQ(solve_with(*interior_point(1e-9), local).report.status, SolveStatus::breakdown);
}

TEST_F(InteriorPointMpi, TimeLimitEndsTheSolveOnAllRanks) {
  const LocalScene local = distribute(jointed_stack(), comm_, test::deal(comm_));
  StopRule stop = test::stop_at(Metric::natural_map, 1e-15);
  stop.time_limit = 0.0;

  EXPECT_EQ(solve_with(*make_interior_point(stop), local).report.status, SolveStatus::time_limit);
}

}  // namespace
}  // namespace catena
