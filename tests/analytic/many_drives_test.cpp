// A thousand motors and limits in one mechanism, against momentum and statics.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "analytic/case_runner.hpp"
#include "catena/simulation/joint_reading.hpp"

namespace catena::test {
namespace {

constexpr double kH = 1e-3;

/// A hub of 50 kg and 10 kg m^2 that floats, with wheels of 1 kg and 0.02 kg m^2 whose axles stand
/// on circles of 0.5 to 1.5 m, opposite ones alike, all about z.
class Hub {
 public:
  /// What a wheel has; a motor drives it at `speed`, or, where `limited`, it may not turn below
  /// where it is.
  struct Wheel {
    double radius = 0.0, angle = 0.0, speed = 0.0, most = 0.0, spin = 0.0;
    bool limited = false;
  };
  std::vector<Wheel> wheels;

  explicit Hub(int n) {
    for (int i = 0; i < n; ++i) {
      Wheel w;
      const int pair = i / 2;
      w.angle = 0.7 * pair + (i % 2) * 3.14159265358979312;
      w.radius = 0.5 + static_cast<double>(pair) / n;
      w.limited = pair % 5 == 4;
      w.spin = w.limited ? (pair % 2 == 0 ? -3.0 : 2.0) : 0.0;
      w.speed = 1.0 + 0.01 * pair;
      // 0.02 kg m^2 to 1 rad/s within a step takes 20 N m
      w.most = pair % 3 == 0 ? 5.0 : 1e3;
      wheels.push_back(w);
    }
  }

  std::string text() const {
    std::string bodies =
        "gravity: [0, 0, 0]\nbodies:\n  - {name: hub, mass: 50, inertia: [10, 10, 10], position: "
        "[0, 0, 0]}\n";
    std::string joints = "joints:\n";
    for (std::size_t i = 0; i < wheels.size(); ++i) {
      const Wheel& w = wheels[i];
      const std::string name = std::to_string(i);
      const std::string at =
          text_of(Vec3(w.radius * std::cos(w.angle), w.radius * std::sin(w.angle), 0.0));
      bodies += "  - {name: w" + name + ", mass: 1, inertia: [0.02, 0.02, 0.02], position: " + at +
                ", angular_velocity: [0, 0, " + text_of(w.spin) + "]}\n";
      joints += "  - {name: j" + name + ", type: revolute, between: [hub, w" + name +
                "], axis: [0, 0, 1], at: " + at +
                (w.limited ? ", limits: [0, 1]"
                           : ", motor: {velocity: " + text_of(w.speed) +
                                 ", max_force: " + text_of(w.most) + "}") +
                "}\n";
    }
    return bodies + joints + "time: {step: 1 ms, end: 1}\n";
  }

