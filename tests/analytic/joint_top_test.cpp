// One body on one joint beside closed forms: pendulum (A01, H01), tops (C02, C03).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "analytic/joint_case.hpp"
#include "support/gravity.hpp"

namespace catena::test {
namespace {

TEST(Pendulum, SwingsByEllipticFunctionsToFirstOrderAndDriftsByWhatSpookLetsItTo) {
  const ReferenceSeries ref = read_reference("A01_simple_pendulum");
  std::vector<JointRun> runs;
  for (const double h : {0.005, 0.0025, 0.00125, 0.000625}) {
    runs.push_back(
        run_beside("pendulum", h, ref, 10.0, [&](const Simulation& sim, std::size_t row) {
          const BodyMotionState& s = body_of(sim, 0);
          const double theta_ref = ref.at(row, "theta");
          // the joint's coordinate is 0 at the start, where the rod is level
          const double theta = sim.state().joints[0].angle[0] - 0.5 * std::numbers::pi;
          const double place = std::hypot(2.0 * s.pose.p.x() - std::sin(theta_ref),
                                          2.0 * s.pose.p.y() + std::cos(theta_ref));
          const Vec3 force = sim.stepper().joint_reaction(0).impulse / sim.settings().time.step;
          // the rod weighs 1 kg more than the reference's point, which the hinge bears
          const double load =
              std::hypot(force.x() - ref.at(row, "Rx"), force.y() - kG - ref.at(row, "Ry"));
          return std::vector<double>{theta - theta_ref, s.twist.w.z() - ref.at(row, "omega"), place,
                                     load};
        }));
  }
  print_runs("pendulum", runs);

  EXPECT_NEAR(last_order(runs, 0), 1.0, 0.1);
  EXPECT_NEAR(last_order(runs, 2), 1.0, 0.1);
  EXPECT_NEAR(last_order(runs, 3), 1.0, 0.2);
  for (const JointRun& run : runs) {
    EXPECT_LT(run.error[0], 3.0 * run.h);
    // semi-implicit steps keep H + (h/2) m g v_y, not H: v_y = L omega sin(theta) is at most
    // 2.748 m/s, where cos^2(theta) = 1/3
    EXPECT_LT(run.energy_gain, 0.5 * kG * 2.748 * run.h);
    EXPECT_GT(run.energy_gain, 0.8 * 0.5 * kG * 2.748 * run.h);
    EXPECT_LT(run.energy_end, 0.0);
    EXPECT_GT(run.energy_end, -10.0 * run.h);
    // On a circle the misfit g of SPOOK rests where h G V + h^2 v^2 / (2 d) = 0 with
    // G V = -4 U g / h + U (G V + h v^2 / d): g = h^2 v^2 / d (1 + U) / (8 U), U = 1/9, and
    // v^2 / d is 2 g (cos(theta) = 1 from level, d = 0.5 m)
    const double drift = 1.25 * run.h * run.h * kG;
    EXPECT_NEAR(run.misfit, drift, 0.03 * drift);
  }
}

/// SPOOK on a point of 1 kg at 1 m from the origin, written out.
struct PointOnBar {
  double h, damping_time, compliance;
  Vec3 x{-1, 0, 0}, v = Vec3::Zero();
  void step() {
    const double upsilon = 1.0 / (1.0 + 4.0 * damping_time / h);
    const double sigma = 4.0 * compliance * upsilon / (h * h);
    const Vec3 n = x.normalized(), weight(0, -kG, 0);
    const double q = -4.0 / h * upsilon * (x.norm() - 1.0) + upsilon * n.dot(v);
    v += h * weight + (q - n.dot(v + h * weight)) / (1.0 + sigma) * n;
    x += h * v;
  }
};

TEST(PointPendulum, HasErrorsEnergyAndDriftOfTheTableH01) {
  const ReferenceSeries table = read_reference("H01_conservation_and_order");
  const ReferenceSeries pendulum = read_reference("A01_simple_pendulum");
  double theta_1s = 0.0;
  for (std::size_t row = 0; row < pendulum.rows.size(); ++row)
    if (std::abs(pendulum.at(row, "t") - 1.0) < 1e-9) theta_1s = pendulum.at(row, "theta");
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const double h = table.at(row, "h");
    const bool soft = table.at(row, "scheme") == 1.0;
    PointOnBar by_hand{h, (soft ? 3.0 : 2.0) * h, soft ? 1e-6 : 1e-10};
    const auto sim = validation_case("point_pendulum", h,
                                     {"joints.bar.compliance=" + text_of(by_hand.compliance),
                                      "joints.bar.damping_time=" + text_of(by_hand.damping_time)});
    double gain = -1e9, drift = 0.0, error = 0.0, energy = 0.0, apart = 0.0;
    const std::int64_t n_steps = std::llround(10.0 / h);
    while (sim->state().step < n_steps) {
      const StepReport& r = sim->step();
      by_hand.step();
      const Vec3 p = body_of(*sim, 0).pose.p;
      apart = std::max(apart, (p - by_hand.x).norm());
      energy = r.kinetic + r.potential - r.audit[EnergyTerm::initial_energy];
      gain = std::max(gain, energy);
      drift = std::max(drift, std::abs(p.norm() - 1.0));
      if (sim->state().step * 10 == n_steps) error = std::abs(std::atan2(p.x(), -p.y()) - theta_1s);
    }
    std::printf(
        "H01 %s h = %g ms: theta %.4e (table %.4e), E(10) %.4e (%.4e), E max %.4e (%.4e), "
        "drift %.4e (%.4e), from the scheme by hand %.1e m\n",
        soft ? "tau = 3 h" : "tau = 2 h", 1e3 * h, error, table.at(row, "abs_theta_error_1s"),
        energy, table.at(row, "E_10s_minus_E0"), gain, table.at(row, "max_E_minus_E0"), drift,
        table.at(row, "max_constraint_error"), apart);
    // round-off of 5 m/s per step, over 10 s
    EXPECT_LT(apart, 1e-15 * static_cast<double>(n_steps) * 10.0);
    // The table's scheme has (|x|^2 - 1)/2 for the misfit, the joint |x| - 1: they differ by half
    // the square of the drift, in the angle after 1 s by some of these, in the energy by that
    // times 9.81 J over eight swings. The table has seven digits.
    const double other = drift * drift;
    EXPECT_NEAR(error, table.at(row, "abs_theta_error_1s"), 2.0 * other + 1e-8);
    EXPECT_NEAR(energy, table.at(row, "E_10s_minus_E0"), 60.0 * other + 1e-6);
    EXPECT_NEAR(gain, table.at(row, "max_E_minus_E0"), 60.0 * other + 1e-6);
    EXPECT_NEAR(drift, table.at(row, "max_constraint_error"), other + 1e-8);
  }
}

TEST(PointPendulum, OfAMicrogramSwingsLikeOneOfAKilogram) {
  // all of its energies are below the solver's absolute tolerance of 1e-12 J per step
  const auto heavy = validation_case("point_pendulum", 0.005);
  const auto light = validation_case("point_pendulum", 0.005, {"bodies.point.mass=1e-9"});

  run_until(*heavy, 2.0);
  run_until(*light, 2.0);

  EXPECT_LT((body_of(*heavy, 0).pose.p - body_of(*light, 0).pose.p).norm(), 1e-11);
}

/// Errors: place of the centre, m; spin in the body, rad/s; vertical angular momentum, N m s.
std::vector<JointRun> top_runs(const std::string& name, const std::string& reference, double end) {
  const ReferenceSeries ref = read_reference(reference);
  std::vector<JointRun> runs;
  for (const double h : {0.0005, 0.00025, 0.000125, 0.0000625}) {
    runs.push_back(run_beside(name, h, ref, end, [&](const Simulation& sim, std::size_t row) {
      const BodyMotionState& s = body_of(sim, 0);
      const Vec3 place(ref.at(row, "x"), ref.at(row, "y"), ref.at(row, "z"));
      const Vec3 spin(ref.at(row, "w1"), ref.at(row, "w2"), ref.at(row, "w3"));
      return std::vector<double>{
          (s.pose.p - place).norm(), (s.pose.q.conjugate() * s.twist.w - spin).norm(),
          sim.stepper().report().angular_momentum.z() + ref.at(row, "L_vertical_down")};
    }));
  }
  print_runs(name.c_str(), runs);
  // the reaction acts half a misfit beside the fixed point
  EXPECT_GT(last_order(runs, 2), 1.7) << name;
  EXPECT_NEAR(last_order(runs, 1), 1.0, 0.15) << name;
  EXPECT_NEAR(figure_order(runs, &JointRun::misfit), 2.0, 0.1) << name;
  return runs;
}

TEST(HeavyTop, FallsAndRisesAsTheReferenceToFirstOrder) {
  const std::vector<JointRun> runs = top_runs("heavy_top", "C02_heavy_top_bruels", 2.0);

  EXPECT_NEAR(last_order(runs, 0), 1.0, 0.15);
  for (const JointRun& run : runs) {
    // h omega times the speeds it turns: of the centre, and of the axis
    EXPECT_LT(run.error[0], 5.0 * run.h);
    EXPECT_LT(run.error[1], 1e3 * run.h);  // of 150 rad/s
  }
  EXPECT_LT(runs.back().energy, 5e-6 * read_values("C02_heavy_top_bruels").at("E0"));
}

TEST(Gyroscope, NodsBetweenTheClosedFormHeights) {
  const std::vector<JointRun> runs = top_runs("gyroscope_nutation", "C03_top_nutation", 2.0);

  // at these steps the place's error of second order is still the larger one
  EXPECT_GT(last_order(runs, 0), 0.9);
  EXPECT_LT(runs.back().error[0], 1e-5);
  for (const JointRun& run : runs) EXPECT_LT(run.energy, 0.15 * run.h);

  const auto values = read_values("C03_top_nutation");
  const auto sim = validation_case("gyroscope_nutation", 0.0000625);
  double low = 1.0, high = -1.0;
  while (sim->state().time < 0.3) {  // two nutations
    sim->step();
    const double z = (body_of(*sim, 0).pose.q * Vec3::UnitZ()).z();
    low = std::min(low, z);
    high = std::max(high, z);
  }
  EXPECT_NEAR(low, values.at("cos_theta_1"), 1e-5);
  EXPECT_NEAR(high, values.at("cos_theta_2"), 1e-5);
}

TEST(Gyroscope, KeepsItsHeightInSteadyPrecession) {
  const std::vector<JointRun> runs =
      top_runs("gyroscope_precession", "C03_top_steady_precession", 3.0);

  EXPECT_NEAR(last_order(runs, 0), 1.0, 0.15);
  EXPECT_LT(runs.back().error[0], 1e-5);
  EXPECT_LT(runs.back().energy, 1e-6);

  const auto sim = validation_case("gyroscope_precession", 0.000125);
  const double height = body_of(*sim, 0).pose.p.z();
  double sway = 0.0;
  while (sim->state().time < 3.0) {
    sim->step();
    sway = std::max(sway, std::abs(body_of(*sim, 0).pose.p.z() - height));
  }
  std::printf("steady precession: height changes by %.1e m\n", sway);
  // the place's error is one along the circle first of all
  EXPECT_LT(sway, 1e-5);
}

}  // namespace
}  // namespace catena::test
