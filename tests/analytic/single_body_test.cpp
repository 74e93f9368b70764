// One body on a plane or free: incline, rolling, bouncing, toppling, free top.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "analytic/case_runner.hpp"
#include "support/gravity.hpp"
#include "support/reference.hpp"

namespace catena::test {
namespace {

/// Gravity tilted by `alpha` stands for a plane tilted by it: x is downslope, z the normal.
std::string tilted(double alpha) {
  return "gravity: [" + text_of(kG * std::sin(alpha)) + ", 0, " + text_of(-kG * std::cos(alpha)) +
         "]\n";
}

std::string floor_material(double friction, double restitution = 0.0) {
  return "materials: {m: {density: 1000, friction: " + text_of(friction) +
         ", restitution: " + text_of(restitution) + "}}\n";
}

const std::string kFloor =
    "  - {name: floor, material: m, shape: {plane: {}}, position: [0, 0, 0]}\n";

std::string tight_solver(int sweeps = 5000) {
  return "solver: {max_iterations: " + std::to_string(sweeps) +
         ", metric: natural_map, relative_tolerance: 0, absolute_tolerance: 1e-13, "
         "check_interval: 1}\n";
}

std::string time_of(double h, const std::string& stepper = "spook") {
  return "time: {stepper: " + stepper + ", step: " + text_of(h) + ", end: 100}\n";
}

/// A flat block (id 1) on the plane with initial velocity (vx, vy).
std::unique_ptr<Simulation> block_on_incline(double alpha, double mu, double vx, double vy,
                                             double h) {
  return simulate(tilted(alpha) + floor_material(mu) + "bodies:\n" + kFloor +
                  "  - {name: block, material: m, shape: {box: {size: [1, 1, 0.02]}}, "
                  "position: [0, 0, 0.01], velocity: [" +
                  text_of(vx) + ", " + text_of(vy) + ", 0]}\n" + time_of(h) + tight_solver());
}

TEST(Incline, BlockSticksSlidesOrStopsAsCoulombsLawSays) {
  const ReferenceSeries ref = read_reference("E01_incline");
  struct Case {
    double mu, v0;
  };
  const Case cases[] = {{0.32, 0.0}, {0.3, 0.0}, {0.5, 2.0}};
  const double h = 0.005;
  // Four corners carry the block of mass m; each has the mobilities 7/m (normal), 5/2m, 5/2m, in
  // the mean 4/m, and tangents as stiff as the normal: under its quarter of a force it gives by
  // h^2/300 of the acceleration. Until it has, the block is as much faster as that is in a step.
  const double give = give_of(4.0, 0.25 * kG * std::sin(0.3), h);
  for (int c = 0; c < 3; ++c) {
    double speed = 0.0, way = 0.0;
    const auto sim = block_on_incline(0.3, cases[c].mu, cases[c].v0, 0.0, h);
    const double a = kG * (std::sin(0.3) - cases[c].mu * std::cos(0.3));
    for (std::size_t row = 0; row < ref.rows.size(); ++row) {
      if (ref.at(row, "case") != c) continue;
      const double t = ref.at(row, "t");
      run_until(*sim, t);
      const BodyMotionState& s = body_of(*sim, 1);
      const double v_ref = ref.at(row, "v");
      // constant acceleration: the velocity is exact; where the block stops within a step it
      // stops a step early or late at most
      EXPECT_NEAR(s.twist.v[0], v_ref, 1e-9) << "case " << c << " t " << t;
      speed = std::max(speed, std::abs(s.twist.v[0] - v_ref));
      // symplectic Euler: x is off by a t h / 2 in the sliding phase
      const double sliding = c == 0 ? 0.0 : std::min(t, c == 2 ? -cases[c].v0 / a : t);
      EXPECT_NEAR(s.pose.p[0] - 0.5 * a * sliding * h, ref.at(row, "x_downslope"),
                  (c == 2 ? std::abs(a) * h * h : 1e-9) + 1.05 * give)
          << "case " << c << " t " << t;
      way =
          std::max(way, std::abs(s.pose.p[0] - 0.5 * a * sliding * h - ref.at(row, "x_downslope")));
      EXPECT_NEAR(s.twist.w.norm(), 0.0, 1e-8);
    }
    std::printf("E01 block%s, case %d: speed within %.1e m/s, way %.1e m (gives by %.1e)\n",
                contacts_label(), c, speed, way, give);
  }
}

TEST(Incline, StickingBlockCreepsNoFasterThanTheSolversTolerance) {
  const auto sim = block_on_incline(0.3, 0.32, 0.0, 0.0, 0.005);

  run_until(*sim, 2.0);

  EXPECT_LT(body_of(*sim, 1).twist.v.norm(), 1e-12);
  // it has given once, as above, and leans by the moment of friction about its centre: the corners
  // 0.5 m apart from it give by 0.01/0.5 of that, at a height of 0.01 m
  const double give = give_of(4.0, 0.25 * kG * std::sin(0.3), 0.005) * (1.0 + 4e-4);
  EXPECT_NEAR(body_of(*sim, 1).pose.p[0], give, 1e-11 + 1e-4 * give);
  std::printf("E01 sticking block%s: %.3e m/s, %.5e m after 2 s, gives by %.5e m\n",
              contacts_label(), body_of(*sim, 1).twist.v.norm(), body_of(*sim, 1).pose.p[0], give);
}

TEST(Incline, SphereOrCylinderRollsOrSlides) {
  const ReferenceSeries ref = read_reference("E01_incline");
  struct Case {
    double alpha, mu, beta, radius;
  };
  const Case cases[] = {{0.5, 0.2, 0.4, 0.1}, {0.5, 0.1, 0.4, 0.1}, {0.4, 0.3, 0.5, 0.2}};
  const double h = 0.005;
  for (int c = 3; c < 6; ++c) {
    const Case& p = cases[c - 3];
    // the point of contact lies in the middle of the overlap, so that the arm is shorter by half of
    // it: speeds and spins differ by less than the part that the overlap is of the radius.
    // Mobilities 1/m, twice (1 + 1/beta)/m
    const double sunk = give_of(1.0 + 2.0 / (3.0 * p.beta), kG * std::cos(p.alpha), h);
    double speed = 0.0;
    const std::string inertia = text_of(p.beta * p.radius * p.radius);
    const auto sim = simulate(
        tilted(p.alpha) + floor_material(p.mu) + "bodies:\n" + kFloor +
        "  - {name: ball, material: m, mass: 1, inertia: [" + inertia + ", " + inertia + ", " +
        inertia + "], shape: {sphere: {radius: " + text_of(p.radius) + "}}, position: [0, 0, " +
        text_of(p.radius) + "]}\n" + time_of(h) + tight_solver());
    for (std::size_t row = 0; row < ref.rows.size(); ++row) {
      if (ref.at(row, "case") != c) continue;
      run_until(*sim, ref.at(row, "t"));
      const double part = sunk / p.radius;
      const double v = ref.at(row, "v"), omega = ref.at(row, "omega");
      EXPECT_NEAR(body_of(*sim, 1).twist.v[0], v, 1e-9 + part * v);
      EXPECT_NEAR(body_of(*sim, 1).twist.w[1], omega, 1e-8 + part * omega);
      speed = std::max(speed, std::abs(body_of(*sim, 1).twist.v[0] - v));
    }
    std::printf("E01 ball%s, case %d: speed within %.1e m/s, overlap %.1e of the radius\n",
                contacts_label(), c, speed, sunk / p.radius);
  }
}

TEST(ObliqueIncline, BlockFollowsTheCircularConesPathToFirstOrder) {
  struct Case {
    const char* name;
    double mu, psi0;
  };
  const Case cases[] = {{"E03_oblique_incline", 0.3, 1.9},
                        {"E03_oblique_incline_critical", 0.4227932187381618, std::numbers::pi / 2}};
  for (const Case& c : cases) {
    const ReferenceSeries ref = read_reference(c.name);
    double error[3] = {};
    const double steps[3] = {0.01, 0.005, 0.0025};
    for (int i = 0; i < 3; ++i) {
      const auto sim =
          block_on_incline(0.4, c.mu, 2.0 * std::cos(c.psi0), 2.0 * std::sin(c.psi0), steps[i]);
      for (std::size_t row = 0; row < ref.rows.size(); row += 10) {
        run_until(*sim, ref.at(row, "t"));
        const Vec3 v = body_of(*sim, 1).twist.v;
        error[i] =
            std::max(error[i], std::hypot(v[0] - ref.at(row, "vx"), v[1] - ref.at(row, "vy")));
      }
    }
    std::printf("%s%s: velocity within %.1e m/s at h = %g s, order %.2f\n", c.name,
                contacts_label(), error[2], steps[2], std::log2(error[1] / error[2]));
    EXPECT_LT(error[2], 0.01) << c.name;
    EXPECT_NEAR(std::log2(error[1] / error[2]), 1.0, 0.2) << c.name;
  }
}

TEST(SlipToRoll, FinalSpeedIsExactAndRollingStartsWithinAStep) {
  const ReferenceSeries ref = read_reference("E02_slip_to_roll");
  const auto values = read_values("E02_slip_to_roll");
  struct Case {
    double mu, v0, w0, radius, beta, end;
  };
  const Case cases[] = {{0.2, 2.0, 0.0, 0.1, 0.4, 1.0},
                        {0.3, 1.0, -30.0, 0.1, 0.4, 1.5},
                        {0.15, 0.0, 40.0, 0.05, 0.5, 1.0}};
  const double h = 0.002;
  for (int c = 0; c < 3; ++c) {
    const Case& p = cases[c];
    const std::string inertia = text_of(p.beta * p.radius * p.radius);
    const auto sim = simulate(
        floor_material(p.mu) + "bodies:\n" + kFloor +
        "  - {name: ball, material: m, mass: 1, inertia: [" + inertia + ", " + inertia + ", " +
        inertia + "], shape: {sphere: {radius: " + text_of(p.radius) + "}}, position: [0, 0, " +
        text_of(p.radius) + "], velocity: [" + text_of(p.v0) + ", 0, 0], angular_velocity: [0, " +
        text_of(p.w0) + ", 0]}\n" + time_of(h) + tight_solver());
    const std::string name = "case" + std::to_string(c);
    const double t_roll = values.at(name + "_t_roll");
    // the arm is shorter by half the overlap, as above
    const double part = give_of(1.0 + 2.0 / (3.0 * p.beta), kG, h) / p.radius;
    const double fastest = std::max(std::abs(p.v0), std::abs(p.w0) * p.radius);
    double rolling_since = -1.0;
    while (sim->state().time < p.end - 0.5 * h) {
      sim->step();
      const Twist& s = body_of(*sim, 1).twist;
      if (rolling_since < 0.0 &&
          std::abs(s.v[0] - p.radius * s.w[1]) < 1e-10 + part * std::abs(s.v[0])) {
        rolling_since = sim->state().time;
      }
    }
    // the stretch of sliding friction is let go within some steps
    EXPECT_NEAR(rolling_since, t_roll, contacts_give() ? 5.0 * h : h);
    const Twist& end = body_of(*sim, 1).twist;
    EXPECT_NEAR(end.v[0], values.at(name + "_v_final"), 1e-10 + part * fastest);
    EXPECT_NEAR(end.w[1], values.at(name + "_omega_final"), 1e-9 + part * fastest / p.radius);
    // the energy lost is what friction dissipated, to the step's order
    const double lost = values.at(name + "_energy_lost_over_m");
    const double friction = sim->stepper().report().audit[EnergyTerm::dissipation_friction];
    EXPECT_NEAR(friction, lost, 1e-9 + part * lost);
    std::printf(
        "E02%s, case %d: rolls %.1e s late, speed within %.1e m/s, loss %.1e J/kg; overlap %.1e of "
        "the radius\n",
        contacts_label(), c, rolling_since - t_roll,
        std::abs(end.v[0] - values.at(name + "_v_final")), std::abs(friction - lost), part);
  }
}

TEST(BouncingBall, ImpactTimesAreRightToFirstOrderAndTheBallComesToRest) {
  const ReferenceSeries ref = read_reference("E04_bouncing_ball");
  const double steps[3] = {0.002, 0.001, 0.0005};
  double mean_error[3] = {};
  for (int i = 0; i < 3; ++i) {
    const auto sim = simulate(
        floor_material(0.0, 0.7) + "contact: {rest_speed: 0.1 mm/s}\nbodies:\n" + kFloor +
        "  - {name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: [0, 0, 1.1]}\n" +
        time_of(steps[i]) + tight_solver());
    for (std::size_t row = 0; row < ref.rows.size(); ++row) {
      run_until(*sim, ref.at(row, "t"));
      mean_error[i] += std::abs(body_of(*sim, 1).pose.p[2] - 0.1 - ref.at(row, "gap")) /
                       static_cast<double>(ref.rows.size());
    }
    run_until(*sim, 4.0);
    const BodyMotionState& s = body_of(*sim, 1);
    EXPECT_NEAR(s.pose.p[2], 0.1, 1e-6);
    EXPECT_LT(s.twist.v.norm(), 1e-9);
    const double weight = 1000.0 * 4.0 / 3.0 * std::numbers::pi * 1e-3 * kG;
    EXPECT_NEAR(contact_force_on(*sim, 1)[2], weight, 1e-9 * weight);
  }
  std::printf("E04%s: mean error %.1e m at 0.5 ms, order %.2f\n", contacts_label(), mean_error[2],
              std::log2(mean_error[0] / mean_error[2]) / 2.0);
  EXPECT_LT(mean_error[2], 2e-3);
  EXPECT_NEAR(std::log2(mean_error[0] / mean_error[2]) / 2.0, 1.0, 0.35);
}

TEST(BouncingBall, ElasticBallKeepsItsEnergyWithinTheStepsOrder) {
  for (const double h : {0.002, 0.0005}) {
    const auto sim = simulate(floor_material(0.0, 1.0) + "bodies:\n" + kFloor +
                              "  - {name: ball, material: m, mass: 1, inertia: [1, 1, 1], shape: "
                              "{sphere: {radius: 0.1}}, "
                              "position: [0, 0, 0.6]}\n" +
                              time_of(h) + tight_solver());
    double largest = 0.0;
    for (int step = 0; step < std::llround(5.0 / h); ++step) {
      const StepReport& r = sim->step();
      largest = std::max(largest, std::abs(r.kinetic + r.potential - kG * 0.6));
    }
    // E of symplectic Euler oscillates by m g h v/2, v the impact speed; each of the 8 bounces
    // may shift the phase by a step
    const double v = std::sqrt(2.0 * kG * 0.5);
    std::printf("E04 elastic%s, h = %g s: energy within %.2e J\n", contacts_label(), h, largest);
    EXPECT_LT(largest, 9.0 * kG * h * v) << "h = " << h;
  }
}

TEST(ToppleOrSlide, FirstMotionOfABoxOnAnIncline) {
  const ReferenceSeries ref = read_reference("F09_topple_or_slide");
  // Contacts that give take up a load within some steps, each of which leaves about 1/300 of it:
  // what they do then is asked of steps so short that the box has not moved.
  const double h = contacts_give() ? 1e-5 : 1e-4;
  const int taken_up = contacts_give() ? 5 : 0, measured = contacts_give() ? 5 : 1;
  double linear = 0.0, angular = 0.0;
  for (std::size_t row = 0; row < ref.rows.size(); ++row) {
    const double w = ref.at(row, "w");
    const double height = ref.at(row, "h");
    const auto sim =
        simulate(tilted(ref.at(row, "alpha")) + floor_material(ref.at(row, "mu")) + "bodies:\n" +
                 kFloor + "  - {name: box, material: m, shape: {box: {size: [" + text_of(w) +
                 ", 1, " + text_of(height) + "]}}, position: [0, 0, " + text_of(0.5 * height) +
                 "]}\n" + time_of(h) + tight_solver(20000));
    for (int k = 0; k < taken_up; ++k) sim->step();
    const Twist before = body_of(*sim, 1).twist;
    for (int k = 0; k < measured; ++k) sim->step();
    const Twist& s = body_of(*sim, 1).twist;
    const double a = ref.at(row, "a_com_downslope"), over = measured * h;
    // round-off of places, 1e-16 m, is 1e-3 of such overlaps: 1e-11 m/s a step
    const double round_off = contacts_give() ? 1e-5 : 0.0;
    EXPECT_NEAR((s.v[0] - before.v[0]) / over, a, 1e-6 + 1e-6 * std::abs(a) + round_off)
        << "row " << row;
    EXPECT_NEAR((s.w[1] - before.w[1]) / over, ref.at(row, "angular_acc"), 1e-5 + round_off)
        << "row " << row;
    linear = std::max(linear, std::abs((s.v[0] - before.v[0]) / over - a));
    angular =
        std::max(angular, std::abs((s.w[1] - before.w[1]) / over - ref.at(row, "angular_acc")));
  }
  std::printf("F09%s: accelerations within %.1e m/s^2, %.1e rad/s^2\n", contacts_label(), linear,
              angular);
}

TEST(FreeTop, KeepsAngularMomentumExactlyAndFlipsWithSecondOrder) {
  const ReferenceSeries ref = read_reference("C01_dzhanibekov");
  double error[3] = {};
  double energy_error[3] = {};
  const double steps[3] = {0.005, 0.0025, 0.00125};
  for (int i = 0; i < 3; ++i) {
    const auto sim = simulate(
        "gravity: [0, 0, 0]\nbodies:\n"
        "  - {name: top, mass: 1, inertia: [0.8, 1.3, 1.9], angular_velocity: [0.01, 3, 0.02]}\n" +
        time_of(steps[i]));
    const BodyConstants body = sim->bodies().constants[0];
    for (std::size_t row = 0; row < ref.rows.size(); ++row) {
      run_until(*sim, ref.at(row, "t"));
      const BodyMotionState& s = body_of(*sim, 0);
      const Vec3 w_body = s.pose.q.conjugate() * s.twist.w;
      const Vec3 spin = s.pose.q * body.inertia.cwiseProduct(w_body);
      const Vec3 spin_ref(ref.at(row, "Lx"), ref.at(row, "Ly"), ref.at(row, "Lz"));
      EXPECT_LT((spin - spin_ref).norm(),
                1e-12 * std::sqrt(1.0 + s.twist.w.norm() * static_cast<double>(row)));
      const Vec3 w_ref(ref.at(row, "w1"), ref.at(row, "w2"), ref.at(row, "w3"));
      if (ref.at(row, "t") <= 10.0) error[i] = std::max(error[i], (w_body - w_ref).norm());
      energy_error[i] = std::max(
          energy_error[i],
          std::abs(0.5 * w_body.dot(body.inertia.cwiseProduct(w_body)) - ref.at(row, "T")));
    }
  }
  EXPECT_NEAR(std::log2(error[1] / error[2]), 2.0, 0.3);
  EXPECT_LT(error[2], 0.02);
  EXPECT_LT(energy_error[2], 1e-3);
  EXPECT_GT(std::log2(energy_error[1] / energy_error[2]), 1.7);
}

}  // namespace
}  // namespace catena::test
