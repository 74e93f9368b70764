// Overlaps of bodies whose contacts are made in time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "support/case_text.hpp"
#include "support/run_log.hpp"

namespace catena {
namespace {

using test::body_of;

/// Five spheres above each other, apart by 0.6 of their way in a step, that fall on a plane at
/// `speed`: all move alike until the lowest is stopped, and then the next one would run into it
/// within the same step. The largest overlap until they rest, in radii.
double largest_overlap(double radius, double speed, double step, const std::string& margin) {
  constexpr int kSpheres = 5;
  const double apart = 0.6 * speed * step;
  std::string yaml = "materials: {m: {density: 2500, friction: 0.3}}\ncontact: {margin: " + margin +
                     "}\nbodies:\n  - {name: floor, material: m, shape: plane}\n";
  for (int k = 0; k < kSpheres; ++k) {
    const double z = radius + (k + 1) * apart + 2.0 * radius * k;
    yaml += "  - {name: s" + std::to_string(k) +
            ", material: m, shape: {sphere: {radius: " + std::to_string(radius) +
            "}}, position: [0, 0, " + std::to_string(z) + "], velocity: [0, 0, " +
            std::to_string(-speed) + "]}\n";
  }
  yaml += "time: {step: " + std::to_string(1e6 * step) + " us, end: 1}\n" +
          "solver: {relative_tolerance: 1e-12, max_iterations: 2000}\n";
  const auto sim = test::simulate(Communicator::self(), yaml);
  constexpr int kSteps = 40;
  double largest = 0.0;
  for (int n = 0; n < kSteps; ++n) {
    sim->step();
    // spheres have the lower ids, the plane comes last
    double below = 0.0;
    for (int k = 0; k < kSpheres; ++k) {
      double z = 0.0;
      for (std::size_t i = 0; i < sim->bodies().constants.size(); ++i) {
        const BodyConstants& body = sim->bodies().constants[i];
        if (sim->model().names.name_of(body.id) == "s" + std::to_string(k))
          z = sim->state().body[i].pose.p.z();
      }
      largest = std::max(largest, below - (z - radius));
      below = z + radius;
    }
  }
  return largest / radius;
}

TEST(Margin, OfItsOwnLetsNoGrainOverlapByMoreThanTwoPerCent) {
  EXPECT_LT(largest_overlap(0.5e-3, 2.0, 40e-6, "auto"), 0.02);
  EXPECT_LT(largest_overlap(0.05, 2.0, 4e-3, "auto"), 0.02);
  EXPECT_LT(largest_overlap(1.5, 2.0, 4e-3, "auto"), 0.02);
}

TEST(Margin, ThatIsTooSmallForTheSpeedLetsGrainsOverlap) {
  // what a margin per pair is for: 8 mm a step in spite of 1 mm
  EXPECT_GT(largest_overlap(0.05, 2.0, 4e-3, "1 mm"), 0.02);
}

/// What is shot at something fixed: bodies 1 and 0.
std::string shot(const std::string& fixed, const std::string& shape, const std::string& position,
                 const std::string& velocity) {
  return "gravity: [0, 0, 0]\nmaterials: {m: {density: 7800, friction: 0.2, restitution: 0}}\n"
         "bodies:\n  - {name: target, material: m, fixed: true, shape: " +
         fixed + "}\n  - {name: shot, material: m, shape: " + shape + ", position: " + position +
         ", velocity: " + velocity + "}\ntime: {step: 1 ms, end: 1}\n";
}

constexpr const char* kBall = "{sphere: {radius: 1 cm}}";

std::string at_height(double z) { return "[0, 0, " + std::to_string(z) + "]"; }

TEST(Margin, ShotsThatCrossTenRadiiAStepStayWhereTheyHitWhereverTheStepMeetsThem) {
  constexpr double kSpeed = 200.0;
  for (const std::string fixed : {"{plane: {}}", "{box: {size: [0.5, 0.5, 0.002]}}"}) {
    const double surface = fixed[1] == 'b' ? 1e-3 : 0.0;
    for (const std::string shape : {kBall, "{box: {size: [0.02, 0.02, 0.02]}}"}) {
      for (const double gap : {0.01, 0.06, 0.12, 0.19}) {
        const auto sim =
            test::simulate(Communicator::self(),
                           shot(fixed, shape, at_height(surface + 0.01 + gap), "[0, 0, -200]"));
        for (int i = 0; i < 6; ++i) sim->step();
        const BodyMotionState state = sim->scene().body_state(1);
        // contacts are three times as stiff at such overlaps, and a ball's mean mobility is 8/3
        // of the normal row's: u^+ = -(u^-) / 337
        EXPECT_LT(std::abs(state.twist.v.z()), 1.05 * kSpeed / 337.0) << shape << fixed << gap;
        EXPECT_GT(state.pose.p.z(), surface + 0.01 - 1e-3) << shape << fixed << gap;
      }
    }
  }
}

TEST(Margin, BallsThatMeetAcrossManyRadiiGoOnTogether) {
  for (const double gap : {0.02, 0.1, 0.19}) {
    const std::string ball = ", material: m, shape: " + std::string(kBall) + ", position: ";
    const auto sim = test::simulate(
        Communicator::self(),
        "gravity: [0, 0, 0]\nmaterials: {m: {density: 7800, friction: 0.2}}\nbodies:\n"
        "  - {name: a" +
            ball + "[0, 0, 0]}\n  - {name: b" + ball + at_height(0.02 + gap) +
            ", velocity: [0, 0, -200]}\ntime: {step: 1 ms, end: 1}\n");
    for (int i = 0; i < 6; ++i) sim->step();
    for (const GlobalId id : {0, 1})
      EXPECT_NEAR(sim->scene().body_state(id).twist.v.z(), -100.0, 0.5 * 1.05 * 200.0 / 337.0)
          << gap;
  }
}

TEST(Margin, FrictionTurnsABallByItsRadiusWhereverTheStepMeetsIt) {
  for (const double gap : {0.0, 2e-3, 5e-3, 8e-3}) {
    const auto sim = test::simulate(
        Communicator::self(), shot("{plane: {}}", kBall, at_height(0.01 + gap), "[20, 0, -10]"));
    for (int i = 0; i < 5; ++i) sim->step();
    // it slides: mu m v n, at the arm r with I = 2/5 m r^2; an overlap of v h / 337 comes back
    EXPECT_NEAR(sim->scene().body_state(1).twist.w.y(), 2.5 * 0.2 * 10.0 / 0.01, 2.0) << gap;
  }
}

TEST(Margin, BallsThatFlyPastEachOtherAreNotStopped) {
  // along the diagonal: boxes over the ways overlap, and the centres come as near as `apart`
  const auto after_a_step = [](double apart) {
    const double x = -0.1 + apart / std::sqrt(2.0), z = 0.1 + apart / std::sqrt(2.0);
    const auto sim = test::simulate(
        Communicator::self(),
        shot(kBall, kBall, "[" + std::to_string(x) + ", 0, " + std::to_string(z) + "]",
             "[150, 0, -150]"));
    sim->step();
    return sim->scene().body_state(1).twist.v;
  };
  EXPECT_EQ(after_a_step(0.05), Vec3(150.0, 0.0, -150.0));
  EXPECT_LT(after_a_step(0.0).norm(), 0.99 * 150.0 * std::sqrt(2.0));
}

/// The velocity after a step of what is shot with `speed` past a pillar whose face is at y = 2 cm,
/// from (x, y). All is turned by 45 degrees, so that boxes over the ways overlap.
Vec3 velocity_beside_a_pillar(const std::string& shape, double x, double y, double speed,
                              double spin = 0.0) {
  const Quat turn(Eigen::AngleAxisd(std::numbers::pi / 4.0, Vec3::UnitZ()));
  const std::string turned = ", orientation: " + test::text_of(turn);
  const auto sim = test::simulate(
      Communicator::self(), shot("{box: {size: [0.04, 0.04, 1]}}" + turned, shape + turned,
                                 test::text_of(Vec3(turn * Vec3(x, y, 0.0))),
                                 test::text_of(Vec3(turn * Vec3(speed, 0.0, 0.0))) +
                                     ", angular_velocity: " + test::text_of(Vec3(0.0, 0.0, spin))));
  sim->step();
  return turn.conjugate() * sim->scene().body_state(1).twist.v;
}

TEST(Margin, BodiesThatFlyPastAPillarAreNotStoppedAndThoseThatMeetItAre) {
  for (const std::string shape :
       {kBall, "{box: {size: [0.02, 0.02, 0.02]}}", "{cylinder: {radius: 0.01, length: 0.03}}",
        "{capsule: {radius: 0.01, length: 0.02}}"}) {
    constexpr double kSpeed = 200.0, kWay = 0.2;  // in a step
    for (const double side : {1.0, -1.0}) {
      const Vec3 past = velocity_beside_a_pillar(shape, -0.03 - 0.35 * kWay, side * 0.045, kSpeed);
      EXPECT_LT((past - Vec3(kSpeed, 0.0, 0.0)).norm(), 1e-10) << shape;
    }
    EXPECT_LT(velocity_beside_a_pillar(shape, -0.03 - 0.35 * kWay, 0.015, kSpeed).x(), 0.5 * kSpeed)
        << shape;
  }
}

TEST(Margin, WhatMeetsAPillarOnlyAsItTurnsIsStoppedThere) {
  // a rod along its way, 3 cm beside the pillar, that turns by 90 degrees in half a step: its end
  // is 3 cm lower when it is there
  const std::string rod = "{box: {size: [0.1, 0.02, 0.02]}}";
  const auto change = [&](double spin) {
    return (velocity_beside_a_pillar(rod, -0.1, 0.06, 200.0, spin) - Vec3(200.0, 0.0, 0.0)).norm();
  };
  EXPECT_LT(change(0.0), 1e-10);
  EXPECT_GT(change(-std::numbers::pi / 1e-3), 1.0);
}

TEST(Margin, WhatMeetsFromFartherAwayThanMarginsReachIsNamed) {
  const auto report = [](const std::string& velocity, double gap) {
    const auto sim = test::simulate(Communicator::self(),
                                    shot("{plane: {}}", kBall, at_height(0.01 + gap), velocity));
    return sim->step();
  };
  const StepReport fast = report("[0, 0, -200]", 0.1);
  EXPECT_EQ(fast.far_bodies, (std::array<GlobalId, 2>{1, 0}));
  EXPECT_NEAR(fast.far_gap, 0.1, 1e-12);
  EXPECT_NEAR(fast.far_speed, 200.0, 1e-12);
  EXPECT_NEAR(fast.far_radius, 0.01, 1e-12);
  // a fifth of the radius in a step; and what comes near, but does not touch yet
  EXPECT_EQ(report("[0, 0, -2]", 1e-3).far_bodies[0], kNoBody);
  EXPECT_EQ(report("[0, 0, -200]", 0.21).far_bodies[0], kNoBody);
}

TEST(Margin, TheLogSaysWhatMeetsAcrossAWideGapOnceAndWhichStepWouldFollowIt) {
  const auto log_of = [](double gap) {
    const auto sim = test::simulate(
        Communicator::self(), shot("{plane: {}}", kBall, at_height(0.01 + gap), "[0, 0, -200]"),
        {"time.end=0.004"});
    return test::log_of_run(*sim);
  };
  const auto count = [](const std::string& text, const std::string& what) {
    int n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
      ++n;
    return n;
  };
  // a ball of 1 cm, 20 cm a step; a fifth of its radius is 2 mm
  const std::string wide = log_of(0.006), narrow = log_of(0.004);
  EXPECT_EQ(count(wide,
                  "step 1: shot goes 0.2 m in a step, at 200 m/s, and meets target across a "
                  "gap of 0.6 of the smaller one's radii"),
            1)
      << wide;
  EXPECT_EQ(count(wide, "take a time.step below 1e-05 s"), 1) << wide;
  EXPECT_EQ(count(narrow, "across a gap"), 0) << narrow;
}

TEST(Margin, TheLogTellsOfDeepOverlapsOfImpactsFromTheFirstStepsOn) {
  const auto log_of = [](const std::string& velocity, double gap) {
    const auto sim = test::simulate(Communicator::self(),
                                    shot("{plane: {}}", kBall, at_height(0.01 + gap), velocity),
                                    {"time.end=0.004"});
    return test::log_of_run(*sim);
  };
  const std::string impact = log_of("[0, 0, -200]", 0.0), slow = log_of("[0, 0, -1]", 0.0);
  EXPECT_NE(impact.find("step 2: target / shot overlap by"), std::string::npos) << impact;
  EXPECT_EQ(slow.find("overlap by"), std::string::npos) << slow;
  // those of the start are told as such
  EXPECT_EQ(log_of("[0, 0, 0]", -1e-3).find("step 2:"), std::string::npos);
}

TEST(Margin, OverlapsOfTheStartAreNotTakenForThoseOfImpacts) {
  const auto deep = [](const std::string& velocity, double gap, int steps) {
    const auto sim = test::simulate(Communicator::self(),
                                    shot("{plane: {}}", kBall, at_height(0.01 + gap), velocity));
    for (int i = 0; i < steps; ++i) sim->step();
    return sim->stepper().report();
  };
  const StepReport start = deep("[0, 0, 0]", -1e-3, 3), impact = deep("[0, 0, -200]", 0.0, 2);
  EXPECT_GT(start.overlap_largest, 0.09);
  EXPECT_EQ(start.overlap_bodies[0], kNoBody);
  EXPECT_EQ(impact.overlap_bodies, (std::array<GlobalId, 2>{0, 1}));
  EXPECT_NEAR(impact.overlap_borne, impact.overlap_largest, 1e-15);
}

}  // namespace
}  // namespace catena
