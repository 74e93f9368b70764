// The stepper natural on a mechanism of all joints, its first step, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "catena/base/error.hpp"
#include "stepper/natural_run.hpp"

namespace catena::test {
namespace {

// ---- all joints at once

TEST(NaturalMechanism, OfAllJointsKeepsItsMomentaAndAccountsForItsEnergy) {
  const auto fine = natural_run(
      kAllJoints, "5 ms", "scheme: dop853, relative_tolerance: 1e-12, absolute_tolerance: 1e-12");
  const StepReport first = fine->step();  // what the start loses is known after it
  const StepReport& r = run_to(*fine, 0.5);
  EXPECT_LT((r.linear_momentum - first.linear_momentum).norm(), 1e-11);
  EXPECT_LT((r.angular_momentum - first.angular_momentum).norm(), 1e-9);
  EXPECT_LT(std::abs(r.energy_residual), 1e-9);
  EXPECT_LT(r.misfit.linear, 1e-10);
  EXPECT_LT(r.misfit.angular, 1e-10);
  EXPECT_GT(std::abs(r.audit[EnergyTerm::joint_work] - first.audit[EnergyTerm::joint_work]), 0.05);

  std::vector<double> errors;
  for (const char* h : {"5 ms", "2.5 ms", "1.25 ms"}) {
    const auto sim = natural_run(kAllJoints, h);
    const StepReport& coarse = run_to(*sim, 0.5);
    double error = 0.0;
    for (GlobalId id = 0; id < 10; ++id) {
      error = std::max(error, (body_of(*sim, id).pose.p - body_of(*fine, id).pose.p).norm());
      error = std::max(error, (body_of(*sim, id).twist.w - body_of(*fine, id).twist.w).norm());
    }
    errors.push_back(error);
    EXPECT_LT((coarse.linear_momentum - first.linear_momentum).norm(), 1e-11);
  }
  std::printf("all joints: %.2e %.2e %.2e\n", errors[0], errors[1], errors[2]);
  for (const double order : orders(errors)) EXPECT_NEAR(order, 4.0, 0.5);
  for (GlobalId id = 0; id < 8; ++id) EXPECT_NEAR(body_of(*fine, id).pose.q.norm(), 1.0, 1e-14);
}

/// Momenta of a body about its centre of mass.
struct Momenta {
  Vec3 linear, angular;
};
Momenta momenta(const Simulation& sim, GlobalId id) {
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i) {
    const BodyConstants& c = sim.bodies().constants[i];
    if (c.id != id) continue;
    const BodyMotionState& s = sim.state().body[i];
    const Vec3 own = s.pose.q.conjugate() * s.twist.w;
    return {c.mass * s.twist.v, s.pose.q * (c.inertia.asDiagonal() * own)};
  }
  throw std::logic_error("no such body");
}

/// How far the bodies' changes of momenta in one step are from impulses and couples of joints and
/// springs, taken at the middle of the step.
double unexplained(const char* step, double& largest) {
  const auto sim = natural_run(kAllJoints, step);
  run_to(*sim, 0.1);
  std::array<Momenta, 10> change;
  std::array<BodyMotionState, 10> before;
  for (GlobalId id = 0; id < 10; ++id) {
    before[static_cast<std::size_t>(id)] = body_of(*sim, id);
    change[static_cast<std::size_t>(id)] = momenta(*sim, id);
  }
  sim->step();
  largest = 0.0;
  for (GlobalId id = 0; id < 10; ++id) {
    const Momenta now = momenta(*sim, id);
    Momenta& of = change[static_cast<std::size_t>(id)];
    of = {now.linear - of.linear, now.angular - of.angular};
    largest = std::max({largest, of.linear.norm(), of.angular.norm()});
  }
  for (std::size_t j = 0; j < sim->bodies().joints.size(); ++j) {
    const JointConstants& c = sim->bodies().joints[j];
    const JointReaction reaction = sim->stepper().joint_reaction(j);
    const BodyMotionState& b = body_of(*sim, c.body[1]);
    const BodyMotionState& b0 = before[static_cast<std::size_t>(c.body[1])];
    const Vec3 p_b =
        0.5 * (b.pose.p + b.pose.q * c.frame[1].p + b0.pose.p + b0.pose.q * c.frame[1].p);
    for (std::size_t s = 0; s < 2; ++s) {
      const double sign = s == 1 ? 1.0 : -1.0;
      const auto n = static_cast<std::size_t>(c.body[s]);
      const Vec3 x = 0.5 * (body_of(*sim, c.body[s]).pose.p + before[n].pose.p);
      change[n].linear -= sign * reaction.impulse;
      change[n].angular -= sign * (reaction.couple + (p_b - x).cross(reaction.impulse));
    }
  }
  double worst = 0.0;
  for (const Momenta& left : change)
    worst = std::max({worst, left.linear.norm(), left.angular.norm()});
  return worst;
}

TEST(NaturalMechanism, ItsReactionsAreWhatItsBodiesMomentaAskFor) {
  // directions are those of the step's end, multipliers sums over it: off by h^2
  double largest = 0.0;
  const double coarse = unexplained("1 ms", largest), fine = unexplained("0.25 ms", largest);
  EXPECT_LT(fine, 0.02 * largest);
  EXPECT_NEAR(std::log(coarse / fine) / std::log(4.0), 2.0, 0.3);
}

// ---- the first step

TEST(NaturalStart, VelocitiesThatJointsDoNotAllowMeetInAPlasticImpact) {
  // together they keep the momenta
  const auto sim = natural_run(kTwoArms, "0.01 ms");
  const StepReport& r = sim->step();
  // impulse p along y on a, -p on b at the joint: both ends get p (1/m + l^2/I), twice that stops 2
  const double p = 2.0 / (2.0 * (1.0 + 0.25 / 0.1));
  EXPECT_NEAR(body_of(*sim, 0).twist.v.y(), p, 1e-4);
  EXPECT_NEAR(body_of(*sim, 1).twist.v.y(), 2.0 - p, 1e-4);
  EXPECT_NEAR(body_of(*sim, 0).twist.w.z(), 0.5 * p / 0.1, 1e-4);
  EXPECT_NEAR(body_of(*sim, 1).twist.w.z(), 0.5 * p / 0.1, 1e-4);
  EXPECT_LT((r.linear_momentum - Vec3(0.0, 2.0, 0.0)).norm(), 1e-12);
  EXPECT_NEAR(r.angular_momentum.z(), 1.0, 1e-10);
  // what is lost is work of the joint
  EXPECT_NEAR(r.kinetic, 2.0 - 0.5 * p * 2.0, 1e-8);
  EXPECT_NEAR(r.audit[EnergyTerm::joint_work], -p, 1e-8);
  EXPECT_LT(std::abs(r.energy_residual), 1e-10);
  // the impulse on b is that of the step
  EXPECT_NEAR(joint(*sim, 0).impulse[1], -p, 1e-4);
}

TEST(NaturalStart, MisfitsOfTheStartFadeAtTheRateOfBaumgarte) {
  // placed 4e-7 m off
  const std::string text =
      "gravity: [0, 0, 0]\nbodies: [{name: bob, mass: 3, inertia: [0, 0, 0], position: [0.8, 0, "
      "0]}]\n"
      "joints: [{name: line, type: distance, between: [world, bob], at: [[0, 0, 0], [0.8, 0, 0]], "
      "length: 0.8000004}]";
  for (const double alpha : {0.0, 2.0, 8.0}) {
    const auto sim = natural_run(text, "10 ms", "baumgarte: " + std::to_string(alpha));
    const StepReport& r = run_to(*sim, 0.5);
    EXPECT_NEAR(r.misfit.linear, 4e-7 * std::exp(-0.5 * alpha), 1e-12) << alpha;
  }
}

// ---- what is refused

std::string refusal(const std::string& text, int steps) {
  try {
    const auto sim = natural_run(text, "1 ms");
    for (int i = 0; i < steps; ++i) sim->step();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::bad_input);
    EXPECT_FALSE(e.fix().empty());
    return e.found();
  }
  return "";
}

