// The stepper natural on small mechanisms beside closed forms and integrations of their own.
#include "catena/stepper/natural_stepper.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "catena/base/error.hpp"
#include "stepper/natural_run.hpp"

namespace catena::test {
namespace {

constexpr double kG = 9.81;

Mat3 cross(const Vec3& v) {
  Mat3 m;
  m << 0.0, -v.z(), v.y(), v.z(), 0.0, -v.x(), -v.y(), v.x(), 0.0;
  return m;
}

Vec3 three(const VectorX& y, int first) { return y.segment<3>(first); }
Quat quat(const VectorX& y, int first) {
  return Quat(y[first], y[first + 1], y[first + 2], y[first + 3]).normalized();
}
/// q' = omega q / 2.
Eigen::Vector4d quat_rate(const Quat& q, const Vec3& omega) {
  const Quat rate = Quat(0.0, omega.x(), omega.y(), omega.z()) * q;
  return 0.5 * Eigen::Vector4d(rate.w(), rate.x(), rate.y(), rate.z());
}

// ---- a pendulum: mass 2 kg at 0.5 m from its hinge along y, I = 0.1 kg m^2 about it

constexpr double kMass = 2.0, kArm = 0.5, kInertia = 0.1;
const char* const kPendulum =
    "bodies: [{name: arm, mass: 2, inertia: [0.2, 0.1, 0.15], position: [0.5, 0, 0]}]\n"
    "joints: [{name: hinge, type: revolute, between: [world, arm], at: [0, 0, 0], axis: [0, 1, "
    "0]}]";

/// Angle below the horizontal, from rest there, and its rate.
VectorX pendulum_at(double t) {
  const auto f = [](double, const VectorX& y) {
    VectorX d(2);
    d << y[1], kMass * kG * kArm * std::cos(y[0]) / (kInertia + kMass * kArm * kArm);
    return d;
  };
  return integrated(f, VectorX::Zero(2), t, 20000);
}

double pendulum_error(const std::string& step, const std::string& natural) {
  const auto sim = natural_run(kPendulum, step, natural);
  run_to(*sim, 2.0);
  const VectorX y = pendulum_at(2.0);
  const BodyMotionState& arm = body(*sim, 0);
  const Vec3 p(kArm * std::cos(y[0]), 0.0, -kArm * std::sin(y[0]));
  const Vec3 v(-kArm * std::sin(y[0]) * y[1], 0.0, -kArm * std::cos(y[0]) * y[1]);
  return std::max((arm.pose.p - p).norm(), (arm.twist.v - v).norm());
}

TEST(NaturalPendulum, Rk4HasOrderFour) {
  std::vector<double> errors;
  for (const char* h : {"20 ms", "10 ms", "5 ms"})
    errors.push_back(pendulum_error(h, "scheme: rk4"));
  for (const double order : orders(errors)) EXPECT_NEAR(order, 4.0, 0.4);
  EXPECT_LT(errors.back(), 1e-6);
}

TEST(NaturalPendulum, Dop853HasOrderEightInOneSubStep) {
  // tolerances that every sub-step meets
  std::vector<double> errors;
  for (const char* h : {"100 ms", "50 ms", "25 ms"})
    errors.push_back(
        pendulum_error(h, "scheme: dop853, relative_tolerance: 1, absolute_tolerance: 100"));
  std::printf("dop853 on a pendulum: %.2e %.2e %.2e\n", errors[0], errors[1], errors[2]);
  // errors change their signs on the way: the mean of two halvings
  EXPECT_GT(0.5 * std::log2(errors[0] / errors[2]), 7.0);
}

TEST(NaturalPendulum, Dop853IsAsGoodAsItsTolerance) {
  for (const double tolerance : {1e-5, 1e-8, 1e-11}) {
    char text[96];
    std::snprintf(text, sizeof text,
                  "scheme: dop853, relative_tolerance: %g, absolute_tolerance: %g", tolerance,
                  tolerance);
    const double error = pendulum_error("500 ms", text);
    std::printf("dop853 on a pendulum, tolerance %g: error %.2e\n", tolerance, error);
    EXPECT_LT(error, 20.0 * tolerance);
  }
}

TEST(NaturalPendulum, BothSchemesAgreeToRoundOffWhereBothAreFine) {
  EXPECT_LT(pendulum_error("1 ms", "scheme: rk4"), 2e-9);
  EXPECT_LT(pendulum_error("10 ms",
                           "scheme: dop853, relative_tolerance: 1e-13, "
                           "absolute_tolerance: 1e-13"),
            2e-12);
}

TEST(NaturalPendulum, ItsHingeCarriesWeightAndCentrifugalForce) {
  const auto sim = natural_run(kPendulum, "1 ms");
  Vec3 v = body(*sim, 0).twist.v;
  for (int i = 0; i < 400; ++i) {
    sim->step();
    // momentum: p = m (v1 - v0) - m g h, to the error of a step
    const Vec3 after = body(*sim, 0).twist.v;
    const Vec3 expected = kMass * (after - v) + Vec3(0.0, 0.0, kMass * kG * 1e-3);
    const auto& rows = joint(*sim, 0).impulse;
    EXPECT_LT((Vec3(rows[0], rows[1], rows[2]) - expected).norm(), 1e-11) << i;
    EXPECT_NEAR(rows[3], 0.0, 1e-14);
    EXPECT_NEAR(rows[4], 0.0, 1e-14);
    const JointReaction reaction = sim->stepper().joint_reaction(0);
    EXPECT_LT((reaction.impulse - expected).norm(), 1e-11);
    EXPECT_LT(reaction.couple.norm(), 1e-14);
    v = after;
  }
  // the middle of the last step, in closed form
  const VectorX y = pendulum_at(0.3995);
  const double c = std::cos(y[0]), s = std::sin(y[0]);
  const double turn = kMass * kG * kArm * c / (kInertia + kMass * kArm * kArm);
  const Vec3 acceleration = kArm * (turn * Vec3(-s, 0.0, -c) + y[1] * y[1] * Vec3(-c, 0.0, s));
  const Vec3 force = kMass * (acceleration + Vec3(0.0, 0.0, kG));
  const auto& rows = joint(*sim, 0).impulse;
  EXPECT_LT((Vec3(rows[0], rows[1], rows[2]) / 1e-3 - force).norm(), 1e-3);  // (h turn)^2 / 24
  // the arm turns about +y as it falls
  EXPECT_NEAR(joint(*sim, 0).angle[0], pendulum_at(0.4)[0], 1e-9);
  EXPECT_NEAR(sim->stepper().joint_coordinates(sim->bodies(), sim->state(), 0)[0],
              pendulum_at(0.4)[0], 1e-9);
}

TEST(NaturalPendulum, ItsEnergyAndItsHingeDriftWithTheStepAlone) {
  const auto sim = natural_run(kPendulum, "1 ms");
  const StepReport& r = run_to(*sim, 5.0);
  // of 10 J; 1e-12 m would be an error of the step, of which it has 1e-8 in 5 s
  EXPECT_LT(std::abs(r.energy_residual), 3e-8);
  EXPECT_EQ(r.audit[EnergyTerm::joint_work], 0.0);
  EXPECT_EQ(r.audit[EnergyTerm::motor_work], 0.0);
  EXPECT_LT(r.misfit.linear, 1e-10);
  EXPECT_LT(r.misfit.angular, 1e-10);
  EXPECT_GT(r.kinetic, 1.0);
  EXPECT_EQ(r.contacts, 0);
}

// ---- a spatial double pendulum of bodies turned anyhow

struct Link {
  double mass;
  Vec3 inertia;
  Quat q;
  Vec3 omega;
};

/// Both links hang on ball joints: the first at the origin, `b` from there to its centre of mass
/// and `l` to the next joint on its axes, the second `b` behind that.
struct DoublePendulum {
  std::array<Link, 2> link;
  std::array<Vec3, 2> b;
  Vec3 l;

