// Rolling and spinning friction as a part of the reduced radius, against closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "analytic/case_runner.hpp"
#include "support/gravity.hpp"

namespace catena::test {
namespace {

/// Spheres are rough enough not to slip; `ball` and `wall` are what their materials say besides.
std::string materials(const std::string& ball, const std::string& wall,
                      const std::string& combine = "") {
  return "materials: {ball: {density: 1000, friction: 0.8, " + ball +
         "}, wall: {density: 1000, friction: 0.8, " + wall + "}}\n" +
         (combine.empty() ? "" : "contact: {combine: {" + combine + "}}\n");
}

std::string ball(const std::string& name, double radius, const Vec3& p, const std::string& keys) {
  return "  - {name: " + name + ", material: ball, shape: {sphere: {radius: " + text_of(radius) +
         "}}, position: " + text_of(p) + ", " + keys + "}\n";
}

std::string time_and_solver(double h) {
  return "time: {step: " + text_of(h) +
         ", end: 100}\nsolver: {max_iterations: 1000, metric: natural_map, relative_tolerance: 0, "
         "absolute_tolerance: 1e-12, check_interval: 1}\n";
}

/// Spheres of two sizes that roll with `speed` along x on a floor; `floor` are its keys besides.
std::unique_ptr<Simulation> rolling_pair(const std::string& of_materials, double speed,
                                         const std::string& floor, const Vec3& gravity) {
  std::string bodies = "bodies:\n  - {name: floor, material: wall, " + floor + "}\n";
  double y = 0.0;
  for (const double radius : {0.02, 0.1}) {
    bodies += ball(y == 0.0 ? "small" : "large", radius, {0.0, y, radius},
                   "velocity: " + text_of(Vec3(speed, 0.0, 0.0)) +
                       ", angular_velocity: " + text_of(Vec3(0.0, speed / radius, 0.0)));
    y += 1.0;
  }
  return simulate(of_materials + "gravity: " + text_of(gravity) + "\n" + bodies +
                  time_and_solver(1e-3));
}

/// m a = f and 2/5 m r^2 a/r = -f r - c r m g give a = -5/7 c g for every radius.
TEST(RollingCoefficient, SlowsSpheresOfAllSizesOnAFloorAlike) {
  const double c = 0.05, speed = 1.0, t = 0.5;
  for (const char* floor :
       {"shape: {plane: {}}",
        "fixed: true, shape: {box: {size: [4, 4, 1]}}, position: [0, 0, -0.5]"}) {
    const auto sim =
        rolling_pair(materials("rolling_coefficient: 0.05", "rolling_coefficient: 0.05"), speed,
                     floor, {0.0, 0.0, -kG});
    run_until(*sim, t);
    for (const GlobalId id : {1, 2}) {
      const Twist& twist = body_of(*sim, id).twist;
      EXPECT_NEAR(twist.v.x(), speed - 5.0 / 7.0 * c * kG * t, 2e-3) << floor;
      EXPECT_NEAR(twist.v.x(), twist.w.y() * body_of(*sim, id).pose.p.z(), 1e-3) << floor;
    }
  }
}

/// The length is the same couple for both: a = -5/7 rho/r g.
TEST(RollingFriction, OfALengthSlowsSmallSpheresMore) {
  const double rho = 1e-3, speed = 1.0, t = 0.2;
  const auto sim = rolling_pair(materials("rolling_friction: 1 mm", "rolling_friction: 1 mm"),
                                speed, "shape: {plane: {}}", {0.0, 0.0, -kG});
  run_until(*sim, t);
  EXPECT_NEAR(body_of(*sim, 1).twist.v.x(), speed - 5.0 / 7.0 * rho / 0.02 * kG * t, 2e-3);
  EXPECT_NEAR(body_of(*sim, 2).twist.v.x(), speed - 5.0 / 7.0 * rho / 0.1 * kG * t, 2e-3);
}

/// The floor is level and gravity leans by theta: spheres stay where tan(theta) < c, and roll with
/// 5/7 g (sin(theta) - c cos(theta)) where it is more.
TEST(RollingCoefficient, HoldsSpheresOnASlopeUpToItsTangent) {
  const double c = 0.1;
  const std::string both = materials("rolling_coefficient: 0.1", "rolling_coefficient: 0.1");
  for (const double tangent : {0.08, 0.15}) {
    const double theta = std::atan(tangent), t = 0.5;
    const auto sim = rolling_pair(both, 0.0, "shape: {plane: {}}",
                                  {kG * std::sin(theta), 0.0, -kG * std::cos(theta)});
    run_until(*sim, t);
    const double a = tangent < c ? 0.0 : 5.0 / 7.0 * kG * (std::sin(theta) - c * std::cos(theta));
    for (const GlobalId id : {1, 2}) EXPECT_NEAR(body_of(*sim, id).twist.v.x(), a * t, 2e-3);
  }
}

/// On a fixed sphere of radius R one of radius r at the angle phi from the top needs the couple
/// m g sin(phi) r of at most c R r/(R + r) m g cos(phi): it stays where tan(phi) < c R/(R + r).
TEST(RollingCoefficient, IsOfTheReducedRadiusOfTwoSpheres) {
  const double c = 0.1, big = 0.3, small = 0.1, bound = c * big / (big + small);
  for (const double tangent : {0.9 * bound, 1.2 * bound}) {
    const double phi = std::atan(tangent), arm = big + small;
    const auto sim = simulate(
        materials("rolling_coefficient: 0.1", "rolling_coefficient: 0.1") +
        "bodies:\n  - {name: base, material: wall, fixed: true, shape: {sphere: {radius: 0.3}}}\n" +
        ball("b", small, {arm * std::sin(phi), 0.0, arm * std::cos(phi)}, "velocity: [0, 0, 0]") +
        time_and_solver(1e-3));
    run_until(*sim, 0.3);
    const double speed = body_of(*sim, 1).twist.v.norm();
    // beyond the bound it gains about 5/7 g (sin - c R/(R + r) cos) t or more
    if (tangent < bound)
      EXPECT_LT(speed, 1e-3);
    else
      EXPECT_GT(speed, 0.9 * 5.0 / 7.0 * kG * 0.2 * bound * 0.3);
  }
}

/// 2/5 m r^2 dw/dt = -s R r/(R + r) m g about the normal.
TEST(SpinningCoefficient, SlowsASphereOnASphereByItsReducedRadius) {
  const double s = 0.05, big = 0.3, small = 0.1, w = 20.0, t = 0.2;
  const double reduced = big * small / (big + small);
  const auto sim = simulate(
      materials("spinning_coefficient: 0.05", "spinning_coefficient: 0.05") +
      "bodies:\n  - {name: base, material: wall, fixed: true, shape: {sphere: {radius: 0.3}}}\n" +
      ball("b", small, {0.0, 0.0, big + small}, "angular_velocity: [0, 0, 20]") +
      time_and_solver(1e-3));
  run_until(*sim, t);
  EXPECT_NEAR(body_of(*sim, 1).twist.w.z(), w - 2.5 * s * reduced * kG / (small * small) * t, 0.05);
}

/// A plate that has a motion is as flat as a fixed one.
TEST(RollingCoefficient, TakesMovingWallsForFlat) {
  const double c = 0.05, t = 0.4;
  const auto sim =
      rolling_pair(materials("rolling_coefficient: 0.05", "rolling_coefficient: 0.05"), 0.0,
                   "shape: {box: {size: [1.2, 3, 0.1]}}, position: [0.3, 0.5, -0.05], motion: "
                   "{velocity: [0, 0, 0]}",
                   {0.5 * kG, 0.0, -kG});
  run_until(*sim, t);
  // 5/7 (g_x - c g_z)
  for (const GlobalId id : {1, 2})
    EXPECT_NEAR(body_of(*sim, id).twist.v.x(), 5.0 / 7.0 * kG * (0.5 - c) * t, 4e-3);
}

TEST(Combine, ASmoothWallSwitchesRollingFrictionOffUnlessTheRuleIsAnother) {
  const double speed = 1.0, t = 0.3, c = 0.05;
  const struct {
    const char* rule;
    double factor;
  } rules[] = {
      {"", 0.0}, {"rolling: maximum", 1.0}, {"rolling: mean", 0.5}, {"rolling: minimum", 0.0}};
  for (const auto& [rule, factor] : rules) {
    const auto sim = rolling_pair(materials("rolling_coefficient: 0.05", "restitution: 0", rule),
                                  speed, "shape: {plane: {}}", {0.0, 0.0, -kG});
    run_until(*sim, t);
    EXPECT_NEAR(body_of(*sim, 2).twist.v.x(), speed - 5.0 / 7.0 * factor * c * kG * t, 2e-3)
        << rule;
  }
}

}  // namespace
}  // namespace catena::test