TEST(NaturalRefusals, ContactsStopTheRunWhenTheyComeUp) {
  // 0.0105 m apart, closing at 2 m/s: in touch in the sixth millisecond
  const auto balls = [](const std::string& collide) {
    return "materials: {m: {density: 1000}}\ngravity: [0, 0, 0]\nbodies: [{name: a, material: m, "
           "shape: "
           "{sphere: {radius: 0.1}}, velocity: [2, 0, 0]}, {name: b, material: m, shape: {sphere: "
           "{radius: 0.1}}, position: [0.2105, 0, 0]" +
           collide + "}]";
  };
  EXPECT_EQ(refusal(balls(""), 6), "");
  EXPECT_EQ(refusal(balls(""), 7),
            "bodies a and b touch at t = 0.006 s, and natural coordinates know no contacts");
  EXPECT_EQ(refusal(balls(", collide: false"), 100), "");
}

TEST(NaturalRefusals, MotorsThatContradictEachOtherAreNamed) {
  const auto hinges = [](const std::string& second) {
    return "bodies: [{name: arm, mass: 2, inertia: [0.2, 0.1, 0.15], position: [0.5, 0, "
           "0]}]\njoints: "
           "[{name: one, type: revolute, between: [world, arm], at: [0, 0, 0], axis: [0, 1, 0], "
           "motor: "
           "{velocity: 1}}, {name: two, type: revolute, between: [world, arm], at: [0, 0, 0], "
           "axis: "
           "[0, 1, 0], motor: {velocity: " +
           second + "}}]";
  };
  EXPECT_EQ(refusal(hinges("1"), 3), "");
  const std::string found = refusal(hinges("2"), 1);
  EXPECT_NE(found.find("joints contradict each other"), std::string::npos) << found;
  EXPECT_NE(found.find("misses its rows by 0.5 m/s (or rad/s)"), std::string::npos) << found;
}

