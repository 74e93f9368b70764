// Regions and profiles against closed forms, wall forces, and direct sums over bodies.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "catena/base/error.hpp"
#include "probes/probe_run.hpp"

namespace catena {
namespace {

using test::ProbeRun;

const std::string kMaterial = "materials: {m: {density: 1000, friction: 0.4}}\n";
constexpr double kPi = std::numbers::pi;

TEST(RegionProbe, SolidFractionOfASphereCutByAFaceIsThatOfTheCap) {
  const std::string text = kMaterial + "gravity: [0, 0, 0]\nbodies:\n" +
                           test::sphere_text("cut", 0.95, 0.0) +
                           test::sphere_text("away", 3.0, 0.0) +
                           "time: {step: 1 ms, end: 1}\n"
                           "probes:\n"
                           "  - {name: box, type: region, lower: [0, -0.5, -0.5], upper: [1, 0.5, "
                           "0.5]}\n"
                           "  - {name: ball, type: region, sphere: {centre: [0, 0, 0], radius: "
                           "0.95}}\n"
                           "  - {name: none, type: region, lower: [0, 0, 7], upper: [1, 1, 8]}\n";
  ProbeRun run(text);
  run.steps(1);

  // a cap of height 5 cm of a sphere of 10 cm stands out
  const double cap = kPi * 0.05 * 0.05 * (0.3 - 0.05) / 3.0, whole = 4.0 / 3.0 * kPi * 1e-3;
  EXPECT_NEAR(run("box.solid_fraction"), whole - cap, 1e-15);
  EXPECT_EQ(run("box.count"), 1.0);
  EXPECT_NEAR(run("box.mass"), 1000.0 * whole, 1e-9);
  // two spheres, 0.95 apart: the lens of 0.95 and 0.1
  const double d = 0.95, r = 0.1, big = 0.95, gap = r + big - d;
  const double lens =
      kPi * gap * gap * (d * d + 2 * d * (r + big) - 3 * (r - big) * (r - big)) / (12 * d);
  EXPECT_NEAR(run("ball.solid_fraction"), lens / (4.0 / 3.0 * kPi * big * big * big), 1e-14);
  EXPECT_EQ(run("none.count"), 0.0);
  EXPECT_TRUE(std::isnan(run("none.velocity_x")));
}

TEST(RegionProbe, ImagesReachInOverThePeriodicSides) {
  ProbeRun run(kMaterial + "gravity: [0, 0, 0]\nperiodic: {x: [0, 1], z: [0, 1]}\nbodies:\n" +
               test::sphere_text("at", 0.03, 0.98) +
               "time: {step: 1 ms, end: 1}\n"
               "probes: [{name: all, type: region, lower: [0, -0.5, 0], upper: [1, 0.5, 1]}]\n");
  run.steps(1);
  EXPECT_NEAR(run("all.solid_fraction"), 4.0 / 3.0 * kPi * 1e-3, 1e-15);
}

/// The lid's way in the press: down by 9 cm in half a second, then at rest. Rank 0 reads it.
std::string lid_table() {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      ("region_probe_lid_" + std::to_string(Communicator::world().size()) + ".csv");
  if (Communicator::world().rank() == 0)
    std::ofstream(path) << "t,x,y,z\n0,0,0,0\n0.5,0,0,-0.09\n1,0,0,-0.09\n";
  return path.string();
}

TEST(RegionProbe, StressOfAPressedPackIsTheWallsForcesOverTheirAreas) {
  const std::string lid = lid_table();
  ProbeRun run(
      kMaterial +
      "gravity: [0, 0, 0]\n"
      "contact: {stiffness: 1e5}\n"
      "bodies:\n"
      "  - {name: lid, material: m, shape: {plane: {normal: [0, 0, -1]}}, position: [0, 0, 0.8], "
      "motion: {table: {file: " +
      lid +
      "}}}\n"
      "generators:\n"
      "  - container: {name: bin, material: m, size: [0.8, 0.8, .inf]}\n"
      "  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.092}}, radius_jitter: "
      "0.08, count: [4, 4, 4], spacing: 0.2, origin: [0.1, 0.1, 0.1], seed: 2}\n"
      "time: {step: 1 ms, end: 1}\n"
      "probes:\n"
      "  - {name: cell, type: region, lower: [0, 0, 0], upper: [0.8, 0.8, 0.71], interval: 0.1}\n"
      "  - {name: lid, type: force, on: lid, interval: 0.1}\n"
      "  - {name: floor, type: force, on: bin-0, interval: 0.1}\n"
      "  - {name: x0, type: force, on: bin-1, interval: 0.1}\n"
      "  - {name: x1, type: force, on: bin-3, interval: 0.1}\n"
      "  - {name: y0, type: force, on: bin-2, interval: 0.1}\n"
      "  - {name: y1, type: force, on: bin-4, interval: 0.1}\n" +
      test::kAccurate);
  run.steps(1000);

  const double top = run("lid.force_z_mean") / 0.64, bottom = -run("floor.force_z_mean") / 0.64;
  EXPECT_GT(top, 1000.0);
  EXPECT_NEAR(top, bottom, 0.01 * top);
  EXPECT_NEAR(run("cell.stress_zz_mean"), 0.5 * (top + bottom), 0.01 * top);
  const double side = 0.8 * 0.71;
  for (const std::string axis : {"x", "y"}) {
    const double force =
        0.5 * (run(axis + "1.force_" + axis + "_mean") - run(axis + "0.force_" + axis + "_mean"));
    EXPECT_NEAR(run("cell.stress_" + axis + axis + "_mean"), force / side, 0.01 * force / side);
  }
  EXPECT_NEAR(run("cell.fabric_xx") + run("cell.fabric_yy") + run("cell.fabric_zz"), 1.0, 1e-12);
  EXPECT_GE(run("cell.coordination_without_rattlers"), run("cell.coordination"));
}

TEST(RegionProbe, CoordinationCountsPairsFromBothSidesOnAnyNumberOfRanks) {
  // a row of five that a sixth holds together between two walls: 2 contacts each, with the walls
  const std::string text =
      kMaterial +
      "gravity: [0, 0, 0]\n"
      "contact: {stiffness: 1e5}\n"
      "generators:\n"
      "  - container: {name: bin, material: m, size: [0.999, 5, .inf], origin: [0, -1, -1]}\n"
      "  - lattice: {name: row, material: m, shape: {sphere: {radius: 0.1}}, count: [5, 1, 1], "
      "spacing: 0.1998, origin: [0.0999, 0, 0]}\n"
      "  - lattice: {name: loose, material: m, shape: {sphere: {radius: 0.1}}, count: [3, 1, 1], "
      "spacing: 0.3, origin: [0.2, 1, 0]}\n"
      "time: {step: 1 ms, end: 1}\n"
      "probes: [{name: all, type: region, lower: [0, -1, -1], upper: [1, 2, 1]}]\n";
  ProbeRun run(text);
  run.steps(50);
  EXPECT_EQ(run("all.count"), 8.0);
  EXPECT_NEAR(run("all.coordination"), 10.0 / 8.0, 1e-12);
  EXPECT_NEAR(run("all.coordination_without_rattlers"), 2.0, 1e-12);
}

TEST(ProfileProbe, OfAFlowIsTheSumOverTheBodiesOfEachBin) {
  // shear without contacts: each layer of the lattice by itself, and a jitter of positions
  std::string text = kMaterial + "gravity: [0, 0, 0]\ngenerators:\n";
  for (int k = 0; k < 6; ++k)
    text += "  - lattice: {name: layer" + std::to_string(k) +
            ", material: m, shape: {sphere: {radius: 0.02}}, radius_jitter: 0.2, count: [5, 4, 1], "
            "spacing: 0.1, origin: [0, 0, " +
            test::text_of(0.1 * k) + "], position_jitter: 2 cm, velocity: [" +
            test::text_of(0.05 * k * k) + ", 0, " + test::text_of(0.01 * k) +
            "], seed: " + std::to_string(k) + "}\n";
  ProbeRun run(text +
               "time: {step: 1 ms, end: 1}\n"
               "probes: [{name: flow, type: profile, axis: z, bins: 4, lower: [-1, -1, -0.05], "
               "upper: [2, 2, 0.55], interval: 5 ms}]\n");
  run.steps(5);

  const Communicator& comm = run.sim().communicator();
  std::array<double, 4> mass{}, momentum{}, squares{}, count{};
  double solid = 0.0;
  for (std::size_t i = 0; i < run.sim().bodies().constants.size(); ++i) {
    const BodyConstants& body = run.sim().bodies().constants[i];
    const BodyMotionState& s = run.sim().state().body[i];
    const auto bin = static_cast<std::size_t>((s.pose.p.z() + 0.05) / 0.15);
    count[bin] += 1.0;
    mass[bin] += body.mass;
    momentum[bin] += body.mass * s.twist.v.x();
    squares[bin] += body.mass * s.twist.v.squaredNorm();
  }
  for (auto* list : {&mass, &momentum, &squares, &count}) comm.sum(*list);
  for (int k = 0; k < 4; ++k) {
    const auto b = static_cast<std::size_t>(k);
    const std::string bin = "_" + std::to_string(k);
    EXPECT_EQ(run("flow.count" + bin), count[b]);
    EXPECT_NEAR(run("flow.mass" + bin), mass[b], 1e-12);
    EXPECT_NEAR(run("flow.velocity_x" + bin), momentum[b] / mass[b], 1e-12);
    const Vec3 v(run("flow.velocity_x" + bin), run("flow.velocity_y" + bin),
                 run("flow.velocity_z" + bin));
    EXPECT_NEAR(run("flow.temperature" + bin), (squares[b] / mass[b] - v.squaredNorm()) / 3.0,
                1e-12);
    solid += run("flow.solid_fraction" + bin) * 9.0 * 0.15;
  }
  EXPECT_GT(run("flow.velocity_x_3"), 10.0 * run("flow.velocity_x_0"));
  double total = 0.0;
  for (const double m : mass) total += m / 1000.0;
  // bodies lie in the box whole: bins share out what they cut
  EXPECT_NEAR(solid, total, 1e-12);
}

}  // namespace
}  // namespace catena
