// Controllers against linear theory, held forces, and what they refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "catena/base/error.hpp"
#include "probes/probe_run.hpp"
#include "support/error_of.hpp"

namespace catena {
namespace {

using test::ProbeRun;

/// A pendulum that stands on its hinge, tilted by 0.05 rad: m = 1 kg at L = 1 m, I = 1.01 kg m^2
/// about the hinge. Its angle is 0 at the start, -0.05 upright.
const std::string kInverted =
    "gravity: [0, 0, -10]\n"
    "bodies: [{name: rod, mass: 1, inertia: [0.01, 0.01, 0.01], position: [0.049979169, 0, "
    "0.998750260]}]\n"
    "joints: [{name: hinge, type: revolute, between: [world, rod], at: [0, 0, 0], axis: [0, 1, "
    "0]}]\n"
    "forces: [{name: push, type: torque, body: rod, torque: [0, 1, 0]}]\n"
    "time: {step: 1 ms, end: 5}\n"
    "probes: [{name: hinge, type: joint, joint: hinge}]\n";

TEST(PidController, KeepsAnInvertedPendulumUprightAsLinearTheorySays) {
  ProbeRun run(kInverted +
               "controllers: [{name: hold, type: pid, measure: hinge.angle, drive: push, target: "
               "-0.05 rad, kp: 30, kd: 6}]\n");
  // I x'' = (m g L - kp) x - kd x', x = angle + 0.05: a damped oscillation
  const double inertia = 1.01, decay = 6.0 / (2.0 * inertia);
  const double omega = std::sqrt((30.0 - 10.0) / inertia - decay * decay);
  double worst = 0.0;
  for (int i = 1; i <= 2000; ++i) {
    run.steps(1);
    const double t = 1e-3 * i;
    const double x =
        0.05 * std::exp(-decay * t) * (std::cos(omega * t) + decay / omega * std::sin(omega * t));
    worst = std::max(worst, std::abs(run("hinge.angle") + 0.05 - x));
  }
  // the first step is without control, and each output one step late
  EXPECT_LT(worst, 3e-4);
  EXPECT_NEAR(run("hinge.angle"), -0.05, 2e-4);

  ProbeRun falls(kInverted);
  falls.steps(2000);
  EXPECT_GT(falls("hinge.angle"), 1.0);
}

TEST(PidController, IntegralTakesTheErrorAwayAndLimitsDoNotWindItUp) {
  // a block against gravity on a vertical guide: without the integral it would hang lower
  const std::string text =
      "bodies: [{name: block, mass: 2, inertia: [1, 1, 1], position: [0, 0, 0]}]\n"
      "joints: [{name: guide, type: prismatic, between: [world, block], at: [0, 0, 0], axis: [0, "
      "0, 1]}]\n"
      "forces: [{name: lift, type: force, body: block, force: [0, 0, 1]}]\n"
      "time: {step: 5 ms, end: 20}\n"
      "probes: [{name: guide, type: joint, joint: guide}]\n";
  const std::string gains = "kp: 200, ki: 200, kd: 60, interval: 10 ms";
  ProbeRun run(text +
               "controllers: [{name: c, type: pid, measure: guide.displacement, drive: lift, "
               "target: 10 cm, " +
               gains + "}]\n");
  run.steps(1600);
  EXPECT_NEAR(run("guide.displacement"), 0.1, 1e-4);
  EXPECT_NEAR(run.sim().state().force_factors[0], 2.0 * 9.81, 1e-2);

  // a target that 25 N reach slowly: an integral that went on meanwhile would overshoot far
  ProbeRun limited(text +
                   "controllers: [{name: c, type: pid, measure: guide.displacement, drive: lift, "
                   "target: 2 m, limits: [0, 25], " +
                   gains + "}]\n");
  double highest = 0.0;
  for (int i = 0; i < 2400; ++i) {
    limited.steps(1);
    highest = std::max(highest, limited("guide.displacement"));
  }
  EXPECT_LT(highest, 2.2);
  EXPECT_NEAR(limited("guide.displacement"), 2.0, 0.02);
}

/// A plate on a vertical guide over a column of three balls in a bin.
const std::string kPress =
    "materials: {m: {density: 2000, friction: 0.3}}\n"
    "contact: {stiffness: 2e5}\n"
    "bodies: [{name: plate, material: m, shape: {box: {size: [0.5, 0.5, 0.1]}}, position: [0, 0, "
    "0.67]}]\n"
    "generators:\n"
    "  - container: {name: bin, material: m, size: [0.201, 0.201, .inf], origin: [-0.1005, "
    "-0.1005, 0]}\n"
    "  - lattice: {name: balls, material: m, shape: {sphere: {radius: 0.1}}, count: [1, 1, 3], "
    "spacing: 0.2, origin: [0, 0, 0.1]}\n"
    "joints: [{name: slide, type: prismatic, between: [world, plate], at: [0, 0, 1], axis: [0, 0, "
    "1], motor: {velocity: 0}}]\n"
    "time: {step: 1 ms, end: 10}\n"
    "probes: [{name: load, type: force, on: plate, from: balls, interval: 50 ms}]\n";

TEST(ServoController, FindsTheBallsAndHoldsItsForceOnThem) {
  ProbeRun run(kPress +
               "controllers: [{name: press, type: servo, measure: load.force_z, drive: slide, "
               "target: 800 N, max_velocity: 5 cm/s}]\n");
  run.steps(100);
  EXPECT_EQ(run("load.force_z"), 0.0);  // 2 cm above them, at 5 cm/s
  run.steps(1900);
  EXPECT_NEAR(run("load.force_z_mean"), 800.0, 8.0);
  EXPECT_NEAR(run("load.force_z_min"), 800.0, 40.0);
  EXPECT_NEAR(run("load.force_z_max"), 800.0, 40.0);
}

/// A ball on a table that sinks with 1 cm/s: the plate on it has to follow without an error, where
/// a velocity in proportion to it alone would press with v k dt/gain too little.
TEST(ServoController, HoldsItsForceOnWhatMovesAway) {
  const double stiffness = 2e5, speed = 0.01;
  ProbeRun run(
      "materials: {m: {density: 2000, friction: 0.3}}\n"
      "contact: {stiffness: 2e5}\n"
      "bodies:\n"
      "  - {name: table, material: m, shape: {plane: {}}, motion: {velocity: [0, 0, -0.01]}}\n"
      "  - {name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: [0, 0, 0.1]}\n"
      "  - {name: plate, material: m, shape: {box: {size: [0.5, 0.5, 0.1]}}, position: [0, 0, "
      "0.251]}\n"
      "joints: [{name: slide, type: prismatic, between: [world, plate], at: [0, 0, 1], axis: [0, "
      "0, 1], motor: {velocity: 0}}]\n"
      "time: {step: 1 ms, end: 10}\n"
      "probes: [{name: load, type: force, on: plate, from: ball, interval: 50 ms}]\n"
      "controllers: [{name: press, type: servo, measure: load.force_z, drive: slide, target: 400 "
      "N, max_velocity: 20 cm/s}]\n");
  run.steps(1000);
  // of two contacts in a row
  const double left_over = speed * 0.5 * stiffness * 1e-3 / 0.3;
  EXPECT_GT(left_over, 3.0);
  EXPECT_NEAR(run("load.force_z_mean"), 400.0, 0.1);
  EXPECT_NEAR(run("load.force_z_min"), 400.0, 0.5);
  EXPECT_NEAR(run("load.force_z_max"), 400.0, 0.5);
}

TEST(ServoController, FollowsATargetOverTimeAndRefusesToPull) {
  ProbeRun run(kPress +
               "controllers: [{name: press, type: servo, measure: load.force_z, drive: slide, "
               "target: {table: {rows: [[0, 300], [1.5, 300], [2, 600]]}}, max_velocity: 5 "
               "cm/s}]\n");
  run.steps(1500);
  EXPECT_NEAR(run("load.force_z_mean"), 300.0, 6.0);
  run.steps(1000);
  EXPECT_NEAR(run("load.force_z_mean"), 600.0, 12.0);

  EXPECT_NE(test::error_of([&] {
              ProbeRun pull(kPress +
                            "controllers: [{name: press, type: servo, measure: load.force_z, "
                            "drive: slide, target: -800 N, max_velocity: 5 cm/s, response: "
                            "rises}]\n");
              pull.steps(1000);
            }).find("the servo 'press' would have to pull"),
            std::string::npos);
}

TEST(ExpressionController, IsEvaluatedAtTheStepsEndWithProbesParametersAndOthersOutputs) {
  ProbeRun run(
      "gravity: [0, 0, 0]\n"
      "bodies: [{name: a, mass: 1, inertia: [1, 1, 1], position: [0, 0, 0]}, {name: b, mass: 1, "
      "inertia: [1, 1, 1], position: [5, 0, 0]}]\n"
      "forces:\n"
      "  - {name: pull, type: force, body: a, force: [1, 0, 0]}\n"
      "  - {name: other, type: force, body: b, force: [2, 0, 0]}\n"
      "time: {step: 1 ms, end: 5}\n"
      "probes: [{name: a, type: body, body: a}]\n"
      "controllers:\n"
      "  - {name: second, type: expression, drive: other, expression: first / 2 + offset, "
      "parameters: {offset: 1}}\n"
      "  - {name: first, type: expression, drive: pull, expression: \"k * (1 - a.position_x) - c * "
      "a.velocity_x\", parameters: {k: 4, c: 0}}\n");
  double worst = 0.0;
  for (int i = 1; i <= 2000; ++i) {
    run.steps(1);
    // an oscillator about x = 1 with omega = 2
    worst = std::max(worst, std::abs(run("a.position_x") - (1.0 - std::cos(2.0 * 1e-3 * i))));
  }
  EXPECT_LT(worst, 1.2e-2);  // outputs are a step late: exp(h omega^2 t/2)
  const double first = run.sim().state().force_factors[0];
  EXPECT_NEAR(first, 4.0 * (1.0 - run("a.position_x")), 1e-12);
  EXPECT_NEAR(run.sim().state().force_factors[1], first / 2.0 + 1.0, 1e-12);
}

TEST(TableController, SetsAMotorsTarget) {
  ProbeRun run(
      "bodies: [{name: wheel, mass: 1, inertia: [1, 1, 1], position: [0, 0, 0]}]\n"
      "joints: [{name: hinge, type: revolute, between: [world, wheel], at: [0, 0, 0], axis: [0, 1, "
      "0], motor: {velocity: 0}}]\n"
      "time: {step: 1 ms, end: 5}\n"
      "probes: [{name: hinge, type: joint, joint: hinge}]\n"
      "controllers: [{name: c, type: table, drive: hinge, table: {rows: [[0, 1], [1, 3]]}, limits: "
      "[0, 2.5]}]\n");
  run.steps(500);
  EXPECT_NEAR(run("hinge.angle_rate"), 1.0 + 2.0 * 0.499, 1e-9);
  run.steps(400);
  EXPECT_NEAR(run("hinge.angle_rate"), 2.5, 1e-9);
}

TEST(ExpressionController, GivesAMotorItsTorque) {
  ProbeRun run(
      "bodies: [{name: wheel, mass: 1, inertia: [1, 1, 2], position: [0, 0, 0]}, {name: bolt, "
      "mass: "
      "1, inertia: [1, 1, 2], position: [9, 0, 0]}]\n"
      "gravity: [0, 0, 0]\n"
      "joints:\n"
      "  - {name: hinge, type: revolute, between: [world, wheel], at: [0, 0, 0], axis: [0, 0, 1], "
      "motor: {force: 0}}\n"
      "  - {name: thread, type: screw, between: [world, bolt], at: [9, 0, 0], axis: [0, 0, 1], "
      "pitch: 10 mm, motor: {velocity: 0}}\n"
      "time: {step: 1 ms, end: 5}\n"
      "probes: [{name: hinge, type: joint, joint: hinge}, {name: thread, type: joint, joint: "
      "thread}]\n"
      "controllers: [{name: c, type: expression, drive: hinge, expression: 6 * t}, {name: d, type: "
      "expression, drive: thread, expression: \"2\"}]\n");
  run.steps(100);
  // the output of a step's end acts in the next: sum of h 6 (k h)/2 over k = 0 .. 99
  EXPECT_NEAR(run("hinge.angle_rate"), 3e-6 * 99 * 100 / 2, 1e-12);
  EXPECT_NEAR(run("thread.angle_rate"), 2.0, 1e-9);
  EXPECT_NEAR(run("thread.displacement_rate"), 2.0 * 0.01 / (2 * std::numbers::pi), 1e-9);
}

TEST(MotionDrive, AServoPressesABodyWithMotionToItsForce) {
  std::string text = kPress;
  text.replace(text.find("joints: ["), text.find("time: {") - text.find("joints: ["), "");
  text.insert(text.find("0.67]") + 5, ", motion: {velocity: [0, 0, 0]}");
  ProbeRun run(
      text +
      "controllers: [{name: press, type: servo, measure: load.force_z, drive: plate, along: "
      "[0, 0, 2], target: 800 N, max_velocity: 5 cm/s}]\n");
  run.steps(100);
  EXPECT_EQ(run("load.force_z"), 0.0);  // 2 cm above them, at 5 cm/s
  run.steps(1900);
  EXPECT_NEAR(run("load.force_z_mean"), 800.0, 8.0);
  EXPECT_NEAR(run("load.force_z_max"), 800.0, 40.0);
}

TEST(MotionDrive, APoseIsTheSumOfTheStepsAtTheVelocitiesGiven) {
  constexpr int kSteps = 100;
  constexpr double kH = 1e-3;
  ProbeRun run(
      "materials: {m: {density: 1000}}\n"
      "bodies: [{name: piston, mass: 1, inertia: [1, 1, 1], position: [9, 9, 9]}, {name: cam, "
      "material: m, shape: {sphere: {radius: 0.1}}, position: [1, 0, 0], motion: {velocity: [0, 0, "
      "0.5], about: [0, 0, 0]}}]\n"
      "generators: [container: {name: bin, material: m, size: [8, 8, .inf], origin: [-4, -4, -4], "
      "motion: {velocity: [0.1, 0, 0]}}]\n"
      "time: {step: 1 ms, end: 1}\n"
      "probes: [{name: cam, type: body, body: cam}]\n"
      "controllers:\n"
      "  - {name: lift, type: table, drive: cam, along: [0, 0, 1], table: {rows: [[0, 0], [1, "
      "2]]}}\n"
      "  - {name: turn, type: expression, drive: cam, about: [0, 0, 3], expression: 4 * t, "
      "interval: "
      "5 ms}\n"
      "  - {name: rise, type: expression, drive: bin, along: [0, 0, 1], expression: 2 * lift}\n");
  run.steps(kSteps);
  // outputs of the end of a step hold in the next one
  double height = 0.0, angle = 0.0;
  for (int k = 0; k < kSteps; ++k) height += kH * 2.0 * (kH * k);
  for (int k = 0; k < kSteps; ++k) angle += kH * 4.0 * (kH * (k - k % 5));
  EXPECT_NEAR(run("cam.position_x"), std::cos(angle), 1e-12);
  EXPECT_NEAR(run("cam.position_y"), std::sin(angle), 1e-12);
  EXPECT_NEAR(run("cam.position_z"), height, 1e-12);
  const State& state = run.sim().state();
  EXPECT_EQ(state.plane_motions.size(), 5U);
  for (const BodyMotion& wall : state.plane_motions) {
    EXPECT_NEAR(wall.start.displacement[2], 2.0 * height, 1e-12);
    EXPECT_NEAR(wall.start.displacement[0], 0.1 * kH * kSteps, 1e-12);  // as the motion says
  }
}

TEST(WinchDrive, APidWindsALoadToItsHeight) {
  // a load on a rope of 2 m, to hang at 1.5 m: v = kp (target - length)
  ProbeRun run(
      "bodies: [{name: load, mass: 5, inertia: [1, 1, 1], position: [0, 0, -2]}]\n"
      "joints: [{name: rope, type: rope, between: [world, load], at: [[0, 0, 0], [0, 0, -2]], "
      "motor: "
      "{velocity: 0}}]\n"
      "time: {step: 4 ms, end: 9}\n"
      "probes: [{name: rope, type: joint, joint: rope}]\n"
      "controllers: [{name: wind, type: pid, measure: rope.length, drive: rope, target: 1.5 m, kp: "
      "2, limits: [-0.3, 0.3]}]\n");
  run.steps(250);
  // 0.3 m/s for the first second and a bit: the error is beyond 0.15 m
  EXPECT_NEAR(run("rope.length"), 2.0 - 0.3, 2e-3);
  run.steps(1000);
  EXPECT_NEAR(run("rope.length"), 1.5, 1e-3);
}

TEST(Controllers, NameWhatTheyCannotDrive) {
  const auto message = [](const std::string& controllers) {
    return test::error_of([&] {
      ProbeRun run(kPress + "controllers: [" + controllers + "]\n");
      run.steps(50);
    });
  };
  const auto says = [&](const std::string& controllers, const std::string& what) {
    const std::string text = message(controllers);
    EXPECT_NE(text.find(what), std::string::npos) << controllers << "\n" << text;
  };
  says("{name: c, type: pid, measure: load.forze_z, drive: slide, target: 1, kp: 1}",
       "test.yaml:12:15: controllers.c.measure: there is no column 'load.forze_z' of a probe; did "
       "you mean load.force_z?");
  says("{name: c, type: pid, measure: load.force_z, drive: slid, target: 1, kp: 1}",
       "did you mean slide?");
  says("{name: c, type: pid, measure: load.force_z, drive: plate, target: 1, kp: 1}",
       "'plate' is a body");
  says("{name: c, type: pid, measure: load.force_z, drive: plate, target: 1, kp: 1, axis: 2}",
       "controllers.c.axis: axis is of joints");
  says("{name: c, type: pid, measure: load.force_z, drive: slide, target: 1, kp: 1, gain: 0.5}",
       "controllers.c.gain");
  says(
      "{name: c, type: pid, measure: load.force_z, drive: slide, along: [0, 0, 1], target: 1, kp: "
      "1}",
      "along and about are of motions");
  says("{name: c, type: pid, measure: load.force_z, drive: balls, target: 1, kp: 1}",
       "'balls' is a generator without motion");
  says("{name: c, type: pid, measure: load.force_z, drive: slide, target: 1 m, kp: 1}",
       "neither a quantity in N");
  says(
      "{name: c, type: servo, measure: load.force_z_mean, drive: slide, target: 1, max_velocity: "
      "1, axis: 2}",
      "has 1 coordinates");
  says("{name: a, type: expression, drive: slide, expression: load.force_x + b}", "called 'b'");
  says("{name: a, type: expression, drive: slide, expression: 2 * a}", "uses itself: a -> a");
  says("{name: a, type: expression, drive: slide, expression: \"2 * (t\"}", "is no formula");
  says(
      "{name: a, type: expression, drive: slide, expression: t}, {name: b, type: table, drive: "
      "slide, table: {rows: [[0, 1]]}}",
      "is driven by 'a' already");
  says("{name: wild, type: expression, drive: slide, expression: exp(1e6 * (t + 1))}",
       "the controller 'wild' gives no finite output");
  says("{name: fast, type: expression, drive: slide, expression: \"1e200\"}",
       "(driven by 'fast' (output 1e+200 m/s)); ");
  says("{name: c, type: pid, measure: load.force_z, drive: slide, kp: 1}", "needs target");
}

TEST(StopWhen, HoldsAfterTheStepThatMeetsIt) {
  const std::string text =
      "bodies: [{name: stone, mass: 1, inertia: [1, 1, 1], position: [0, 0, 5]}]\n"
      "time: {step: 1 ms, end: 5}\n"
      "probes: [{name: s, type: body, body: stone, interval: 10 ms}]\n";
  ProbeRun run(text + "stop_when: s.position_z < 4 m and s.velocity_z_mean < -1 m/s\n");
  int steps = 0;
  while (run.sim().stop_reason().empty() && steps < 1000) {
    run.steps(1);
    ++steps;
  }
  // 5 - g h^2 n (n + 1)/2 < 4 from n = 452 on
  EXPECT_EQ(steps, 452);
  const std::string reason = run.sim().stop_reason();
  EXPECT_NE(reason.find("s.position_z < 4 m (3.99"), std::string::npos) << reason;
  const auto message = [&](const std::string& condition) {
    return test::error_of([&] { ProbeRun bad(text + "stop_when: " + condition + "\n"); });
  };
  EXPECT_NE(message("s.position_z < 4 kg").find("test.yaml:6:"), std::string::npos)
      << message("s.position_z < 4 kg");
  EXPECT_NE(message("s.position < 4").find("did you mean s.position_"), std::string::npos);
  EXPECT_NE(message("s.position_z").find("is no comparison"), std::string::npos);
}

}  // namespace
}  // namespace catena
