// Bodies that roll without slip: a sphere on a turntable, a disk in steady precession.
#include <gtest/gtest.h>

#include <cmath>

#include "analytic/case_runner.hpp"
#include "support/reference.hpp"

namespace catena::test {
namespace {

std::string time_and_solver(double h) {
  return "time: {stepper: spook, step: " + text_of(h) +
         ", end: 100}\nsolver: {max_iterations: 2000, metric: natural_map, relative_tolerance: 0, "
         "absolute_tolerance: 1e-13, check_interval: 1}\n";
}

TEST(Turntable, SphereCirclesAtTwoSeventhsOfTheTablesRateWithADriftOfFirstOrder) {
  const ReferenceSeries ref = read_reference("F06_rolling");
  const auto values = read_values("F06_rolling");
  const Vec3 centre(values.at("turntable0_xc"), 0.0, 0.1);
  const double steps[3] = {4e-3, 2e-3, 1e-3};
  double drift[3] = {}, error[3] = {};
  for (int i = 0; i < 3; ++i) {
    const auto sim = simulate(
        "materials: {m: {density: 1000, friction: 0.2}}\nbodies:\n"
        "  - {name: table, material: m, shape: {plane: {}}, position: [0, 0, 0], motion: "
        "{angular_velocity: [0, 0, 5]}}\n"
        "  - {name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: [1, 0, 0.1], "
        "velocity: [0, 0.7, 0], angular_velocity: [" +
        text_of(values.at("turntable0_wx0")) + ", 0, 0]}\n" + time_and_solver(steps[i]));
    for (std::size_t row = 0; row < ref.rows.size(); ++row) {
      if (ref.at(row, "case") != 0.0) continue;
      run_until(*sim, ref.at(row, "t"));
      const BodyMotionState& s = body_of(*sim, 1);
      const Vec3 x(ref.at(row, "x"), ref.at(row, "y"), 0.1);
      error[i] = std::max(error[i], (s.pose.p - x).norm());
      drift[i] =
          std::max(drift[i], std::abs((s.pose.p - centre).norm() - values.at("turntable0_radius")));
      // no slip: the ball's point of contact goes with the table
      const Vec3 point = s.twist.v + s.twist.w.cross(Vec3(0.0, 0.0, -0.1));
      const Vec3 table = Vec3(0.0, 0.0, 5.0).cross(s.pose.p);
      EXPECT_LT((point - table).head<2>().norm(), 5.0 * steps[i]) << "t = " << ref.at(row, "t");
    }
    std::printf("turntable h = %.0e s: radius within %.1e m, place within %.1e m over 10 s\n",
                steps[i], drift[i], error[i]);
  }
  EXPECT_LT(error[2], 6.0 * steps[2]);
  EXPECT_NEAR(std::log2(error[1] / error[2]), 1.0, 0.05);
  EXPECT_NEAR(std::log2(drift[1] / drift[2]), 1.0, 0.05);
}

/// A thin disk of 1 kg in steady precession: its plane leans by theta from the horizontal, e1 = x
/// is the horizontal in it, e2 up its slope, e3 its axis; spin w = Omega sin(theta) e2 + w3 e3; the
/// centre circles the origin with Omega.
TEST(RollingDisk, KeepsItsSteadyPrecessionWithADriftOfFirstOrder) {
  const auto values = read_values("F06_rolling");
  const double radius = 0.3, theta = 1.2, rate = 1.5, thickness = 1e-6;
  const double w3 = values.at("disk0_w3"), circle = values.at("disk0_rho_com_circle");
  const Vec3 e2(0.0, std::cos(theta), std::sin(theta)), e3(0.0, -std::sin(theta), std::cos(theta));
  const Vec3 w = rate * std::sin(theta) * e2 + w3 * e3;
  const double height = radius * std::sin(theta) + 0.5 * thickness * std::cos(theta);
  const double steps[3] = {1e-3, 5e-4, 2.5e-4};
  double place[3] = {}, lean[3] = {}, force[3] = {};
  for (int i = 0; i < 3; ++i) {
    const std::string across = text_of(0.25 * radius * radius);
    const auto sim = simulate(
        "materials: {m: {density: 1000, friction: 0.5}}\nbodies:\n"
        "  - {name: floor, material: m, shape: {plane: {}}}\n"
        "  - {name: disk, material: m, mass: 1, inertia: [" +
        across + ", " + across + ", " + text_of(0.5 * radius * radius) +
        "], shape: {cylinder: {radius: 0.3, length: " + text_of(thickness) + "}}, position: [0, " +
        text_of(-circle) + ", " + text_of(height) +
        "], orientation: {axis: [1, 0, 0], angle: " + text_of(theta) + "}, velocity: [" +
        text_of(-radius * w3) + ", 0, 0], angular_velocity: [0, " + text_of(w.y()) + ", " +
        text_of(w.z()) + "]}\n" + time_and_solver(steps[i]));
    while (sim->state().time < 2.0 - 0.5 * steps[i]) {
      sim->step();
      const BodyMotionState& s = body_of(*sim, 1);
      const double turned = rate * sim->state().time;
      const Vec3 at(circle * std::sin(turned), -circle * std::cos(turned), height);
      place[i] = std::max(place[i], (s.pose.p - at).norm());
      const double now = std::acos((s.pose.q * Vec3::UnitZ()).z());
      lean[i] = std::max(lean[i], std::abs(now - theta));
      if (sim->state().time < 0.1) continue;  // the first steps find the force
      const Vec3 f = contact_force_on(*sim, 1);
      force[i] = std::max(
          force[i], std::abs(f.head<2>().norm() / 9.81 - values.at("disk0_friction_over_mg")));
    }
    std::printf(
        "disk h = %.1e s: place within %.1e m, lean within %.1e rad, friction over weight "
        "within %.1e, over 2 s\n",
        steps[i], place[i], lean[i], force[i]);
  }
  EXPECT_LT(place[2], 20.0 * steps[2]);
  EXPECT_LT(lean[2], 10.0 * steps[2]);
  EXPECT_NEAR(std::log2(place[1] / place[2]), 1.0, 0.15);
  EXPECT_NEAR(std::log2(lean[1] / lean[2]), 1.0, 0.15);
  EXPECT_LT(force[2], 0.01);
}

}  // namespace
}  // namespace catena::test
