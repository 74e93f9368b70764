// Several bodies: cradle, sphere impacts, stacks, a table, piles.
#include <gtest/gtest.h>

#include <cmath>

#include "analytic/case_runner.hpp"
#include "support/method_under_test.hpp"
#include "support/reference.hpp"

namespace catena::test {
namespace {

constexpr double kG = 9.81;

std::string tight_solver(int sweeps) {
  return "solver: {max_iterations: " + std::to_string(sweeps) +
         ", metric: natural_map, relative_tolerance: 0, absolute_tolerance: 1e-13, "
         "check_interval: 10}\n";
}

std::string vector_of(const Vec3& v) {
  return "[" + text_of(v[0]) + ", " + text_of(v[1]) + ", " + text_of(v[2]) + "]";
}

struct Ball {
  double mass, radius;
  Vec3 position, velocity, spin;
};

/// A solid sphere with its mass given.
std::string ball_entry(const std::string& name, const Ball& b) {
  const double i = 0.4 * b.mass * b.radius * b.radius;
  return "  - {name: " + name + ", material: m, mass: " + text_of(b.mass) +
         ", inertia: " + vector_of(Vec3::Constant(i)) +
         ", shape: {sphere: {radius: " + text_of(b.radius) +
         "}}, position: " + vector_of(b.position) + ", velocity: " + vector_of(b.velocity) +
         ", angular_velocity: " + vector_of(b.spin) + "}\n";
}

TEST(NewtonsCradle, TouchingBallsMeetOneSimultaneousNewtonImpact) {
  const auto values = read_values("E05_newtons_cradle");
  struct Case {
    std::vector<double> m, v;
    double e;
  };
  const Case cases[] = {{{1, 1, 1}, {1, 0, 0}, 1.0},
                        {{1, 1, 1, 1, 1}, {1, 0, 0, 0, 0}, 1.0},
                        {{1, 1, 1, 1, 1}, {1, 1, 0, 0, 0}, 1.0},
                        {{1, 1, 1}, {1, 0, 0}, 0.0},
                        {{2, 1, 0.5}, {1, 0, 0}, 0.8}};
  for (int c = 0; c < 5; ++c) {
    const Case& p = cases[c];
    std::string yaml =
        "gravity: [0, 0, 0]\nmaterials: {m: {friction: 0, restitution: " + text_of(p.e) +
        "}}\nbodies:\n";
    for (std::size_t i = 0; i < p.m.size(); ++i) {
      yaml += ball_entry(
          "ball" + std::to_string(i),
          {p.m[i], 0.5, Vec3(static_cast<double>(i), 0, 0), Vec3(p.v[i], 0, 0), Vec3::Zero()});
    }
    const auto sim =
        simulate(yaml + "time: {stepper: dvi, step: 1e-3, end: 1}\n" + tight_solver(5000));

    sim->step();

    double momentum = 0.0;
    for (std::size_t i = 0; i < p.m.size(); ++i) momentum += p.m[i] * p.v[i];
    for (std::size_t i = 0; i < p.m.size(); ++i) {
      const double v = body_of(*sim, static_cast<GlobalId>(i)).twist.v[0];
      EXPECT_NEAR(v, values.at("case" + std::to_string(c) + "_lcp_v" + std::to_string(i + 1)),
                  1e-11)
          << "case " << c << " ball " << i;
    }
    EXPECT_NEAR(sim->stepper().report().linear_momentum[0], momentum, 1e-14 * momentum);
    EXPECT_NEAR(sim->stepper().report().kinetic, values.at("case" + std::to_string(c) + "_T_lcp"),
                1e-11);
  }
}

TEST(SphereImpact, ObliqueFrictionalImpactsFollowNewtonAndCoulomb) {
  const ReferenceSeries ref = read_reference("F08_sphere_impact");
  struct Case {
    Vec3 n;
    double m1, r1, m2, r2, e, mu;
    Vec3 v1, w1, v2, w2;
  };
  const Case cases[] = {
      {{0, 0, -1}, 1, 0.1, 0, 0, 0.8, 0.2, {3, 0, -2}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}},
      {{0, 0, -1}, 1, 0.1, 0, 0, 0.8, 0.6, {1, 0.5, -4}, {10, 20, 5}, {0, 0, 0}, {0, 0, 0}},
      {{1, 1, 0}, 1, 0.1, 2, 0.2, 0.5, 0.3, {2, 0, 0.3}, {0, 5, -8}, {-1, 0.2, 0}, {3, 0, 12}},
      {{1, 0, 0}, 1, 0.1, 1, 0.1, 1.0, 0.0, {1, 0.4, 0}, {0, 0, 50}, {0, 0, 0}, {0, 0, 0}}};
  for (std::size_t c = 0; c < 4; ++c) {
    const Case& p = cases[c];
    std::string yaml = "gravity: [0, 0, 0]\nmaterials: {m: {friction: " + text_of(p.mu) +
                       ", restitution: " + text_of(p.e) + "}}\nbodies:\n" +
                       ball_entry("one", {p.m1, p.r1, Vec3::Zero(), p.v1, p.w1});
    if (p.m2 > 0.0) {
      yaml += ball_entry("two", {p.m2, p.r2, (p.r1 + p.r2) * p.n.normalized(), p.v2, p.w2});
    } else {
      yaml += "  - {name: floor, material: m, shape: {plane: {}}, position: [0, 0, " +
              text_of(-p.r1) + "]}\n";
    }
    const auto sim = simulate(yaml + "time: {step: 1e-3, end: 1}\n" + tight_solver(100));

    sim->step();

    const char* axes = "xyz";
    for (int i = 0; i < 3; ++i) {
      const std::string axis(1, axes[i]);
      EXPECT_NEAR(body_of(*sim, 0).twist.v[i], ref.at(c, "V1" + axis), 1e-12) << "case " << c;
      EXPECT_NEAR(body_of(*sim, 0).twist.w[i], ref.at(c, "W1" + axis), 1e-11) << "case " << c;
      if (p.m2 == 0.0) continue;
      EXPECT_NEAR(body_of(*sim, 1).twist.v[i], ref.at(c, "V2" + axis), 1e-12) << "case " << c;
      EXPECT_NEAR(body_of(*sim, 1).twist.w[i], ref.at(c, "W2" + axis), 1e-11) << "case " << c;
    }
    EXPECT_NEAR(contact_force_on(*sim, 0).norm() * 1e-3,
                std::hypot(ref.at(c, "p_n"), ref.at(c, "|p_t|")), 1e-11);
  }
}

TEST(Stack, InterfacesCarryTheWeightAboveAndTheStackStands) {
  const ReferenceSeries ref = read_reference("F01_stack_table");
  struct Case {
    std::vector<double> m, x;
  };
  const Case cases[] = {{{1, 1, 1, 1, 1}, {0, 0, 0, 0, 0}},
                        {{10, 1, 0.1, 100}, {0, 0.1, -0.1, 0.05}},
                        {{1, 1, 1, 1}, {0, 0.12, 0.27, 0.51}}};
  const double h = 0.005;
  for (int c = 0; c < 3; ++c) {
    const Case& p = cases[c];
    std::string yaml =
        "materials: {m: {friction: 0.5}}\nbodies:\n"
        "  - {name: floor, material: m, shape: {plane: {}}}\n";
    for (std::size_t i = 0; i < p.m.size(); ++i) {
      yaml += "  - {name: box" + std::to_string(i) + ", material: m, mass: " + text_of(p.m[i]) +
              ", inertia: " + vector_of(Vec3::Constant(p.m[i] / 6.0)) +
              ", shape: {box: {size: [1, 1, 1]}}, position: [" + text_of(p.x[i]) + ", 0, " +
              text_of(0.5 + static_cast<double>(i)) + "]}\n";
    }
    const auto sim = simulate(yaml + "time: {step: " + text_of(h) + ", end: 10}\n" +
                              tight_solver(c == 1 ? 1000000 : 20000));
    for (int step = 0; step < 20; ++step) {
      sim->step();
      if (step != 0 && step != 19) continue;
      for (std::size_t row = 0; row < ref.rows.size(); ++row) {
        if (ref.at(row, "stack") != c) continue;
        const auto upper = static_cast<GlobalId>(ref.at(row, "interface_under_box")) + 1;
        double force = 0.0;
        double moment = 0.0;
        for (std::size_t k = 0; k < sim->stepper().n_contacts(); ++k) {
          const ContactRecord contact = sim->stepper().contact(k);
          if (contact.key.b != upper) continue;
          const double n = sim->stepper().impulses()[3 * k] / h * contact.normal[2];
          force += n;
          moment += n * contact.point[0];
        }
        if (upper == 1) {  // the floor has the lower id, so it is body a as well
          ASSERT_GT(force, 0.0);
        }
        EXPECT_NEAR(force, ref.at(row, "N_total"), 1e-7 * ref.at(row, "N_total"))
            << "stack " << c << " under box " << upper - 1 << " step " << step;
        EXPECT_NEAR(moment / force, ref.at(row, "x_of_resultant"), 1e-6);
      }
    }
    EXPECT_LT(sim->stepper().report().kinetic, 1e-16) << "stack " << c;
  }
}

TEST(Table, LegForcesBalanceTheLoadWithinTheirIndeterminacy) {
  const auto values = read_values("F01_stack_table");
  struct Case {
    double half, load, x, y;
  };
  const Case cases[] = {{1.0, 98.1, 0.2, -0.1}, {0.5, 50.0, 0.4, 0.3}};
  for (int c = 0; c < 2; ++c) {
    const Case& p = cases[c];
    // the legs' feet about the centre of mass, which is where the load stands
    ConstraintProblem problem(Communicator::self());
    problem.bodies.add_prescribed(0, Twist{});
    const double h = 1e-3;
    const double mass = p.load / kG;
    problem.bodies.add_rigid(1, 1.0 / mass, Mat3::Identity() / mass,
                             {Vec3(0, 0, -kG * h), Vec3::Zero()});
    problem.bodies.n_owned = 2;
    const double legs[4][2] = {{1, 1}, {1, -1}, {-1, -1}, {-1, 1}};
    for (const auto& leg : legs) {
      RigidContact contact;
      contact.body_a = 0;
      contact.body_b = 1;
      contact.normal = Vec3::UnitZ();
      contact.tangent = Vec3::UnitX();
      contact.arm_a = Vec3::Zero();
      contact.arm_b = Vec3(p.half * leg[0] - p.x, p.half * leg[1] - p.y, -0.5);
      contact.friction = 0.3;
      problem.contacts.push_back(contact);
    }
    SolverSettings settings;
    settings.stop.metric = Metric::natural_map;
    settings.stop.relative_tolerance = 0.0;
    settings.stop.absolute_tolerance = 1e-13;
    settings.stop.max_iterations = 20000;
    std::vector<double> impulses(12);
    std::vector<double> velocities(12);

    const SolveReport report = solver_under_test(settings)->solve(problem, impulses, velocities);

    EXPECT_EQ(report.status, SolveStatus::converged);
    double sum = 0.0, mx = 0.0, my = 0.0;
    for (std::size_t k = 0; k < 4; ++k) {
      const double n = impulses[3 * k] / h;
      sum += n;
      mx += n * problem.contacts[k].arm_b[0];
      my += n * problem.contacts[k].arm_b[1];
      const std::string leg = "table" + std::to_string(c) + "_N" + std::to_string(k + 1);
      EXPECT_GE(n, values.at(leg + "_min") - 1e-6);
      EXPECT_LE(n, values.at(leg + "_max") + 1e-6);
    }
    EXPECT_NEAR(sum, p.load, 1e-8 * p.load);
    EXPECT_NEAR(mx, 0.0, 1e-7 * p.load);
    EXPECT_NEAR(my, 0.0, 1e-7 * p.load);
  }
}

/// One sphere on n touching a floor (radius 1, centres 2 + gap apart), in material `top`; the
/// floor contacts have friction `mu_floor`, the upper ones `mu_top`.
std::unique_ptr<Simulation> pile(int n, double m_top, double gap, double mu_top, double mu_floor) {
  const double side = 2.0 + gap;
  const double rho = n == 2 ? 0.5 * side : side / std::sqrt(3.0);  // circumradius
  std::string yaml =
      "materials: {m: {friction: " + text_of(mu_top) +
      "}, ground: {friction: 1}}\ncontact: {pairs: [{between: [ground, m], friction: " +
      text_of(mu_floor) + "}]}\nbodies:\n" +
      "  - {name: floor, material: ground, shape: {plane: {}}}\n";
  for (int i = 0; i < n; ++i) {
    const double angle = 2.0 * M_PI * i / n;
    yaml += ball_entry("base" + std::to_string(i),
                       {1.0, 1.0, Vec3(rho * std::cos(angle), rho * std::sin(angle), 1.0),
                        Vec3::Zero(), Vec3::Zero()});
  }
  yaml += ball_entry("top", {m_top, 1.0, Vec3(0, 0, 1.0 + std::sqrt(4.0 - rho * rho)), Vec3::Zero(),
                             Vec3::Zero()});
  return simulate(yaml + "time: {step: 2 ms, end: 10}\n" + tight_solver(20000));
}

TEST(Pile, StandsAboveAndCollapsesBelowTheFrictionThreshold) {
  const auto values = read_values("F02_sphere_pile");
  struct Case {
    int n;
    double m_top;
  };
  const Case cases[] = {{2, 1.0}, {3, 1.0}, {3, 10.0}};
  for (int c = 0; c < 3; ++c) {
    const std::string name = "case" + std::to_string(c);
    const double mu_top = values.at(name + "_mu_min_top=tan(a/2)");
    const double mu_floor = values.at(name + "_mu_min_floor");

    // 2 % above both thresholds it stands, with the forces of statics
    const auto stands = pile(cases[c].n, cases[c].m_top, 0.01, 1.02 * mu_top, 1.02 * mu_floor);
    run_until(*stands, 0.2);
    EXPECT_LT(stands->stepper().report().kinetic, 1e-16) << name;
    const auto top = static_cast<GlobalId>(cases[c].n + 1);
    double normal = 0.0, tangential = 0.0;
    for (std::size_t k = 0; k < stands->stepper().n_contacts(); ++k) {
      if (stands->stepper().contact(k).key.b != top) continue;
      const double* lambda = stands->stepper().impulses().data() + 3 * k;
      normal = lambda[0] / 2e-3;
      tangential = std::hypot(lambda[1], lambda[2]) / 2e-3;
    }
    EXPECT_NEAR(normal, values.at(name + "_N_top"), 1e-6 * normal) << name;
    EXPECT_NEAR(tangential, values.at(name + "_F_top"), 1e-6 * normal) << name;

    // 2 % below either threshold it does not
    for (const bool top_below : {true, false}) {
      const auto falls = pile(cases[c].n, cases[c].m_top, 0.01, (top_below ? 0.98 : 1.2) * mu_top,
                              (top_below ? 1.2 : 0.98) * mu_floor);
      run_until(*falls, 0.2);
      EXPECT_GT(falls->stepper().report().kinetic, 1e-5) << name << " top " << top_below;
    }
  }
}

}  // namespace
}  // namespace catena::test
