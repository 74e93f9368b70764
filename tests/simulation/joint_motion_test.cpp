// Joints, motors, limits, friction, springs and forces in motion, against closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "catena/base/error.hpp"
#include "support/case_text.hpp"

namespace catena {
namespace {

constexpr double kGravity = 9.81;
constexpr double kStep = 2e-3;

/// A case stepped on one rank, whose audit is looked at after every step.
class Motion {
 public:
  explicit Motion(const std::string& text, const std::vector<std::string>& set = {})
      : sim_(Communicator::self(),
             test::case_of("materials: {m: {density: 1000, friction: 0.5}}\n" + text,
                           with_defaults(set))) {
    for (std::size_t i = 0; i < sim_.bodies().constants.size(); ++i)
      momentum_ += sim_.bodies().constants[i].mass * sim_.state().body[i].twist.v;
  }

  void steps(int n) {
    for (int i = 0; i < n; ++i) {
      const StepReport& r = sim_.step();
      largest_energy_ = std::max({largest_energy_, std::abs(r.kinetic), std::abs(r.potential)});
      // semi-implicit steps fall h v/2 farther than gravity's impulse works
      const double fallen = -0.5 * kStep * sim_.model().gravity.dot(r.linear_momentum - momentum_);
      worst_ = std::max(worst_, std::abs(r.energy_residual - fallen));
    }
  }
  double time() const { return sim_.state().time; }
  /// What the audit leaves unexplained besides the parabola, relative to the energies.
  double unexplained() const { return worst_ / std::max(largest_energy_, 1e-3); }
  const BodyMotionState& body(GlobalId id) const {
    for (std::size_t i = 0; i < sim_.bodies().constants.size(); ++i)
      if (sim_.bodies().constants[i].id == id) return sim_.state().body[i];
    throw std::logic_error("no such body");
  }
  double coordinate(std::size_t joint, std::size_t which = 0) const {
    return sim_.stepper().joint_coordinates(sim_.bodies(), sim_.state(), joint)[which];
  }
  const StepReport& report() const { return sim_.stepper().report(); }
  Simulation& sim() { return sim_; }

 private:
  static std::vector<std::string> with_defaults(std::vector<std::string> set) {
    set.insert(set.begin(), "time={step: 2 ms, end: 1}");
    set.insert(set.begin(),
               "solver={max_iterations: 200, relative_tolerance: 1e-20, "
               "absolute_tolerance: 1e-24}");
    return set;
  }