  /// Centres of mass and their velocities at (q1, q2, omega1, omega2).
  std::array<Vec3, 4> places(const VectorX& y) const {
    const Quat q1 = quat(y, 0), q2 = quat(y, 4);
    const Vec3 w1 = three(y, 8), w2 = three(y, 11);
    const Vec3 r1 = q1 * b[0], e1 = q1 * l, r2 = q2 * b[1];
    return {r1, e1 + r2, w1.cross(r1), w1.cross(e1) + w2.cross(r2)};
  }
  VectorX start() const {
    VectorX y(14);
    for (int k = 0; k < 2; ++k) {
      const Link& one = link[static_cast<std::size_t>(k)];
      y.segment<4>(4 * k) << one.q.w(), one.q.x(), one.q.y(), one.q.z();
      y.segment<3>(8 + 3 * k) = one.omega;
    }
    return y;
  }
  VectorX rate(const VectorX& y) const {
    const std::array<Quat, 2> q = {quat(y, 0), quat(y, 4)};
    const std::array<Vec3, 2> w = {three(y, 8), three(y, 11)};
    const Vec3 r1 = q[0] * b[0], e1 = q[0] * l, r2 = q[1] * b[1];
    Eigen::Matrix<double, 3, 6> j1 = Eigen::Matrix<double, 3, 6>::Zero(), j2 = j1;
    j1.leftCols<3>() = -cross(r1);
    j2.leftCols<3>() = -cross(e1);
    j2.rightCols<3>() = -cross(r2);
    const Vec3 bias1 = w[0].cross(w[0].cross(r1));
    const Vec3 bias2 = w[0].cross(w[0].cross(e1)) + w[1].cross(w[1].cross(r2));
    const Vec3 g(0.0, 0.0, -kG);
    Eigen::Matrix<double, 6, 6> mass =
        link[0].mass * j1.transpose() * j1 + link[1].mass * j2.transpose() * j2;
    Eigen::Matrix<double, 6, 1> f =
        link[0].mass * j1.transpose() * (g - bias1) + link[1].mass * j2.transpose() * (g - bias2);
    for (int k = 0; k < 2; ++k) {
      const auto n = static_cast<std::size_t>(k);
      const Mat3 turn = q[n].toRotationMatrix();
      const Mat3 inertia = turn * link[n].inertia.asDiagonal() * turn.transpose();
      mass.block<3, 3>(3 * k, 3 * k) += inertia;
      f.segment<3>(3 * k) -= w[n].cross(inertia * w[n]);
    }
    VectorX d(14);
    d.segment<4>(0) = quat_rate(q[0], w[0]);
    d.segment<4>(4) = quat_rate(q[1], w[1]);
    d.tail<6>() = mass.ldlt().solve(f);
    return d;
  }
};

std::string text_of(const Vec3& v) {
  char text[96];
  std::snprintf(text, sizeof text, "[%.17g, %.17g, %.17g]", v.x(), v.y(), v.z());
  return text;
}
std::string text_of(const Quat& q) {
  char text[128];
  std::snprintf(text, sizeof text, "{quaternion: [%.17g, %.17g, %.17g, %.17g]}", q.w(), q.x(),
                q.y(), q.z());
  return text;
}
std::string text_of(const std::string& name, const Link& link, const Vec3& p, const Vec3& v) {
  return "{name: " + name + ", mass: " + std::to_string(link.mass) +
         ", inertia: " + text_of(link.inertia) + ", position: " + text_of(p) +
         ", orientation: " + text_of(link.q) + ", velocity: " + text_of(v) +
         ", angular_velocity: " + text_of(link.omega) + "}";
}

DoublePendulum some_double_pendulum() {
  DoublePendulum p;
  p.link[0] = {1.5, {0.05, 0.04, 0.03}, Quat(0.9, 0.2, -0.3, 0.25).normalized(), {1.0, -2.0, 3.0}};
  p.link[1] = {0.7, {0.02, 0.03, 0.015}, Quat(0.3, -0.7, 0.5, 0.4).normalized(), {-2.0, 1.5, 2.5}};
  p.b = {Vec3(0.2, -0.1, 0.15), Vec3(-0.1, 0.25, 0.05)};
  p.l = {0.35, -0.2, 0.3};
  return p;
}

std::string text_of(const DoublePendulum& p) {
  const std::array<Vec3, 4> at = p.places(p.start());
  const Vec3 middle = p.link[0].q * p.l;
  return "bodies: [" + text_of("one", p.link[0], at[0], at[2]) + ", " +
         text_of("two", p.link[1], at[1], at[3]) +
         "]\njoints: [{name: top, type: spherical, between: [world, one], at: [0, 0, 0]}, {name: "
         "middle, type: spherical, between: [one, two], at: " +
         text_of(middle) + "}]";
}

/// Largest of places, turns and spins.
double double_pendulum_error(const DoublePendulum& p, const VectorX& reference,
                             const std::string& step, const std::string& natural) {
  const auto sim = natural_run(text_of(p), step, natural);
  run_to(*sim, 0.8);
  const std::array<Vec3, 4> at = p.places(reference);
  double error = 0.0;
  for (int k = 0; k < 2; ++k) {
    const BodyMotionState& s = body(*sim, k);
    error = std::max(
        {error, (s.pose.p - at[static_cast<std::size_t>(k)]).norm(),
         (s.twist.v - at[static_cast<std::size_t>(k + 2)]).norm(),
         (s.twist.w - three(reference, 8 + 3 * k)).norm(),
         (s.pose.q.toRotationMatrix() - quat(reference, 4 * k).toRotationMatrix()).norm()});
  }
  return error;
}

TEST(NaturalDoublePendulum, ConvergesToMinimalCoordinatesWithTheOrdersOfItsSchemes) {
  const DoublePendulum p = some_double_pendulum();
  const VectorX end =
      integrated([&](double, const VectorX& y) { return p.rate(y); }, p.start(), 0.8, 8000);
  std::vector<double> rk4, dop853;
  for (const char* h : {"4 ms", "2 ms", "1 ms"})
    rk4.push_back(double_pendulum_error(p, end, h, "scheme: rk4"));
  for (const char* h : {"25 ms", "12.5 ms", "6.25 ms"})
    dop853.push_back(double_pendulum_error(
        p, end, h, "scheme: dop853, relative_tolerance: 1, absolute_tolerance: 1e3"));
  std::printf("double pendulum: rk4 %.2e %.2e %.2e, dop853 %.2e %.2e %.2e\n", rk4[0], rk4[1],
              rk4[2], dop853[0], dop853[1], dop853[2]);
  for (const double order : orders(rk4)) EXPECT_NEAR(order, 4.0, 0.4);
  EXPECT_GT(0.5 * std::log2(dop853[0] / dop853[2]), 7.0);
  EXPECT_LT(double_pendulum_error(p, end, "20 ms", "scheme: dop853"), 1e-8);
}

TEST(NaturalDoublePendulum, KeepsItsEnergyAndItsBallsCarryItsWeight) {
  const DoublePendulum p = some_double_pendulum();
  const auto sim = natural_run(text_of(p), "1 ms");
  Vec3 before = Vec3::Zero();
  for (int k = 0; k < 2; ++k)
    before += p.link[static_cast<std::size_t>(k)].mass * body(*sim, k).twist.v;
  for (int i = 0; i < 200; ++i) {
    const StepReport& r = sim->step();
    EXPECT_LT(std::abs(r.energy_residual), 1e-8);
    EXPECT_LT(r.misfit.linear, 1e-9);
    // on both together: m1 dv1 + m2 dv2 = top + weight h; on the second: m2 dv2 = middle + its own
    const auto& top = joint(*sim, 0).impulse;
    const Vec3 weight(0.0, 0.0, -(1.5 + 0.7) * kG * 1e-3);
    EXPECT_LT((r.linear_momentum - before - weight - Vec3(top[0], top[1], top[2])).norm(), 1e-10);
    before = r.linear_momentum;
  }
}

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
      const BodyMotionState& s = body(*sim, 0);
      errors.push_back((s.twist.w - three(end, 4)).norm() +
                       (s.pose.q.toRotationMatrix() - quat(end, 0).toRotationMatrix()).norm());
      EXPECT_LT(std::abs(r.energy_residual), 1e-3);
      EXPECT_GT(std::abs(r.audit[EnergyTerm::external_work]), 0.1);
    }
    EXPECT_NEAR(orders(errors)[0], 4.0, 0.7) << inertia.transpose();
    const auto sim = natural_run(text, "50 ms", "scheme: dop853");
    const StepReport& r = run_to(*sim, 2.0);
    EXPECT_LT((body(*sim, 0).twist.w - three(end, 4)).norm(), 1e-8) << inertia.transpose();
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
    EXPECT_LT((body(*sim, 0).pose.p - p - 5.0 * v).norm(), 1e-11);
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
  EXPECT_LT((body(*turning, 0).twist.v - v).norm(), 1e-6);
  EXPECT_NEAR(r.audit[EnergyTerm::external_work], v.squaredNorm(), 3e-6);  // m v^2 / 2, m = 2