  /// Torques' impulses on the wheels over the first step, N m s, and the hub's speed after it.
  double solve(std::vector<double>& impulse) const {
    constexpr double kWheel = 0.02;
    impulse.assign(wheels.size(), 0.0);
    double hub = 0.0;
    // by bisection: what the hub gets falls with its speed
    const auto given = [&](double speed) {
      double sum = 0.0;
      for (std::size_t i = 0; i < wheels.size(); ++i) {
        const Wheel& w = wheels[i];
        // of the speed at which a limit is met a step leaves a ninth (SPOOK's Upsilon at tau = 2 h)
        const double asked = w.limited ? std::min(w.spin, 0.0) / 9.0 : w.speed;
        const double free = kWheel * (speed + asked - w.spin);
        impulse[i] = w.limited ? std::max(0.0, free) : std::clamp(free, -kH * w.most, kH * w.most);
        sum += impulse[i];
      }
      return sum;
    };
    double inertia = 10.0;
    for (const Wheel& w : wheels) inertia += w.radius * w.radius;
    double low = -100.0, high = 100.0;
    for (int k = 0; k < 200; ++k) {
      hub = 0.5 * (low + high);
      (inertia * hub + given(hub) > 0.0 ? high : low) = hub;
    }
    return hub;
  }
};

TEST(ManyDrives, AHubAndItsThousandWheelsMoveAsTheirMomentumSays) {
  for (const int n : {100, 1000}) {
    const Hub hub(n);
    const auto sim = simulate(hub.text());

    sim->step();

    std::vector<double> impulse;
    const double speed = hub.solve(impulse);
    EXPECT_NEAR(body_of(*sim, 0).twist.w.z(), speed, 1e-9) << n;
    int at_bounds = 0;
    for (int i = 0; i < n; ++i) {
      const Hub::Wheel& w = hub.wheels[static_cast<std::size_t>(i)];
      const double gained = impulse[static_cast<std::size_t>(i)];
      EXPECT_NEAR(body_of(*sim, i + 1).twist.w.z(), w.spin + gained / 0.02, 1e-8) << n << " " << i;
      const auto drive = joint_forces(*sim, i).drive[0];
      EXPECT_NEAR(drive[w.limited ? 0 : 1], gained / kH, 1e-6 * std::abs(gained) / kH + 1e-9)
          << n << " " << i;
      at_bounds += w.limited ? gained == 0.0 : std::abs(gained) >= kH * w.most;
    }
    EXPECT_GT(at_bounds, n / 4);
  }
}

/// Links of 1 m and 1 kg in a row along x, hinged about y, the first to the world; what the first
/// hinge has besides, and what all others have.
std::string row(int n, const std::string& gravity, const std::string& first,
                const std::string& others) {
  std::string bodies = "gravity: [0, 0, " + gravity + "]\nbodies:\n", joints = "joints:\n";
  for (int i = 0; i < n; ++i) {
    const std::string name = "b" + std::to_string(i);
    bodies +=
        "  - {name: " + name +
        ", mass: 1, inertia: [0.01, 0.0833333333333333333, 0.0833333333333333333], position: [" +
        text_of(i + 0.5) + ", 0, 0]}\n";
    joints += "  - {name: j" + std::to_string(i) + ", type: revolute, between: [" +
              (i == 0 ? "world" : "b" + std::to_string(i - 1)) + ", " + name + "], at: [" +
              std::to_string(i) + ", 0, 0], axis: [0, 1, 0]" + (i == 0 ? first : others) + "}\n";
  }
  return bodies + joints + "time: {step: 1 ms, end: 1}\n";
}
std::string row(int n, const std::string& gravity, const std::string& drive) {
  return row(n, gravity, drive, drive);
}

TEST(ManyDrives, ABeamOfLinksYieldsAtItsRootAlone) {
  // its weight bends hinge k by g (n - k)^2/2; the root's motor gives a thousandth less
  constexpr int kLinks = 150;
  constexpr double kG = 10.0, kMost = 0.999 * kG * kLinks * kLinks / 2.0;
  const auto sim =
      simulate(row(kLinks, "-10", ", motor: {velocity: 0, max_force: " + text_of(kMost) + "}"));

  sim->step();

  // the whole turns about the root as a rod, whose n^3/3 resist
  const double turn = (kG * kLinks * kLinks / 2.0 - kMost) / (kLinks * kLinks * kLinks / 3.0);
  for (int k = 0; k < kLinks; ++k) {
    EXPECT_NEAR(body_of(*sim, k).twist.w.y(), turn * kH, 1e-4 * turn * kH) << k;
    const double beyond = kLinks - k;
    // of what is beyond hinge k: its weight, less what its acceleration takes of it
    const double bends = kG * beyond * beyond / 2.0 -
                         turn * (beyond * beyond * beyond / 3.0 + k * beyond * beyond / 2.0);
    EXPECT_NEAR(std::abs(joint_forces(*sim, k).drive[0][1]), bends, 1e-4 * kMost) << k;
  }
}

TEST(ManyDrives, LimitsHoldABeamAndWhereTheyAreFarDoNothing) {
  constexpr int kLinks = 150;
  // turning about y by a positive angle takes the links down; 5 steps turn them by 1e-4 rad
  const auto holds = simulate(row(kLinks, "-10", ", limits: [-90 deg, 0]"));
  const auto lets = simulate(row(kLinks, "-10", ", limits: [-1 deg, 1 deg]"));
  const auto free = simulate(row(kLinks, "-10", ""));

  for (int i = 0; i < 5; ++i)
    for (Simulation* sim : {holds.get(), lets.get(), free.get()}) sim->step();

  for (int k = 0; k < kLinks; ++k) {
    EXPECT_NEAR(body_of(*holds, k).twist.v.norm(), 0.0, 1e-6) << k;
    EXPECT_NEAR((body_of(*lets, k).twist.v - body_of(*free, k).twist.v).norm(), 0.0, 1e-9) << k;
    const double bends = 10.0 * (kLinks - k) * (kLinks - k) / 2.0;
    EXPECT_NEAR(std::abs(joint_forces(*holds, k).drive[0][0]), bends, 1e-4 * 1.1e5) << k;
  }
}

TEST(ManyDrives, LimitsThatDoNotActChangeNoBitOfWhatAMotorDoes) {
  constexpr int kLinks = 150;
  const std::string motor = ", motor: {velocity: 0, max_force: 1e5}";
  const auto far = simulate(row(kLinks, "-10", motor, ", limits: [-170 deg, 170 deg]"));
  // within 0.05 rad of them there are rows
  const auto near = simulate(row(kLinks, "-10", motor, ", limits: [-1 deg, 1 deg]"));

  for (int i = 0; i < 5; ++i)
    for (Simulation* sim : {far.get(), near.get()}) sim->step();

  for (int k = 0; k < kLinks; ++k) {
    EXPECT_EQ(body_of(*near, k).twist.v, body_of(*far, k).twist.v) << k;
    EXPECT_EQ(body_of(*near, k).twist.w, body_of(*far, k).twist.w) << k;
  }
  EXPECT_EQ(near->stepper().problem().blocks.size(),
            far->stepper().problem().blocks.size() + kLinks - 1);
}

/// Parallelograms beside each other: a motor turns the one crank, a brake holds a pin of the
/// coupler, and a stop of the other crank is met after 0.02 rad.
std::string parallelograms(int n) {
  std::string bodies = "gravity: [0, 0, 0]\nbodies:\n", joints = "joints:\n";
  const auto body = [&](const std::string& name, double x, double y, double z) {
    bodies += "  - {name: " + name +
              ", mass: 1, inertia: [0.1, 0.1, 0.1], position: " + text_of(Vec3(x, y, z)) + "}\n";
  };
  const auto hinge = [&](const std::string& name, const std::string& between, double x, double y,
                         double z, const std::string& drive) {
    joints += "  - {name: " + name + ", type: revolute, between: [" + between +
              "], axis: [0, 1, 0], at: " + text_of(Vec3(x, y, z)) + drive + "}\n";
  };
  for (int i = 0; i < n; ++i) {
    const std::string k = std::to_string(i);
    body("left" + k, 0.0, 2.0 * i, 0.5);
    body("right" + k, 1.0, 2.0 * i, 0.5);
    body("bar" + k, 0.5, 2.0 * i, 1.0);
    hinge("a" + k, "world, left" + k, 0.0, 2.0 * i, 0.0, ", motor: {velocity: 1, max_force: 5}");
    hinge("b" + k, "left" + k + ", bar" + k, 0.0, 2.0 * i, 1.0,
          ", motor: {velocity: 0, max_force: 0.5}");
    hinge("c" + k, "bar" + k + ", right" + k, 1.0, 2.0 * i, 1.0, "");
    hinge("d" + k, "world, right" + k, 1.0, 2.0 * i, 0.0, ", limits: [-1, 0.02]");
  }
  return bodies + joints + "time: {step: 1 ms, end: 1}\n";
}

TEST(ManyDrives, MotorsStallAgainstStopsInLoopsHoweverManyThereAre) {
  constexpr int kUnits = 70, kSteps = 150;
  const auto one = simulate(parallelograms(1));
  const auto all = simulate(parallelograms(kUnits));
  for (int i = 0; i < kSteps; ++i) {
    one->step();
    const StepReport& report = all->step();

    EXPECT_EQ(report.solve.status, SolveStatus::converged) << i << " " << report.solve.reason;
    EXPECT_LT(report.misfit.linear, 1e-5) << i;
    const double turned = body_of(*one, 0).twist.w.y();
    for (const int k : {0, 1, 35, kUnits - 1})
      EXPECT_NEAR(body_of(*all, 3 * k).twist.w.y(), turned, 1e-6) << i << " " << k;
  }
  // the stop holds, and the motor gives what it has
  EXPECT_NEAR(body_of(*all, 0).twist.w.y(), 0.0, 1e-6);
  EXPECT_NEAR(joint_forces(*all, 4 * (kUnits - 1)).drive[0][1], 5.0, 1e-6);
}

/// Bodies in a tree of hinges about y, two at the end of each, with limits and strong motors.
std::string driven_tree(int n) {
  std::string bodies = "gravity: [0, 0, -9.81]\nbodies:\n", joints = "joints:\n";
  std::vector<Vec3> place;
  for (int i = 0, level = 0; i < n; ++i) {
    if (i + 1 == 2 << level) ++level;
    const int parent = (i - 1) / 2;
    const Vec3 at = i == 0 ? Vec3(0.0, 0.0, 0.0) : place[static_cast<std::size_t>(parent)];
    const double side = (i % 2 == 0 ? 6.4 : -6.4) / (1 << level);
    place.push_back(at + Vec3(0.1, i == 0 ? 0.0 : side, 0.0));
    const std::string name = std::to_string(i);
    bodies += "  - {name: b" + name +
              ", mass: 1, inertia: [0.01, 0.01, 0.01], position: " + text_of(place.back()) + "}\n";
    joints += "  - {name: j" + name + ", type: revolute, between: [" +
              (i == 0 ? "world" : "b" + std::to_string(parent)) + ", b" + name +
              "], at: " + text_of(at) +
              ", axis: [0, 1, 0], limits: [-0.5, 0.5], motor: {velocity: 1, max_force: 1000}}\n";
  }
  return bodies + joints + "time: {step: 1 ms, end: 1}\nsolver: {max_iterations: 2}\n";
}

TEST(ManyDrives, StrongMotorsOfATreePushWithAllTheyHaveOrKeepTheirSpeed) {
  constexpr int kMotors = 1000, kSteps = 8;
  constexpr double kMost = 1000.0, kSpeed = 1.0;
  const auto sim = simulate(driven_tree(kMotors));
  for (int step = 0; step < kSteps; ++step) {
    const StepReport& report = sim->step();

    // pivots alone do not find the set of every step
    EXPECT_EQ(report.solve.status, SolveStatus::converged) << step << " " << report.solve.reason;
    int at_bounds = 0;
    for (int i = 0; i < kMotors; ++i) {
      // all axes stay along y
      const double speed =
          body_of(*sim, i).twist.w.y() - (i == 0 ? 0.0 : body_of(*sim, (i - 1) / 2).twist.w.y());
      const auto drive = joint_forces(*sim, i).drive[0];
      const double limit = drive[0], motor = drive[1];
      EXPECT_LE(std::abs(motor), kMost * (1.0 + 1e-9)) << step << " " << i;
      EXPECT_EQ(limit, 0.0) << step << " " << i;
      if (motor < kMost * (1.0 - 1e-9)) {
        EXPECT_GT(speed, kSpeed - 1e-6) << step << " " << i;
      }
      if (motor > -kMost * (1.0 - 1e-9)) {
        EXPECT_LT(speed, kSpeed + 1e-6) << step << " " << i;
      }
      at_bounds += std::abs(motor) > kMost * (1.0 - 1e-9);
    }
    EXPECT_GT(at_bounds, 0) << step;
  }
}

}  // namespace
}  // namespace catena::test