  Simulation sim_;
  Vec3 momentum_ = Vec3::Zero();
  double worst_ = 0.0, largest_energy_ = 0.0;
};

constexpr double kRoundOff = 1e-11;

/// A wheel about y whose centre of mass is its axle: I = 0.5 kg m^2.
const std::string kWheel =
    "gravity: [0, 0, -9.81]\n"
    "bodies:\n"
    "  - {name: wheel, mass: 2, inertia: [0.5, 0.5, 0.5], position: [0, 0, 0], angular_velocity: "
    "[0, 3, 0]}\n";

TEST(JointFriction, BrakesAFlywheelEvenlyAndHoldsIt) {
  Motion run(kWheel +
             "joints: [{name: hinge, type: revolute, between: [world, wheel], at: [0, 0, 0], axis: "
             "[0, 1, 0], friction: 4}]\n");

  run.steps(100);
  EXPECT_NEAR(run.body(0).twist.w.y(), 3.0 - 4.0 / 0.5 * 0.2, 1e-11);
  EXPECT_NEAR(run.report().audit[EnergyTerm::dissipation_friction],
              0.5 * 0.5 * (9.0 - std::pow(run.body(0).twist.w.y(), 2)), 1e-10);
  run.steps(100);  // 3 rad/s are gone after 0.375 s
  EXPECT_NEAR(run.body(0).twist.w.y(), 0.0, 1e-12);
  EXPECT_NEAR(run.report().audit[EnergyTerm::dissipation_friction], 2.25, 1e-10);
  EXPECT_LT(run.unexplained(), kRoundOff);
}

TEST(JointFriction, SlowsAPendulumByItsInertiaAboutTheHinge) {
  // no gravity: I + m r^2 = 0.001 + 1
  Motion run(
      "gravity: [0, 0, 0]\nbodies: [{name: bob, mass: 1, inertia: [0.001, 0.001, 0.001], position: "
      "[1, 0, 0], velocity: [0, 0, -1], angular_velocity: [0, 1, 0]}]\n"
      "joints: [{name: hinge, type: revolute, between: [world, bob], at: [0, 0, 0], axis: [0, 1, "
      "0], friction: 0.1}]\n");

  run.steps(1);

  EXPECT_NEAR(run.body(0).twist.w.y(), 1.0 - 0.1 / 1.001 * kStep, 1e-7);
  EXPECT_LT(run.unexplained(), kRoundOff);
}

TEST(JointFriction, HoldsAPendulumAgainstASmallerTorque) {
  Motion run(
      "bodies: [{name: bob, mass: 1, inertia: [0.1, 0.1, 0.1], position: [1, 0, 0]}]\n"
      "joints: [{name: hinge, type: revolute, between: [world, bob], at: [0, 0, 0], axis: [0, 1, "
      "0], friction: 10}]\n");

  run.steps(200);

  // m g r = 9.81 N m < 10 N m
  EXPECT_NEAR(run.coordinate(0), 0.0, 1e-9);
  EXPECT_NEAR(run.body(0).twist.w.y(), 0.0, 1e-9);
}

TEST(JointFriction, HoldsABobOnALongArm) {
  // I = 1e-5, I + m r^2 = 1: what a sweep over the brake alone would need 1e5 turns for
  Motion run(
      "bodies: [{name: bob, mass: 1, inertia: [1e-5, 1e-5, 1e-5], position: [1, 0, 0]}]\n"
      "joints: [{name: hinge, type: revolute, between: [world, bob], at: [0, 0, 0], axis: [0, 1, "
      "0], friction: 10}]\n");

  run.steps(100);

  EXPECT_LE(run.report().solve.iterations, 1);
  EXPECT_NEAR(run.coordinate(0), 0.0, 1e-9);
}

TEST(JointFriction, HoldsABeamOfAHundredHinges) {
  Motion run(
      "generators: [{chain: {name: c, links: 100, mass: 1, inertia: [0.1, 0.1, 0.1], anchored: "
      "first, from: [0, 0, 0], to: [100, 0, 0], joint: revolute, friction: 5e5}}]\n");

  run.steps(10);

  EXPECT_LE(run.report().solve.iterations, 1);
  EXPECT_NEAR(run.body(99).twist.v.norm(), 0.0, 1e-6);
}

TEST(Motor, OnALongArmReachesItsSpeedAtTheBound) {
  // no gravity: 2 N m turn 1.001 kg m^2
  Motion run(
      "gravity: [0, 0, 0]\nbodies: [{name: bob, mass: 1, inertia: [0.001, 0.001, 0.001], position: "
      "[1, 0, 0]}]\n"
      "joints: [{name: hinge, type: revolute, between: [world, bob], at: [0, 0, 0], axis: [0, 1, "
      "0], motor: {velocity: 0.01, max_force: 2}}]\n");

  run.steps(2);
  EXPECT_NEAR(run.body(0).twist.w.y(), 2.0 / 1.001 * 2 * kStep, 1e-7);
  run.steps(20);
  EXPECT_NEAR(run.body(0).twist.w.y(), 0.01, 1e-9);
}

TEST(Motor, AtItsBoundAcceleratesAFlywheelEvenlyThenHoldsTheSpeed) {
  Motion run(kWheel +
             "joints: [{name: hinge, type: revolute, between: [world, wheel], at: [0, 0, 0], axis: "
             "[0, 1, 0], motor: {velocity: 5, max_force: 2}}]\n");

  run.steps(100);
  EXPECT_NEAR(run.body(0).twist.w.y(), 3.0 + 2.0 / 0.5 * 0.2, 1e-11);
  run.steps(300);
  EXPECT_NEAR(run.body(0).twist.w.y(), 5.0, 1e-11);
  EXPECT_NEAR(run.report().audit[EnergyTerm::motor_work], 0.25 * (25.0 - 9.0), 1e-9);
  EXPECT_LT(run.unexplained(), kRoundOff);
}

TEST(Motor, OfPositionIsOnItsTableAfterEveryStep) {
  Motion run(
      kWheel +
          "joints: [{name: hinge, type: revolute, between: [world, wheel], at: [0, 0, 0], axis: "
          "[0, 1, 0], motor: {position: 1, table: {rows: [[0, 0], [0.1, 0], [0.3, 2], [0.4, "
          "1]]}}}]\n",
      {"bodies.wheel.angular_velocity=[0, 0, 0]"});

  for (int i = 0; i < 250; ++i) {
    run.steps(1);
    const double t = run.time();
    const double target = t <= 0.1   ? 0.0
                          : t <= 0.3 ? 10.0 * (t - 0.1)
                          : t <= 0.4 ? 2.0 - 10.0 * (t - 0.3)
                                     : 1.0;
    ASSERT_NEAR(run.coordinate(0), target, 1e-9) << t;
  }
  EXPECT_LT(run.unexplained(), kRoundOff);
}

TEST(Limit, ThrowsAWheelBackByItsRestitution) {
  Motion run(kWheel +
             "joints: [{name: hinge, type: revolute, between: [world, wheel], at: [0, 0, 0], axis: "
             "[0, 1, 0], limits: [-1 deg, 0.5], restitution: 0.6}]\n");

  run.steps(100);

  EXPECT_NEAR(run.body(0).twist.w.y(), -1.8, 1e-11);
  EXPECT_NEAR(run.report().audit[EnergyTerm::dissipation_impact], 0.25 * 9.0 * (1.0 - 0.36), 1e-10);
  EXPECT_LT(run.unexplained(), kRoundOff);
}

TEST(Limit, StopsASliderWithoutRestitution) {
  Motion run(
      "bodies: [{name: block, mass: 3, inertia: [1, 1, 1], position: [0, 0, 0]}]\n"
      "joints: [{name: guide, type: prismatic, between: [world, block], at: [0, 0, 0], axis: [0, "
      "0, 1], limits: [-0.1, .inf]}]\n");

  run.steps(500);

  EXPECT_NEAR(run.coordinate(0), -0.1, 1e-6);
  EXPECT_NEAR(run.body(0).twist.v.z(), 0.0, 1e-9);
  EXPECT_LT(run.unexplained(), kRoundOff);
}

TEST(Spring, SwingsWithItsFrequencyAndKeepsItsEnergy) {
  // omega = sqrt(k/m) = 10 rad/s, started 0.1 m from rest
  Motion run(
      "gravity: [0, 0, 0]\nbodies: [{name: block, mass: 2, inertia: [1, 1, 1], position: [1.1, 0, "
      "0]}]\n"
      "forces: [{name: s, type: spring, between: [world, block], at: [[0, 0, 0], [1.1, 0, 0]], "
      "stiffness: 200, length: 1}]\n");

  run.steps(500);

  // 10 rad at t = 1 s; the phase's error is of the order of (omega h)^2 / 24 of it
  EXPECT_NEAR(run.body(0).pose.p.x(), 1.0 + 0.1 * std::cos(10.0), 0.1 * 20.0 * kStep);
  EXPECT_NEAR(run.body(0).pose.p.y(), 0.0, 1e-15);
  EXPECT_LT(run.unexplained(), kRoundOff);
}

TEST(Spring, TooStiffForTheStepSwingsNoFartherThanItStarted) {
  // h omega = 2.8 to 2000, without damping of its own
  for (const char* stiffness : {"2e6", "1e8", "1e12"}) {
    Motion run(
        "gravity: [0, 0, 0]\nbodies: [{name: block, mass: 1, inertia: [1, 1, 1], position: [1.01, "
        "0, 0]}]\n"
        "forces: [{name: s, type: spring, between: [world, block], at: [[0, 0, 0], [1.01, 0, 0]], "
        "stiffness: " +
        std::string(stiffness) + ", length: 1}]\n");

    for (int i = 0; i < 200; ++i) {
      run.steps(1);
      ASSERT_LT(std::abs(run.body(0).pose.p.x() - 1.0), 0.02) << stiffness << " " << i;
    }
    EXPECT_NEAR(run.body(0).pose.p.x(), 1.0, 1e-6) << stiffness;
    EXPECT_LT(run.unexplained(), kRoundOff);
  }
}

TEST(Damper, SlowsExponentially) {
  // d/m = 5 1/s; implicit: 1/(1 + h d/m) a step
  Motion run(
      "gravity: [0, 0, 0]\nbodies: [{name: block, mass: 2, inertia: [1, 1, 1], position: [1, 0, "
      "0], "
      "velocity: [0.3, 0, 0]}]\n"
      "forces: [{name: d, type: damper, between: [world, block], at: [[0, 0, 0], [1, 0, 0]], "
      "damping: 10}]\n");

  run.steps(100);

  EXPECT_NEAR(run.body(0).twist.v.x(), 0.3 * std::pow(1.0 + 5.0 * kStep, -100), 1e-11);
  EXPECT_LT(run.unexplained(), kRoundOff);
}

TEST(AppliedForce, GivesTheIntegralOfItsTable) {
  Motion run(
      "gravity: [0, 0, 0]\nbodies: [{name: ball, mass: 2, inertia: [0.5, 0.5, 0.5], position: [1, "
      "0, 0]}]\n"
      "forces:\n"
      "  - {name: push, type: force, body: ball, force: [3, 0, 1], table: {rows: [[0, 0], "
      "[0.0311, 1], [0.1, -2]]}}\n"
      "  - {name: twist, type: torque, body: ball, torque: [0, 0, 2]}\n");

  run.steps(100);  // to 0.2 s; the last value is kept

  const double integral = 0.5 * 0.0311 + 0.5 * (1.0 - 2.0) * (0.1 - 0.0311) - 2.0 * 0.1;
  EXPECT_NEAR(run.body(0).twist.v.x(), 1.5 * integral, 1e-13);
  EXPECT_NEAR(run.body(0).twist.v.z(), 0.5 * integral, 1e-13);
  EXPECT_NEAR(run.body(0).twist.w.z(), 2.0 * 0.2 / 0.5, 1e-13);
  EXPECT_LT(run.unexplained(), kRoundOff);
}

TEST(Gear, KeepsItsRatioOverManyTurns) {
  Motion run(
      "bodies:\n"
      "  - {name: a, mass: 1, inertia: [0.5, 0.5, 0.5], position: [0, 0, 0]}\n"
      "  - {name: b, mass: 1, inertia: [2, 2, 2], position: [3, 0, 0]}\n"
      "joints:\n"
      "  - {name: ha, type: revolute, between: [world, a], at: [0, 0, 0], axis: [0, 1, 0]}\n"
      "  - {name: hb, type: revolute, between: [world, b], at: [3, 0, 0], axis: [0, 1, 0]}\n"
      "  - {name: gear, type: gear, between: [a, b], axis: [0, 1, 0], axis_b: [0, 1, 0], ratio: "
      "2}\n"
      "forces: [{name: drive, type: torque, body: a, torque: [0, 100, 0]}]\n");

  run.steps(1000);

  // angle a = -2 angle b: I = 0.5 + 2/4 seen from a; 2 s of 100 rad/s^2
  EXPECT_NEAR(run.body(0).twist.w.y(), 200.0, 1e-8);
  EXPECT_NEAR(run.coordinate(0) / 200.2, 1.0, 1e-8);  // 32 turns, semi-implicit: h/2 ahead
  EXPECT_NEAR(run.coordinate(0) + 2.0 * run.coordinate(1), 0.0, 1e-9);
  EXPECT_LT(run.unexplained(), kRoundOff);
}

/// Largest error of a Chaplygin sleigh against its closed form, m/s, over 2 s.
double sleigh_error(double h) {
  // knife a = 0.5 m behind the centre of mass: v = V tanh(k t), omega = W / cosh(k t)
  constexpr double m = 2.0, inertia = 0.5, a = 0.5, spin = 1.5;
  const double about = inertia + m * a * a, speed = spin * std::sqrt(about / m);
  const double k = m * a * speed / about;
  Motion run(
      "gravity: [0, 0, 0]\ndimension: 2\nbodies: [{name: sleigh, mass: 2, inertia: [0.5, 0.5, "
      "0.5], position: [0, 0, 0], velocity: [0, 0, -0.75], angular_velocity: [0, 1.5, 0]}]\n"
      "joints: [{name: blade, type: knife_edge, between: [world, sleigh], at: [-0.5, 0, 0], "
      "axis_b: [0, 0, 1]}]\n",
      {"time.step=" + std::to_string(h)});
  double worst = 0.0;
  for (int i = 0; i < static_cast<int>(std::lround(2.0 / h)); ++i) {
    run.steps(1);
    const Vec3 w = run.body(0).twist.w;
    const Vec3 forward = run.body(0).pose.q * Vec3::UnitX();
    worst =
        std::max({worst, std::abs(w.y() - spin / std::cosh(k * run.time())),
                  std::abs(run.body(0).twist.v.dot(forward) - speed * std::tanh(k * run.time()))});
  }
  return worst;
}

TEST(KnifeEdge, SleighFollowsItsClosedFormAtFirstOrder) {
  const double coarse = sleigh_error(4e-3), fine = sleigh_error(2e-3);

  EXPECT_LT(fine, 5e-3);
  EXPECT_NEAR(coarse / fine, 2.0, 0.2);
}

TEST(Rolling, WheelOnASlopeFallsBackByItsSpin) {
  // the slope is gravity's: g sin and cos of 0.3 rad
  Motion run(
      "gravity: [2.899053, 0, -9.371951]\n"
      "bodies: [{name: wheel, mass: 2, inertia: [0.1, 0.1, 0.1], position: [0, 0, 0.5]}]\n"
      "joints: [{name: ground, type: rolling, between: [world, wheel], at: [0, 0, 0.5], axis: "
      "[0, 0, 1], axis_b: [0, 1, 0], radius: 0.5}]\n");

  run.steps(500);

  const double a = 2.899053 / (1.0 + 0.1 / (2.0 * 0.25));
  EXPECT_NEAR(run.body(0).twist.v.x(), a, 1e-9);
  EXPECT_NEAR(run.body(0).twist.w.y(), 2.0 * a, 1e-9);
  EXPECT_NEAR(run.body(0).pose.p.z(), 0.5, 1e-9);
  EXPECT_LT(run.unexplained(), kRoundOff);
}

const std::string kPendulum =
    "bodies:\n"
    "  - {name: upper, mass: 1, inertia: [0.05, 0.05, 0.05], position: [0.5, 0, 0]}\n"
    "  - {name: lower, mass: 2, inertia: [0.1, 0.1, 0.1], position: [1.5, 0, 0]}\n"
    "joints:\n"
    "  - {name: first, type: revolute, between: [world, upper], at: [0, 0, 0], axis: [0, 1, 0]}\n"
    "  - {name: second, type: revolute, between: [upper, lower], at: [1, 0, 0], axis: [0, 1, "
    "0]}\n";

TEST(DoublePendulum, MovesAlikeInThePlaneAndInSpace) {
  Motion plane("dimension: 2\n" + kPendulum), space(kPendulum);

  plane.steps(250);
  space.steps(250);

  EXPECT_NEAR((plane.body(1).pose.p - space.body(1).pose.p).norm(), 0.0, 1e-9);
  EXPECT_GT((plane.body(1).pose.p - Vec3(1.5, 0, 0)).norm(), 0.5);
  EXPECT_LT(plane.unexplained(), kRoundOff);
  EXPECT_LT(space.unexplained(), kRoundOff);
}

TEST(DoublePendulum, SweptLikeContactsConvergesToTheSame) {
  Motion exact(kPendulum),
      swept(kPendulum, {"solver.joints.method=iterative", "solver.max_iterations=20000"});

  exact.steps(20);
  swept.steps(20);

  EXPECT_NEAR((exact.body(1).twist.v - swept.body(1).twist.v).norm(), 0.0, 1e-8);
}

TEST(DoublePendulum, WarmStartChangesNothing) {
  const std::string limited =
      kPendulum.substr(0, kPendulum.size() - 2) + ", limits: [-0.2, 0.2], friction: 0.3}\n";
  Motion warm(limited), cold(limited, {"solver.warm_start=false"});

  warm.steps(100);
  cold.steps(100);

  EXPECT_NEAR((warm.body(1).pose.p - cold.body(1).pose.p).norm(), 0.0, 1e-7);
  EXPECT_LT(warm.unexplained(), kRoundOff);
}

TEST(PeriodicBox, JoinedBodiesCrossItsSidesAsIfThereWereNone) {
  const std::string pair =
      "gravity: [0, 0, 0]\nbodies:\n"
      "  - {name: a, mass: 1, inertia: [0.05, 0.05, 0.05], position: [0.5, 0, 0], velocity: [4, 0, "
      "0], angular_velocity: [0, 1, 2]}\n"
      "  - {name: b, mass: 2, inertia: [0.1, 0.1, 0.1], position: [1.5, 0, 0], velocity: [4, 0, "
      "1]}\n"
      "joints: [{name: ball, type: spherical, between: [a, b], at: [1, 0, 0]}]\n";
  Motion open(pair), closed("periodic: {x: [0, 3], y: [-2, 2]}\n" + pair);

  for (int i = 0; i < 400; ++i) {
    open.steps(1);
    closed.steps(1);
    for (GlobalId id : {0, 1}) {
      const Vec3 apart = open.body(id).pose.p - closed.body(id).pose.p;
      ASSERT_NEAR(std::remainder(apart.x(), 3.0), 0.0, 1e-9) << i;
      ASSERT_NEAR(apart.z(), 0.0, 1e-9) << i;
    }
  }
  EXPECT_GT(open.body(0).pose.p.x() - closed.body(0).pose.p.x(), 2.9);
}

/// Two bodies turn about each other, 2.3 degrees a step, which makes their rod longer by 0.8 mm;
/// projection draws each back by half of it. The side is 0.1 mm beyond the place where a body is
/// when it turns back: the step takes it out there, and in again at the other side, through which
/// projection then draws it.
TEST(PeriodicBox, ProjectionPutsBodiesBackInside) {
  const std::string pair =
      "gravity: [0, 0, 0]\nbodies:\n"
      "  - {name: a, mass: 1, inertia: [0.05, 0.05, 0.05], position: [0, 0, 0], velocity: [0, -10, "
      "0]}\n"
      "  - {name: b, mass: 1, inertia: [0.05, 0.05, 0.05], position: [1, 0, 0], velocity: [0, 10, "
      "0]}\n"
      "joints: [{name: rod, type: distance, between: [a, b], at: [[0, 0, 0], [1, 0, 0]]}]\n";
  const std::vector<std::string> projected = {"solver.joints={projection: 1e-9}"};
  Motion open(pair, projected);
  std::vector<double> place;
  for (int i = 0; i < 200; ++i) {
    open.steps(1);
    place.push_back(open.body(0).pose.p.x());
  }
  const double side = std::ranges::min(place) - 1e-4;
  char sides[80];
  std::snprintf(sides, sizeof sides, "periodic: {x: [%.17g, %.17g]}\n", side, side + 3.0);
  Motion closed(sides + pair, projected);

  for (int i = 0; i < 200; ++i) {
    closed.steps(1);
    const double x = closed.body(0).pose.p.x();
    ASSERT_NEAR(std::remainder(x - place[static_cast<std::size_t>(i)], 3.0), 0.0, 1e-9) << i;
    ASSERT_GE(x, side);
    ASSERT_LE(x, side + 3.0);
  }
}

TEST(Contradiction, OfTwoMotorsIsAnErrorThatNamesAJoint) {
  Motion run(kWheel +
             "joints:\n"
             "  - {name: one, type: revolute, between: [world, wheel], at: [0, 0, 0], axis: [0, 1, "
             "0], motor: {velocity: 1}}\n"
             "  - {name: two, type: revolute, between: [world, wheel], at: [0, 1, 0], axis: [0, 1, "
             "0], motor: {velocity: 2}}\n");
  try {
    run.steps(1);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("contradict"), std::string::npos) << e.what();
  }
}

TEST(Contradiction, IsNotWhatTooFewSweepsLeave) {
  Motion run(
      "generators: [{chain: {name: c, links: 100, mass: 1, inertia: [0.1, 0.1, 0.1], anchored: "
      "first, from: [0, 0, 0], to: [100, 0, 0], joint: revolute, friction: 5e5}}]\n",
      {"solver.joints.method=iterative"});

  EXPECT_NO_THROW(run.steps(1));
}

}  // namespace
}  // namespace catena
