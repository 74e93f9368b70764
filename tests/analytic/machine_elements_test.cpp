// Bushings, screws, racks, belts, winches, cams, curves, tendons and motors of a given torque,
// against formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <numbers>
#include <string>
#include <tuple>
#include <vector>

#include "analytic/case_runner.hpp"
#include "catena/constraints/joint_rows.hpp"
#include "support/gravity.hpp"

namespace catena::test {
namespace {

constexpr double kPi = std::numbers::pi;

std::string scene(const std::string& gravity, const std::string& bodies, const std::string& joints,
                  double step = 1e-3) {
  return "gravity: " + gravity + "\nbodies:\n" + bodies + "joints:\n" + joints +
         "time: {step: " + text_of(step) + ", end: 100}\n";
}

const std::string kNoGravity = "[0, 0, 0]", kDown = "[0, 0, -9.81]";

/// Force or torque of joint j's motor over the last step.
double drive(const Simulation& sim, std::size_t j) {
  return sim.state().joints[j].drive[0][1] / sim.settings().time.step;
}

const std::string kBlock =
    "  - {name: block, mass: 10, inertia: [0.2, 0.3, 0.5], position: [0, 0, 0]}\n";

/// m g_i / k_i along each axis, whichever way gravity leans.
TEST(Bushing, DeflectsByTheLoadOverEachStiffness) {
  const auto sim = simulate(
      scene("[3, -4, -9.81]", kBlock,
            "  - {name: b, type: bushing, between: [world, block], at: [0, 0, 0], stiffness: [1e3, "
            "2e3, 5e3], damping: 200, angular_stiffness: 50, angular_damping: 5}\n"));
  run_until(*sim, 5.0);
  const Vec3 p = body_of(*sim, 0).pose.p;
  EXPECT_NEAR(p.x(), 10.0 * 3.0 / 1e3, 1e-7);
  EXPECT_NEAR(p.y(), -10.0 * 4.0 / 2e3, 1e-7);
  EXPECT_NEAR(p.z(), -10.0 * kG / 5e3, 1e-7);
}

/// Its own axes lie as given: z along `axis`, x along `axis_b`.
TEST(Bushing, IsStiffAlongItsOwnAxes) {
  const auto sim = simulate(
      scene("[0, 0, -9.81]", kBlock,
            "  - {name: b, type: bushing, between: [world, block], at: [0, 0, 0], axis: [1, 0, 0], "
            "axis_b: [0, 0, 1], stiffness: [1e3, 2e3, 5e3], damping: 200, angular_stiffness: 50, "
            "angular_damping: 5}\n"));
  run_until(*sim, 5.0);
  EXPECT_NEAR(body_of(*sim, 0).pose.p.z(), -10.0 * kG / 1e3, 1e-7);
}

/// Undamped, from rest: z = -(m g/k) (1 - cos(sqrt(k/m) t)); turned: sin(sqrt(c/I) t).
TEST(Bushing, SwingsAtTheRootOfStiffnessOverMassAndOfCoupleOverInertia) {
  const auto sim = simulate(scene(
      "[0, 0, -9.81]",
      "  - {name: block, mass: 10, inertia: [0.2, 0.3, 0.5], angular_velocity: [0.1, 0, 0]}\n",
      "  - {name: b, type: bushing, between: [world, block], at: [0, 0, 0], stiffness: 4e3, "
      "angular_stiffness: [80, 80, 80]}\n"));
  const double w = std::sqrt(4e3 / 10.0), turn = std::sqrt(80.0 / 0.2);
  while (sim->state().time < 0.6) {
    sim->step();
    const double t = sim->state().time;
    const BodyMotionState& s = body_of(*sim, 0);
    EXPECT_NEAR(s.pose.p.z(), -10.0 * kG / 4e3 * (1.0 - std::cos(w * t)), 1e-3) << t;
    EXPECT_NEAR(2.0 * std::atan2(s.pose.q.x(), s.pose.q.w()), 0.1 / turn * std::sin(turn * t), 2e-4)
        << t;
  }
}

/// I w = int torque dt, by a torque of its own and by one over time.
TEST(Motor, OfAGivenTorqueTurnsItsInertia) {
  for (const char* motor :
       {"{force: 3}", "{table: {values: force, rows: [[0, 0], [1, 6], [9, 6]]}}",
        "{force: 6, table: {rows: [[0, 0], [1, 1]]}}"}) {
    const auto sim = simulate(scene(kNoGravity, kBlock,
                                    "  - {name: h, type: revolute, between: [world, block], at: "
                                    "[0, 0, 0], axis: [0, 0, 1], motor: " +
                                        std::string(motor) + "}\n"));
    run_until(*sim, 1.0);
    // both tables give 3 N m s in the first second
    EXPECT_NEAR(body_of(*sim, 0).twist.w.z(), 3.0 / 0.5, 1e-9) << motor;
    EXPECT_NEAR(sim->stepper().report().audit[EnergyTerm::motor_work], 0.5 * 0.5 * 36.0, 1e-6);
  }
}

/// The rack, below the pinion, goes by -r angle, and torque T drives it by T/r on m + I/r^2.
TEST(RackAndPinion, TurnsRotationIntoTranslationByTheRadius) {
  const double radius = 0.05, inertia = 0.02, mass = 4.0, torque = 2.0;
  const auto sim = simulate(scene(
      kNoGravity,
      "  - {name: pinion, mass: 1, inertia: [0.02, 0.02, 0.02], position: [0, 0, 0]}\n"
      "  - {name: rack, mass: 4, inertia: [0.1, 0.1, 0.1], position: [0, 0, -0.05]}\n",
      "  - {name: axle, type: revolute, between: [world, pinion], at: [0, 0, 0], axis: [0, 1, 0], "
      "motor: {force: 2}}\n"
      "  - {name: guide, type: prismatic, between: [world, rack], at: [0, 0, -0.05], axis: [1, 0, "
      "0]}\n"
      "  - {name: mesh, type: rack_and_pinion, between: [pinion, rack], at: [0, 0, 0], axis: [0, "
      "1, 0], axis_b: [1, 0, 0], radius: 5 cm}\n"));
  run_until(*sim, 0.5);
  const double a = torque / radius / (mass + inertia / (radius * radius));
  EXPECT_NEAR(body_of(*sim, 1).twist.v.x(), -a * 0.5, 1e-9);
  EXPECT_NEAR(body_of(*sim, 1).twist.v.x(), -radius * body_of(*sim, 0).twist.w.y(), 1e-10);
  EXPECT_NEAR(body_of(*sim, 1).pose.p.x(), -radius * sim->state().joints[0].angle[0], 1e-9);
  EXPECT_GT(sim->state().joints[0].angle[0], 2.0 * kPi);  // more than a turn
}

constexpr double kPitch = 0.01, kThread = 0.01, kLoad = 200.0;  ///< m, m, kg

std::string screw(const std::string& keys) {
  return scene(kDown, "  - {name: spindle, mass: 200, inertia: [1, 1, 1]}\n",
               "  - {name: s, type: screw, between: [world, spindle], at: [0, 0, 0], axis: [0, 0, "
               "1], pitch: 10 mm" +
                   keys + "}\n");
}

TEST(Screw, AdvancesByItsPitchInATurnAndNeedsTheIdealTorque) {
  const auto sim = simulate(screw(", motor: {velocity: 10}"));
  run_until(*sim, 1.0);
  EXPECT_NEAR(body_of(*sim, 0).pose.p.z(), 10.0 * kPitch / (2.0 * kPi), 1e-6);
  EXPECT_NEAR(drive(*sim, 0), kLoad * kG * kPitch / (2.0 * kPi), 1e-6 * kLoad);
  const auto left = simulate(screw(", motor: {velocity: -10}"));
  run_until(*left, 1.0);
  EXPECT_NEAR(body_of(*left, 0).pose.p.z(), -10.0 * kPitch / (2.0 * kPi), 1e-6);
}

/// Raising needs F r tan(lead + friction angle), lowering F r tan(friction angle - lead): the
/// efficiency is tan(lead)/tan(lead + friction angle).
TEST(Screw, HasTheEfficiencyOfItsThread) {
  const double mu = 0.1, lead = std::atan(kPitch / (2.0 * kPi * kThread)), angle = std::atan(mu);
  const auto up = simulate(screw(", radius: 10 mm, thread_friction: 0.1, motor: {velocity: 10}"));
  run_until(*up, 1.0);
  const double torque = kLoad * kG * kThread * std::tan(lead + angle);
  EXPECT_NEAR(drive(*up, 0), torque, 1e-4 * torque);
  const double ideal = kLoad * kG * kPitch / (2.0 * kPi);
  EXPECT_NEAR(ideal / drive(*up, 0), std::tan(lead) / std::tan(lead + angle), 1e-4);
  // what the drive does not lift is lost in the thread
  const StepReport& r = up->stepper().report();
  const double lifted = kLoad * kG * body_of(*up, 0).pose.p.z();
  EXPECT_NEAR(r.audit[EnergyTerm::dissipation_friction], lifted * (drive(*up, 0) / ideal - 1.0),
              0.01 * lifted);
  const auto down =
      simulate(screw(", radius: 10 mm, thread_friction: 0.1, motor: {velocity: -10}"));
  run_until(*down, 1.0);
  EXPECT_NEAR(drive(*down, 0), -kLoad * kG * kThread * std::tan(angle - lead), 1e-3 * torque);
}

TEST(Screw, LocksItselfWhereFrictionExceedsTheLead) {
  // tan(lead) = 0.159
  for (const double mu : {0.1, 0.2}) {
    const auto sim = simulate(screw(", radius: 10 mm, thread_friction: " + text_of(mu)));
    run_until(*sim, 1.0);
    if (mu > 0.159)
      EXPECT_NEAR(body_of(*sim, 0).pose.p.z(), 0.0, 1e-4);
    else  // I alpha = m g r tan(lead - friction angle)
      EXPECT_NEAR(body_of(*sim, 0).pose.p.z(),
                  -0.5 * kPitch / (2.0 * kPi) * kLoad * kG * kThread *
                      std::tan(std::atan(kPitch / (2.0 * kPi * kThread)) - std::atan(mu)),
                  1e-5);
  }
}

std::string belt(const std::string& motor, const std::string& keys) {
  return scene(
      kNoGravity,
      "  - {name: a, mass: 1, inertia: [0.01, 0.01, 0.01]}\n"
      "  - {name: b, mass: 5, inertia: [0.2, 0.2, 0.2], position: [1, 0, 0]}\n",
      "  - {name: axle_a, type: revolute, between: [world, a], at: [0, 0, 0], axis: [0, 1, "
      "0], motor: " +
          motor +
          "}\n"
          "  - {name: axle_b, type: revolute, between: [world, b], at: [1, 0, 0], axis: [0, 1, "
          "0], motor: {force: -2}}\n"
          "  - {name: belt, type: belt, between: [a, b], axis: [0, 1, 0], radii: [0.1, 0.25]" +
          keys + "}\n");
}

TEST(Belt, DrivesByTheRatioOfItsRadii) {
  for (const auto& [keys, sign] : {std::pair("", 1.0), std::pair(", crossed: true", -1.0)}) {
    const auto sim = simulate(belt("{velocity: 10}", keys));
    run_until(*sim, 2.0);
    EXPECT_NEAR(body_of(*sim, 1).twist.w.y(), sign * 4.0, 4e-5);
    EXPECT_NEAR(sim->state().joints[1].angle[0] / sim->state().joints[0].angle[0], sign * 0.4,
                4e-5);
    // the brake of 2 N m on b takes 0.8 N m of a's drive, by 8 N in the belt
    EXPECT_NEAR(drive(*sim, 0), sign * 0.8, 1e-6);
    EXPECT_NEAR(std::abs(sim->state().joints[2].impulse[0]) / 1e-3, 8.0, 1e-5);
  }
}

/// The belt gives by its compliance under the 8 N.
TEST(Belt, StretchesByItsCompliance) {
  const auto sim = simulate(belt("{velocity: 0}", ", compliance: 1e-4, damping_time: 0.1"));
  run_until(*sim, 5.0);
  EXPECT_NEAR(0.25 * sim->state().joints[1].angle[0], -8.0 * 1e-4, 1e-7);
}

/// Three pulleys on one belt, the last on its back: the drive's a, b with a brake of 2 N m, and c
/// with one of 0.5 N m.
std::string three_pulleys(const std::string& motor, const std::string& keys) {
  std::string bodies, joints;
  for (const auto& [name, x, drive] : {std::tuple("a", "0", motor.c_str()),
                                       {"b", "1", "{force: -2}"},
                                       {"c", "2", "{force: 0.5}"}}) {
    bodies += std::string("  - {name: ") + name +
              ", mass: 1, inertia: [0.2, 0.2, 0.2], position: [" + x + ", 0, 0]}\n";
    joints += std::string("  - {name: axle_") + name + ", type: revolute, between: [world, " +
              name + "], at: [" + x + ", 0, 0], axis: [0, 1, 0], motor: " + drive + "}\n";
  }
  return scene(kNoGravity, bodies,
               joints +
                   "  - {name: belt, type: belt, between: [a, b, c], axis: [0, 1, 0], radii: [0.1, "
                   "0.25, 0.07], reversed: [c]" +
                   keys + "}\n");
}

/// All rims go at one speed, the reversed one the other way; the drive has the brakes' power.
TEST(Belt, OverThreePulleysDrivesEachByTheRatioOfItsRadius) {
  const auto sim = simulate(three_pulleys("{velocity: 10}", ""));
  run_until(*sim, 2.0);
  EXPECT_NEAR(body_of(*sim, 1).twist.w.y(), 10.0 * 0.1 / 0.25, 4e-5);
  EXPECT_NEAR(body_of(*sim, 2).twist.w.y(), -10.0 * 0.1 / 0.07, 1.4e-4);
  EXPECT_NEAR(drive(*sim, 0), 0.1 * (2.0 / 0.25 + 0.5 / 0.07), 1e-6);
  const std::vector<JointConstants>& joints = sim->bodies().joints;
  EXPECT_EQ(sim->model().joint_names.name_of(joints[3].id), "belt-0");
  // tension of a run less that of the last one: what the next pulleys take
  EXPECT_NEAR(std::abs(sim->state().joints[3].impulse[0]) / 1e-3, 2.0 / 0.25 + 0.5 / 0.07, 1e-5);
  EXPECT_NEAR(std::abs(sim->state().joints[4].impulse[0]) / 1e-3, 0.5 / 0.07, 1e-5);
}

/// Three runs of compliance e in a ring: on b and c act F and f, so b stands back by
/// (2 F + f) e/3 and c by (F + 2 f) e/3 along the belt.
TEST(Belt, OverThreePulleysGivesByTheComplianceOfEachRun) {
  const double e = 1e-4;
  const auto sim =
      simulate(three_pulleys("{velocity: 0}", ", compliance: 1e-4, damping_time: 0.1"));
  run_until(*sim, 10.0);
  const double on_b = 2.0 / 0.25, on_c = 0.5 / 0.07;
  EXPECT_NEAR(0.25 * sim->state().joints[1].angle[0], -(2.0 * on_b + on_c) * e / 3.0, 1e-7);
  EXPECT_NEAR(0.07 * sim->state().joints[2].angle[0], (on_b + 2.0 * on_c) * e / 3.0, 1e-7);
}

std::string rotor(const std::string& motor, const std::string& keys = "") {
  return scene(kNoGravity, "  - {name: rotor, mass: 1, inertia: [0.02, 0.02, 0.02]}\n",
               "  - {name: axle, type: revolute, between: [world, rotor], at: [0, 0, 0], axis: [0, "
               "1, 0], motor: " +
                   motor + keys + "}\n");
}

const std::string kCurve = "force_over_speed: {rows: [[-50, 12], [0, 10], [50, 10], [100, 0]]}";

/// 10 N m up to 50 rad/s, then 0.2 N m less per rad/s: w = T t/I, then 100 - 50 exp(-(t - t1)/tau),
/// tau = I/0.2 = 0.1 s, in steps of the implicit Euler rule.
TEST(TorqueSpeedCurve, IsFollowedAcrossItsKink) {
  const auto sim = simulate(rotor("{" + kCurve + "}"));
  run_until(*sim, 0.09);
  EXPECT_NEAR(body_of(*sim, 0).twist.w.y(), 45.0, 1e-9);
  run_until(*sim, 0.3);
  EXPECT_NEAR(body_of(*sim, 0).twist.w.y(), 100.0 - 50.0 * std::pow(1.01, -200), 0.01);
  EXPECT_NEAR(body_of(*sim, 0).twist.w.y(), 100.0 - 50.0 * std::exp(-2.0), 0.1);
  EXPECT_NEAR(drive(*sim, 0), 0.2 * (100.0 - body_of(*sim, 0).twist.w.y()), 1e-9);
  // what the motor gave is in the rotor
  const StepReport& r = sim->stepper().report();
  EXPECT_NEAR(r.audit[EnergyTerm::motor_work], r.kinetic, 1e-9 * r.kinetic);
}

/// Against 4 N m of friction it settles where the curve gives as much; half the curve by a table.
TEST(TorqueSpeedCurve, SettlesWhereItMeetsTheLoad) {
  for (const auto& [motor, speed] :
       {std::pair("{" + kCurve + "}", 80.0),
        std::pair("{" + kCurve + ", table: {rows: [[0, 0.5]]}}", 60.0),
        std::pair(std::string("{force_over_speed: {rows: [[0, 10], [100, 10], [100.1, 0]]}}"),
                  100.06)}) {
    const auto sim = simulate(rotor(motor, ", friction: 4"));
    run_until(*sim, 3.0);
    EXPECT_NEAR(body_of(*sim, 0).twist.w.y(), speed, 1e-3) << motor;
    EXPECT_NEAR(drive(*sim, 0), 4.0, 1e-3) << motor;
  }
}

std::string winch(const std::string& keys) {
  return scene(kDown, "  - {name: load, mass: 1000, inertia: [100, 100, 100]}\n",
               "  - {name: w, type: rope, between: [world, load], at: [[0, 0, 5], [0, 0, 0]], " +
                   keys + "}\n");
}

double tension(const Simulation& sim) {
  return sim.state().joints[0].impulse[0] / sim.settings().time.step;
}

TEST(Winch, LiftsATonAtItsSpeedWithTheWeightInTheRope) {
  const auto sim = simulate(winch("motor: {velocity: -0.5}"));
  run_until(*sim, 2.0);
  EXPECT_NEAR(body_of(*sim, 0).twist.v.z(), 0.5, 1e-6);
  EXPECT_NEAR(tension(*sim), 1000.0 * kG, 1e-3 * kG);
  EXPECT_NEAR(body_of(*sim, 0).pose.p.z(), 1.0, 2e-3);
  EXPECT_NEAR(sim->state().joints[0].angle[0], 4.0, 1e-9);
  const StepReport& r = sim->stepper().report();
  EXPECT_NEAR(r.audit[EnergyTerm::motor_work], 1000.0 * (kG * body_of(*sim, 0).pose.p.z() + 0.125),
              20.0);
}

/// The rope pulls with m (g + a) while the winch gathers speed, a = 0.5 m/s^2.
TEST(Winch, PullsWithWeightAndInertiaWhileItGathersSpeed) {
  for (const char* motor : {"{table: {values: velocity, rows: [[0, 0], [2, -1]]}}",
                            "{table: {values: position, interpolation: cubic, rows: [[0, 5], [1, "
                            "4.75], [2, 4]]}}"}) {
    const auto sim = simulate(winch("motor: " + std::string(motor)));
    run_until(*sim, 1.0);
    EXPECT_NEAR(body_of(*sim, 0).twist.v.z(), 0.5, 2e-3) << motor;
    EXPECT_NEAR(tension(*sim), 1000.0 * (kG + 0.5), 2.0) << motor;
  }
}

/// The joints that docs/configuration.md shows, as they stand there.
TEST(Manual, ItsMachineElementsRun) {
  std::ifstream file(CATENA_TEST_DATA "/../../docs/configuration.md");
  std::string joints;
  for (std::string line; std::getline(file, line);) {
    if (line == "    forces:" && !joints.empty()) break;
    if (line == "    joints:" || !joints.empty())
      joints += line.substr(std::min<std::size_t>(4, line.size())) + "\n";
  }
  std::string bodies = "bodies:\n";
  for (const auto& [name, place] : {std::pair("arm", "[9, 0, 3]"),
                                    {"nut", "[9, 0, 3]"},
                                    {"pinion", "[0, 0, 1]"},
                                    {"rack", "[0, 0, 0.95]"},
                                    {"fan", "[0, 0, 2]"},
                                    {"spindle", "[2, 0, 0]"},
                                    {"engine", "[3, 0, 0]"},
                                    {"hook", "[4, 0, 1]"}})
    bodies += std::string("  - {name: ") + name +
              ", mass: 2, inertia: [1, 1, 1], position: " + place + "}\n";
  const auto sim = simulate(bodies + joints + "time: {step: 1 ms, end: 1}\n");
  run_until(*sim, 0.1);
  EXPECT_EQ(sim->bodies().joints.size(), 9U) << joints;
  EXPECT_NEAR(body_of(*sim, 7).twist.v.z(), 0.5, 1e-3);  // the hook on its winch
}

TEST(Winch, StopsAtItsLimitsAndLetsTheLoadFallWhereItPaysOutFaster) {
  const auto up = simulate(winch("limits: [4.5, .inf], motor: {velocity: -0.5}"));
  run_until(*up, 3.0);
  EXPECT_NEAR(body_of(*up, 0).pose.p.z(), 0.5, 1e-3);
  EXPECT_NEAR(tension(*up), 1000.0 * kG, 10.0);
  const auto fall = simulate(winch("motor: {velocity: 100}"));
  run_until(*fall, 0.5);
  EXPECT_NEAR(body_of(*fall, 0).twist.v.z(), -kG * 0.5, 1e-9);
  EXPECT_EQ(tension(*fall), 0.0);
}

/// Its angles are not those relative to the carrier of the gear before it.
TEST(Gear, WithoutACarrierTakesNoNoticeOfAnotherGearsOne) {
  std::string bodies, joints;
  for (const char* name : {"arm", "a", "b", "c", "d"}) {
    const std::string body = name;
    bodies += "  - {name: " + body + ", mass: 1, inertia: [1, 1, 1]}\n";
    joints += "  - {name: axle_" + body + ", type: revolute, between: [world, " + body +
              "], at: [0, 0, 0], axis: [0, 1, 0]" +
              (body == "arm" || body == "c" ? ", motor: {velocity: 1}" : "") + "}\n";
  }
  joints +=
      "  - {name: g, type: gear, between: [a, b], carrier: arm, axis: [0, 1, 0], ratio: 1}\n"
      "  - {name: h, type: gear, between: [c, d], axis: [0, 1, 0], ratio: 1}\n";
  const auto sim = simulate(scene(kNoGravity, bodies, joints));
  run_until(*sim, 1.0);
  EXPECT_NEAR(sim->state().joints[4].angle[0], -sim->state().joints[3].angle[0], 1e-6);
}

/// Rows of a table, n of a turn (or n + 1 places from `from` to `to`), of what `row` gives.
template <class Row>
std::string rows_of(int n, double from, double to, Row&& row) {
  std::string text;
  for (int k = 0; k <= n; ++k) {
    text += k > 0 ? ", [" : "[[";
    bool first = true;
    for (const double x : row(from + (to - from) * k / n)) {
      text += (first ? "" : ", ") + text_of(x);
      first = false;
    }
    text += "]";
  }
  return text + "]";
}

constexpr double kBase = 0.1, kThrow = 0.01;  ///< of a cam, m

/// A follower of 2 kg on a cam with the lift r + e (1 - cos angle) that a motor turns.
std::string cam(double speed, const std::string& keys) {
  const std::string lift = rows_of(360, 0.0, 2.0 * kPi, [](double angle) {
    return std::array{angle, kBase + kThrow * (1.0 - std::cos(angle))};
  });
  return scene(
      kDown,
      "  - {name: cam, mass: 1, inertia: [0.01, 0.01, 0.01]}\n"
      "  - {name: tappet, mass: 2, inertia: [0.01, 0.01, 0.01], position: [0, 0, 0.1]}\n",
      "  - {name: axle, type: revolute, between: [world, cam], at: [0, 0, 0], axis: [0, 1, "
      "0], motor: {velocity: " +
          text_of(speed) +
          "}}\n"
          "  - {name: guide, type: prismatic, between: [world, tappet], at: [0, 0, 0.1], "
          "axis: [0, 0, 1]}\n"
          "  - {name: lobe, type: cam, between: [cam, tappet], at: [[0, 0, 0], [0, 0, "
          "0.1]], axis: [0, 1, 0], axis_b: [0, 0, 1], lift: {interpolation: cubic, rows: " +
          lift + "}" + keys + "}\n",
      1e-4);
}

/// A groove holds the follower at its lift; the force m (g + z'') costs the drive F dz/dangle.
TEST(Cam, MovesItsFollowerByTheTableAndTakesItsPower) {
  const double speed = 20.0;
  const auto sim = simulate(cam(speed, ""));
  for (int step = 1; step <= 4000; ++step) {
    sim->step();
    const double angle = speed * sim->state().time;
    EXPECT_NEAR(body_of(*sim, 1).pose.p.z(), kBase + kThrow * (1.0 - std::cos(angle)), 2e-6);
    if (step % 100 != 0) continue;
    const double force = 2.0 * (kG + kThrow * speed * speed * std::cos(angle));
    EXPECT_NEAR(sim->state().joints[2].impulse[0] / 1e-4, force, 0.02 * 2.0 * kG);
    EXPECT_NEAR(drive(*sim, 0), force * kThrow * std::sin(angle), 0.02 * 2.0 * kG * kThrow);
  }
  const StepReport& r = sim->stepper().report();
  const double z = body_of(*sim, 1).pose.p.z() - 0.1, v = body_of(*sim, 1).twist.v.z();
  EXPECT_NEAR(r.audit[EnergyTerm::motor_work], 2.0 * kG * z + v * v + 0.005 * speed * speed, 2e-3);
}

/// A follower that is only pushed stays on its cam while e w^2 < g, and else leaves it where the
/// lift falls faster than it does: at cos angle = -g/(e w^2).
TEST(Cam, LosesItsFollowerWhereTheLiftFallsFasterThanGravity) {
  for (const double share : {0.9, 1.5}) {
    const double speed = std::sqrt(share * kG / kThrow);
    const auto sim = simulate(cam(speed, ", lift_off: true"));
    double left = -1.0, largest = 0.0;
    while (speed * sim->state().time < kPi) {
      sim->step();
      const double angle = speed * sim->state().time;
      const double gap = body_of(*sim, 1).pose.p.z() - kBase - kThrow * (1.0 - std::cos(angle));
      largest = std::max(largest, gap);
      if (left < 0.0 && gap > 2e-6) left = angle;
    }
    if (share < 1.0) {
      EXPECT_LT(largest, 2e-6);
    } else {
      // the gap is seen when it has grown to 2e-6 = e w^3 sin(angle) t^3/6: after 0.12 rad
      EXPECT_NEAR(left, std::acos(-1.0 / share) + 0.12, 0.05);
      EXPECT_GT(largest, 1e-4);
    }
  }
}

std::string bead(const std::string& at, const std::string& curve, const std::string& keys,
                 const std::string& gravity = kDown, const std::string& velocity = "[0, 0, 0]") {
  return scene(gravity,
               "  - {name: bead, mass: 0.5, inertia: [0.01, 0.01, 0.01], position: " + at +
                   ", velocity: " + velocity + "}\n",
               "  - {name: wire, type: point_on_curve, between: [world, bead], at: " + at +
                   ", curve: {points: " + curve + keys + "}}\n");
}

/// Along a cycloid a bead swings with the period 2 pi sqrt(4 R/g) from any height.
TEST(PointOnCurve, SwingsAlongACycloidInTheSameTimeFromAnyHeight) {
  const double radius = 0.5, w = std::sqrt(kG / (4.0 * radius));
  const auto place = [&](double t) {
    return std::array{radius * (t - std::sin(t)), 0.0, radius * (1.0 + std::cos(t))};
  };
  const std::string curve = rows_of(200, 0.4, 2.0 * kPi - 0.4, place);
  for (const double start : {1.2, 2.4}) {
    const std::array<double, 3> at = place(start);
    const auto sim =
        simulate(bead("[" + text_of(at[0]) + ", 0, " + text_of(at[2]) + "]", curve, ""));
    const double way = -4.0 * radius * std::cos(0.5 * start);  // from the lowest point
    const double energy = 0.5 * kG * at[2];
    while (sim->state().time < 3.0) {
      sim->step();
      const double t = sim->state().time;
      const BodyMotionState& s = body_of(*sim, 0);
      // z = way^2/(8 R) above the lowest point
      const double along = way * std::cos(w * t);
      EXPECT_NEAR(s.pose.p.z(), along * along / (8.0 * radius), 0.01) << t;
      EXPECT_NEAR(0.25 * s.twist.v.squaredNorm() + 0.5 * kG * s.pose.p.z(), energy, 0.02 * energy);
    }
  }
}

/// Down a helix of radius r and pitch p the way is g sin(lead) t^2/2, and the wire bears
/// m sqrt((g cos lead)^2 + (v^2 cos^2 lead/r)^2).
TEST(PointOnCurve, SlidesDownAHelixAndIsBorneByItsWire) {
  const double radius = 0.3, pitch = 0.4, lead = std::atan(pitch / (2.0 * kPi * radius));
  const std::string curve = rows_of(288, 0.0, 8.0 * kPi, [&](double t) {
    return std::array{radius * std::cos(t), radius * std::sin(t), -pitch * t / (2.0 * kPi)};
  });
  const auto sim = simulate(bead("[0.3, 0, 0]", curve, ""));
  run_until(*sim, 1.0);
  const double v = kG * std::sin(lead);
  EXPECT_NEAR(body_of(*sim, 0).twist.v.norm(), v, 2e-3 * v);
  EXPECT_NEAR(body_of(*sim, 0).pose.p.z(), -0.5 * v * std::sin(lead), 2e-3);
  const auto& impulse = sim->state().joints[0].impulse;
  const double load =
      0.5 * std::hypot(kG * std::cos(lead), v * v * std::pow(std::cos(lead), 2) / radius);
  EXPECT_NEAR(std::hypot(impulse[0], impulse[1]) / 1e-3, load, 0.01 * load);
}

/// Around a closed curve it goes lap by lap, held by m v^2/r; an open one ends.
TEST(PointOnCurve, GoesAroundAndStopsAtAnEnd) {
  const std::string circle = rows_of(59, 0.0, 2.0 * kPi * 59.0 / 60.0, [](double t) {
    return std::array{std::cos(t), std::sin(t), 0.0};
  });
  const auto around =
      simulate(bead("[1, 0, 0]", circle, ", closed: true", kNoGravity, "[0, 4, 0]"));
  run_until(*around, 4.0);
  const BodyMotionState& s = body_of(*around, 0);
  EXPECT_NEAR(s.twist.v.norm(), 4.0, 1e-2);
  const JointPoses at{{Pose{}, s.pose, Pose{}}, {}};
  const JointConstants& wire = around->bodies().joints[0];
  EXPECT_NEAR(joint_coordinates(wire, at, around->state().joints[0].angle, around->model())[0],
              16.0, 0.05);
  const auto& impulse = around->state().joints[0].impulse;
  EXPECT_NEAR(std::hypot(impulse[0], impulse[1]) / 1e-3, 0.5 * 16.0, 0.1);

  const auto ends = simulate(bead("[0, 0, 0]", "[[0, 0, 0], [0.6, 0, -0.8]]", ""));
  run_until(*ends, 2.0);
  EXPECT_NEAR(body_of(*ends, 0).pose.p.z(), -0.8, 1e-3);
  EXPECT_NEAR(ends->state().joints[0].drive[0][0] / 1e-3, 0.5 * kG * 0.8, 1e-2) << "the end";
}

/// Legs of a tendon that pull a load of m up by two, and a counterweight by one: the load falls
/// with a = g (m - 2 c)/(m + 4 c), at a tension of c (g + 2 a).
TEST(Tendon, OfTwoLegsHoldsALoadAtHalfItsWeight) {
  const auto sim = simulate(scene(
      kDown,
      "  - {name: load, mass: 3, inertia: [1, 1, 1], position: [0, 0, -2]}\n"
      "  - {name: counter, mass: 1, inertia: [1, 1, 1], position: [1, 0, -2]}\n",
      "  - {name: t, type: tendon, through: [{body: world, at: [0, 0, 0]}, {body: load, at: [0, "
      "0, -2]}, {body: world, at: [0, 0, 0]}, {body: world, at: [1, 0, 0]}, {body: counter, "
      "at: [1, 0, -2]}]}\n"));
  run_until(*sim, 0.5);
  const double a = kG * (3.0 - 2.0) / (3.0 + 4.0);
  EXPECT_NEAR(body_of(*sim, 0).twist.v.z(), -0.5 * a, 1e-3);
  EXPECT_NEAR(body_of(*sim, 1).twist.v.z(), 2.0 * 0.5 * a, 2e-3);
  EXPECT_NEAR(tension(*sim), 1.0 * (kG + 2.0 * a), 1e-2);
}

/// Wound in at 0.3 m/s over an eyelet the two legs lift the load by half of that.
TEST(Tendon, IsWoundInOverItsEyelets) {
  const auto sim = simulate(scene(
      kDown, "  - {name: load, mass: 3, inertia: [1, 1, 1], position: [0, 0, -2]}\n",
      "  - {name: t, type: tendon, through: [{body: world, at: [0, 0, 0]}, {body: load, at: [0, "
      "0, -2]}, {body: world, at: [0, 0, 0]}], motor: {velocity: -0.3}}\n"));
  run_until(*sim, 1.0);
  EXPECT_NEAR(body_of(*sim, 0).twist.v.z(), 0.15, 1e-6);
  EXPECT_NEAR(tension(*sim), 1.5 * kG, 1e-3);
}

/// Around three free bodies: momenta stay, the tendon is never longer, and slack has no tension.
TEST(Tendon, KeepsMomentaOfThreeBodiesAndItsLength) {
  const auto sim = simulate(scene(
      kNoGravity,
      "  - {name: a, mass: 1, inertia: [0.1, 0.1, 0.1], velocity: [-1, 0, 0.2]}\n"
      "  - {name: b, mass: 2, inertia: [0.1, 0.2, 0.3], position: [1, 0, 0], velocity: [1, 0.3, "
      "0], angular_velocity: [0, 2, 1]}\n"
      "  - {name: c, mass: 3, inertia: [0.3, 0.2, 0.3], position: [0, 1, 0], velocity: [0, 1, "
      "0]}\n",
      "  - {name: t, type: tendon, length: 4, through: [{body: a, at: [0, 0, 0.1]}, {body: b, "
      "at: [1, 0.1, 0]}, {body: c, at: [0, 1, 0.1]}, {body: a, at: [0, 0, -0.1]}]}\n"));
  const auto momenta = [&] {
    std::array<Vec3, 2> sum = {Vec3::Zero(), Vec3::Zero()};
    for (std::size_t i = 0; i < 3; ++i) {
      const BodyMotionState& s = sim->state().body[i];
      const BodyConstants& body = sim->bodies().constants[i];
      sum[0] += body.mass * s.twist.v;
      sum[1] += body.mass * s.pose.p.cross(s.twist.v) +
                s.pose.q * body.inertia.cwiseProduct(s.pose.q.conjugate() * s.twist.w);
    }
    return sum;
  };
  const auto before = momenta();
  bool slack = false, taut = false;
  while (sim->state().time < 1.5) {
    sim->step();
    (tension(*sim) > 0.0 ? taut : slack) = true;
    EXPECT_GE(tension(*sim), 0.0);
    EXPECT_LT(sim->stepper().report().misfit.linear, 1e-3);
  }
  EXPECT_TRUE(slack && taut);
  EXPECT_LT((momenta()[0] - before[0]).norm(), 1e-12);
  EXPECT_LT((momenta()[1] - before[1]).norm(), 1e-3);
}

}  // namespace
}  // namespace catena::test