  // along x whatever the body does, ramped up in 0.5 s: v = (t - 0.25) F/m after that
  const auto ramped = natural_run(
      body_text +
          "forces: [{name: push, type: force, body: top, force: [6, 0, 0], table: {rows: "
          "[[0, 0], [0.5, 1]]}}]",
      "10 ms");
  run_to(*ramped, 1.0);
  EXPECT_LT((body(*ramped, 0).twist.v - Vec3(2.25, 0.0, 0.0)).norm(), 1e-12);

  // at (0, 0.5, 0) it turns the body, too, at rest along x: torque -3 N m about z
  const auto eccentric = natural_run(
      "gravity: [0, 0, 0]\nbodies: [{name: top, mass: 2, inertia: [0.3, 0.5, 0.4]}]\nforces: "
      "[{name: push, type: force, body: top, force: [6, 0, 0], at: [0, 0.5, 0], frame: body}]",
      "1 ms");
  const StepReport& e = run_to(*eccentric, 0.2);
  EXPECT_NEAR(body(*eccentric, 0).twist.w.z(), -0.2 * 3.0 / 0.4, 1e-10);
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
    errors.push_back(std::abs(body(*sim, 0).pose.p.x() - x(2.0)));
    EXPECT_LT(std::abs(r.energy_residual), 1e-4);
    // energy starts in the spring: what it gave is what the mass has
    EXPECT_NEAR(r.audit[EnergyTerm::joint_work], r.kinetic, 1e-4);
  }
  for (const double order : orders(errors)) EXPECT_NEAR(order, 4.0, 0.4);
  EXPECT_LT(errors.back(), 1e-8);

  // force on the car in one step, N s
  const auto sim = natural_run(text, "5 ms");
  sim->step();
  EXPECT_NEAR(joint(*sim, 1).impulse[0], 2.0 * body(*sim, 0).twist.v.x(), 1e-10);
  EXPECT_NEAR(sim->stepper().joint_reaction(1).impulse.x(), 2.0 * body(*sim, 0).twist.v.x(), 1e-10);
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

// ---- what drives

/// Crank of 0.2 m, rod of 0.6 m without moment along it, slider on x.
std::string slider_crank(const std::string& motor) {
  return "gravity: [0, 0, 0]\nbodies:\n"
         "  - {name: crank, mass: 1, inertia: [0.01, 0.02, 0.03], position: [0.1, 0, 0]}\n"
         "  - {name: rod, mass: 0.8, inertia: [0, 0.024, 0.024], position: [0.5, 0, 0]}\n"
         "  - {name: slider, mass: 1.5, inertia: [0.01, 0.01, 0.01], position: [0.8, 0, 0]}\n"
         "joints:\n"
         "  - {name: axle, type: revolute, between: [world, crank], at: [0, 0, 0], axis: [0, 0, "
         "1], "
         "motor: {" +
         motor +
         "}}\n"
         "  - {name: pin, type: spherical, between: [crank, rod], at: [0.2, 0, 0]}\n"
         "  - {name: end, type: spherical, between: [rod, slider], at: [0.8, 0, 0]}\n"
         "  - {name: guide, type: prismatic, between: [world, slider], at: [0, 0, 0], axis: [1, 0, "
         "0]}\n";
}

