// Boxes and thin rods that turn about an edge: rocking block, ladder, Painleve's rod, dominoes.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "analytic/case_runner.hpp"
#include "support/gravity.hpp"
#include "support/reference.hpp"

namespace catena::test {
namespace {

const std::string kFloor =
    "  - {name: floor, material: ground, shape: {plane: {}}, position: [0, 0, 0]}\n";

std::string materials(double friction_ground, double friction_body) {
  return "materials:\n  ground: {density: 1000, friction: " + text_of(friction_ground) +
         "}\n  m: {density: 1000, friction: " + text_of(friction_body) + "}\n";
}

std::string time_and_solver(double h, const std::string& stepper, double tolerance = 1e-13,
                            int sweeps = 20000, const std::string& method = "") {
  return "time: {stepper: " + stepper + ", step: " + text_of(h) + ", end: 100}\nsolver: {" +
         method + "max_iterations: " + std::to_string(sweeps) +
         ", metric: natural_map, relative_tolerance: 0, absolute_tolerance: " + text_of(tolerance) +
         ", check_interval: 5}\n";
}

/// Turn about y, from x towards -z.
std::string turned(double angle) {
  return "orientation: {axis: [0, 1, 0], angle: " + text_of(angle) + "}";
}

std::string vector_text(const Vec3& v) {
  return "[" + text_of(v.x()) + ", " + text_of(v.y()) + ", " + text_of(v.z()) + "]";
}

/// Angle about y of a body that turns about y only.
double turn_about_y(const Quat& q) { return 2.0 * std::atan2(q.y(), q.w()); }

/// Force of body a on body b, N.
Vec3 force_between(const Simulation& sim, GlobalId a, GlobalId b) {
  Vec3 sum = Vec3::Zero();
  for (const KeyedImpulse& k : sim.state().impulses) {
    if (k.key.a == a && k.key.b == b) sum += k.impulse;
  }
  return sum / sim.settings().time.step;
}

double order_of(double coarse, double fine, double halvings = 1.0) {
  return std::log2(coarse / fine) / halvings;
}

struct Rocking {
  std::vector<double> time, omega;  ///< of impacts, just before them
  double slip = 0.0;                ///< how far the block has wandered, m
};

/// Tilts by theta0 about its right lower edge and lets go. An impact is where the tilt changes
/// its sign; its time is interpolated in the step.
Rocking rock(double h, std::size_t n_impacts, double friction = 1.0) {
  const double b = 0.3, height = 1.0, theta0 = 0.2;
  const double radius = 0.5 * std::hypot(b, height), lean = std::atan2(b, height) - theta0;
  const auto sim =
      simulate(materials(friction, friction) + "bodies:\n" + kFloor +
               "  - {name: block, material: m, mass: 5, inertia: [1, " +
               text_of(5.0 * (b * b + height * height) / 12.0) + ", 1], shape: {box: {size: [" +
               text_of(b) + ", 0.5, " + text_of(height) + "]}}, position: " +
               vector_text({-radius * std::sin(lean), 0.0, radius * std::cos(lean)}) + ", " +
               turned(theta0) + "}\n" + time_and_solver(h, "dvi"));
  Rocking result;
  double tilt = theta0;
  while (result.time.size() < n_impacts && sim->state().time < 5.0) {
    const double t = sim->state().time, omega = body_of(*sim, 1).twist.w.y();
    EXPECT_EQ(sim->step().solve.status, SolveStatus::converged);
    const double next = turn_about_y(body_of(*sim, 1).pose.q);
    if (tilt * next < 0.0) {
      result.time.push_back(t + h * tilt / (tilt - next));
      result.omega.push_back(std::abs(omega));
    }
    tilt = next;
  }
  // where the block stands upright its right edge is at the origin
  result.slip = std::abs(body_of(*sim, 1).pose.p.x() + 0.5 * b);
  return result;
}

TEST(RockingBlock, ImpactTimesAndSpeedsAreHousnersToFirstOrder) {
  const ReferenceSeries ref = read_reference("F04_rocking_block");
  const double ratio = read_values("F04_rocking_block").at("restitution_omega_ratio");
  double time_error[3] = {}, speed_error[3] = {}, ratio_error[3] = {};
  const double steps[3] = {2e-4, 1e-4, 5e-5};
  for (int i = 0; i < 3; ++i) {
    const Rocking r = rock(steps[i], ref.rows.size());
    ASSERT_EQ(r.time.size(), ref.rows.size());
    for (std::size_t k = 0; k < r.time.size(); ++k) {
      time_error[i] = std::max(time_error[i], std::abs(r.time[k] - ref.at(k, "t_impact")));
      speed_error[i] =
          std::max(speed_error[i], std::abs(r.omega[k] / ref.at(k, "omega_before") - 1.0));
      // between impacts energy is kept, so that speeds before impacts have Housner's ratio
      if (k > 0)
        ratio_error[i] = std::max(ratio_error[i], std::abs(r.omega[k] / r.omega[k - 1] - ratio));
    }
    std::printf("rocking block h = %.0e s: impact times within %.1e s, speeds %.1e, ratios %.1e\n",
                steps[i], time_error[i], speed_error[i], ratio_error[i]);
    EXPECT_LT(r.slip, 0.2 * steps[i]);
  }
  EXPECT_LT(time_error[2], 0.01);
  EXPECT_LT(speed_error[2], 0.01);
  EXPECT_LT(ratio_error[2], 0.01);
  EXPECT_NEAR(order_of(time_error[0], time_error[2], 2.0), 1.0, 0.25);
  EXPECT_NEAR(order_of(speed_error[0], speed_error[2], 2.0), 1.0, 0.25);
}

/// A rod of 1 m in the x-z plane, lower end to the left or right, as a box of 1 um thickness
/// whose lower edge touches z = 0 (and whose upper one touches x = 0 if it leans to the left).
constexpr double kThin = 1e-6;

std::string rod(double theta, double mass, bool leans_left, const std::string& more) {
  const double c = std::cos(theta), s = std::sin(theta);
  const Vec3 centre(0.5 * (leans_left ? c + kThin * s : 0.0), 0.0, 0.5 * (s + kThin * c));
  const std::string inertia = text_of(mass / 12.0);
  return "  - {name: rod, material: m, mass: " + text_of(mass) + ", inertia: [" + inertia + ", " +
         inertia + ", " + inertia + "], shape: {box: {size: [1, 0.1, " + text_of(kThin) +
         "]}}, position: " + vector_text(centre) + ", " + turned(leans_left ? theta : -theta) +
         more + "}\n";
}

const std::string kWall =
    "  - {name: wall, material: ground, shape: {plane: {}}, position: [0, 0, 0], orientation: "
    "{axis: [0, 1, 0], angle: 90 deg}}\n";

TEST(Ladder, LeavesTheWallAndFallsFlatAsTheClosedFormSaysToFirstOrder) {
  const ReferenceSeries ref = read_reference("E06_ladder");
  auto values = read_values("E06_ladder");
  const double steps[3] = {1e-3, 5e-4, 2.5e-4};
  double detach[3] = {}, angle[3] = {}, force[3] = {}, speed[3] = {};
  for (int i = 0; i < 3; ++i) {
    const double h = steps[i];
    const auto sim = simulate(materials(0.0, 0.0) + "bodies:\n" + kFloor + kWall +
                              rod(1.2, 2.0, true, "") + time_and_solver(h, "dvi"));
    std::size_t row = 1;
    double last_contact = 0.0, last_force = 0.0;
    while (sim->state().time < values.at("t_flat") - 0.01) {
      sim->step();
      const double t = sim->state().time;
      const double wall = force_between(*sim, 1, 2).x();
      if (wall > 1e-9) {  // interior point leaves 1e-21 N on an open contact
        EXPECT_NEAR(t - last_contact, h, 1e-9) << "the wall lets go once, at t = " << t;
        last_contact = t;
        last_force = wall;
      }
      if (row + 1 < ref.rows.size() && t >= ref.at(row, "t")) {
        const double ahead = t - ref.at(row, "t");  // the reference is moved on by this much
        const double theta = ref.at(row, "theta") + ahead * ref.at(row, "omega");
        angle[i] = std::max(angle[i], std::abs(turn_about_y(body_of(*sim, 2).pose.q) - theta));
        force[i] = std::max(force[i], std::abs(wall - ref.at(row, "N_wall")));
        ++row;
      }
    }
    detach[i] = std::abs(last_contact - values.at("t_detach"));
    speed[i] = std::abs(body_of(*sim, 2).twist.v.x() - values.at("vx_com_after"));
    EXPECT_LT(last_force, 120.0 * h) << "the wall's force goes to zero continuously";
    std::printf(
        "ladder h = %.1e s: detachment within %.1e s, angle %.1e, wall force %.1e N, "
        "speed after %.1e m/s, last force %.1e N\n",
        h, detach[i], angle[i], force[i], speed[i], last_force);
  }
  EXPECT_LT(detach[2], 4.0 * steps[2]);
  EXPECT_LT(angle[2], 1e-3);
  EXPECT_NEAR(order_of(angle[1], angle[2]), 1.0, 0.2);
  EXPECT_NEAR(order_of(force[1], force[2]), 1.0, 0.3);
  EXPECT_LT(speed[2], 1e-5);
}

TEST(Ladder, StandsAboveTheStaticFrictionThresholdsAndSlidesBelow) {
  const auto values = read_values("E06_ladder");
  struct Case {
    double wall, floor;
    bool stands;
  };
  const double both = values.at("mu_static_both (tan((pi/2-theta0)/2))");
  const double floor = values.at("mu_static_floor_only (1/(2 tan theta0))");
  for (const Case& c : {Case{1.02 * both, 1.02 * both, true}, Case{0.98 * both, 0.98 * both, false},
                        Case{0.0, 1.02 * floor, true}, Case{0.0, 0.98 * floor, false}}) {
    const auto sim = simulate(
        "materials: {ground: {friction: 0}, plaster: {friction: 0}, m: {friction: 0}}\n"
        "contact: {pairs: [{between: [ground, m], friction: " +
        text_of(c.floor) + "}, {between: [plaster, m], friction: " + text_of(c.wall) +
        "}]}\nbodies:\n" + kFloor +
        "  - {name: wall, material: plaster, shape: {plane: {}}, position: [0, 0, 0], "
        "orientation: {axis: [0, 1, 0], angle: 90 deg}}\n" +
        rod(1.2, 2.0, true, "") + time_and_solver(1e-3, "dvi", 1e-12));

    run_until(*sim, 0.2);

    const double turned_by = std::abs(turn_about_y(body_of(*sim, 2).pose.q) - 1.2);
    if (c.stands) {
      // a corner at an end has the mean mobility 3/m, and bears less than the weight
      EXPECT_LT(turned_by, 1e-8 + 2.0 * give_of(1.5, 2.0 * kG, 1e-3))
          << "friction " << c.wall << ", " << c.floor;
      std::printf("E06 statics%s: turns by %.1e rad\n", contacts_label(), turned_by);
    } else {
      EXPECT_GT(turned_by, 1e-4) << "friction " << c.wall << ", " << c.floor;
    }
  }
}

TEST(PainleveRun, SlidingRodJamsInOneStepWithAFiniteImpulseAndNothingFails) {
  const double theta = 1.107148717794, sliding = 1.0;
  const double n_nn = 1.0 + 3.0 * std::cos(theta) * std::cos(theta);
  const double n_tt = 1.0 + 3.0 * std::sin(theta) * std::sin(theta);
  const double n_nt = -3.0 * std::sin(theta) * std::cos(theta);
  // Two corners, 0.1 m apart, bear the rod. They give by half of what one does: mean mobility 1 + 2
  // |r|^2/(3 J) with J = 1/12, tangents softer by the ratio of the mobilities.
  const double aside = 12.0 * 0.05 * 0.05;
  const double soft_n = 0.5 * softness() * (n_nn + n_tt + 4.0 + 2.0 * aside) / 3.0;
  const double soft_t = soft_n * (0.5 * (n_tt + 4.0 + aside)) / (n_nn + aside);
  const double determinant = (n_nn + soft_n) * (n_tt + soft_t) - n_nt * n_nt;
  const double jam = -n_nt * sliding / determinant;
  const double held = (n_nn + soft_n) * sliding / determinant;
  // sweeps go round in circles where two paradoxical points that give share the rod
  const std::string method = contacts_give() ? "method: interior_point, " : "";
  for (const double h : {1e-3, 1e-4, 1e-5}) {
    const auto sim =
        simulate(materials(2.0, 2.0) + "bodies:\n" + kFloor +
                 rod(theta, 1.0, false, ", velocity: [" + text_of(-sliding) + ", 0, 0]") +
                 time_and_solver(h, "dvi", 1e-12, 20000, method));

    const StepReport& first = sim->step();

    EXPECT_EQ(first.solve.status, SolveStatus::converged) << first.solve.reason;
    const Vec3 impulse = h * contact_force_on(*sim, 1);
    std::printf("Painleve run h = %.0e s: impulse %.6f N s (limit %.6f), %d sweeps\n", h,
                impulse.z(), jam, first.solve.iterations);
    EXPECT_NEAR(impulse.z(), jam, 20.0 * h);
    const Twist& twist = body_of(*sim, 1).twist;
    const Vec3 end = body_of(*sim, 1).pose.q * Vec3(-0.5, 0.0, 0.0);
    EXPECT_LT((twist.v + twist.w.cross(end)).norm(),
              3.0 * h + 1.05 * std::hypot(soft_n * jam, soft_t * held));

    const auto energy_of = [](const StepReport& r) {
      return r.kinetic + r.potential + r.audit[EnergyTerm::elastic_energy];
    };
    double energy = energy_of(first);
    double largest_map = 0.0;
    for (int step = 0; step < 2000; ++step) {
      const StepReport& r = sim->step();
      // lying flat, four corners with friction 2 share the load: slow, but not failing
      largest_map = std::max(largest_map, r.solve.errors.natural_map);
      ASSERT_TRUE(std::isfinite(r.kinetic)) << "step " << step;
      // symplectic Euler: by m g^2 h^2/2 a step
      EXPECT_LT(energy_of(r), energy + kG * kG * h * h) << "step " << step;
      energy = energy_of(r);
    }
    EXPECT_LT(largest_map, 1e-6) << "h = " << h;
  }
}

/// Dominoes along x; the first one has been pushed and turns about its front lower edge.
std::string domino_row(int n) {
  const double h = 0.048, d = 0.0075, s = 0.0165, omega0 = 3.0;
  const std::string inertia = text_of(0.01 * (h * h + d * d) / 12.0);
  std::string text;
  for (int k = 0; k < n; ++k) {
    text += "  - {name: domino-" + std::to_string(k) + ", material: m, mass: 0.01, inertia: [" +
            inertia + ", " + inertia + ", " + inertia + "], shape: {box: {size: [" + text_of(d) +
            ", 0.024, " + text_of(h) + "]}}, position: " + vector_text({k * (s + d), 0.0, 0.5 * h});
    if (k == 0)
      text += ", velocity: " + vector_text({omega0 * 0.5 * h, 0.0, omega0 * 0.5 * d}) +
              ", angular_velocity: [0, " + text_of(omega0) + ", 0]";
    text += "}\n";
  }
  return text;
}

/// Times at which the first n dominoes are hit (0 for the first, which has been pushed).
struct DominoRun {
  std::vector<double> hit;
  double sweeps = 0.0;  // a step
  double missed = 0.0;  // part of the steps
};

DominoRun run_dominoes(int n, double h, int sweeps) {
  const auto sim = simulate(
      "materials: {ground: {friction: 5}, m: {friction: 0}}\n"
      "contact: {pairs: [{between: [ground, m], friction: 5}]}\nbodies:\n" +
      kFloor + domino_row(n) + time_and_solver(h, "dvi", 1e-6, sweeps));
  DominoRun run;
  run.hit = {0.0};
  double steps = 0.0;
  while (run.hit.size() < static_cast<std::size_t>(n) && sim->state().time < 0.1 + 0.1 * n) {
    const StepReport& r = sim->step();
    run.missed += r.solve.status != SolveStatus::converged;
    run.sweeps += r.solve.iterations;
    ++steps;
    // ids: the floor, then the dominoes
    if (body_of(*sim, static_cast<GlobalId>(run.hit.size()) + 1).twist.w.y() > 0.1)
      run.hit.push_back(sim->state().time);
  }
  run.missed /= steps;
  run.sweeps /= steps;
  return run;
}

TEST(Dominoes, EachIsHitWhenTheHingedModelSaysToFirstOrder) {
  const ReferenceSeries ref = read_reference("F07_domino");
  const double steps[3] = {2e-4, 1e-4, 5e-5};
  double error[3] = {}, front[3] = {};
  for (int i = 0; i < 3; ++i) {
    const DominoRun run = run_dominoes(12, steps[i], 20000);
    ASSERT_EQ(run.hit.size(), 12u);
    for (std::size_t k = 1; k < run.hit.size(); ++k)
      error[i] = std::max(error[i], std::abs(run.hit[k] - ref.at(k, "t_hit")));
    const std::size_t last = run.hit.size() - 1;
    front[i] = std::abs((run.hit[last] - run.hit[last - 4]) /
                            (ref.at(last, "t_hit") - ref.at(last - 4, "t_hit")) -
                        1.0);
    std::printf(
        "dominoes h = %.0e s: hits within %.1e s, front speed within %.1e, %.0f sweeps a step, "
        "%.1f %% of the steps missed\n",
        steps[i], error[i], front[i], run.sweeps, 100.0 * run.missed);
    // closing contacts with redundant edges now and then need more than the sweeps allowed
    EXPECT_LT(run.missed, 0.02);
  }
  EXPECT_LT(error[2], 10.0 * steps[2]);
  EXPECT_LT(front[2], 1.2e-3);
  EXPECT_NEAR(order_of(error[0], error[2], 2.0), 1.0, 0.15);
}

TEST(Dominoes, FrontOfSixtyRunsOnWithItsAsymptoticSpeed) {
  const ReferenceSeries ref = read_reference("F07_domino");
  const double asymptotic = read_values("F07_domino").at("front_speed_asymptotic");
  const double h = 2e-4;

  // dominoes that already lie on one another take most of the sweeps and do not matter to the
  // front: few sweeps do, though half of the steps miss their tolerance
  const DominoRun run = run_dominoes(60, h, 100);

  ASSERT_EQ(run.hit.size(), 60u);
  ASSERT_EQ(ref.rows.size(), 60u);
  double error = 0.0;
  for (std::size_t k = 1; k < run.hit.size(); ++k)
    error = std::max(error, std::abs(run.hit[k] - ref.at(k, "t_hit")));
  const double speed = 20.0 * 0.024 / (run.hit[59] - run.hit[39]);
  std::printf(
      "60 dominoes h = %.0e s: hits within %.1e s, front %.4f m/s, limit %.4f m/s, %.0f sweeps a "
      "step, %.0f %% of the steps missed\n",
      h, error, speed, asymptotic, run.sweeps, 100.0 * run.missed);
  // a hit between contacts that give leaves up to 1/300 of the approach, and so the front's speed
  EXPECT_LT(error, 15.0 * h + softness() * run.hit.back());
  // the time of twenty hits is known to one step, 5e-4 of it
  EXPECT_NEAR(speed, asymptotic, 2e-3 * asymptotic);
}

}  // namespace
}  // namespace catena::test
