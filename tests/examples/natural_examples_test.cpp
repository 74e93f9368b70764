// The examples of the stepper natural in configs/examples do what their first lines say.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>

#include "examples/example_runs.hpp"
#include "support/gravity.hpp"
#include "support/reference.hpp"

namespace catena::test {
namespace {

double coordinate(const Simulation& sim, const std::string& name) {
  for (std::size_t j = 0; j < sim.bodies().joints.size(); ++j)
    if (sim.model().joint_names.name_of(sim.bodies().joints[j].id) == name)
      return sim.stepper().joint_coordinates(sim.bodies(), sim.state(), j)[0];
  throw std::runtime_error("no joint " + name);
}

void run_to(
    Simulation& sim, double t, const std::function<void(const StepReport&)>& look = [](auto&) {}) {
  const std::int64_t last = std::llround(t / sim.settings().time.step);
  while (sim.state().step < last) look(sim.step());
}

TEST(Andrews, CrankIsWhereTheTestSetOfInitialValueProblemsHasIt) {
  const auto sim = example("andrews");
  double misfit = 0.0, unexplained = 0.0;
  std::size_t most_redundant = 0, least_redundant = 100;

  run_to(*sim, 0.03, [&](const StepReport& r) {
    misfit = std::max({misfit, r.misfit.linear, r.misfit.angular});
    unexplained = std::max(unexplained, std::abs(r.energy_residual));
    most_redundant = std::max(most_redundant, r.solve.joints.redundant.size());
    least_redundant = std::min(least_redundant, r.solve.joints.redundant.size());
  });

  // Mazzia and Magherini, Test Set for Initial Value Problem Solvers (2008), II-4: beta and Theta,
  // the latter the angle of k2 to k1; it turns with 1,140 rad/s
  const double beta = 15.81077119629904 + 0.06171389001427645, theta = -15.75637105984298;
  std::printf("andrews: crank off by %.1e rad, misfit %.1e, energy %.1e J\n",
              coordinate(*sim, "o") - beta, misfit, unexplained);
  EXPECT_NEAR(coordinate(*sim, "o"), beta, 1e-6);
  EXPECT_NEAR(coordinate(*sim, "f"), theta, 1e-6);
  EXPECT_LT(misfit, 1e-8);
  EXPECT_LT(unexplained, 1e-6);  // of 1.96 J
  EXPECT_EQ(most_redundant, 9u);
  EXPECT_EQ(least_redundant, 9u);
  const double work = 0.033 * coordinate(*sim, "o");
  EXPECT_NEAR(sim->stepper().report().audit[EnergyTerm::external_work], work, 1e-8);
}

TEST(FlyballGovernor, SliderRisesAsItsReferenceAndMomentumAboutTheShaftStays) {
  const ReferenceSeries ref = read_reference("A05_flyball");
  const auto sim = example("flyball_governor");
  const double momentum = read_values("A05_flyball").at("Lz");
  double change = 0.0, unexplained = 0.0, misfit = 0.0, off = 0.0, highest = 0.0;

  for (std::size_t row = 1; row < ref.rows.size() && ref.at(row, "t") < 1.0; ++row) {
    run_to(*sim, ref.at(row, "t"), [&](const StepReport& r) {
      change = std::max(change, std::abs(r.angular_momentum.z() - momentum));
      unexplained = std::max(unexplained, std::abs(r.energy_residual));
      misfit = std::max({misfit, r.misfit.linear, r.misfit.angular});
    });
    highest = std::max(highest, named(*sim, "slider").pose.p.z());
    off = std::max(off, std::abs(named(*sim, "slider").pose.p.z() - ref.at(row, "s")));
  }

  std::printf("governor: slider off by %.1e m, momentum by %.1e, energy %.1e J\n", off,
              change / momentum, unexplained);
  EXPECT_GT(highest, 0.74);
  EXPECT_LT(off, 1e-10);
  EXPECT_LT(change, 1e-11 * momentum);
  // of 239 J; left by the first steps, in which the dampers' motion decays
  EXPECT_LT(unexplained, 1e-6);
  EXPECT_LT(misfit, 1e-12);
}

/// d(angle, rate)/dt of four_bars' cranks, lagging the vertical by `angle`: their one freedom has
/// the inertia (N + 1) m l^2/3 + N m l^2 and the weight of (N + 1) m at l/2 and N m at l.
std::array<double, 2> change_of(const std::array<double, 2>& y) {
  constexpr double kLoops = 40.0;
  constexpr double kInertia = (kLoops + 1.0) / 3.0 + kLoops;
  constexpr double kMoment = kG * ((kLoops + 1.0) / 2.0 + kLoops);
  return {y[1], kMoment / kInertia * std::sin(y[0])};
}

TEST(FourBars, AllCranksTurnAsThePendulumOfTheirOneFreedom) {
  const auto sim = example("four_bars");
  constexpr int kParts = 40;
  const double h = sim->settings().time.step / kParts;
  std::array<double, 2> y = {0.0, 1.0};
  double off = 0.0, rate_off = 0.0, apart = 0.0, misfit = 0.0, unexplained = 0.0;
  int in_line = 0;
  std::size_t redundant = 0;

  run_to(*sim, 2.0, [&](const StepReport& r) {
    const double before = std::cos(y[0]);
    for (int part = 0; part < kParts; ++part) {
      const auto stage = [&](const std::array<double, 2>& k, double w) {
        return change_of({y[0] + w * k[0], y[1] + w * k[1]});
      };
      const auto k1 = change_of(y), k2 = stage(k1, 0.5 * h), k3 = stage(k2, 0.5 * h),
                 k4 = stage(k3, h);
      for (std::size_t d = 0; d < 2; ++d)
        y[d] += h / 6.0 * (k1[d] + 2.0 * k2[d] + 2.0 * k3[d] + k4[d]);
    }
    in_line += before * std::cos(y[0]) < 0.0;
    for (const int crank : {0, 17, 40}) {
      const BodyMotionState& s = named(*sim, "crank-" + std::to_string(crank));
      const Vec3 along = s.pose.q * Vec3::UnitZ();
      off = std::max(off, (along - Vec3(std::sin(y[0]), 0.0, std::cos(y[0]))).norm());
      rate_off = std::max(rate_off, std::abs(s.twist.w.y() - y[1]));
    }
    apart = std::max(apart, (named(*sim, "bar-39").twist.v - named(*sim, "bar-0").twist.v).norm());
    misfit = std::max({misfit, r.misfit.linear, r.misfit.angular});
    unexplained = std::max(unexplained, std::abs(r.energy_residual));
    redundant = std::max(redundant, r.solve.joints.redundant.size());
  });

  std::printf(
      "four bars: angle off by %.1e, rate by %.1e rad/s, apart %.1e m/s, misfit %.1e, "
      "energy %.1e J, in line %d times\n",
      off, rate_off, apart, misfit, unexplained, in_line);
  EXPECT_EQ(in_line, 2);  // down and, on the other side, up
  EXPECT_LT(off, 1e-7);
  EXPECT_LT(rate_off, 1e-6);
  EXPECT_LT(apart, 1e-6);
  EXPECT_LT(misfit, 2e-9);
  EXPECT_LT(unexplained, 1e-5);              // of 1,200 J that the fall sets free
  EXPECT_EQ(redundant, kMaxRedundantNamed);  // of 3 in each of 40 loops
}

TEST(ChainRelease, ItsFreePartFallsLevelWhileTheBendRunsDownFromTheAnchor) {
  const auto sim = example("chain_release");
  const double h = sim->settings().time.step, t = 0.4;
  double mass = 0.0, off = 0.0, misfit = 0.0, fell = 0.0;
  for (const BodyConstants& body : sim->bodies().constants) mass += body.mass;
  ASSERT_EQ(sim->bodies().constants.size(), 1000u);
  Vec3 before = Vec3::Zero();

  run_to(*sim, t, [&](const StepReport& r) {
    // what the anchor (joint 0) and the weight give is the momentum
    const Vec3 given = sim->stepper().joint_reaction(0).impulse - h * mass * kG * Vec3::UnitZ();
    off = std::max(off, (r.linear_momentum - before - given).norm());
    before = r.linear_momentum;
    misfit = std::max(misfit, r.misfit.linear);
  });

  // nothing but gravity acts across the straight part, and it stays straight and rigid
  const Vec3 free = body_of(*sim, 999).twist.v;
  EXPECT_NEAR(free.z(), -kG * t, 1e-7 * kG * t);
  double apart = 0.0;
  for (const GlobalId link : {500, 700, 900}) {
    apart = std::max(apart, (body_of(*sim, link).twist.v - free).norm());
    fell = std::max(fell, std::abs(body_of(*sim, link).pose.p.z() + 0.5 * kG * t * t));
  }
  const StepReport& r = sim->stepper().report();
  std::printf(
      "chain release: momentum off by %.1e, free part apart %.1e m/s, fell off by %.1e m, "
      "misfit %.1e m, energy %.1e J\n",
      off, apart, fell, misfit, r.energy_residual);
  EXPECT_LT(apart, 1e-7 * kG * t);
  EXPECT_LT(fell, 1e-8);
  EXPECT_LT(off, 1e-6 * mass * kG * h);
  EXPECT_LT(misfit, 1e-10 * 0.1);
  EXPECT_LT(std::abs(r.energy_residual), 1e-9 * mass * kG * 50.0);
  EXPECT_LT((body_of(*sim, 0).pose.q * Vec3::UnitX()).z(), -0.2);  // the first link leans
}

}  // namespace
}  // namespace catena::test