struct CrankState {
  double x, v, energy, power;  ///< of the slider; kinetic energy of all and its rate
};

/// At crank angle `a` turning at `w`.
CrankState crank_at(double a, double w) {
  constexpr double r = 0.2, l = 0.6;
  const auto at = [&](double angle) {
    const double s = std::sin(angle), c = std::cos(angle);
    const double root = std::sqrt(l * l - r * r * s * s);
    const double x = r * c + root, v = w * (-r * s - r * r * s * c / root);
    // the rod leads from (r c, r s) to (x, 0): its turn from sin b = r s / l
    const double turn = -w * r * c / root;
    const Vec3 middle(0.5 * (-r * s * w + v), 0.5 * r * c * w, 0.0);
    const double energy = 0.5 * (0.03 + 0.01) * w * w + 0.5 * 0.8 * middle.squaredNorm() +
                          0.5 * 0.024 * turn * turn + 0.5 * 1.5 * v * v;
    return CrankState{x, v, energy, 0.0};
  };
  CrankState now = at(a);
  const double d = 1e-5;
  now.power = w * (at(a + d).energy - at(a - d).energy) / (2.0 * d);
  return now;
}

TEST(NaturalDriver, ACrankThatIsDrivenMovesItsSliderAsInClosedForm) {
  for (const bool position : {true, false}) {
    const std::string text =
        slider_crank(position ? "position: 1, table: {rows: [[0, 0], [10, 70]]}" : "velocity: 7");
    std::vector<double> errors;
    for (const char* h : {"8 ms", "4 ms", "2 ms"}) {
      const auto sim = natural_run(text, h);
      const StepReport& r = run_to(*sim, 1.2);
      const CrankState end = crank_at(7.0 * 1.2, 7.0);
      const BodyMotionState& slider = body(*sim, 2);
      errors.push_back(
          std::max(std::abs(slider.pose.p.x() - end.x), std::abs(slider.twist.v.x() - end.v)));
      // the motor gave all the energy that there is, that of the start included
      EXPECT_LT(std::abs(r.energy_residual), position ? 1e-4 : 1e-3) << h;
      EXPECT_NEAR(r.audit[EnergyTerm::motor_work], end.energy, 1e-3) << h;
      EXPECT_NEAR(r.audit[EnergyTerm::joint_work], 0.0, 1e-14);
    }
    for (const double order : orders(errors)) EXPECT_GT(order, 3.5) << position;
    EXPECT_LT(errors.back(), 1e-7);
  }
}

TEST(NaturalDriver, ItsMultiplierIsTheTorqueThatTheMotorGives) {
  for (const bool position : {true, false}) {
    const auto sim = natural_run(
        slider_crank(position ? "position: 1, table: {rows: [[0, 0], [10, 70]]}" : "velocity: 7"),
        "1 ms");
    for (int i = 0; i < 500; ++i) {
      sim->step();
      const double middle = (i + 0.5) * 1e-3;
      const double torque = crank_at(7.0 * middle, 7.0).power / 7.0;
      // the first step holds the impact by which the motor starts
      if (i == 0) continue;
      EXPECT_NEAR(joint(*sim, 0).impulse[5] / 1e-3, torque, 1e-3) << i;
    }
  }
}

TEST(NaturalDriver, TablesWithKinksAreFollowedFromStepToStep) {
  // a guide driven 0, up, down: the speed jumps at 0.1 and 0.2 s
  const std::string text =
      "gravity: [0, 0, 0]\nbodies: [{name: car, mass: 2, inertia: [0.1, 0.1, 0.1]}]\njoints: "
      "[{name: "
      "guide, type: prismatic, between: [world, car], at: [0, 0, 0], axis: [1, 0, 0], motor: "
      "{position: 1, table: {rows: [[0, 0], [0.1, 0], [0.2, 0.3], [0.4, 0]]}}}]";
  const auto sim = natural_run(text, "10 ms");
  const auto x = [](double t) {
    return t < 0.1 ? 0.0 : (t < 0.2 ? 3.0 * (t - 0.1) : (t < 0.4 ? 0.3 - 1.5 * (t - 0.2) : 0.0));
  };
  for (int i = 1; i <= 50; ++i) {
    const StepReport& r = sim->step();
    EXPECT_NEAR(body(*sim, 0).pose.p.x(), x(0.01 * i), 1e-12) << i;
    EXPECT_LT(std::abs(r.energy_residual), 1e-10) << i;
  }
}

