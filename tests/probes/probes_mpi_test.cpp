// What probes measure, against balances of momentum, closed forms, and counts from positions.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "catena/base/error.hpp"
#include "probes/probe_run.hpp"
#include "support/all_ranks.hpp"
#include "support/error_of.hpp"

namespace catena {
namespace {

using test::ProbeRun;

const std::string kMaterial = "materials: {m: {density: 1000, friction: 0.4}}\n";

/// Grains that fall into a bin.
const std::string kFalling =
    kMaterial +
    "generators:\n"
    "  - container: {name: bin, material: m, size: [0.9, 0.9, .inf]}\n"
    "  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, count: [4, 4, 5], "
    "spacing: 0.21, origin: [0.13, 0.13, 0.11], position_jitter: 1 cm, seed: 3}\n"
    "time: {step: 2 ms, end: 1}\n";

TEST(ForceProbe, OnFloorAndWallsIsWeightAndChangeOfMomentum) {
  ProbeRun run(kFalling +
               "probes:\n"
               "  - {name: all, type: force, on: bin, interval: 40 ms}\n"
               "  - {name: floor, type: force, on: bin-0, from: grains, interval: 40 ms}\n"
               "  - {name: walls, type: force, on: [bin-1, bin-2, bin-3, bin-4], interval: 40 ms}\n"
               "  - {name: back, type: force, on: grains, from: bin, interval: 40 ms}\n");
  run.steps(40);
  const Vec3 before = run.sim().stepper().report().linear_momentum;

  run.steps(20);  // a whole interval, in which the grains hit the floor

  const Vec3 after = run.sim().stepper().report().linear_momentum;
  const double mass = 80 * 1000.0 * 4.0 / 3.0 * std::numbers::pi * 1e-3;
  const Vec3 expected = Vec3(0.0, 0.0, -9.81 * mass) - (after - before) / 0.04;
  EXPECT_GT((after - before).norm(), 0.1 * mass * 9.81 * 0.04);
  EXPECT_LT((run.vector("all.force", "_mean") - expected).norm(), 1e-9 * mass * 9.81);
  EXPECT_LT((run.vector("all.contact_force", "_mean") - expected).norm(), 1e-9 * mass * 9.81);
  EXPECT_LT(
      (run.vector("floor.force", "_mean") + run.vector("walls.force", "_mean") - expected).norm(),
      1e-9 * mass * 9.81);
  EXPECT_LT((run.vector("back.force", "_mean") + expected).norm(), 1e-9 * mass * 9.81);
  EXPECT_LT(run("all.force_z_min"), run("all.force_z_mean"));
  EXPECT_LT(run("all.force_z_mean"), run("all.force_z_max"));
}

TEST(ForceProbe, TorqueAcrossAGapToWhatIsFixedIsWhatTurnsTheBall) {
  ProbeRun run(kMaterial +
               "gravity: [0, 0, 0]\n"
               "bodies:\n"
               "  - {name: floor, material: m, shape: {plane: {}}}\n"
               "  - {name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: [0, 0, "
               "0.108], velocity: [20, 0, -10]}\n"
               "time: {step: 1 ms, end: 1}\n"
               "probes:\n"
               "  - {name: hit, type: force, on: ball, about: [0, 0, 0.108]}\n"
               "  - {name: ball, type: body, body: ball}\n");

  run.steps(1);

  const double inertia = 0.4 * 4000.0 / 3.0 * std::numbers::pi * 1e-3 * 0.01;
  const Vec3 turn = 1e-3 * run.vector("hit.torque");
  EXPECT_GT(turn.norm(), 0.1);
  EXPECT_LT((inertia * run.vector("ball.angular_velocity") - turn).norm(), 1e-9 * turn.norm());
}

TEST(ForceProbe, TorqueIsTheChangeOfAngularMomentum) {
  // a ball hits a floating slab, whose momenta change by what the probe says
  ProbeRun run(kMaterial +
               "gravity: [0, 0, 0]\n"
               "bodies:\n"
               "  - {name: slab, material: m, shape: {box: {size: [1, 1, 0.2]}}, position: [2, 1, "
               "0]}\n"
               "  - {name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: [2.3, 1.2, "
               "0.25], velocity: [0, 0.5, -2]}\n"
               "time: {step: 1 ms, end: 1}\n"
               "probes:\n"
               "  - {name: hit, type: force, on: slab, about: [1, 0, 0.5]}\n"
               "  - {name: slab, type: body, body: slab}\n");
  const double mass = 200.0;  // kg
  const Vec3 inertia = mass / 12.0 * Vec3(1.04, 1.04, 2.0);
  Vec3 impulse = Vec3::Zero(), turn = Vec3::Zero();
  for (int i = 0; i < 60; ++i) {
    run.steps(1);
    impulse += 1e-3 * run.vector("hit.force");
    turn += 1e-3 * run.vector("hit.torque");
  }

  const Vec3 v = run.vector("slab.velocity"), w = run.vector("slab.angular_velocity");
  EXPECT_GT(v.norm(), 1e-2);
  EXPECT_LT((mass * v - impulse).norm(), 1e-9 * impulse.norm());
  const Quat q(run("slab.orientation_w"), run("slab.orientation_x"), run("slab.orientation_y"),
               run("slab.orientation_z"));
  const Vec3 spin = q * inertia.cwiseProduct(q.conjugate() * w);
  const Vec3 about = spin + (run.vector("slab.position") - Vec3(1.0, 0.0, 0.5)).cross(mass * v);
  // arms are those of the step's start, momenta those of its end: h v x p
  EXPECT_LT((about - turn).norm(), 1e-3 * turn.norm());
}

TEST(JointProbe, ReactionOfASwingingPendulumIsTheClosedForm) {
  const std::string text =
      "gravity: [0, 0, -10]\n"
      "bodies: [{name: bob, mass: 2, inertia: [1e-6, 1e-6, 1e-6], position: [1, 0, 0]}]\n"
      "joints: [{name: hinge, type: revolute, between: [world, bob], at: [0, 0, 0], axis: [0, 1, "
      "0]}]\n"
      "time: {step: 1.6 ms, end: 1}\n"
      "probes:\n"
      "  - {name: hinge, type: joint, joint: hinge}\n"
      "  - {name: pull, type: force, on: bob}\n";
  ProbeRun run(text);
  double worst = 0.0, worst_rate = 0.0;
  for (int i = 0; i < 500; ++i) {
    run.steps(1);
    // released at rest at the hinge's height: theta below the horizontal, v^2 = 2 g L sin(theta),
    // and the rod pulls with 3 m g sin(theta) along it
    const double theta = run("hinge.angle");
    const Vec3 to_hinge(-std::cos(theta), 0.0, std::sin(theta));
    worst = std::max(worst, (run.vector("hinge.force") - 60.0 * std::sin(theta) * to_hinge).norm());
    worst_rate = std::max(worst_rate, std::abs(std::abs(run("hinge.angle_rate")) -
                                               std::sqrt(20.0 * std::max(0.0, std::sin(theta)))));
    EXPECT_LT((run.vector("pull.force") - run.vector("hinge.force")).norm(), 1e-9);
    EXPECT_LT((run.vector("pull.joint_force") - run.vector("hinge.force")).norm(), 1e-9);
  }
  EXPECT_GT(run("hinge.angle"), 0.5 * std::numbers::pi);
  // of first order in the step, by which the angle is ahead: 3 m g h omega
  EXPECT_LT(worst, 60.0 * 1.6e-3 * 5.0 + 0.08);
  EXPECT_LT(worst_rate, 0.08);
}

TEST(JointProbe, MotorTakesPowerByItsTorqueTimesTheRate) {
  ProbeRun run(
      "bodies: [{name: wheel, mass: 1, inertia: [0.5, 0.5, 0.5], position: [0, 0, 0]}]\n"
      "joints: [{name: hinge, type: revolute, between: [world, wheel], at: [0, 0, 0], axis: [0, 1, "
      "0], motor: {velocity: 100, max_force: 3}}]\n"
      "time: {step: 1 ms, end: 1}\n"
      "probes: [{name: hinge, type: joint, joint: hinge, interval: 10 ms}]\n");

  run.steps(100);

  // 3 N m on 0.5 kg m^2 for 0.1 s
  EXPECT_NEAR(run("hinge.motor"), 3.0, 1e-9);
  EXPECT_NEAR(run("hinge.angle_rate"), 0.6, 1e-9);
  EXPECT_NEAR(run("hinge.power"), 1.8, 1e-9);
  EXPECT_NEAR(run("hinge.torque_y"), 3.0, 1e-9);
  // over the last ten steps the rate rises evenly from 0.546 to 0.6
  EXPECT_NEAR(run("hinge.angle_rate_mean"), 0.573, 1e-9);
  EXPECT_NEAR(run("hinge.angle_rate_min"), 0.546, 1e-9);
}

TEST(FluxProbe, CountsWhatPositionsShow) {
  ProbeRun run(
      kFalling +
          "probes:\n"
          "  - {name: plane, type: flux, through: {point: [0, 0, 0.3], normal: [0, 0, -1]}}\n"
          "  - {name: disc, type: flux, through: {point: [0.45, 0.45, 0.3], normal: [0, 0, "
          "-1], radius: 0.3}, interval: 100 ms}\n"
          "  - {name: window, type: flux, by_material: true, through: {point: [0.3, 0.4, 0.3], "
          "normal: [0, 0, -1], side: [1, 0, 0], size: [0.4, 0.6]}}\n",
      {"gravity=[0.6, 0, -9.81]"});
  int plane = 0, disc = 0, window = 0, passages = 0;
  std::vector<double> from = test::positions_by_id(run.sim());
  for (int i = 0; i < 150; ++i) {
    run.steps(1);
    const std::vector<double> to = test::positions_by_id(run.sim());
    for (std::size_t k = 0; k < to.size(); k += 3) {
      const double z0 = from[k + 2], z1 = to[k + 2];
      // downwards is along the normal: ahead of the plane is where z <= 0.3
      if ((z0 > 0.3) == (z1 > 0.3)) continue;
      const int sign = z0 > 0.3 ? 1 : -1;
      const double part = (z0 - 0.3) / (z0 - z1);
      const double x = from[k] + part * (to[k] - from[k]),
                   y = from[k + 1] + part * (to[k + 1] - from[k + 1]);
      ++passages;
      plane += sign;
      if (std::hypot(x - 0.45, y - 0.45) <= 0.3) disc += sign;
      if (std::abs(x - 0.3) <= 0.2 && std::abs(y - 0.4) <= 0.3) window += sign;
    }
    from = to;
  }

  EXPECT_GT(passages, 12);
  EXPECT_GT(disc, 0);
  EXPECT_EQ(run("plane.number"), plane);
  EXPECT_EQ(run("disc.number"), disc);
  EXPECT_EQ(run("window.number"), window);
  EXPECT_EQ(run("window.number_m"), window);
  const double mass = 1000.0 * 4.0 / 3.0 * std::numbers::pi * 1e-3;
  EXPECT_NEAR(run("plane.mass"), plane * mass, 1e-9);
  // what the three intervals of the disc passed adds up to its number
  EXPECT_GE(run("disc.number_rate_max"), run("disc.number_rate_mean"));
}

TEST(FluxProbe, SeesBodiesThatWrapAroundAPeriodicBox) {
  // near a side a step of 9.1 mm may pass both it and the plane
  for (const double x : {0.003, 0.5, 0.997}) {
    ProbeRun run(kMaterial +
                 "gravity: [0, 0, 0]\n"
                 "periodic: {x: [0, 1]}\n"
                 "bodies:\n" +
                 test::sphere_text("there", 0.3, 0.0, ", velocity: [1.3, 0, 0]") +
                 test::sphere_text("back", 0.7, 1.0, ", velocity: [-1.3, 0, 0]") +
                 "time: {step: 7 ms, end: 5}\n"
                 "probes:\n"
                 "  - {name: there, type: flux, through: {point: [" +
                 test::text_of(x) + ", 0, 0], normal: [1, 0, 0], radius: 0.2}}\n" +
                 "  - {name: back, type: flux, through: {point: [" + test::text_of(x) +
                 ", 0, 1], normal: [1, 0, 0], radius: 0.2}}\n");

    run.steps(500);

    // 4.55 m from 0.3 and from 0.7 backwards
    const int expected = static_cast<int>(std::floor(4.85 - x) - std::floor(0.3 - x));
    EXPECT_EQ(run("there.number"), expected) << x;
    EXPECT_EQ(run("back.number"), std::floor(-3.85 - x) - std::floor(0.7 - x)) << x;
  }
}

TEST(BodyProbe, FollowsAPointOfATurningAndFallingBody) {
  ProbeRun run(
      "bodies: [{name: top, mass: 1, inertia: [1, 1, 1], position: [0, 0, 5], orientation: {axis: "
      "[0, 0, 1], angle: 90 deg}, angular_velocity: [0, 0, 2]}]\n"
      "time: {step: 1 ms, end: 1}\n"
      "probes: [{name: tip, type: body, body: top, at: [0.5, 0, 0], interval: 50 ms}]\n");

  run.steps(100);

  // turned by 90 degrees + 0.2 rad
  const double angle = 0.5 * std::numbers::pi + 0.2, z = 5.0 - 9.81 * 1e-6 * 100 * 101 / 2;
  const Vec3 arm(0.5 * std::cos(angle), 0.5 * std::sin(angle), 0.0);
  EXPECT_LT((run.vector("tip.position") - Vec3(0, 0, z) - arm).norm(), 1e-9);
  const Vec3 v = Vec3(0, 0, -0.981) + Vec3(0, 0, 2).cross(arm);
  EXPECT_LT((run.vector("tip.velocity") - v).norm(), 1e-9);
  // the mean over a step points to the axis in the middle of the step
  EXPECT_LT((run.vector("tip.acceleration") - Vec3(0, 0, -9.81) + 4.0 * arm).norm(), 3e-3);
  EXPECT_NEAR(run("tip.orientation_z"), std::sin(0.5 * angle), 1e-9);
  EXPECT_NEAR(run("tip.velocity_z_mean"), -9.81 * 0.0755, 1e-9);
}

TEST(EnergyProbe, OfAllBodiesIsTheReports) {
  ProbeRun run(kFalling +
               "probes: [{name: all, type: energy}, {name: some, type: energy, on: [grains-3]}]\n");

  run.steps(30);

  const StepReport& report = run.sim().stepper().report();
  EXPECT_NEAR(run("all.kinetic"), report.kinetic, 1e-12 * report.kinetic);
  EXPECT_NEAR(run("all.potential"), report.potential, 1e-12 * report.potential);
  EXPECT_GT(run("some.kinetic"), 0.0);
  EXPECT_LT(run("some.kinetic"), 0.1 * report.kinetic);
  EXPECT_NEAR(run("some.translation") + run("some.rotation"), run("some.kinetic"), 1e-12);
}

TEST(PairProbe, SortsForcesOfContactsIntoItsHistogram) {
  // three spheres at rest on a floor weigh 1, 2 and 8 units
  ProbeRun run(
      "materials: {a: {density: 1000}, b: {density: 2000}, c: {density: 8000}}\n"
      "bodies:\n"
      "  - {name: floor, material: a, shape: {plane: {}}}\n"
      "  - {name: one, material: a, shape: {sphere: {radius: 0.1}}, position: [0, 0, 0.1]}\n"
      "  - {name: two, material: b, shape: {sphere: {radius: 0.1}}, position: [1, 0, 0.1]}\n"
      "  - {name: eight, material: c, shape: {sphere: {radius: 0.1}}, position: [2, 0, 0.1]}\n"
      "contact: {stiffness: rigid}\n"
      "time: {step: 2 ms, end: 1}\n"
      "probes:\n"
      "  - {name: all, type: pair, bins: 4, largest: 200}\n"
      "  - {name: light, type: pair, between: [one, floor]}\n");
  const double unit = 1000.0 * 4.0 / 3.0 * std::numbers::pi * 1e-3 * 9.81;  // 41.09 N

  run.steps(20);

  EXPECT_EQ(run("all.contacts"), 3.0);
  EXPECT_NEAR(run("all.normal_force"), 11.0 / 3.0 * unit, 1e-9 * unit);
  EXPECT_NEAR(run("all.tangential_force"), 0.0, 1e-9 * unit);
  // bins of 50 N: 41, 82 and 329 N
  EXPECT_EQ(run("all.count_0"), 1.0);
  EXPECT_EQ(run("all.count_1"), 1.0);
  EXPECT_EQ(run("all.count_2") + run("all.count_3"), 0.0);
  EXPECT_EQ(run("all.count_above"), 1.0);
  EXPECT_EQ(run("light.contacts"), 1.0);
  EXPECT_NEAR(run("light.normal_force"), unit, 1e-9 * unit);
}

/// Two balls that fly past each other in a box that rests or is sheared.
TEST(CellProbe, HasTheStressOfMotionAndTheBox) {
  for (const double rate : {0.0, 0.5}) {
    ProbeRun run(
        kMaterial +
        "gravity: [0, 0, 0]\nperiodic: {x: [0, 2], y: [0, 3], z: [0, 4], shear: {rate: " +
        std::to_string(rate) +
        "}}\ncontact: {stiffness: 1e5}\n"
        "bodies:\n"
        "  - {name: a, material: m, shape: {sphere: {radius: 0.2}}, position: [0.5, 1, 1], "
        "velocity: [1, 0, 2]}\n"
        "  - {name: b, material: m, shape: {sphere: {radius: 0.2}}, position: [1.5, 2, 2], "
        "velocity: [-1, 0, -2]}\n"
        "time: {step: 1 ms, end: 1}\n"
        "probes: [{name: cell, type: cell, interval: 10 ms}]\n");
    run.steps(10);
    const double ball = 4.0 / 3.0 * 3.14159265358979 * 0.008, volume = 24.0;
    const double m = 1000.0 * ball;
    const double u = 1.0 + rate * 0.5;  // against the shear at z - 2 = -1 and 0, without the mean
    EXPECT_NEAR(run("cell.kinetic_stress_zz"), 2.0 * m * 4.0 / volume, 1e-9 * m);
    EXPECT_NEAR(run("cell.kinetic_stress_yy"), 0.0, 1e-12 * m);
    EXPECT_NEAR(run("cell.kinetic_stress_zx"), 2.0 * m * 2.0 * u / volume, 0.02 * rate * m + 1e-9);
    EXPECT_NEAR(run("cell.stress_zz"), run("cell.kinetic_stress_zz"), 1e-12 * m);
    EXPECT_NEAR(run("cell.solid_fraction"), 2.0 * ball / volume, 1e-12);
    EXPECT_NEAR(run("cell.length_y"), 3.0, 1e-12);
    EXPECT_NEAR(run("cell.offset"), rate * 4.0 * 0.01, 1e-12);
  }
}

TEST(Probes, NameWhatTheyCannotFind) {
  const auto message = [](const std::string& probe) {
    const std::string text = kFalling +
                             "joints: [{name: hinge, type: spherical, between: [world, "
                             "grains-0], at: [0.13, 0.13, 0.11]}]\nprobes: [" +
                             probe + "]\n";
    return test::error_of([&] { ProbeRun run(text); });
  };
  EXPECT_EQ(message("{name: p, type: force, on: grain}"),
            "test.yaml:9:10: probes.p.on: there is no body or generator 'grain'; did you mean "
            "grains?");
  EXPECT_NE(message("{name: p, type: body, body: grains}").find("has 80 bodies"),
            std::string::npos);
  EXPECT_NE(message("{name: p, type: joint, joint: hing}").find("did you mean hinge?"),
            std::string::npos);
  EXPECT_NE(message("{name: p, type: force, on: bin, from: bin-0}").find("of `on` as well"),
            std::string::npos);
  ProbeRun run(kFalling + "probes: [{name: p, type: force, on: bin}]\n");
  EXPECT_NE(test::error_of([&] { run("p.forze_z"); }).find("did you mean p.force_z?"),
            std::string::npos);
}

TEST(FluxProbe, TheOffsetOfAShearedBoxIsNoWayOfABody) {
  ProbeRun run(
      kMaterial +
      "gravity: [0, 0, 0]\n"
      "periodic: {x: [0, 1], z: [0, 1], shear: {rate: 2, along: x, across: z}}\nbodies:\n" +
      test::sphere_text("a", 0.5, 0.95, ", velocity: [0, 0, 1]") +
      "time: {step: 1 ms, end: 1}\n"
      "probes:\n"
      "  - {name: aside, type: flux, through: {point: [0.45, 0, 0], normal: [1, 0, 0]}}\n"
      "  - {name: up, type: flux, through: {point: [0, 0, 0.99], normal: [0, 0, 1]}}\n");
  run.steps(60);  // put back after 50, by -0.1 along x
  EXPECT_EQ(run("aside.number"), 0.0);
  EXPECT_EQ(run("up.number"), 1.0);
}

}  // namespace
}  // namespace catena
