// The stepper natural on bodies that turn freely, on springs, and on bodies with fewer axes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stepper/natural_run.hpp"

namespace catena::test {
namespace {

// ---- free bodies: what turns where nothing holds

/// Free body under a constant force at a point and a couple, both fixed in it.
VectorX free_body(const Vec3& inertia, const Vec3& couple, const Quat& q, const Vec3& w, double t) {
  const auto f = [&](double, const VectorX& y) {
    const Quat now = quat(y, 0);
    const Vec3 own = now.conjugate() * three(y, 4);
    Vec3 rate;
    for (int k = 0; k < 3; ++k) {
      const int i = (k + 1) % 3, j = (k + 2) % 3;
      rate[k] = (couple[k] - (inertia[j] - inertia[i]) * own[i] * own[j]) / inertia[k];
    }
    VectorX d(7);
    d.head<4>() = quat_rate(now, three(y, 4));
    d.tail<3>() = now * rate;
    return d;
  };
  VectorX y(7);
  y << q.w(), q.x(), q.y(), q.z(), w;
  return integrated(f, y, t, 10000);
}

TEST(NaturalBody, GeneralBodiesAndLaminaeTurnAsEulersEquationsSay) {
  const Vec3 w(1.0, 2.0, -3.0), couple(0.3, -0.2, 0.4);
  const Quat q = Quat(0.7, 0.1, -0.4, 0.3).normalized();
  for (const Vec3& inertia : {Vec3(0.3, 0.5, 0.4), Vec3(0.7, 0.3, 0.4), Vec3(0.3, 0.7, 0.4),
                              Vec3(0.3, 0.4, 0.7), Vec3(0.4, 0.4, 0.4)}) {
    const VectorX end = free_body(inertia, couple, q, w, 2.0);
    Link link{1.0, inertia, q, w};
    const std::string text =
        "gravity: [0, 0, 0]\nbodies: [" + text_of("top", link, Vec3::Zero(), Vec3::Zero()) +
        "]\nforces: [{name: push, type: torque, body: top, frame: body, torque: " +
        text_of(couple) + "}]";
    std::vector<double> errors;
    for (const char* h : {"20 ms", "10 ms"}) {
      const auto sim = natural_run(text, h);
      const StepReport& r = run_to(*sim, 2.0);
      const BodyMotionState& s = body_of(*sim, 0);
      errors.push_back((s.twist.w - three(end, 4)).norm() +
                       (s.pose.q.toRotationMatrix() - quat(end, 0).toRotationMatrix()).norm());
      EXPECT_LT(std::abs(r.energy_residual), 1e-3);
      EXPECT_GT(std::abs(r.audit[EnergyTerm::external_work]), 0.1);
    }
    EXPECT_NEAR(orders(errors)[0], 4.0, 0.7) << inertia.transpose();
    const auto sim = natural_run(text, "50 ms", "scheme: dop853");
    const StepReport& r = run_to(*sim, 2.0);
    EXPECT_LT((body_of(*sim, 0).twist.w - three(end, 4)).norm(), 1e-8) << inertia.transpose();
    EXPECT_LT(std::abs(r.energy_residual), 1e-8);
  }
}

TEST(NaturalBody, AFreeBodyKeepsItsMomentaAndEnergy) {
  for (const Vec3& inertia : {Vec3(0.3, 0.5, 0.4), Vec3(0.3, 0.4, 0.7), Vec3(0.0, 0.4, 0.4)}) {
    Link link{1.3, inertia, Quat(0.7, 0.1, -0.4, 0.3).normalized(), {1.0, 2.0, -3.0}};
    const Vec3 p(0.3, 0.2, 0.1), v(1.0, -2.0, 0.5);
    const auto sim = natural_run("gravity: [0, 0, 0]\nbodies: [" + text_of("top", link, p, v) + "]",
                                 "50 ms", "scheme: dop853, relative_tolerance: 1e-12");
    Vec3 own = link.q.conjugate() * link.omega;
    const Vec3 momentum = p.cross(1.3 * v) + link.q * (inertia.asDiagonal() * own);
    const StepReport& r = run_to(*sim, 5.0);
    EXPECT_LT((r.linear_momentum - 1.3 * v).norm(), 1e-12);
    EXPECT_LT((r.angular_momentum - momentum).norm(), 1e-9) << inertia.transpose();
    EXPECT_LT(std::abs(r.energy_residual), 1e-9);
    EXPECT_LT((body_of(*sim, 0).pose.p - p - 5.0 * v).norm(), 1e-11);
  }
}

TEST(NaturalBody, ForcesTurnWithTheBodyOrNotAndChangeOverTime) {
  // spinning about z at 2 rad/s, pushed along its own x: v' = (cos 2t, sin 2t) F/m
  const std::string body_text =
      "gravity: [0, 0, 0]\nbodies: [{name: top, mass: 2, inertia: [0.3, 0.5, 0.4], "
      "angular_velocity: [0, 0, 2]}]\n";
  const auto turning = natural_run(
      body_text + "forces: [{name: push, type: force, body: top, frame: body, force: [6, 0, 0]}]",
      "10 ms");
  const StepReport& r = run_to(*turning, 1.0);
  const Vec3 v(3.0 * std::sin(2.0) / 2.0, 3.0 * (1.0 - std::cos(2.0)) / 2.0, 0.0);
  EXPECT_LT((body_of(*turning, 0).twist.v - v).norm(), 1e-6);
  EXPECT_NEAR(r.audit[EnergyTerm::external_work], v.squaredNorm(), 3e-6);  // m v^2 / 2, m = 2

  // along x whatever the body does, ramped up in 0.5 s: v = (t - 0.25) F/m after that
  const auto ramped = natural_run(
      body_text +
          "forces: [{name: push, type: force, body: top, force: [6, 0, 0], table: {rows: "
          "[[0, 0], [0.5, 1]]}}]",
      "10 ms");
  run_to(*ramped, 1.0);
  EXPECT_LT((body_of(*ramped, 0).twist.v - Vec3(2.25, 0.0, 0.0)).norm(), 1e-12);

  // at (0, 0.5, 0) it turns the body, too, at rest along x: torque -3 N m about z
  const auto eccentric = natural_run(
      "gravity: [0, 0, 0]\nbodies: [{name: top, mass: 2, inertia: [0.3, 0.5, 0.4]}]\nforces: "
      "[{name: push, type: force, body: top, force: [6, 0, 0], at: [0, 0.5, 0], frame: body}]",
      "1 ms");
  const StepReport& e = run_to(*eccentric, 0.2);
  EXPECT_NEAR(body_of(*eccentric, 0).twist.w.z(), -0.2 * 3.0 / 0.4, 1e-10);
  EXPECT_LT(std::abs(e.energy_residual), 1e-9);
}

// ---- springs

TEST(NaturalSpring, AMassOnASpringWithADamperSwingsAsInClosedForm) {
  // m x'' = -c x' - k (x - 0.1) on a guide along x
  const std::string text =
      "gravity: [0, 0, 0]\nbodies: [{name: car, mass: 2, inertia: [0.1, 0.1, 0.1], position: [1.4, "
      "0, "
      "0]}]\njoints: [{name: guide, type: prismatic, between: [world, car], at: [0, 0, 0], axis: "
      "[1, "
      "0, 0]}]\nforces: [{name: spring, type: spring, between: [world, car], at: [[0, 0, 0], [1.4, "
      "0, "
      "0]], stiffness: 50, damping: 3, length: 1.1}]";
  const double decay = 3.0 / 4.0, omega = std::sqrt(25.0 - decay * decay);
  const auto x = [&](double t) {
    return 1.1 +
           std::exp(-decay * t) * 0.3 * (std::cos(omega * t) + decay / omega * std::sin(omega * t));
  };
  std::vector<double> errors;
  for (const char* h : {"20 ms", "10 ms", "5 ms"}) {
    const auto sim = natural_run(text, h);
    const StepReport& r = run_to(*sim, 2.0);
    errors.push_back(std::abs(body_of(*sim, 0).pose.p.x() - x(2.0)));
    EXPECT_LT(std::abs(r.energy_residual), 1e-4);
    // energy starts in the spring: what it gave is what the mass has
    EXPECT_NEAR(r.audit[EnergyTerm::joint_work], r.kinetic, 1e-4);
  }
  for (const double order : orders(errors)) EXPECT_NEAR(order, 4.0, 0.4);
  EXPECT_LT(errors.back(), 1e-8);

  // force on the car in one step, N s
  const auto sim = natural_run(text, "5 ms");
  sim->step();
  EXPECT_NEAR(joint(*sim, 1).impulse[0], 2.0 * body_of(*sim, 0).twist.v.x(), 1e-10);
  EXPECT_NEAR(sim->stepper().joint_reaction(1).impulse.x(), 2.0 * body_of(*sim, 0).twist.v.x(),
              1e-10);
}

TEST(NaturalSpring, TorsionSpringsCountTurns) {
  // through several turns: psi'' = -k (psi - 0.5) / I
  const std::string text =
      "gravity: [0, 0, 0]\nbodies: [{name: wheel, mass: 2, inertia: [0.1, 0.1, 0.2], "
      "angular_velocity: [0, 0, 45]}]\njoints: [{name: axle, type: revolute, between: [world, "
      "wheel], "
      "at: [0, 0, 0], axis: [0, 0, 1]}]\nforces: [{name: spiral, type: torsional_spring, between: "
      "[world, wheel], at: [0, 0, 0], axis: [0, 0, 1], stiffness: 1.8, angle: 0.5}]";
  const double omega = 3.0;  // sqrt(1.8 / 0.2)
  const auto angle = [&](double t) {
    return 0.5 - 0.5 * std::cos(omega * t) + 45.0 / omega * std::sin(omega * t);
  };
  std::vector<double> errors;
  for (const char* h : {"4 ms", "2 ms"}) {
    const auto sim = natural_run(text, h);
    double worst = 0.0;
    for (int i = 1; i <= 20; ++i) {
      const StepReport& r = run_to(*sim, 0.1 * i);
      worst = std::max(worst, std::abs(joint(*sim, 0).angle[0] - angle(0.1 * i)));
      EXPECT_LT(std::abs(r.energy_residual), 0.1);  // of 200 J
    }
    errors.push_back(worst);
  }
  EXPECT_NEAR(orders(errors)[0], 4.0, 0.5);
  EXPECT_LT(errors.back(), 1e-3);  // of 15 rad
}

// ---- bodies with fewer axes beside full ones

TEST(NaturalThinBodies, APointOnALineIsTheMathematicalPendulum) {
  const std::string text =
      "bodies: [{name: bob, mass: 3, inertia: [0, 0, 0], position: [0.8, 0, 0]}]\njoints: [{name: "
      "line, type: distance, between: [world, bob], at: [[0, 0, 0], [0.8, 0, 0]]}]";
  const auto f = [](double, const VectorX& y) {
    VectorX d(2);
    d << y[1], kG / 0.8 * std::cos(y[0]);
    return d;
  };
  const VectorX end = integrated(f, VectorX::Zero(2), 1.0, 10000);
  const Vec3 p(0.8 * std::cos(end[0]), 0.0, -0.8 * std::sin(end[0]));
  const auto sim = natural_run(text, "2 ms");
  run_to(*sim, 1.0);
  EXPECT_LT((body_of(*sim, 0).pose.p - p).norm(), 1e-8);
  EXPECT_EQ(body_of(*sim, 0).twist.w.norm(), 0.0);
  // the line carries m (v^2 / l + g sin), along d from the world to the bob: it pulls back
  const double force = 3.0 * (0.8 * end[1] * end[1] + kG * std::sin(end[0]));
  // the mean of the last step, of a force that changes by 60 N/s
  EXPECT_NEAR(joint(*sim, 0).impulse[0] / 2e-3, -force, 0.1);
}

TEST(NaturalThinBodies, RodsAndLaminaeAreTheLimitsOfBodiesWithTinyMoments) {
  const auto chain = [](const std::string& inertia) {
    return "bodies: [{name: one, mass: 1, inertia: " + inertia +
           ", position: [0.5, 0, 0], velocity: [0, 0.5, 0], angular_velocity: [0, 0, 1]}, {name: "
           "two, "
           "mass: 1, inertia: " +
           inertia +
           ", position: [1.5, 0, 0], velocity: [0, 1.5, 0], angular_velocity: [0, 0, 1]}]\njoints: "
           "[{name: a, type: spherical, between: [world, one], at: [0, 0, 0]}, {name: b, type: "
           "spherical, between: [one, two], at: [1, 0, 0]}]";
  };
  const auto end = [&](const std::string& inertia) {
    const auto sim = natural_run(chain(inertia), "1 ms");
    run_to(*sim, 1.0);
    return std::vector<Vec3>{body_of(*sim, 0).pose.p, body_of(*sim, 1).pose.p,
                             body_of(*sim, 1).twist.v};
  };
  const std::vector<Vec3> rod = end("[0, 0.08, 0.08]"), thin = end("[1e-8, 0.08, 0.08]"),
                          lamina = end("[0.03, 0.05, 0.08]"),
                          flat = end("[0.03, 0.05, 0.07999999]");
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_LT((rod[k] - thin[k]).norm(), 3e-6) << k;
    EXPECT_LT((lamina[k] - flat[k]).norm(), 3e-6) << k;
    EXPECT_GT((rod[k] - lamina[k]).norm(), 1e-3) << k;
  }
}

}  // namespace
}  // namespace catena::test
