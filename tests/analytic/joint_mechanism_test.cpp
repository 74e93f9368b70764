// Mechanisms beside their references: slider-crank (B01), governor (A05), floating chain (H02);
// momentum of a free mechanism.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analytic/joint_case.hpp"

namespace catena::test {
namespace {

TEST(SliderCrank, ConvergesToItsReferenceThroughEightTurns) {
  const ReferenceSeries ref = read_reference("B01_spatial_slider_crank");
  std::vector<JointRun> runs;
  for (const double h : {0.0005, 0.00025, 0.000125, 0.0000625}) {
    runs.push_back(
        run_beside("slider_crank", h, ref, 5.0, [&](const Simulation& sim, std::size_t row) {
          const Vec3 spin(ref.at(row, "wx_rod"), ref.at(row, "wy_rod"), ref.at(row, "wz_rod"));
          return std::vector<double>{body_of(sim, 2).pose.p.x() - ref.at(row, "x_slider"),
                                     sim.state().joints[0].angle[0] - ref.at(row, "theta"),
                                     body_of(sim, 0).twist.w.x() - ref.at(row, "theta_t"),
                                     (body_of(sim, 1).twist.w - spin).norm()};
        }));
  }
  print_runs("slider-crank", runs);

  // places carry an error of second order from turn to turn, speeds one of first order besides
  EXPECT_GT(last_order(runs, 0), 1.8);
  EXPECT_GT(last_order(runs, 1), 1.8);
  // A spin's error is a h of its own and b h^q of the places', q their order: the order from the
  // second to the third step tells y = b h^(q-1) / a, that from the third to the last follows.
  const double s = std::exp2(1.0 - last_order(runs, 1));  // of y from a step to its half
  const double r = std::exp2(last_order({runs.begin(), runs.end() - 1}, 3) - 1.0);
  const double y = s * (r - 1.0) / (1.0 - s * r);
  EXPECT_GT(y, 0.0);
  EXPECT_NEAR(last_order(runs, 3), 1.0 + std::log2((1.0 + y) / (1.0 + s * y)), 0.1);
  EXPECT_NEAR(figure_order(runs, &JointRun::energy), 1.0, 0.1);
  EXPECT_NEAR(figure_order(runs, &JointRun::misfit), 2.0, 0.1);
  EXPECT_NEAR(figure_order(runs, &JointRun::misfit_angular), 2.0, 0.1);
  EXPECT_LT(runs.back().error[0], 1e-5);
  EXPECT_LT(runs.back().error[1], 5e-4);
  for (const JointRun& run : runs) EXPECT_LT(run.energy, 4.0 * run.h);  // of 0.766 J

  // The library of this benchmark asks for max |y - y_ref| / max(|y_ref|, 1e-3) below 1e-3 in high
  // precision: of the slider's place, which is 0.2 m or more, at 0.25 ms
  EXPECT_LT(runs[1].error[0] / 0.2, 1e-3);
}

TEST(FlyballGovernor, ConvergesToItsReferenceWithSpringsThatExplicitStepsCouldNotTake) {
  const ReferenceSeries ref = read_reference("A05_flyball");
  const auto values = read_values("A05_flyball");
  std::vector<JointRun> runs;
  for (const double h : {0.002, 0.001, 0.0005, 0.00025}) {
    runs.push_back(
        run_beside("flyball_governor", h, ref, 2.0, [&](const Simulation& sim, std::size_t row) {
          const Vec3 rod = body_of(sim, 2).pose.q * Vec3::UnitX();
          return std::vector<double>{body_of(sim, 1).pose.p.z() - ref.at(row, "s"),
                                     sim.state().joints[0].angle[0] - ref.at(row, "psi"),
                                     std::asin(-rod.z()) - ref.at(row, "b"),
                                     body_of(sim, 1).twist.v.z() - ref.at(row, "s_t"),
                                     body_of(sim, 0).twist.w.z() - ref.at(row, "psi_t")};
        }));
  }
  print_runs("governor", runs);

  for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(last_order(runs, k), 1.0, 0.1) << k;
  EXPECT_NEAR(figure_order(runs, &JointRun::misfit), 2.0, 0.1);
  for (const JointRun& run : runs) {
    EXPECT_LT(run.error[0], 4.0 * run.h);  // m, of 0.25 m
    EXPECT_LT(run.error[2], 2.0 * run.h);  // rad
    // springs only damp, and so does the step
    EXPECT_EQ(run.energy_gain, 0.0);
    EXPECT_LT(run.energy, 150.0 * run.h);  // J, of 239 J
  }

  // explicit springs ask for c h < 2 m or so (3 kg on two of them): h < 75 us
  const auto sim = validation_case("flyball_governor", 0.002);
  double low = 1.0, high = 0.0;
  while (sim->state().time < 10.0) {
    sim->step();
    low = std::min(low, body_of(*sim, 1).pose.p.z());
    high = std::max(high, body_of(*sim, 1).pose.p.z());
  }
  std::printf("governor, 10 s at 2 ms: slider from %.5f to %.5f m\n", low, high);
  EXPECT_NEAR(low, values.at("s_min"), 5e-3);
  EXPECT_NEAR(high, values.at("s_max"), 5e-3);
}

TEST(FlyballGovernor, KeepsItsMomentumAboutTheShaftUnlessTensionRaisesInertia) {
  const double momentum = read_values("A05_flyball").at("Lz");
  for (const bool raises : {false, true}) {
    const auto sim = validation_case(
        "flyball_governor", 0.001,
        {std::string("solver.joints.geometric_stiffness=") + (raises ? "true" : "false")});
    double change = 0.0;
    std::int64_t raised = 0;
    while (sim->state().time < 2.0) {
      const StepReport& r = sim->step();
      change = std::max(change, std::abs(r.angular_momentum.z() - momentum));
      raised = std::max(raised, r.stiffened);
    }
    std::printf("governor: momentum about the shaft changes by %.1e, bodies raised %lld\n", change,
                static_cast<long long>(raised));
    EXPECT_EQ(raised, raises ? 1 : 0);  // the shaft: 5e-6 kg m^2
    EXPECT_LT(change / momentum, raises ? 1e-6 : 1e-12 * std::sqrt(2000.0));
  }
}

/// Places (m) and turns (rad) of the four links beside the reference.
std::vector<double> chain_deviations(const Simulation& sim, const ReferenceSeries& ref,
                                     std::size_t row) {
  double place = 0.0, turn = 0.0;
  for (int i = 0; i < 4; ++i) {
    const BodyMotionState& s = body_of(sim, i);
    const std::string k = std::to_string(i);
    const Vec3 p(ref.at(row, "x" + k), ref.at(row, "y" + k), ref.at(row, "z" + k));
    const Quat q(ref.at(row, "q0_" + k), ref.at(row, "q1_" + k), ref.at(row, "q2_" + k),
                 ref.at(row, "q3_" + k));
    place = std::max(place, (s.pose.p - p).norm());
    turn = std::max(turn, q.angularDistance(s.pose.q));
  }
  return {place, turn};
}

TEST(FloatingChain, ConvergesToItsReferenceWithOrderTwoAndProjectedWithOrderOne) {
  const ReferenceSeries ref = read_reference("H02_floating_chain");
  for (const bool projected : {false, true}) {
    std::vector<JointRun> runs;
    for (const double h : {0.004, 0.002, 0.001}) {
      runs.push_back(run_beside(
          "floating_chain", h, ref, 2.0,
          [&](const Simulation& sim, std::size_t row) { return chain_deviations(sim, ref, row); },
          {std::string("solver.joints.projection=") + (projected ? "1e-10" : "none")}));
    }
    print_runs(projected ? "floating chain, projected" : "floating chain", runs);
    const double order = projected ? 1.0 : 2.0;
    EXPECT_NEAR(last_order(runs, 0), order, 0.1);
    EXPECT_NEAR(last_order(runs, 1), order, 0.1);
    EXPECT_NEAR(figure_order(runs, &JointRun::energy), order, 0.1);
    if (projected) {
      for (const JointRun& run : runs) EXPECT_LT(run.misfit, 1.001e-10);
    } else {
      EXPECT_NEAR(figure_order(runs, &JointRun::misfit), 2.0, 0.1);
      EXPECT_LT(runs.back().error[0], 2e-5);
      EXPECT_LT(runs.back().energy, 2e-5);  // J, of 3.2 J
    }
  }
}

struct Momenta {
  Vec3 linear = Vec3::Zero(), angular = Vec3::Zero();
};

Momenta momenta_of(const Simulation& sim) {
  Momenta sum;
  for (const BodyConstants& body : sim.bodies().constants) {
    const BodyMotionState& s = body_of(sim, body.id);
    const Quat& q = s.pose.q;
    sum.linear += body.mass * s.twist.v;
    sum.angular += body.mass * s.pose.p.cross(s.twist.v) +
                   q * (body.inertia.cwiseProduct(q.conjugate() * s.twist.w));
  }
  return sum;
}

/// Steps and compares the momenta of every step with those at the start; `scale`: sums of their
/// bodies' magnitudes. With projection the angular momentum may change by what is reported.
void expect_momenta_kept(Simulation& sim, int n_steps, double linear_scale, double angular_scale) {
  const Momenta start = momenta_of(sim);
  Vec3 told = Vec3::Zero();
  double linear = 0.0, angular = 0.0;
  for (int step = 0; step < n_steps; ++step) {
    told += sim.step().projection_momentum;
    EXPECT_EQ(sim.stepper().report().stiffened, 0);
    const Momenta now = momenta_of(sim);
    linear = std::max(linear, (now.linear - start.linear).norm());
    angular = std::max(angular, (now.angular - start.angular - told).norm());
  }
  std::printf("momenta change by %.1e and %.1e, angular by projection %.1e\n",
              linear / linear_scale, angular / angular_scale, told.norm() / angular_scale);
  EXPECT_LT(linear / linear_scale, 1e-12);
  EXPECT_LT(angular / angular_scale, 1e-12);
  if (std::isnan(sim.settings().step_solve.projection)) {
    EXPECT_EQ(told.norm(), 0.0);
  } else {
    EXPECT_GT(told.norm() / angular_scale, 1e-6);
  }
}

TEST(FreeMechanism, FloatingChainKeepsItsMomentaButForWhatProjectionTells) {
  for (const char* projection : {"none", "1e-10"}) {
    const auto sim = validation_case("floating_chain", 0.002,
                                     {std::string("solver.joints.projection=") + projection});
    expect_momenta_kept(*sim, 1000, 4.5, 3.2);  // 4.5 kg m/s, 3.2 kg m^2/s
  }
}

/// Bodies in a row joined by every kind of joint and force, with a motor, a limit, and friction;
/// speeds that the joints do not allow at first.
std::string all_joints(const std::string& projection) {
  std::string bodies = "gravity: [0, 0, 0]\nbodies:\n";
  for (int i = 0; i < 13; ++i) {
    const auto wave = [&](double f) { return text_of(0.3 * std::sin(f * (i + 1))); };
    bodies += "  - {name: b" + std::to_string(i) + ", mass: " + text_of(1.0 + 0.1 * i) +
              ", inertia: [0.1, 0.12, 0.15], position: [" + std::to_string(i) +
              ", 0, 0], velocity: [" + wave(1.1) + ", " + wave(2.3) + ", " + wave(3.7) +
              "], angular_velocity: [" + wave(5.1) + ", " + wave(4.3) + ", " + wave(6.7) + "]}\n";
  }
  return bodies + R"(joints:
  - {name: j0, type: fixed, between: [b0, b1], at: [0.5, 0, 0]}
  - {name: j1, type: spherical, between: [b1, b2], at: [1.5, 0.1, 0]}
  - {name: j2, type: revolute, between: [b2, b3], at: [2.5, 0, 0], axis: [0, 1, 1], friction: 0.01}
  - {name: j3, type: prismatic, between: [b3, b4], at: [3.5, 0, 0], axis: [1, 0, 0], limits: [-0.1, 0.1]}
  - {name: j4, type: cylindrical, between: [b4, b5], at: [4.5, 0, 0], axis: [1, 1, 0],
     motor: {velocity: 0.1, max_force: 5}, second: {limits: [-20 deg, 20 deg]}}
  - {name: j5, type: universal, between: [b5, b6], at: [5.5, 0, 0], axis: [0, 0, 1], axis_b: [0, 1, 0]}
  - {name: j6, type: planar, between: [b6, b7], at: [6.5, 0, 0], axis: [0, 0, 1]}
  - {name: j7, type: point_on_line, between: [b7, b8], at: [7.5, 0, 0], axis: [1, 0, 0]}
  - {name: j8, type: distance, between: [b8, b9], at: [[8.1, 0, 0], [8.9, 0, 0]]}
  - {name: j9, type: revolute, between: [b9, b10], at: [9.5, 0, 0], axis: [0, 1, 0],
     motor: {position: 10 deg, max_force: 50}}
  - {name: j10, type: revolute, between: [b10, b11], at: [10.5, 0, 0], axis: [0, 1, 0]}
  - {name: gear, type: gear, between: [b9, b11], carrier: b10, axis: [0, 1, 0], axis_b: [0, 1, 0], ratio: 2}
  - {name: skate, type: knife_edge, between: [b11, b12], at: [11.6, 0, 0], axis_b: [0, 1, 0]}
forces:
  - {name: spring, type: spring, between: [b11, b12], at: [[11.2, 0, 0], [11.8, 0.1, 0]], stiffness: 1e5, damping: 10}
  - {name: twist, type: torsional_spring, between: [b2, b3], at: [2.5, 0, 0], axis: [0, 1, 1],
     stiffness: 10, damping: 0.1, angle: 30 deg}
  - {name: damper, type: damper, between: [b0, b12], at: [[0, 0, 0], [12, 0, 0]], damping: 5}
time: {stepper: spook, step: 2 ms, end: 10}
)" +
         "solver: {joints: {projection: " + projection + "}}\n";
}

TEST(FreeMechanism, EveryKindOfJointAndForceKeepsMomenta) {
  for (const char* projection : {"none", "1e-9"}) {
    const auto sim = simulate(all_joints(projection));
    double linear = 0.0, angular = 0.0;
    for (const BodyConstants& body : sim->bodies().constants) {
      const BodyMotionState& s = body_of(*sim, body.id);
      linear += body.mass * s.twist.v.norm();
      angular += body.mass * s.pose.p.cross(s.twist.v).norm();
    }
    expect_momenta_kept(*sim, 300, linear, angular);
  }
}

}  // namespace
}  // namespace catena::test
