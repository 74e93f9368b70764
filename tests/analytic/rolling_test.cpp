// Bodies that roll without slip: a sphere on a turntable, a disk in steady precession.
#include <gtest/gtest.h>

#include <cmath>

#include "analytic/case_runner.hpp"
#include "support/reference.hpp"

namespace catena::testing {
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

}  // namespace
}  // namespace catena::testing