TEST(NaturalDriver, TablesWithKinksInsideStepsKeepTheOrder) {
  // a pendulum's base is driven at 0, 3 and -1.5 m/s, its arm pushed by a ramp; no row of the
  // tables is a multiple of the step
  const std::string text =
      "bodies:\n"
      "  - {name: car, mass: 2, inertia: [0.1, 0.1, 0.1]}\n"
      "  - {name: arm, mass: 1, inertia: [0.02, 0.03, 0.025], position: [0, 0, -0.4]}\n"
      "joints:\n"
      "  - {name: guide, type: point_on_line, between: [world, car], at: [0, 0, 0], axis: [1, 0, "
      "0], "
      "motor: {position: 1, table: {rows: [[0, 0], [0.1033, 0], [0.2057, 0.3072], [0.4, "
      "0.01575]]}}}\n"
      "  - {name: pin, type: revolute, between: [car, arm], at: [0, 0, 0], axis: [0, 1, 0]}\n"
      "forces: [{name: push, type: force, body: arm, force: [5, 0, 0], table: {rows: [[0.0511, 0], "
      "[0.1777, 1], [0.2999, 0]]}}]";
  // the base's speed jumps, and with it the arm's turn: I' jump = -m l dv
  constexpr double l = 0.4, all = 0.03 + l * l;
  const auto force = [](double t) {
    if (t < 0.0511 || t > 0.2999) return 0.0;
    return 5.0 * (t < 0.1777 ? (t - 0.0511) / 0.1266 : (0.2999 - t) / 0.1222);
  };
  VectorX y = VectorX::Zero(2);
  double from = 0.0, speed = 0.0;
  for (const auto& [to, next] : std::vector<std::array<double, 2>>{{0.0511, 0.0},
                                                                   {0.1033, 3.0},
                                                                   {0.1777, 3.0},
                                                                   {0.2057, -1.5},
                                                                   {0.2999, -1.5},
                                                                   {0.36, 0.0}}) {
    const auto f = [&, start = from](double t, const VectorX& x) {
      VectorX d(2);
      d << x[1], (-kG * l * std::sin(x[0]) + force(start + t) * l * std::cos(x[0])) / all;
      return d;
    };
    y = integrated(f, y, to - from, 2000);
    from = to;
    if (to == 0.36) break;
    y[1] -= l * std::cos(y[0]) * (next - speed) / all;
    speed = next;
  }
  const double base = 0.3072 - 1.5 * (0.36 - 0.2057);
  const Vec3 p(base + l * std::sin(y[0]), 0.0, -l * std::cos(y[0]));
  std::vector<double> errors;
  for (const char* h : {"20 ms", "10 ms", "5 ms"}) {
    const auto sim = natural_run(text, h);
    const StepReport& r = run_to(*sim, 0.36);
    EXPECT_NEAR(body(*sim, 0).pose.p.x(), base, 1e-12);
    errors.push_back((body(*sim, 1).pose.p - p).norm());
    EXPECT_LT(std::abs(r.energy_residual), 1e-3);
  }
  for (const double order : orders(errors)) EXPECT_GT(order, 3.3);
  EXPECT_LT(errors.back(), 1e-6);
  const auto sim = natural_run(text, "30 ms", "scheme: dop853");
  run_to(*sim, 0.36);
  EXPECT_LT((body(*sim, 1).pose.p - p).norm(), 1e-8);
  EXPECT_LT(sim->stepper().report().solve.iterations, 20);
}

TEST(NaturalDriver, BothAnglesOfAUniversalJointFollowTheirMotors) {
  const std::string text =
      "bodies: [{name: shaft, mass: 1, inertia: [0.1, 0.2, 0.15], position: [0.3, 0.2, "
      "0.1]}]\njoints: "
      "[{name: cross, type: universal, between: [world, shaft], at: [0, 0, 0], axis: [0, 0, 1], "
      "axis_b: "
      "[1, 0, 0], motor: {velocity: 1, table: {rows: [[0, 0], [2, 6]]}}, second: {motor: "
      "{position: "
      "1, table: {rows: [[0, 0], [2, 3]]}}}}]";
  const auto sim = natural_run(text, "2 ms");
  const StepReport& r = run_to(*sim, 1.0);
  EXPECT_NEAR(joint(*sim, 0).angle[0], 1.5, 1e-9);
  EXPECT_NEAR(joint(*sim, 0).angle[1], 1.5, 1e-9);
  EXPECT_LT(std::abs(r.energy_residual), 1e-4);
  EXPECT_GT(std::abs(r.audit[EnergyTerm::motor_work]), 0.1);
}

TEST(NaturalDriver, APendulumOnAShakenBaseSwingsAsItsEquationSays) {
  // hinge at x = 0.1 (sin(2 pi 1.5 t + 0.4) - sin 0.4)
  const std::string text =
      "bodies:\n"
      "  - {name: base, motion: {harmonics: [{amplitude: [0.1, 0, 0], frequency: 1.5, phase: "
      "0.4}]}}\n"
      "  - {name: arm, mass: 2, inertia: [0.2, 0.1, 0.15], position: [0, 0, -0.5]}\n"
      "joints: [{name: hinge, type: revolute, between: [base, arm], at: [0, 0, 0], axis: [0, 1, "
      "0]}]";
  const double nu = 2.0 * M_PI * 1.5, all = kInertia + kMass * kArm * kArm;
  const auto base_speed = [&](double t) { return 0.1 * nu * std::cos(nu * t + 0.4); };
  const auto f = [&](double t, const VectorX& y) {
    const double shake = -0.1 * nu * nu * std::sin(nu * t + 0.4);
    VectorX d(2);
    d << y[1], -kMass * kArm * (kG * std::sin(y[0]) + shake * std::cos(y[0])) / all;
    return d;
  };
  // the start: at rest but for the base, whose speed the hinge gives it at its own place
  VectorX y(2);
  y << 0.0, -kMass * kArm * base_speed(0.0) / all;
  const VectorX end = integrated(f, y, 2.0, 20000);
  std::vector<double> errors, residuals;
  for (const char* h : {"10 ms", "5 ms", "2.5 ms"}) {
    const auto sim = natural_run(text, h);
    const StepReport& r = run_to(*sim, 2.0);
    const BodyMotionState& arm = body(*sim, 1);
    const double base = 0.1 * (std::sin(nu * 2.0 + 0.4) - std::sin(0.4));
    const Vec3 p(base + kArm * std::sin(end[0]), 0.0, -kArm * std::cos(end[0]));
    errors.push_back(std::max((arm.pose.p - p).norm(), std::abs(-arm.twist.w.y() - end[1])));
    residuals.push_back(std::abs(r.energy_residual));
    EXPECT_GT(std::abs(r.audit[EnergyTerm::external_work]), 0.1);
    EXPECT_EQ(r.audit[EnergyTerm::motor_work], 0.0);
  }
  std::printf("shaken pendulum: errors %.2e %.2e %.2e, energy %.2e %.2e %.2e J\n", errors[0],
              errors[1], errors[2], residuals[0], residuals[1], residuals[2]);
  for (const double order : orders(errors)) EXPECT_NEAR(order, 4.0, 0.5);
  // work by the mean speed of a step: second order
  for (const double order : orders(residuals)) EXPECT_GT(order, 1.7);
}

TEST(NaturalDriver, ASpringToAMovingBaseDoesItsWork) {
  // the base goes at 0.5 m/s: in its frame the mass swings from -0.5 m/s
  const std::string text =
      "gravity: [0, 0, 0]\nbodies:\n"
      "  - {name: base, motion: {velocity: [0.5, 0, 0]}}\n"
      "  - {name: car, mass: 2, inertia: [0.1, 0.1, 0.1], position: [1, 0, 0]}\n"
      "forces: [{name: spring, type: spring, between: [base, car], at: [[0, 0, 0], [1, 0, 0]], "
      "stiffness: 50, length: 1}]";
  const auto sim = natural_run(text, "5 ms");
  const StepReport& r = run_to(*sim, 1.0);
  EXPECT_NEAR(body(*sim, 1).pose.p.x(), 1.5 - 0.1 * std::sin(5.0), 1e-7);
  EXPECT_LT(std::abs(r.energy_residual), 1e-6);
  const double swing = -0.5 * std::cos(5.0), stretch = -0.1 * std::sin(5.0);
  // spring and base together: the spring holds k d^2 / 2 of what the base gave
  const double kinetic = 0.5 * 2.0 * (0.5 + swing) * (0.5 + swing);
  EXPECT_NEAR(r.audit[EnergyTerm::joint_work], -0.5 * 50.0 * stretch * stretch, 1e-6);
  EXPECT_NEAR(r.audit[EnergyTerm::external_work], kinetic + 0.5 * 50.0 * stretch * stretch, 1e-6);
}

