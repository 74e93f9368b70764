// Whole steps over ranks: a periodic box.
#include <gtest/gtest.h>

#include "catena/base/random.hpp"
#include "stepper/hand_run.hpp"

namespace catena {
namespace {

using namespace test;

TEST(PeriodicStep, AGasKeepsItsMomentumAndStaysInTheBox) {
  const Communicator comm = Communicator::world();
  Model model = periodic_model();
  std::vector<BodyRecord> scene;
  Vec3 momentum = Vec3::Zero();
  for (int i = 0; i < 64; ++i) {
    const auto k = static_cast<std::uint64_t>(i);
    const Vec3 v(uniform_pm1(3, k, 0), uniform_pm1(3, k, 1), uniform_pm1(3, k, 2));
    scene.push_back(ball(
        i, 0.2, Vec3(0.5 * (i % 4) + 0.25, 0.5 * (i / 4 % 4) - 0.75, 0.5 * (i / 16)), 2.0 * v));
    momentum += scene.back().constants.mass * 2.0 * v;
  }
  HandRun run(comm, model, scene);

  const StepReport& r = run.steps(200);

  EXPECT_GT(r.audit[EnergyTerm::dissipation_impact], 1.0);  // they did meet
  EXPECT_NEAR((r.linear_momentum - momentum).norm(), 0.0, 1e-12);
  EXPECT_NEAR(r.energy_residual, 0.0, 1e-11);
  for (const BodyMotionState& s : run.state.body) {
    EXPECT_TRUE(s.pose.p.x() >= 0.0 && s.pose.p.x() <= 2.0);
    EXPECT_TRUE(s.pose.p.y() >= -1.0 && s.pose.p.y() <= 1.0);
  }
}

}  // namespace
}  // namespace catena
