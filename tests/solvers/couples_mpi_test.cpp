// Rolling, spinning and cohesive contacts over ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "catena/solvers/solver_factory.hpp"
#include "support/hand_problems.hpp"
#include "support/sanitized.hpp"

namespace catena {
namespace {

SolverSettings settings_for(double tolerance) {
  SolverSettings settings;
  settings.stop.relative_tolerance = 0.0;
  settings.stop.absolute_tolerance = tolerance;
  settings.stop.max_iterations = 20000;
  return settings;
}

TEST(DistributedCouples, ConvergeToTheVelocitiesOfOneRank) {
  const Communicator comm = Communicator::world();
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp}) {
    test::Scene scene = test::with_couples(
        test::sphere_pile(test::kSanitized ? 8 : 20, test::kSanitized ? 14 : 36, 0.4, 1e-3, 3),
        4e-3, 2e-3, 2e-3);
    scene.law = law;
    const ConstraintProblem whole = test::whole(scene);
    std::vector<double> one(static_cast<std::size_t>(scene.n_rows()), 0.0);
    std::vector<double> expected(static_cast<std::size_t>(scene.n_dofs()));
    make_solver(settings_for(1e-22))->solve(whole, one, expected);

    const test::LocalScene local = test::distribute(scene, comm, test::deal(comm));
    std::vector<double> impulses(local.row.size(), 0.0), velocities(local.dof.size());
    const SolveReport report =
        make_solver(settings_for(1e-22))->solve(local.problem, impulses, velocities);

    EXPECT_EQ(report.status, SolveStatus::converged) << report.reason;
    const std::vector<double> found = test::gather_velocities(local, velocities);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-7) << i;
  }
}

TEST(DistributedCouples, ConvexObjectiveFallsOverSubdomains) {
  const Communicator comm = Communicator::world();
  test::Scene scene = test::with_couples(test::sphere_pile(20, 40, 0.4, 1e-3, 3), 4e-3, 2e-3, 2e-3);
  scene.law = ContactLaw::ccp;
  const test::LocalScene local = test::distribute(scene, comm, test::deal(comm));
  SolverSettings settings = settings_for(0.0);
  settings.stop.max_iterations = 40;
  settings.stop.check_interval = 1;
  std::vector<double> impulses(local.row.size(), 0.0), velocities(local.dof.size());

  const SolveReport report = make_solver(settings)->solve(local.problem, impulses, velocities);

  ASSERT_EQ(report.history.size(), 41u);
  for (std::size_t i = 1; i < report.history.size(); ++i)
    EXPECT_LE(report.history[i].errors.objective, report.history[i - 1].errors.objective + 1e-15);
}

}  // namespace
}  // namespace catena
