// The stepper natural under motors, moving bodies and a knife edge beside closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "stepper/natural_run.hpp"

namespace catena::test {
namespace {

/// A pendulum: kg, m from its hinge along y, kg m^2 about it.
constexpr double kMass = 2.0, kArm = 0.5, kInertia = 0.1;

// ---- what drives

/// Crank of 0.2 m, rod of 0.6 m without moment along it, slider on x.
std::string slider_crank(const std::string& motor) {
  return "gravity: [0, 0, 0]\nbodies:\n"
         "  - {name: crank, mass: 1, inertia: [0.01, 0.02, 0.03], position: [0.1, 0, 0]}\n"
         "  - {name: rod, mass: 0.8, inertia: [0, 0.024, 0.024], position: [0.5, 0, 0]}\n"
         "  - {name: slider, mass: 1.5, inertia: [0.01, 0.01, 0.01], position: [0.8, 0, 0]}\n"
         "joints:\n"
         "  - {name: axle, type: revolute, between: [world, crank], at: [0, 0, 0], axis: [0, 0, "
         "1], "
         "motor: {" +
         motor +
         "}}\n"
         "  - {name: pin, type: spherical, between: [crank, rod], at: [0.2, 0, 0]}\n"
         "  - {name: end, type: spherical, between: [rod, slider], at: [0.8, 0, 0]}\n"
         "  - {name: guide, type: prismatic, between: [world, slider], at: [0, 0, 0], axis: [1, 0, "
         "0]}\n";
}

struct CrankState {
  double x, v, energy, power;  ///< of the slider; kinetic energy of all and its rate
};

/// At crank angle `a` turning at `w`.
CrankState crank_at(double a, double w) {
  constexpr double r = 0.2, l = 0.6;
  const auto at = [&](double angle) {
    const double s = std::sin(angle), c = std::cos(angle);
    const double root = std::sqrt(l * l - r * r * s * s);
    const double x = r * c + root, v = w * (-r * s - r * r * s * c / root);
    // the rod leads from (r c, r s) to (x, 0): its turn from sin b = r s / l
    const double turn = -w * r * c / root;
    const Vec3 middle(0.5 * (-r * s * w + v), 0.5 * r * c * w, 0.0);
    const double energy = 0.5 * (0.03 + 0.01) * w * w + 0.5 * 0.8 * middle.squaredNorm() +
                          0.5 * 0.024 * turn * turn + 0.5 * 1.5 * v * v;
    return CrankState{x, v, energy, 0.0};
  };
  CrankState now = at(a);
  const double d = 1e-5;
  now.power = w * (at(a + d).energy - at(a - d).energy) / (2.0 * d);
  return now;
}

TEST(NaturalDriver, ACrankThatIsDrivenMovesItsSliderAsInClosedForm) {
  for (const bool position : {true, false}) {
    const std::string text =
        slider_crank(position ? "position: 1, table: {rows: [[0, 0], [10, 70]]}" : "velocity: 7");
    std::vector<double> errors;
    for (const char* h : {"8 ms", "4 ms", "2 ms"}) {
      const auto sim = natural_run(text, h);
      const StepReport& r = run_to(*sim, 1.2);
      const CrankState end = crank_at(7.0 * 1.2, 7.0);
      const BodyMotionState& slider = body_of(*sim, 2);
      errors.push_back(
          std::max(std::abs(slider.pose.p.x() - end.x), std::abs(slider.twist.v.x() - end.v)));
      // the motor gave all the energy that there is, that of the start included
      EXPECT_LT(std::abs(r.energy_residual), position ? 1e-4 : 1e-3) << h;
      EXPECT_NEAR(r.audit[EnergyTerm::motor_work], end.energy, 1e-3) << h;
      EXPECT_NEAR(r.audit[EnergyTerm::joint_work], 0.0, 1e-14);
    }
    for (const double order : orders(errors)) EXPECT_GT(order, 3.5) << position;
    EXPECT_LT(errors.back(), 1e-7);
  }
}

TEST(NaturalDriver, ItsMultiplierIsTheTorqueThatTheMotorGives) {
  for (const bool position : {true, false}) {
    const auto sim = natural_run(
        slider_crank(position ? "position: 1, table: {rows: [[0, 0], [10, 70]]}" : "velocity: 7"),
        "1 ms");
    for (int i = 0; i < 500; ++i) {
      sim->step();
      const double middle = (i + 0.5) * 1e-3;
      const double torque = crank_at(7.0 * middle, 7.0).power / 7.0;
      // the first step holds the impact by which the motor starts
      if (i == 0) continue;
      EXPECT_NEAR(joint(*sim, 0).impulse[5] / 1e-3, torque, 1e-3) << i;
    }
  }
}

TEST(NaturalDriver, TablesWithKinksAreFollowedFromStepToStep) {
  // a guide driven 0, up, down: the speed jumps at 0.1 and 0.2 s
  const std::string text =
      "gravity: [0, 0, 0]\nbodies: [{name: car, mass: 2, inertia: [0.1, 0.1, 0.1]}]\njoints: "
      "[{name: "
      "guide, type: prismatic, between: [world, car], at: [0, 0, 0], axis: [1, 0, 0], motor: "
      "{position: 1, table: {rows: [[0, 0], [0.1, 0], [0.2, 0.3], [0.4, 0]]}}}]";
  const auto sim = natural_run(text, "10 ms");
  const auto x = [](double t) {
    return t < 0.1 ? 0.0 : (t < 0.2 ? 3.0 * (t - 0.1) : (t < 0.4 ? 0.3 - 1.5 * (t - 0.2) : 0.0));
  };
  for (int i = 1; i <= 50; ++i) {
    const StepReport& r = sim->step();
    EXPECT_NEAR(body_of(*sim, 0).pose.p.x(), x(0.01 * i), 1e-12) << i;
    EXPECT_LT(std::abs(r.energy_residual), 1e-10) << i;
  }
}

TEST(NaturalDriver, TablesWithKinksInsideStepsKeepTheOrder) {
  // a pendulum's base is driven at 0, 3 and -1.5 m/s, its arm pushed by a ramp; no row of the
  // tables is a multiple of the step
  const std::string text =
      "bodies:\n"
      "  - {name: car, mass: 2, inertia: [0.1, 0.1, 0.1]}\n"
      "  - {name: arm, mass: 1, inertia: [0.02, 0.03, 0.025], position: [0, 0, -0.4]}\n"
      "joints:\n"
      "  - {name: guide, type: point_on_line, between: [world, car], at: [0, 0, 0], axis: [1, 0, "
      "0], "
      "motor: {position: 1, table: {rows: [[0, 0], [0.1033, 0], [0.2057, 0.3072], [0.4, "
      "0.01575]]}}}\n"
      "  - {name: pin, type: revolute, between: [car, arm], at: [0, 0, 0], axis: [0, 1, 0]}\n"
      "forces: [{name: push, type: force, body: arm, force: [5, 0, 0], table: {rows: [[0.0511, 0], "
      "[0.1777, 1], [0.2999, 0]]}}]";
  // the base's speed jumps, and with it the arm's turn: I' jump = -m l dv
  constexpr double l = 0.4, all = 0.03 + l * l;
  const auto force = [](double t) {
    if (t < 0.0511 || t > 0.2999) return 0.0;
    return 5.0 * (t < 0.1777 ? (t - 0.0511) / 0.1266 : (0.2999 - t) / 0.1222);
  };
  VectorX y = VectorX::Zero(2);
  double from = 0.0, speed = 0.0;
  for (const auto& [to, next] : std::vector<std::array<double, 2>>{{0.0511, 0.0},
                                                                   {0.1033, 3.0},
                                                                   {0.1777, 3.0},
                                                                   {0.2057, -1.5},
                                                                   {0.2999, -1.5},
                                                                   {0.36, 0.0}}) {
    const auto f = [&, start = from](double t, const VectorX& x) {
      VectorX d(2);
      d << x[1], (-kG * l * std::sin(x[0]) + force(start + t) * l * std::cos(x[0])) / all;
      return d;
    };
    y = integrated(f, y, to - from, 2000);
    from = to;
    if (to == 0.36) break;
    y[1] -= l * std::cos(y[0]) * (next - speed) / all;
    speed = next;
  }
  const double base = 0.3072 - 1.5 * (0.36 - 0.2057);
  const Vec3 p(base + l * std::sin(y[0]), 0.0, -l * std::cos(y[0]));
  std::vector<double> errors;
  for (const char* h : {"20 ms", "10 ms", "5 ms"}) {
    const auto sim = natural_run(text, h);
    const StepReport& r = run_to(*sim, 0.36);
    EXPECT_NEAR(body_of(*sim, 0).pose.p.x(), base, 1e-12);
    errors.push_back((body_of(*sim, 1).pose.p - p).norm());
    EXPECT_LT(std::abs(r.energy_residual), 1e-3);
  }
  for (const double order : orders(errors)) EXPECT_GT(order, 3.3);
  EXPECT_LT(errors.back(), 1e-6);
  const auto sim = natural_run(text, "30 ms", "scheme: dop853");
  run_to(*sim, 0.36);
  EXPECT_LT((body_of(*sim, 1).pose.p - p).norm(), 1e-8);
  EXPECT_LT(sim->stepper().report().solve.iterations, 20);
}

TEST(NaturalDriver, BothAnglesOfAUniversalJointFollowTheirMotors) {
  const std::string text =
      "bodies: [{name: shaft, mass: 1, inertia: [0.1, 0.2, 0.15], position: [0.3, 0.2, "
      "0.1]}]\njoints: "
      "[{name: cross, type: universal, between: [world, shaft], at: [0, 0, 0], axis: [0, 0, 1], "
      "axis_b: "
      "[1, 0, 0], motor: {velocity: 1, table: {rows: [[0, 0], [2, 6]]}}, second: {motor: "
      "{position: "
      "1, table: {rows: [[0, 0], [2, 3]]}}}}]";
  const auto sim = natural_run(text, "2 ms");
  const StepReport& r = run_to(*sim, 1.0);
  EXPECT_NEAR(joint(*sim, 0).angle[0], 1.5, 1e-9);
  EXPECT_NEAR(joint(*sim, 0).angle[1], 1.5, 1e-9);
  EXPECT_LT(std::abs(r.energy_residual), 1e-4);
  EXPECT_GT(std::abs(r.audit[EnergyTerm::motor_work]), 0.1);
}

TEST(NaturalDriver, APendulumOnAShakenBaseSwingsAsItsEquationSays) {
  // hinge at x = 0.1 (sin(2 pi 1.5 t + 0.4) - sin 0.4)
  const std::string text =
      "bodies:\n"
      "  - {name: base, motion: {harmonics: [{amplitude: [0.1, 0, 0], frequency: 1.5, phase: "
      "0.4}]}}\n"
      "  - {name: arm, mass: 2, inertia: [0.2, 0.1, 0.15], position: [0, 0, -0.5]}\n"
      "joints: [{name: hinge, type: revolute, between: [base, arm], at: [0, 0, 0], axis: [0, 1, "
      "0]}]";
  const double nu = 2.0 * M_PI * 1.5, all = kInertia + kMass * kArm * kArm;
  const auto base_speed = [&](double t) { return 0.1 * nu * std::cos(nu * t + 0.4); };
  const auto f = [&](double t, const VectorX& y) {
    const double shake = -0.1 * nu * nu * std::sin(nu * t + 0.4);
    VectorX d(2);
    d << y[1], -kMass * kArm * (kG * std::sin(y[0]) + shake * std::cos(y[0])) / all;
    return d;
  };
  // the start: at rest but for the base, whose speed the hinge gives it at its own place
  VectorX y(2);
  y << 0.0, -kMass * kArm * base_speed(0.0) / all;
  const VectorX end = integrated(f, y, 2.0, 20000);
  std::vector<double> errors, residuals;
  for (const char* h : {"10 ms", "5 ms", "2.5 ms"}) {
    const auto sim = natural_run(text, h);
    const StepReport& r = run_to(*sim, 2.0);
    const BodyMotionState& arm = body_of(*sim, 1);
    const double base = 0.1 * (std::sin(nu * 2.0 + 0.4) - std::sin(0.4));
    const Vec3 p(base + kArm * std::sin(end[0]), 0.0, -kArm * std::cos(end[0]));
    errors.push_back(std::max((arm.pose.p - p).norm(), std::abs(-arm.twist.w.y() - end[1])));
    residuals.push_back(std::abs(r.energy_residual));
    EXPECT_GT(std::abs(r.audit[EnergyTerm::external_work]), 0.1);
    EXPECT_EQ(r.audit[EnergyTerm::motor_work], 0.0);
  }
  std::printf("shaken pendulum: errors %.2e %.2e %.2e, energy %.2e %.2e %.2e J\n", errors[0],
              errors[1], errors[2], residuals[0], residuals[1], residuals[2]);
  for (const double order : orders(errors)) EXPECT_NEAR(order, 4.0, 0.5);
  // work by the mean speed of a step: second order
  for (const double order : orders(residuals)) EXPECT_GT(order, 1.7);
}

TEST(NaturalDriver, ASpringToAMovingBaseDoesItsWork) {
  // the base goes at 0.5 m/s: in its frame the mass swings from -0.5 m/s
  const std::string text =
      "gravity: [0, 0, 0]\nbodies:\n"
      "  - {name: base, motion: {velocity: [0.5, 0, 0]}}\n"
      "  - {name: car, mass: 2, inertia: [0.1, 0.1, 0.1], position: [1, 0, 0]}\n"
      "forces: [{name: spring, type: spring, between: [base, car], at: [[0, 0, 0], [1, 0, 0]], "
      "stiffness: 50, length: 1}]";
  const auto sim = natural_run(text, "5 ms");
  const StepReport& r = run_to(*sim, 1.0);
  EXPECT_NEAR(body_of(*sim, 1).pose.p.x(), 1.5 - 0.1 * std::sin(5.0), 1e-7);
  EXPECT_LT(std::abs(r.energy_residual), 1e-6);
  const double swing = -0.5 * std::cos(5.0), stretch = -0.1 * std::sin(5.0);
  // spring and base together: the spring holds k d^2 / 2 of what the base gave
  const double kinetic = 0.5 * 2.0 * (0.5 + swing) * (0.5 + swing);
  EXPECT_NEAR(r.audit[EnergyTerm::joint_work], -0.5 * 50.0 * stretch * stretch, 1e-6);
  EXPECT_NEAR(r.audit[EnergyTerm::external_work], kinetic + 0.5 * 50.0 * stretch * stretch, 1e-6);
}

TEST(NaturalDriver, APointOnATurntableHangsOutwardAsItsPlaceAsks) {
  // hung at 0.5 m from the axis on a line of 0.8 m at 2.5 rad/s: tan a = w^2 (0.5 + 0.8 sin a) / g
  constexpr double w = 2.5;
  double a = 0.0;
  for (int i = 0; i < 200; ++i) a = std::atan(w * w * (0.5 + 0.8 * std::sin(a)) / kG);
  const double r = 0.5 + 0.8 * std::sin(a), z = -0.8 * std::cos(a);
  char text[600];
  std::snprintf(
      text, sizeof text,
      "bodies:\n  - {name: table, position: [0.2, -0.1, 0], motion: {angular_velocity: [0, 0, "
      "2.5], about: [0, 0, 0]}}\n  - {name: bob, mass: 3, inertia: [0, 0, 0], position: "
      "[%.17g, 0, %.17g], velocity: [0, %.17g, 0]}\njoints: [{name: line, type: distance, "
      "between: [table, bob], at: [[0.5, 0, 0], [%.17g, 0, %.17g]]}]",
      r, z, w * r, r, z);
  const auto sim = natural_run(text, "2 ms");
  const StepReport& report = run_to(*sim, 2.0);
  const Vec3 out(std::cos(2.0 * w), std::sin(2.0 * w), 0.0);
  EXPECT_LT((body_of(*sim, 1).pose.p - Vec3(r * out + z * Vec3::UnitZ())).norm(), 1e-8);
  EXPECT_NEAR(joint(*sim, 0).impulse[0] / 2e-3, -3.0 * kG / std::cos(a), 1e-6);
  // the table does no work on the bob, and holds it by its end
  EXPECT_LT(std::abs(report.energy_residual), 1e-8);
  EXPECT_LT(std::abs(report.audit[EnergyTerm::external_work]), 1e-8);
  const Vec3 pull = sim->stepper().joint_reaction(0).impulse / 2e-3;
  EXPECT_LT(
      (pull - (3.0 * kG / std::cos(a)) * Vec3(-std::sin(a) * out + std::cos(a) * Vec3::UnitZ()))
          .norm(),
      0.1);
}

// ---- nonholonomic

TEST(NaturalKnifeEdge, ChaplyginsSleighTurnsAsInClosedForm) {
  // centre of mass 0.3 m ahead of the edge; v along the edge, omega: v' = a omega^2,
  // omega' = -(a / k^2) v omega, k^2 = I/m + a^2: v = c tanh s, k omega = c sech s, s' = a c / k^2
  constexpr double a = 0.3, m = 2.0, inertia = 0.1;
  const double k2 = inertia / m + a * a, k = std::sqrt(k2);
  const double c = 1.5, s0 = -1.2;
  const auto gd = [](double s) { return 2.0 * std::atan(std::tanh(0.5 * s)); };
  const double v0 = c * std::tanh(s0), w0 = c / (k * std::cosh(s0));
  char text[700];
  std::snprintf(
      text, sizeof text,
      "gravity: [0, 0, 0]\nbodies: [{name: sleigh, mass: 2, inertia: [0.05, 0.06, 0.1], "
      "position: [0.3, 0, 0], velocity: [%.17g, %.17g, 0], angular_velocity: [0, 0, "
      "%.17g]}]\njoints: [{name: edge, type: knife_edge, between: [world, sleigh], at: [0, "
      "0, 0], axis_b: [0, 1, 0]}, {name: ice, type: planar, between: [world, sleigh], at: "
      "[0, 0, 0], axis: [0, 0, 1]}]",
      v0, a * w0, w0);
  std::vector<double> errors;
  for (const char* h : {"20 ms", "10 ms", "5 ms"}) {
    const auto sim = natural_run(text, h);
    const StepReport& r = run_to(*sim, 2.0);
    const double s = s0 + a * c / k2 * 2.0;
    const double heading = k / a * (gd(s) - gd(s0));
    const BodyMotionState& body_now = body_of(*sim, 0);
    const Vec3 along(std::cos(heading), std::sin(heading), 0.0), left(-along.y(), along.x(), 0.0);
    const double w = c / (k * std::cosh(s));
    const Vec3 v = c * std::tanh(s) * along + a * w * left;
    errors.push_back(std::max({(body_now.twist.v - v).norm(), std::abs(body_now.twist.w.z() - w),
                               (body_now.pose.q * Vec3::UnitX() - along).norm()}));
    EXPECT_LT(std::abs(r.energy_residual), 1e-4);
  }
  for (const double order : orders(errors)) EXPECT_NEAR(order, 4.0, 0.5);
  EXPECT_LT(errors.back(), 1e-7);
}

}  // namespace
}  // namespace catena::test
