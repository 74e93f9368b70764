// The stepper natural on pendulums beside their equations of motion in minimal coordinates.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "stepper/natural_run.hpp"
#include "support/dense_algebra.hpp"

namespace catena::test {
namespace {

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
  const BodyMotionState& arm = body_of(*sim, 0);
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
  Vec3 v = body_of(*sim, 0).twist.v;
  for (int i = 0; i < 400; ++i) {
    sim->step();
    // momentum: p = m (v1 - v0) - m g h, to the error of a step
    const Vec3 after = body_of(*sim, 0).twist.v;
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

Mat3 cross(const Vec3& v) {
  Mat3 m;
  m << 0.0, -v.z(), v.y(), v.z(), 0.0, -v.x(), -v.y(), v.x(), 0.0;
  return m;
}

// ---- a spatial double pendulum of bodies turned anyhow

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
    d.tail<6>() = ldlt_solve(mass, f);
    return d;
  }
};

DoublePendulum some_double_pendulum() {
  DoublePendulum p;
  p.link[0] = {1.5, {0.05, 0.04, 0.03}, Quat(0.9, 0.2, -0.3, 0.25).normalized(), {1.0, -2.0, 3.0}};
  p.link[1] = {0.7, {0.02, 0.03, 0.015}, Quat(0.3, -0.7, 0.5, 0.4).normalized(), {-2.0, 1.5, 2.5}};
  p.b = {Vec3(0.2, -0.1, 0.15), Vec3(-0.1, 0.25, 0.05)};
  p.l = {0.35, -0.2, 0.3};
  return p;
}

std::string yaml_of(const DoublePendulum& p) {
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
  const auto sim = natural_run(yaml_of(p), step, natural);
  run_to(*sim, 0.8);
  const std::array<Vec3, 4> at = p.places(reference);
  double error = 0.0;
  for (int k = 0; k < 2; ++k) {
    const BodyMotionState& s = body_of(*sim, k);
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
  const auto sim = natural_run(yaml_of(p), "1 ms");
  Vec3 before = Vec3::Zero();
  for (int k = 0; k < 2; ++k)
    before += p.link[static_cast<std::size_t>(k)].mass * body_of(*sim, k).twist.v;
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

// ---- loops with redundant rows

TEST(NaturalLoops, AParallelogramOfHingesIsAPendulumAndItsRedundantRowsAreNamed) {
  // cranks of 0.4 m, coupler of 1 m; three rows depend on others
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
    errors.push_back((body_of(*sim, 2).pose.p - p).norm());
    EXPECT_EQ(r.solve.joints.redundant.size(), 3U);
    EXPECT_LT(std::abs(r.energy_residual), 1e-4);
  }
  EXPECT_NEAR(orders(errors)[0], 4.0, 0.5);
  EXPECT_LT(errors.back(), 1e-6);
}

}  // namespace
}  // namespace catena::test