TEST(NaturalDriver, APointOnATurntableHangsOutwardAsItsPlaceAsks) {
  // hung at 0.5 m from the axis on a line of 0.8 m at 2.5 rad/s: tan a = w^2 (0.5 + 0.8 sin a) / g
  constexpr double w = 2.5;
  double a = 0.0;
  for (int i = 0; i < 200; ++i) a = std::atan(w * w * (0.5 + 0.8 * std::sin(a)) / kG);
  const double r = 0.5 + 0.8 * std::sin(a), z = -0.8 * std::cos(a);
  char text[600];
  std::snprintf(
      text, sizeof text,
      "bodies:\n  - {name: table, position: [0.2, -0.1, 0], motion: {angular_velocity: [0, 0, "
      "2.5], about: [0, 0, 0]}}\n  - {name: bob, mass: 3, inertia: [0, 0, 0], position: "
      "[%.17g, 0, %.17g], velocity: [0, %.17g, 0]}\njoints: [{name: line, type: distance, "
      "between: [table, bob], at: [[0.5, 0, 0], [%.17g, 0, %.17g]]}]",
      r, z, w * r, r, z);
  const auto sim = natural_run(text, "2 ms");
  const StepReport& report = run_to(*sim, 2.0);
  const Vec3 out(std::cos(2.0 * w), std::sin(2.0 * w), 0.0);
  EXPECT_LT((body(*sim, 1).pose.p - Vec3(r * out + z * Vec3::UnitZ())).norm(), 1e-8);
  EXPECT_NEAR(joint(*sim, 0).impulse[0] / 2e-3, -3.0 * kG / std::cos(a), 1e-6);
  // the table does no work on the bob, and holds it by its end
  EXPECT_LT(std::abs(report.energy_residual), 1e-8);
  EXPECT_LT(std::abs(report.audit[EnergyTerm::external_work]), 1e-8);
  const Vec3 pull = sim->stepper().joint_reaction(0).impulse / 2e-3;
  EXPECT_LT(
      (pull - (3.0 * kG / std::cos(a)) * Vec3(-std::sin(a) * out + std::cos(a) * Vec3::UnitZ()))
          .norm(),
      0.1);
}

// ---- nonholonomic

TEST(NaturalKnifeEdge, ChaplyginsSleighTurnsAsInClosedForm) {
  // centre of mass 0.3 m ahead of the edge; v along the edge, omega: v' = a omega^2,
  // omega' = -(a / k^2) v omega, k^2 = I/m + a^2: v = c tanh s, k omega = c sech s, s' = a c / k^2
  constexpr double a = 0.3, m = 2.0, inertia = 0.1;
  const double k2 = inertia / m + a * a, k = std::sqrt(k2);
  const double c = 1.5, s0 = -1.2;
  const auto gd = [](double s) { return 2.0 * std::atan(std::tanh(0.5 * s)); };
  const double v0 = c * std::tanh(s0), w0 = c / (k * std::cosh(s0));
  char text[700];
  std::snprintf(
      text, sizeof text,
      "gravity: [0, 0, 0]\nbodies: [{name: sleigh, mass: 2, inertia: [0.05, 0.06, 0.1], "
      "position: [0.3, 0, 0], velocity: [%.17g, %.17g, 0], angular_velocity: [0, 0, "
      "%.17g]}]\njoints: [{name: edge, type: knife_edge, between: [world, sleigh], at: [0, "
      "0, 0], axis_b: [0, 1, 0]}, {name: ice, type: planar, between: [world, sleigh], at: "
      "[0, 0, 0], axis: [0, 0, 1]}]",
      v0, a * w0, w0);
  std::vector<double> errors;
  for (const char* h : {"20 ms", "10 ms", "5 ms"}) {
    const auto sim = natural_run(text, h);
    const StepReport& r = run_to(*sim, 2.0);
    const double s = s0 + a * c / k2 * 2.0;
    const double heading = k / a * (gd(s) - gd(s0));
    const BodyMotionState& body_now = body(*sim, 0);
    const Vec3 along(std::cos(heading), std::sin(heading), 0.0), left(-along.y(), along.x(), 0.0);
    const double w = c / (k * std::cosh(s));
    const Vec3 v = c * std::tanh(s) * along + a * w * left;
    errors.push_back(std::max({(body_now.twist.v - v).norm(), std::abs(body_now.twist.w.z() - w),
                               (body_now.pose.q * Vec3::UnitX() - along).norm()}));
    EXPECT_LT(std::abs(r.energy_residual), 1e-4);
  }
  for (const double order : orders(errors)) EXPECT_NEAR(order, 4.0, 0.5);
  EXPECT_LT(errors.back(), 1e-7);
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
  EXPECT_LT((body(*sim, 0).pose.p - p).norm(), 1e-8);
  EXPECT_EQ(body(*sim, 0).twist.w.norm(), 0.0);
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
    return std::vector<Vec3>{body(*sim, 0).pose.p, body(*sim, 1).pose.p, body(*sim, 1).twist.v};
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

// ---- all joints at once

TEST(NaturalMechanism, OfAllJointsKeepsItsMomentaAndAccountsForItsEnergy) {
  const auto fine = natural_run(
      kAllJoints, "5 ms", "scheme: dop853, relative_tolerance: 1e-12, absolute_tolerance: 1e-12");
  const StepReport first = fine->step();  // what the start loses is known after it
  const StepReport& r = run_to(*fine, 0.5);
  EXPECT_LT((r.linear_momentum - first.linear_momentum).norm(), 1e-11);
  EXPECT_LT((r.angular_momentum - first.angular_momentum).norm(), 1e-9);
  EXPECT_LT(std::abs(r.energy_residual), 1e-9);
  EXPECT_LT(r.misfit.linear, 1e-10);
  EXPECT_LT(r.misfit.angular, 1e-10);
  EXPECT_GT(std::abs(r.audit[EnergyTerm::joint_work] - first.audit[EnergyTerm::joint_work]), 0.05);

  std::vector<double> errors;
  for (const char* h : {"5 ms", "2.5 ms", "1.25 ms"}) {
    const auto sim = natural_run(kAllJoints, h);
    const StepReport& coarse = run_to(*sim, 0.5);
    double error = 0.0;
    for (GlobalId id = 0; id < 10; ++id) {
      error = std::max(error, (body(*sim, id).pose.p - body(*fine, id).pose.p).norm());
      error = std::max(error, (body(*sim, id).twist.w - body(*fine, id).twist.w).norm());
    }
    errors.push_back(error);
    EXPECT_LT((coarse.linear_momentum - first.linear_momentum).norm(), 1e-11);
  }
  std::printf("all joints: %.2e %.2e %.2e\n", errors[0], errors[1], errors[2]);
  for (const double order : orders(errors)) EXPECT_NEAR(order, 4.0, 0.5);
  for (GlobalId id = 0; id < 8; ++id) EXPECT_NEAR(body(*fine, id).pose.q.norm(), 1.0, 1e-14);
}

/// Momenta of a body about its centre of mass.
struct Momenta {
  Vec3 linear, angular;
};
Momenta momenta(const Simulation& sim, GlobalId id) {
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i) {
    const BodyConstants& c = sim.bodies().constants[i];
    if (c.id != id) continue;
    const BodyMotionState& s = sim.state().body[i];
    const Vec3 own = s.pose.q.conjugate() * s.twist.w;
    return {c.mass * s.twist.v, s.pose.q * (c.inertia.asDiagonal() * own)};
  }
  throw std::logic_error("no such body");
}

