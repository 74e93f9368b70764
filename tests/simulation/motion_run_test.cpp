// What prescribed motions do to bodies in contact with them.
#include <gtest/gtest.h>

#include <cmath>

#include "support/case_text.hpp"
#include "support/error_of.hpp"

namespace catena {
namespace {

using test::body_of;

std::unique_ptr<Simulation> simulate(const std::string& yaml) {
  return test::simulate(Communicator::self(), yaml);
}

/// A sphere of radius 0.1 m on a plate that shakes with 5 Hz and this amplitude; the largest gap
/// between them in a second.
double largest_gap(double amplitude) {
  const auto sim = simulate(
      "materials: {m: {density: 1000}}\n"
      "bodies:\n"
      "  - {name: plate, material: m, shape: {box: {size: [1, 1, 0.2]}}, position: [0, 0, -0.1],\n"
      "     motion: {harmonics: [{amplitude: [0, 0, " +
      std::to_string(amplitude) +
      "], frequency: 5 Hz}]}}\n"
      "  - {name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: [0, 0, 0.1],\n"
      "     velocity: [0, 0, " +
      std::to_string(10.0 * M_PI * amplitude) +
      "]}\n"
      "time: {step: 0.5 ms, end: 1}\n");
  double largest = -1.0;
  for (int step = 0; step < 2000; ++step) {
    sim->step();
    const auto z = [&](GlobalId id) { return body_of(*sim, id).pose.p[2]; };
    largest = std::max(largest, z(1) - z(0) - 0.2);
  }
  return largest;
}

TEST(PrescribedMotion, ASphereStaysOnAShakingPlateBelowOneGAndLiftsOffAbove) {
  // amplitude omega^2 = g at 9.940 mm
  const double lift = 9.81 / (100.0 * M_PI * M_PI);

  EXPECT_LT(largest_gap(0.95 * lift), 1e-5);
  EXPECT_GT(largest_gap(1.20 * lift), 2e-4);
}

TEST(PrescribedMotion, APlaneThatMovesTakesABodyAlong) {
  const auto sim = simulate(
      "materials: {m: {density: 1000, friction: 1}}\n"
      "bodies:\n"
      "  - {name: belt, material: m, shape: plane, motion: {velocity: [0.3, 0, 0.1]}}\n"
      "  - {name: box, material: m, shape: {box: {size: [0.2, 0.2, 0.2]}}, position: [0, 0, 0.1]}\n"
      "time: {step: 1 ms, end: 1}\n"
      "solver: {relative_tolerance: 1e-14}\n");
  for (int step = 0; step < 1000; ++step) sim->step();

  EXPECT_NEAR(sim->state().body[0].twist.v[0], 0.3, 1e-6);
  EXPECT_NEAR(sim->state().body[0].pose.p[2], 0.1 + 0.1, 1e-5);
}

TEST(PrescribedMotion, AWheelOnAMovingTableTurnsWithItsSpeed) {
  // a sphere that cannot fall off, on a slab that goes to and fro by a table: rolls with the
  // slab's acceleration times 2/7 where it sticks
  const auto sim = simulate(
      "materials: {m: {density: 1000, friction: 1}}\n"
      "bodies:\n"
      "  - {name: slab, material: m, shape: {box: {size: [4, 4, 0.2]}}, position: [0, 0, -0.1],\n"
      "     motion: {harmonics: [{amplitude: [0.1, 0, 0], frequency: 1 Hz, phase: -90 deg}]}}\n"
      "  - {name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: [0, 0, 0.1]}\n"
      "time: {step: 0.5 ms, end: 1}\n"
      "solver: {relative_tolerance: 1e-14}\n");
  for (int step = 0; step < 500; ++step) sim->step();
  // velocity of the slab at a quarter of a period: 0.1 m 2 pi 1/s
  EXPECT_NEAR(body_of(*sim, 1).twist.v[0], 2.0 / 7.0 * 0.2 * M_PI, 1e-3);
}

TEST(PrescribedMotion, ABallInADrumTurnsWithTheSpeedOfItsWall) {
  // without a rest of rolling it stays at the lowest point and spins: omega_ball r = omega R
  const auto sim = simulate(
      "materials: {m: {density: 1000, friction: 0.5}}\n"
      "bodies:\n"
      "  - {name: drum, material: m, shape: {hollow_cylinder: {inner_radius: 0.5, thickness: 0.05, "
      "length: 1, ends: both}},\n"
      "     orientation: {axis: [1, 0, 0], angle: 90 deg}, motion: {angular_velocity: [0, 2, 0]}}\n"
      "  - {name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: [0, 0, -0.4]}\n"
      "time: {step: 1 ms, end: 3}\n"
      "solver: {relative_tolerance: 1e-14}\n");
  double spin = 0.0;
  for (int step = 0; step < 3000; ++step) {
    sim->step();
    if (step >= 1000) spin += body_of(*sim, 1).twist.w[1] / 2000.0;
  }
  EXPECT_NEAR(spin, 2.0 * 0.5 / 0.1, 0.5);
  EXPECT_NEAR(body_of(*sim, 1).pose.p.norm(), 0.4, 1e-3);
}

TEST(FixedGenerator, ABallComesToRestInThePocketOfFourFixedSpheres) {
  const auto sim = simulate(
      "materials: {m: {density: 1000, friction: 0.5}}\n"
      "bodies:\n"
      "  - {name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: [0.02, 0.01, "
      "0.17]}\n"
      "generators:\n"
      "  - lattice: {name: bed, material: m, shape: {sphere: {radius: 0.1}}, count: [2, 2, 1], "
      "spacing: 0.2, origin: [-0.1, -0.1, 0], fixed: true}\n"
      "time: {step: 1 ms, end: 2}\n");
  for (int step = 0; step < 2000; ++step) sim->step();

  // centres 0.2 apart: 0.02 of the square are across
  EXPECT_LT((body_of(*sim, 0).pose.p - Vec3(0, 0, std::sqrt(0.02))).norm(), 1e-4);
  for (GlobalId id = 1; id < 5; ++id) {
    EXPECT_EQ(std::abs(body_of(*sim, id).pose.p[0]), 0.1);
    EXPECT_EQ(body_of(*sim, id).pose.p[2], 0.0);
  }
}

TEST(MovedGenerator, EachBodyOfALatticeMovesFromItsOwnPlace) {
  const auto sim = simulate(
      "materials: {m: {density: 1000}}\n"
      "generators:\n"
      "  - lattice: {name: pins, material: m, shape: {box: {size: [0.1, 0.1, 0.3]}}, count: [3, 2, "
      "1], spacing: 0.4, origin: [0.2, 0, 0],\n"
      "     motion: {velocity: [0, 0, 0.5], angular_velocity: [0, 0, 2], about: [0, 0, 0]}}\n"
      "  - wall: {name: gate, material: m, brick: [0.2, 0.1, 0.1], along: 2, height: 2, origin: "
      "[5, "
      "0, 0], motion: {harmonics: [{amplitude: [0, 0, 0.1], frequency: 1 Hz}]}}\n"
      "time: {step: 1 ms, end: 1}\n");
  for (int step = 0; step < 250; ++step) sim->step();

  // half a radian about z from where each stood
  const Quat turn(Eigen::AngleAxisd(0.5, Vec3::UnitZ()));
  for (GlobalId id = 0; id < 6; ++id) {
    const Vec3 start(0.2 + 0.4 * static_cast<double>(id % 3), 0.4 * static_cast<double>(id / 3), 0);
    const BodyMotionState& now = body_of(*sim, id);
    EXPECT_LT((now.pose.p - (turn * start + Vec3(0, 0, 0.125))).norm(), 1e-12) << id;
    EXPECT_LT((now.pose.q * Vec3::UnitX() - turn * Vec3::UnitX()).norm(), 1e-12);
    EXPECT_LT((now.twist.v - (Vec3(0, 0, 2).cross(turn * start) + Vec3(0, 0, 0.5))).norm(), 1e-12);
  }
  // a quarter of a period: the bricks are at the amplitude
  EXPECT_NEAR(body_of(*sim, 6).pose.p[2], 0.05 + 0.1, 1e-12);
  EXPECT_NEAR(body_of(*sim, 10).pose.p[2], 0.15 + 0.1, 1e-12);
}

TEST(MovedGenerator, EachBodyOfAPackMovesFromThePlaceThatItFound) {
  const auto sim = simulate(
      "materials: {m: {density: 1000}}\n"
      "generators:\n"
      "  - pack: {name: rough, material: m, shape: {sphere: {radius: 0.05}}, solid_fraction: 0.3, "
      "region: {lower: [1, 0, 0], upper: [1.6, 0.5, 0.4]},\n"
      "     motion: {angular_velocity: [0, 0, 2], about: [0, 0, 0], harmonics: [{amplitude: [0, 0, "
      "0.1], frequency: 1 Hz}]}}\n"
      "time: {step: 1 ms, end: 1}\n");
  std::vector<Vec3> start;
  for (std::size_t i = 0; i < sim->bodies().constants.size(); ++i)
    start.push_back(body_of(*sim, static_cast<GlobalId>(i)).pose.p);
  EXPECT_GT(start.size(), 60U);
  for (int step = 0; step < 250; ++step) sim->step();

  // a quarter of a period and half a radian on
  const Quat turn(Eigen::AngleAxisd(0.5, Vec3::UnitZ()));
  for (std::size_t i = 0; i < start.size(); ++i) {
    const BodyMotionState& now = body_of(*sim, static_cast<GlobalId>(i));
    EXPECT_LT((now.pose.p - (turn * start[i] + Vec3(0, 0, 0.1))).norm(), 1e-12) << i;
    EXPECT_LT((now.twist.v - Vec3(0, 0, 2).cross(turn * start[i])).norm(), 1e-12) << i;
  }
}

/// A row of links as a rail on which a ball lies, between two rows 0.12 apart: 0.06 aside and
/// sqrt(0.15^2 - 0.06^2) above their axes. A net of knots goes along as a lift.
TEST(FixedGenerator, LinksAndKnotsThatAreHeldStandWithoutJoints) {
  const auto rail = [](const char* name, const char* y) {
    return std::string("  - chain: {name: ") + name +
           ", material: m, shape: {capsule: {radius: 0.05, length: 0.1}}, links: 5, from: [-0.5, " +
           y + ", 0], to: [0.5, " + y + ", 0], fixed: true}\n";
  };
  const auto sim = simulate(
      "materials: {m: {density: 1000}}\n"
      "bodies:\n"
      "  - {name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: [0.01, 0.01, "
      "0.15]}\n"
      "  - {name: plate, material: m, shape: {box: {size: [0.5, 0.5, 0.1]}}, position: [3, 0, "
      "0.1]}\n"
      "generators:\n" +
      rail("left", "-0.06") + rail("right", "0.06") +
      "  - net: {name: lift, material: m, shape: {sphere: {radius: 0.05}}, count: [3, 3], from: "
      "[2.8, -0.2, 0], spacing: [[0.2, 0, 0], [0, 0.2, 0]], motion: {velocity: [0.1, 0, 0.2]}}\n"
      "time: {step: 1 ms, end: 1}\n");
  for (int step = 0; step < 1000; ++step) sim->step();

  EXPECT_EQ(sim->model().joint_names.size(), 0);
  EXPECT_NEAR(body_of(*sim, 0).pose.p[1], 0.0, 1e-3);
  EXPECT_NEAR(body_of(*sim, 0).pose.p[2], std::sqrt(0.15 * 0.15 - 0.06 * 0.06), 1e-3);
  EXPECT_EQ(body_of(*sim, 2).pose.p, Vec3(-0.4, -0.06, 0.0));
  EXPECT_NEAR(body_of(*sim, 12).pose.p[2], 0.2, 1e-12);
  EXPECT_LT((body_of(*sim, 1).twist.v - Vec3(0.1, 0, 0.2)).norm(), 1e-3);
  EXPECT_NEAR(body_of(*sim, 1).pose.p[2], 0.2 + 0.1, 1e-3);
}

TEST(MovedGenerator, AContainerThatTurnsCarriesItsWallsAsOne) {
  const auto sim = simulate(
      "materials: {m: {density: 1000, friction: 0}}\n"
      "gravity: [0, 0, 0]\n"
      "contact: {stiffness: rigid}\n"
      "bodies: [{name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: [0.5, 0.11, "
      "0.5]}]\n"
      "generators:\n"
      "  - container: {name: bin, material: m, size: [1, 1, .inf], motion: {velocity: [0, 0.3, "
      "0]}}\n"
      "time: {step: 1 ms, end: 2}\n"
      "solver: {relative_tolerance: 1e-14}\n");
  for (int step = 0; step < 1000; ++step) sim->step();
  // the wall y = 0 has pushed it, without restitution, and goes along
  EXPECT_NEAR(body_of(*sim, 0).twist.v[1], 0.3, 1e-4);
  EXPECT_NEAR(body_of(*sim, 0).pose.p[1], 0.1 + 0.3, 1e-3);

  const auto turned = simulate(
      "materials: {m: {density: 1000}}\n"
      "generators:\n"
      "  - container: {name: bin, material: m, size: [1, 1, 1], origin: [2, 0, 0], motion: "
      "{angular_velocity: [0, 1, 0]}}\n"
      "time: {step: 10 ms, end: 1}\n");
  for (int step = 0; step < 50; ++step) turned->step();
  // about the lower corner: the far wall x = 3 turns by half a radian
  const State& state = turned->state();
  const BodyRecord& far = turned->model().unbounded[3];
  const Pose pose = prescribed_state(turned->model(), far.constants, far.state.pose,
                                     motion_of(state, far.constants), 0.5)
                        .pose;
  EXPECT_LT((pose.p - Vec3(2 + std::cos(0.5), 0, -std::sin(0.5))).norm(), 1e-12);
}

TEST(PrescribedMotion, RowsOfTheCaseMoveABodyAsItsTableSays) {
  const auto plate = [](const std::string& table) {
    return "materials: {m: {density: 1000}}\n"
           "bodies: [{name: plate, material: m, shape: {box: {size: [1, 1, 0.2]}}, position: [1, "
           "0, "
           "0], motion: {table: {" +
           table + "}}}]\ntime: {step: 1 ms, end: 2}\n";
  };
  const auto sim = simulate(plate(
      "interpolation: linear, rows: [[0, 0, 0, 0, 0, 0, 0], [1 s, 20 cm, 0, -0.1, 0, 0, 0.5]]"));
  for (int step = 0; step < 250; ++step) sim->step();
  const Pose quarter = body_of(*sim, 0).pose;
  for (int step = 0; step < 1000; ++step) sim->step();
  const Pose rest = body_of(*sim, 0).pose;

  EXPECT_LT((quarter.p - Vec3(1.05, 0, -0.025)).norm(), 1e-12);
  EXPECT_NEAR(2.0 * std::atan2(quarter.q.z(), quarter.q.w()), 0.125, 1e-12);
  EXPECT_LT((rest.p - Vec3(1.2, 0, -0.1)).norm(), 1e-12);
  const auto error = [&](const std::string& table) {
    return test::error_of([&] { (void)test::case_of(plate(table)); });
  };
  EXPECT_NE(error("rows: [[0, 0, 0], [1, 0, 1]]").find("has 3 columns"), std::string::npos);
  EXPECT_NE(error("rows: [[1, 0, 0, 0], [0, 0, 1, 0]]").find("times do not ascend"),
            std::string::npos);
  EXPECT_NE(error("rows: [[0, 0, 0, 0]], file: a.csv").find("has a file and rows"),
            std::string::npos);
  EXPECT_NE(error("values: displacement").find("nothing is given"), std::string::npos);
}

TEST(MovedGenerator, RefusesWhatItCannotMean) {
  const auto message = [](const std::string& keys) {
    return test::error_of([&] {
      test::case_of(
          "materials: {m: {density: 1000}}\n"
          "generators:\n"
          "  - lattice: {name: pins, material: m, shape: {sphere: {radius: 0.1}}, spacing: 1, " +
          keys + "}\ntime: {step: 1 ms, end: 1}\n");
    });
  };
  EXPECT_NE(message("fixed: true, motion: {}")
                .find("generators.pins.fixed: bodies are either "
                      "fixed or have a motion"),
            std::string::npos);
  EXPECT_NE(message("velocity: [1, 0, 0], motion: {}").find("pins.velocity: has no effect here"),
            std::string::npos);
  EXPECT_NE(message("motion: {table: {file: a.csv, values: absolute}}")
                .find("`absolute` says where one body is"),
            std::string::npos);
  EXPECT_NE(message("velocity: [1, 0, 0], fixed: true").find("pins.velocity: has no effect here"),
            std::string::npos);
}

TEST(MovedGenerator, SaysWhatHeldBodiesHaveNoUseFor) {
  const auto refused = [](const std::string& generator, const std::string& found) {
    const std::string error = test::error_of([&] {
      test::case_of("materials: {m: {density: 1000}}\ngenerators:\n  - " + generator +
                    "\ntime: {step: 1 ms, end: 1}\n");
    });
    EXPECT_NE(error.find(found), std::string::npos) << error;
  };
  const std::string ball = "material: m, shape: {sphere: {radius: 0.1}}, ";
  const auto chain = [&](const std::string& keys) {
    return "chain: {name: c, " + ball + "links: 4, from: [0, 0, 0], to: [1, 0, 0], " + keys + "}";
  };
  refused(chain("fixed: true, anchored: both"),
          "c.anchored: has no effect: bodies that are fixed or moved have no joints");
  refused(chain("motion: {}, damping_time: 1 ms"), "c.damping_time: has no effect");
  refused(chain("motion: {}, mass: 1"), "c.mass: a fixed or kinematic body has no use for it");
  refused(chain("fixed: true, joint: rope"), "c.joint: bodies that are fixed or moved");
  refused(chain("fixed: true, velocity: [1, 0, 0]"), "c.velocity: has no effect here");
  const auto insertion = [&](const std::string& keys) {
    return "insertion: {name: rain, " + ball +
           "region: {lower: [0, 0, 0], upper: [1, 1, 1]}, number_rate: 1, count: 2, " + keys + "}";
  };
  refused(insertion("fixed: true"), "rain.fixed: bodies that come in move freely");
  refused(insertion("motion: {velocity: [1, 0, 0]}"), "rain.motion: bodies that come in move");
  refused("container: {name: bin, material: m, size: [1, 1, 1], fixed: true}",
          "bin.fixed: a container without a motion is fixed anyway");
}

}  // namespace
}  // namespace catena
