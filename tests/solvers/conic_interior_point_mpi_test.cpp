// Interior point for the convex law over ranks.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "solvers/interior_point/conic_interior_point.hpp"
#include "support/hand_problems.hpp"

namespace catena {
namespace {

struct Result {
  ConicInteriorPoint::Report report;
  std::vector<double> impulses, velocities;
};

Result solve_conic_on_ranks(const ConstraintProblem& problem, double gap) {
  Result result;
  result.impulses.resize(static_cast<std::size_t>(problem.n_rows()), 0.0);
  result.velocities.resize(static_cast<std::size_t>(problem.bodies.n_dofs()));
  DelassusOperator op(problem);
  NewtonSystem system(problem, op, {}, "test");
  ConicInteriorPoint method(problem, op, system);
  ConicInteriorPoint::Goal goal;
  goal.gap = gap;
  result.report = method.solve({}, false, goal, result.impulses);
  op.velocities(result.impulses, result.velocities);
  return result;
}

/// Solved on one rank and on all: the same velocities, and reports that agree on every rank.
void expect_same(const test::Scene& scene, double gap, double tolerance) {
  const Communicator comm = Communicator::world();
  const Result one = solve_conic_on_ranks(test::whole(scene), gap);

  const test::LocalScene local = test::distribute(scene, comm, test::deal(comm));
  const Result all = solve_conic_on_ranks(local.problem, gap);

  const std::vector<double> found = test::gather_velocities(local, all.velocities);
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], one.velocities[i], tolerance) << i;
  EXPECT_EQ(all.report.outcome, one.report.outcome) << all.report.remark;
  EXPECT_NEAR(all.report.stages, one.report.stages, 1);
  EXPECT_EQ(comm.max(static_cast<std::int64_t>(all.report.stages)), all.report.stages);
  EXPECT_EQ(comm.max(all.report.gap), all.report.gap);
}

test::Scene convex(test::Scene scene) {
  scene.law = ContactLaw::ccp;
  return scene;
}

TEST(DistributedConicInteriorPoint, PileHasTheVelocitiesOfOneRank) {
  // a gap of 1e-12 is six digits of the velocities
  expect_same(convex(test::sphere_pile(12, 24, 0.4, 1e-3, 3)), 1e-12, 1e-5);
}

TEST(DistributedConicInteriorPoint, CouplesJointAndMotorHaveTheVelocitiesOfOneRank) {
  test::Scene scene = test::with_couples(test::sphere_pile(6, 9, 0.4, 1e-3, 3), 4e-3, 2e-3, 2e-3);
  // beside the pile a ball hung up at its centre by one on a slide, and turned by a motor
  const GlobalId ball =
      scene.add_rigid(2.0, Vec3::Constant(0.1), {Vec3(0, 0, -0.01), Vec3::Zero()});
  const GlobalId slide =
      scene.add_rigid(1.0, Vec3::Constant(0.1), {Vec3(1, 0, -0.01), Vec3::Zero()});
  const auto unit_rows = [](int rows, int first, double sign) {
    std::vector<double> g(static_cast<std::size_t>(6 * rows), 0.0);
    for (int i = 0; i < rows; ++i) g[static_cast<std::size_t>(7 * i + first)] = sign;
    return g;
  };
  test::SceneBlock joint;
  joint.bodies = {ball, slide};
  joint.jacobians = {unit_rows(3, 0, -1.0), unit_rows(3, 0, 1.0)};
  joint.q = {0.0, 0.0, 0.0};
  test::SceneBlock rail;
  rail.bodies = {slide};
  rail.jacobians = {unit_rows(1, 2, 1.0)};
  rail.q = {0.0};
  scene.blocks.push_back(rail);
  test::SceneBlock motor;
  motor.kind = BlockKind::boxed;
  motor.bodies = {ball};
  motor.jacobians = {unit_rows(1, 5, 1.0)};
  motor.q = {2.0};
  motor.lower = {-1e-3};
  motor.upper = {1e-3};
  motor.angular = {1};
  scene.blocks.push_back(joint);
  scene.blocks.push_back(motor);
  expect_same(convex(scene), 1e-12, 1e-5);
}

TEST(DistributedConicInteriorPoint, RanksWithoutBodiesOrContactsTakePart) {
  expect_same(convex(test::box_on_plane(0.5, 1e-3, 1.0)), 1e-12, 1e-5);
}

TEST(DistributedConicInteriorPoint, BreakdownOnOneRankIsOneOnAll) {
  const Communicator comm = Communicator::world();
  const test::Scene scene = convex(test::sphere_pile(24, 50, 0.4, 1e-3, 3));
  test::LocalScene local = test::distribute(scene, comm, test::deal(comm));
  if (comm.rank() == comm.size() - 1)
    local.problem.bodies.free_velocity.front() = std::numeric_limits<double>::quiet_NaN();

  const Result all = solve_conic_on_ranks(local.problem, 1e-12);

  EXPECT_EQ(all.report.outcome, ConicInteriorPoint::Outcome::breakdown);
}

}  // namespace
}  // namespace catena
