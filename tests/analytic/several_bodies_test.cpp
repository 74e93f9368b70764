// Several bodies: cradle, sphere impacts, stacks, a table, piles.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "analytic/case_runner.hpp"
#include "catena/constraints/block_diagonal.hpp"
#include "support/gravity.hpp"
#include "support/method_under_test.hpp"
#include "support/reference.hpp"

namespace catena::test {
namespace {

std::string tight_solver(int sweeps) {
  return "solver: {max_iterations: " + std::to_string(sweeps) +
         ", metric: natural_map, relative_tolerance: 0, absolute_tolerance: 1e-13, "
         "check_interval: 10}\n";
}

std::string stiff_solver() {
  return "solver: {method: interior_point, max_iterations: 1000, metric: natural_map, "
         "relative_tolerance: 0, absolute_tolerance: 1e-11}\n";
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

/// Mean mobility of a contact between solid spheres, whose normal has the mobility `normal`:
/// tangents have 7/2 of it.
double sphere_mobility(double normal) { return normal * (1.0 + 2.0 * 3.5) / 3.0; }

/// Velocities of balls in a row, in contact, after one impact: 0 <= N p + Sigma p + u + b _|_ p >=
/// 0, Newton's b = e u where two approach, and there Sigma = 0; other contacts give.
std::vector<double> velocities_after(const std::vector<double>& m, const std::vector<double>& v,
                                     double e) {
  const auto n = static_cast<Eigen::Index>(m.size()) - 1;
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n, n);
  Eigen::VectorXd u(n);
  for (Eigen::Index k = 0; k < n; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const double own = 1.0 / m[i] + 1.0 / m[i + 1], approach = v[i + 1] - v[i];
    const bool impact = e > 0.0 && approach < 0.0;
    a(k, k) = own + (impact ? 0.0 : softness() * sphere_mobility(own));
    if (k + 1 < n) a(k, k + 1) = a(k + 1, k) = -1.0 / m[i + 1];
    u[k] = approach * (impact ? 1.0 + e : 1.0);
  }
  for (unsigned pressed = 0; pressed < (1U << n); ++pressed) {
    Eigen::MatrixXd rows = Eigen::MatrixXd::Identity(n, n);
    Eigen::VectorXd right = Eigen::VectorXd::Zero(n);
    for (Eigen::Index k = 0; k < n; ++k) {
      if ((pressed >> k & 1U) == 0) continue;
      rows.row(k) = a.row(k);
      right[k] = -u[k];
    }
    const Eigen::VectorXd p = rows.partialPivLu().solve(right);
    if (p.minCoeff() < -1e-12 || (a * p + u).minCoeff() < -1e-12) continue;
    std::vector<double> after = v;
    for (Eigen::Index k = 0; k < n; ++k) {
      const auto i = static_cast<std::size_t>(k);
      after[i] -= p[k] / m[i];
      after[i + 1] += p[k] / m[i + 1];
    }
    return after;
  }
  throw std::runtime_error("no solution");
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

    // contacts that give take the same problem with their compliance: it is solved beside
    const std::vector<double> expected = velocities_after(p.m, p.v, p.e);
    double momentum = 0.0, energy = 0.0, explained = 0.0, off = 0.0;
    for (std::size_t i = 0; i < p.m.size(); ++i) {
      momentum += p.m[i] * p.v[i];
      energy += 0.5 * p.m[i] * expected[i] * expected[i];
      const double rigid = values.at("case" + std::to_string(c) + "_lcp_v" + std::to_string(i + 1));
      const double v = body_of(*sim, static_cast<GlobalId>(i)).twist.v[0];
      EXPECT_NEAR(v, expected[i], 1e-11) << "case " << c << " ball " << i;
      if (!contacts_give()) {
        EXPECT_NEAR(v, rigid, 1e-11) << "case " << c << " ball " << i;
      }
      off = std::max(off, std::abs(v - rigid));
      explained = std::max(explained, std::abs(v - expected[i]));
    }
    std::printf(
        "E05%s, case %d: velocities within %.1e m/s of rigid balls, %.1e of the closed form\n",
        contacts_label(), c, off, explained);
    EXPECT_NEAR(sim->stepper().report().linear_momentum[0], momentum, 1e-14 * momentum);
    EXPECT_NEAR(sim->stepper().report().kinetic, energy, 1e-11);
    if (!contacts_give()) {
      EXPECT_NEAR(energy, values.at("case" + std::to_string(c) + "_T_lcp"), 1e-11);
    }
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

    // An impact is rigid along its normal. Friction that holds is softer: with N_tt = 7/2 N_nn and
    // tangents 7/2 as soft as the normal it bears 1/(1 + Sigma_t/N_tt) of its impulse, Sigma_t/N_tt
    // = 8/3 / 300.
    const bool holds = ref.at(c, "|p_t|") < p.mu * ref.at(c, "p_n") * (1.0 - 1e-9);
    const double part = holds ? 1.0 / (1.0 + softness() * sphere_mobility(1.0)) : 1.0;
    double off = 0.0, explained = 0.0;
    const char* axes = "xyz";
    const auto compare = [&](GlobalId body, const char* name, const Vec3& v0, const Vec3& w0) {
      Vec3 v, w;
      for (int i = 0; i < 3; ++i) {
        v[i] = ref.at(c, std::string("V") + name + axes[i]);
        w[i] = ref.at(c, std::string("W") + name + axes[i]);
      }
      const Twist& after = body_of(*sim, body).twist;
      const Vec3 along = p.n.normalized() * (v - v0).dot(p.n.normalized());
      const Vec3 v_soft = v0 + along + part * (v - v0 - along), w_soft = w0 + part * (w - w0);
      EXPECT_LT((after.v - v_soft).norm(), 2e-12) << "case " << c << ", body " << body;
      EXPECT_LT((after.w - w_soft).norm(), 2e-11) << "case " << c << ", body " << body;
      off = std::max(off, (after.v - v).norm());
      explained = std::max(explained, (after.v - v_soft).norm());
    };
    compare(0, "1", p.v1, p.w1);
    if (p.m2 > 0.0) compare(1, "2", p.v2, p.w2);
    EXPECT_NEAR(contact_force_on(*sim, 0).norm() * 1e-3,
                std::hypot(ref.at(c, "p_n"), part * ref.at(c, "|p_t|")), 1e-11);
    std::printf(
        "F08%s, case %zu: velocities within %.1e m/s of rigid balls, %.1e of the closed form\n",
        contacts_label(), c, off, explained);
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
    // Contacts that give swing until they bear the load: 100 kg on points of 1e-6 m/N with 10 Hz
    // and an eighth of the critical damping. Each corner of a box has the mobility 4/m along all
    // axes.
    const int steps = contacts_give() ? (c == 1 ? 3000 : 60) : 20;
    // which is a thousandth of what sweeps take in a step
    const std::string solver = tight_solver(c == 1 ? 1000000 : 20000);
    const auto sim = simulate(yaml + "time: {step: " + text_of(h) + ", end: 10}\n" +
                              (contacts_give() && c == 1 ? stiff_solver() : solver));
    double off = 0.0, shifted = 0.0;
    for (int step = 0; step < steps; ++step) {
      sim->step();
      if ((step != 0 || contacts_give()) && step != steps - 1) continue;
      for (std::size_t row = 0; row < ref.rows.size(); ++row) {
        if (ref.at(row, "stack") != c) continue;
        const auto upper = static_cast<GlobalId>(ref.at(row, "interface_under_box")) + 1;
        double force = 0.0;
        double moment = 0.0;
        for (std::size_t k = 0; k < sim->stepper().n_contacts(); ++k) {
          const ContactRecord contact = sim->stepper().contact(k);
          if (contact.key.b != upper) continue;
          const double n = sim->stepper().impulses()[3 * k] / h * contact.normal[2];
          // where boxes lean friction carries a part
          force += contacts_give() ? std::abs(contact.impulse.z()) / h : n;
          moment += n * contact.point[0];
        }
        if (upper == 1) {  // the floor has the lower id, so it is body a as well
          ASSERT_GT(force, 0.0);
        }
        EXPECT_NEAR(force, ref.at(row, "N_total"), 1e-7 * ref.at(row, "N_total"))
            << "stack " << c << " under box " << upper - 1 << " step " << step;
        // the boxes have leaned, and the resultant is where they are now
        double x = ref.at(row, "x_of_resultant");
        if (contacts_give()) {
          double mass = 0.0, first = 0.0;
          for (std::size_t i = static_cast<std::size_t>(upper) - 1; i < p.m.size(); ++i) {
            mass += p.m[i];
            first += p.m[i] * body_of(*sim, static_cast<GlobalId>(i) + 1).pose.p[0];
          }
          shifted = std::max(shifted, std::abs(first / mass - x));
          x = first / mass;
        }
        EXPECT_NEAR(moment / force, x, 1e-6);
        off = std::max(off, std::abs(force / ref.at(row, "N_total") - 1.0));
      }
    }
    // a box sinks by no more than what the interfaces below give if one corner bears all, and goes
    // sideways by that, leaning, times its height
    double sunk = 0.0, above = 0.0, most = 0.0;
    for (const double m : p.m) above += kG * m;
    for (std::size_t i = 0; i < p.m.size() && contacts_give(); ++i) {
      sunk += give_of(4.0 / p.m[i] + (i > 0 ? 4.0 / p.m[i - 1] : 0.0), above, h);
      above -= kG * p.m[i];
      const Vec3& at = body_of(*sim, static_cast<GlobalId>(i) + 1).pose.p;
      const double level = static_cast<double>(i) + 1.0;
      EXPECT_LT(level - 0.5 - at.z(), sunk) << "stack " << c << " box " << i;
      EXPECT_LT(std::abs(at.x() - p.x[i]), level * sunk) << "stack " << c << " box " << i;
      most = std::max(most, level - 0.5 - at.z());
    }
    std::printf(
        "F01 stack%s %d: forces within %.1e of themselves, resultants gone by %.1e m, sunk %.1e "
        "m\n",
        contacts_label(), c, off, shifted, most);
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

    // legs that give bear the load when they have sunk, which each step does to 1/300
    for (RigidContact& contact : problem.contacts) {
      const auto [along, across] = contact_mobility(problem.bodies, contact);
      contact.compliance = softness() * (along + 2.0 * across) / 3.0;
      contact.tangent_compliance = contact.compliance / std::clamp(along / across, 2.0 / 7.0, 1.0);
    }
    SolveReport report;
    for (int step = 0; step < (contacts_give() ? 12 : 1); ++step) {
      if (step > 0) {
        for (std::size_t k = 0; k < 4; ++k) {
          RigidContact& contact = problem.contacts[k];
          contact.bias = -contact.compliance * impulses[3 * k];
          for (std::size_t i = 0; i < 2; ++i)
            contact.tangent_bias[i] = -contact.tangent_compliance * impulses[3 * k + 1 + i];
        }
        std::copy(velocities.begin(), velocities.end(), problem.bodies.free_velocity.begin());
        problem.bodies.free_velocity[8] -= kG * h;
      }
      report = solver_under_test(settings)->solve(problem, impulses, velocities);
      EXPECT_EQ(report.status, SolveStatus::converged);
    }
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
    std::printf("F02%s, %s: force within %.1e of itself\n", contacts_label(), name.c_str(),
                std::abs(normal / values.at(name + "_N_top") - 1.0));
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