TEST(NaturalRefusals, ForcesThatThinBodiesCannotTakeAreNamed) {
  const auto pushed = [](const std::string& inertia, const std::string& force) {
    return refusal("bodies: [{name: thin, mass: 2, inertia: " + inertia +
                       "}]\nforces: [{name: push, body: thin, " + force + "}]",
                   1);
  };
  const std::string rod = "[0, 0.1, 0.1]", point = "[0, 0, 0]";
  for (const std::string& inertia : {rod, point}) {
    EXPECT_EQ(pushed(inertia, "type: force, force: [1, 2, 3]"), "");
    EXPECT_NE(pushed(inertia, "type: force, force: [1, 2, 3], at: [0, 0.1, 0]"), "");
    EXPECT_NE(pushed(inertia, "type: force, force: [0, 1, 0], frame: body"), "");
  }
  EXPECT_EQ(pushed(rod, "type: force, force: [1, 2, 3], at: [0.1, 0, 0]"), "");
  EXPECT_EQ(pushed(rod, "type: force, force: [1, 0, 0], frame: body"), "");
  EXPECT_EQ(pushed(rod, "type: torque, torque: [1, 2, 3]"), "");
  EXPECT_NE(pushed(rod, "type: torque, torque: [0, 1, 0], frame: body"), "");
  EXPECT_NE(pushed(point, "type: force, force: [1, 2, 3], at: [0.1, 0, 0]"), "");
  EXPECT_EQ(pushed(point, "type: torque, torque: [1, 2, 3]"),
            "force push needs a direction that its body thin, a point (its moments of inertia are "
            "zero), does not have");
}

// ---- round-off of light links under tension, which no shorter sub-step would know better

TEST(NaturalTension, ACatenaryOfLinksOfAMillimetreRestsInFewSubSteps) {
  const auto sim = natural_run(
      "gravity: [0, -9.81, 0]\ngenerators:\n  - chain: {name: link, links: 600, joint: spherical, "
      "catenary: {from: [0, 0, 0], to: [0.36, 0.06, 0], length: 0.6}, anchored: both, mass: 0.001, "
      "inertia: [8.333333333333334e-11, 8.333333333333334e-11, 8.333333333333334e-11]}",
      "5 ms", "scheme: dop853");

  const StepReport& r = sim->step();

  // stability asks for 5: links under 3 N turn with 4,000 rad/s, the method takes 6/omega; without
  // the allowance for round-off of reactions there were 40
  EXPECT_LE(r.solve.iterations, 10);
  // of links' fall in a step, 0.05 m/s
  for (GlobalId id = 0; id < 600; id += 50)
    EXPECT_LT(body_of(*sim, id).twist.v.norm(), 1e-12) << id;
}

}  // namespace
}  // namespace catena::test