/// How far the bodies' changes of momenta in one step are from impulses and couples of joints and
/// springs, taken at the middle of the step.
double unexplained(const char* step, double& largest) {
  const auto sim = natural_run(kAllJoints, step);
  run_to(*sim, 0.1);
  std::array<Momenta, 10> change;
  std::array<BodyMotionState, 10> before;
  for (GlobalId id = 0; id < 10; ++id) {
    before[static_cast<std::size_t>(id)] = body(*sim, id);
    change[static_cast<std::size_t>(id)] = momenta(*sim, id);
  }
  sim->step();
  largest = 0.0;
  for (GlobalId id = 0; id < 10; ++id) {
    const Momenta now = momenta(*sim, id);
    Momenta& of = change[static_cast<std::size_t>(id)];
    of = {now.linear - of.linear, now.angular - of.angular};
    largest = std::max({largest, of.linear.norm(), of.angular.norm()});
  }
  for (std::size_t j = 0; j < sim->bodies().joints.size(); ++j) {
    const JointConstants& c = sim->bodies().joints[j];
    const JointReaction reaction = sim->stepper().joint_reaction(j);
    const BodyMotionState& b = body(*sim, c.body[1]);
    const BodyMotionState& b0 = before[static_cast<std::size_t>(c.body[1])];
    const Vec3 p_b =
        0.5 * (b.pose.p + b.pose.q * c.frame[1].p + b0.pose.p + b0.pose.q * c.frame[1].p);
    for (std::size_t s = 0; s < 2; ++s) {
      const double sign = s == 1 ? 1.0 : -1.0;
      const auto n = static_cast<std::size_t>(c.body[s]);
      const Vec3 x = 0.5 * (body(*sim, c.body[s]).pose.p + before[n].pose.p);
      change[n].linear -= sign * reaction.impulse;
      change[n].angular -= sign * (reaction.couple + (p_b - x).cross(reaction.impulse));
    }
  }
  double worst = 0.0;
  for (const Momenta& left : change)
    worst = std::max({worst, left.linear.norm(), left.angular.norm()});
  return worst;
}

TEST(NaturalMechanism, ItsReactionsAreWhatItsBodiesMomentaAskFor) {
  // directions are those of the step's end, multipliers sums over it: off by h^2
  double largest = 0.0;
  const double coarse = unexplained("1 ms", largest), fine = unexplained("0.25 ms", largest);
  EXPECT_LT(fine, 0.02 * largest);
  EXPECT_NEAR(std::log(coarse / fine) / std::log(4.0), 2.0, 0.3);
}

// ---- loops with redundant rows

TEST(NaturalLoops, AParallelogramOfHingesIsAPendulumAndItsRedundantRowsAreNamed) {
  // cranks of 0.4 m, coupler of 1 m; three rows hang on others
  const std::string text =
      "bodies:\n"
      "  - {name: left, mass: 1, inertia: [0.02, 0.02, 0.02], position: [0.2, 0, 0]}\n"
      "  - {name: right, mass: 1, inertia: [0.02, 0.02, 0.02], position: [0.2, 0, -1]}\n"
      "  - {name: bar, mass: 3, inertia: [0.3, 0.3, 0.03], position: [0.4, 0, -0.5]}\n"
      "joints:\n"
      "  - {name: a, type: revolute, between: [world, left], at: [0, 0, 0], axis: [0, 1, 0]}\n"
      "  - {name: b, type: revolute, between: [world, right], at: [0, 0, -1], axis: [0, 1, 0]}\n"
      "  - {name: c, type: revolute, between: [left, bar], at: [0.4, 0, 0], axis: [0, 1, 0]}\n"
      "  - {name: d, type: revolute, between: [bar, right], at: [0.4, 0, -1], axis: [0, 1, 0]}\n";
  const double all = 2.0 * (0.02 + 0.04) + 3.0 * 0.16, weight = (2.0 * 0.2 + 3.0 * 0.4) * kG;
  const auto f = [&](double, const VectorX& y) {
    VectorX d(2);
    d << y[1], weight * std::cos(y[0]) / all;
    return d;
  };
  // short of the position in line
  const VectorX end = integrated(f, VectorX::Zero(2), 0.25, 5000);
  ASSERT_LT(end[0], 1.5);
  const Vec3 p(0.4 * std::cos(end[0]), 0.0, -0.5 - 0.4 * std::sin(end[0]));
  std::vector<double> errors;
  for (const char* h : {"10 ms", "5 ms"}) {
    const auto sim = natural_run(text, h);
    const StepReport& r = run_to(*sim, 0.25);
    errors.push_back((body(*sim, 2).pose.p - p).norm());
    EXPECT_EQ(r.solve.joints.redundant.size(), 3U);
    EXPECT_LT(std::abs(r.energy_residual), 1e-4);
  }
  EXPECT_NEAR(orders(errors)[0], 4.0, 0.5);
  EXPECT_LT(errors.back(), 1e-6);
}

// ---- the first step

