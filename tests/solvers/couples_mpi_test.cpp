// Rolling, spinning and cohesive contacts over ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/hand_problems.hpp"
#include "support/sanitized.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

using test::Scene;
using test::Solved;

SolverSettings to_energy(double energy) {
  SolverSettings settings;
  settings.stop = test::stop_at(Metric::energy, energy, 20000);
  return settings;
}

TEST(DistributedCouples, ConvergeToTheVelocitiesOfOneRank) {
  const Communicator comm = Communicator::world();
  constexpr double kEnergy = 1e-22;
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp}) {
    Scene scene = test::with_couples(
        test::sphere_pile(test::kSanitized ? 8 : 20, test::kSanitized ? 14 : 36, 0.4, 1e-3, 3),
        4e-3, 2e-3, 2e-3);
    scene.law = law;
    const test::LocalScene local = test::distribute(scene, comm, test::deal(comm));
    const ConstraintProblem whole = test::whole(scene);
    double lightest = 0.0;  // largest entry of M^-1
    for (const test::SceneBody& body : scene.bodies)
      for (const double m : body.inverse_mass) lightest = std::max(lightest, m);

    const Solved one = test::solve(whole, to_energy(kEnergy));
    const Solved many = test::solve_with(*make_solver(to_energy(kEnergy)), local);
    SolverSettings one_by_one = to_energy(kEnergy);  // without batches
    one_by_one.gauss_seidel.formulation = Formulation::residual;
    const Solved scalar = test::solve(whole, one_by_one);

    EXPECT_EQ(one.report.status, SolveStatus::converged) << one.report.reason;
    EXPECT_EQ(many.report.status, SolveStatus::converged) << many.report.reason;
    EXPECT_EQ(scalar.report.status, SolveStatus::converged) << scalar.report.reason;
    // each is off by the motion that has the energy error, times the problem's condition: 2 here
    const double apart = 10.0 * 2.0 * std::sqrt(2.0 * kEnergy * lightest);
    EXPECT_LE(test::distance(many.velocities, one.velocities), apart);
    EXPECT_LE(test::distance(many.velocities, scalar.velocities), apart);
  }
}

TEST(DistributedCouples, ConvexObjectiveFallsOverSubdomains) {
  const Communicator comm = Communicator::world();
  Scene scene = test::with_couples(test::sphere_pile(20, 40, 0.4, 1e-3, 3), 4e-3, 2e-3, 2e-3);
  scene.law = ContactLaw::ccp;
  const test::LocalScene local = test::distribute(scene, comm, test::deal(comm));
  SolverSettings settings = to_energy(0.0);
  settings.stop.max_iterations = 40;
  settings.stop.check_interval = 1;

  const SolveReport report = test::solve(local.problem, settings).report;

  EXPECT_EQ(report.history.size(), 41U);
  for (std::size_t i = 1; i < report.history.size(); ++i)
    EXPECT_LE(report.history[i].errors.objective, report.history[i - 1].errors.objective + 1e-15);
}

}  // namespace
}  // namespace catena