TEST(NaturalStart, VelocitiesThatJointsDoNotAllowMeetInAPlasticImpact) {
  // two equal balls with arms that meet, one moving: together they keep the momenta
  const std::string text =
      "gravity: [0, 0, 0]\nbodies:\n"
      "  - {name: a, mass: 1, inertia: [0.1, 0.1, 0.1], position: [-0.5, 0, 0]}\n"
      "  - {name: b, mass: 1, inertia: [0.1, 0.1, 0.1], position: [0.5, 0, 0], velocity: [0, 2, "
      "0]}\n"
      "joints: [{name: ball, type: spherical, between: [a, b], at: [0, 0, 0]}]";
  const auto sim = natural_run(text, "0.01 ms");
  const StepReport& r = sim->step();
  // impulse p along y on a, -p on b at the joint: both ends get p (1/m + l^2/I), twice that stops 2
  const double p = 2.0 / (2.0 * (1.0 + 0.25 / 0.1));
  EXPECT_NEAR(body(*sim, 0).twist.v.y(), p, 1e-4);
  EXPECT_NEAR(body(*sim, 1).twist.v.y(), 2.0 - p, 1e-4);
  EXPECT_NEAR(body(*sim, 0).twist.w.z(), 0.5 * p / 0.1, 1e-4);
  EXPECT_NEAR(body(*sim, 1).twist.w.z(), 0.5 * p / 0.1, 1e-4);
  EXPECT_LT((r.linear_momentum - Vec3(0.0, 2.0, 0.0)).norm(), 1e-12);
  EXPECT_NEAR(r.angular_momentum.z(), 1.0, 1e-10);
  // what is lost is work of the joint
  EXPECT_NEAR(r.kinetic, 2.0 - 0.5 * p * 2.0, 1e-8);
  EXPECT_NEAR(r.audit[EnergyTerm::joint_work], -p, 1e-8);
  EXPECT_LT(std::abs(r.energy_residual), 1e-10);
  // the impulse on b is that of the step
  EXPECT_NEAR(joint(*sim, 0).impulse[1], -p, 1e-4);
}

TEST(NaturalStart, MisfitsOfTheStartFadeAtTheRateOfBaumgarte) {
  // placed 4e-7 m off
  const std::string text =
      "gravity: [0, 0, 0]\nbodies: [{name: bob, mass: 3, inertia: [0, 0, 0], position: [0.8, 0, "
      "0]}]\n"
      "joints: [{name: line, type: distance, between: [world, bob], at: [[0, 0, 0], [0.8, 0, 0]], "
      "length: 0.8000004}]";
  for (const double alpha : {0.0, 2.0, 8.0}) {
    const auto sim = natural_run(text, "10 ms", "baumgarte: " + std::to_string(alpha));
    const StepReport& r = run_to(*sim, 0.5);
    EXPECT_NEAR(r.misfit.linear, 4e-7 * std::exp(-0.5 * alpha), 1e-12) << alpha;
  }
}

// ---- what is refused

std::string refusal(const std::string& text, int steps) {
  try {
    const auto sim = natural_run(text, "1 ms");
    for (int i = 0; i < steps; ++i) sim->step();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::bad_input);
    EXPECT_FALSE(e.fix().empty());
    return e.found();
  }
  return "";
}

TEST(NaturalRefusals, ContactsStopTheRunWhenTheyComeUp) {
  // 0.0105 m apart, closing at 2 m/s: in touch in the sixth millisecond
  const auto balls = [](const std::string& collide) {
    return "materials: {m: {density: 1000}}\ngravity: [0, 0, 0]\nbodies: [{name: a, material: m, "
           "shape: "
           "{sphere: {radius: 0.1}}, velocity: [2, 0, 0]}, {name: b, material: m, shape: {sphere: "
           "{radius: 0.1}}, position: [0.2105, 0, 0]" +
           collide + "}]";
  };
  EXPECT_EQ(refusal(balls(""), 6), "");
  EXPECT_EQ(refusal(balls(""), 7),
            "bodies a and b touch at t = 0.006 s, and natural coordinates know no contacts");
  EXPECT_EQ(refusal(balls(", collide: false"), 100), "");
}

TEST(NaturalRefusals, MotorsThatContradictEachOtherAreNamed) {
  const auto hinges = [](const std::string& second) {
    return "bodies: [{name: arm, mass: 2, inertia: [0.2, 0.1, 0.15], position: [0.5, 0, "
           "0]}]\njoints: "
           "[{name: one, type: revolute, between: [world, arm], at: [0, 0, 0], axis: [0, 1, 0], "
           "motor: "
           "{velocity: 1}}, {name: two, type: revolute, between: [world, arm], at: [0, 0, 0], "
           "axis: "
           "[0, 1, 0], motor: {velocity: " +
           second + "}}]";
  };
  EXPECT_EQ(refusal(hinges("1"), 3), "");
  const std::string found = refusal(hinges("2"), 1);
  EXPECT_NE(found.find("joints contradict each other"), std::string::npos) << found;
  EXPECT_NE(found.find("misses its rows by 0.5 m/s (or rad/s)"), std::string::npos) << found;
}

TEST(NaturalRefusals, ForcesThatThinBodiesCannotTakeAreNamed) {
  const auto pushed = [](const std::string& inertia, const std::string& force) {
    return refusal("bodies: [{name: thin, mass: 2, inertia: " + inertia +
                       "}]\nforces: [{name: push, body: thin, " + force + "}]",
                   1);
  };
  const std::string rod = "[0, 0.1, 0.1]", point = "[0, 0, 0]";
  for (const std::string& inertia : {rod, point}) {
    EXPECT_EQ(pushed(inertia, "type: force, force: [1, 2, 3]"), "");
    EXPECT_NE(pushed(inertia, "type: force, force: [1, 2, 3], at: [0, 0.1, 0]"), "");
    EXPECT_NE(pushed(inertia, "type: force, force: [0, 1, 0], frame: body"), "");
  }
  EXPECT_EQ(pushed(rod, "type: force, force: [1, 2, 3], at: [0.1, 0, 0]"), "");
  EXPECT_EQ(pushed(rod, "type: force, force: [1, 0, 0], frame: body"), "");
  EXPECT_EQ(pushed(rod, "type: torque, torque: [1, 2, 3]"), "");
  EXPECT_NE(pushed(rod, "type: torque, torque: [0, 1, 0], frame: body"), "");
  EXPECT_NE(pushed(point, "type: force, force: [1, 2, 3], at: [0.1, 0, 0]"), "");
  EXPECT_EQ(pushed(point, "type: torque, torque: [1, 2, 3]"),
            "force push needs a direction that its body thin, a point (its moments of inertia are "
            "zero), does not have");
}

}  // namespace
}  // namespace catena::test
