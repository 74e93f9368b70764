// Chains of rods let go, at small amplitude, and at rest.
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "analytic/rods.hpp"
#include "support/dense_algebra.hpp"
#include "support/gravity.hpp"
#include "support/reference.hpp"

namespace catena::test {
namespace {

struct ReleaseErrors {
  double tip = 0.0, speed = 0.0, reaction = 0.0, energy = 0.0, gap = 0.0;
};

ReleaseErrors release(const std::string& name, const std::vector<double>& theta, double m, double l,
                      double end, double h) {
  const ReferenceSeries ref = read_reference(name);
  const Rods rods = hanging_rods(theta, m, l);
  const auto sim = simulate(rods.yaml(time_of(h)));
  const std::size_t last = theta.size() - 1;
  const double energy = sim->state().audit[EnergyTerm::initial_energy];
  ReleaseErrors e;
  for (std::size_t row = 1; row < ref.rows.size(); ++row) {
    const double t = ref.at(row, "t");
    if (t > end + 1e-9) break;
    run_until(*sim, t);
    const Vec3 tip(ref.at(row, "x_tip"), ref.at(row, "y_tip"), 0.0);
    const Vec3 v(ref.at(row, "vx_tip"), ref.at(row, "vy_tip"), 0.0);
    const Vec3 r(ref.at(row, "Rx"), ref.at(row, "Ry"), 0.0);
    const StepReport& report = sim->stepper().report();
    e.tip = std::max(e.tip, (rods.end(*sim, last) - tip).norm());
    e.speed = std::max(e.speed, (rods.end_velocity(*sim, last) - v).norm());
    e.reaction = std::max(e.reaction, (sim->stepper().joint_reaction(0).impulse / h - r).norm());
    e.energy = std::max(e.energy, std::abs(report.kinetic + report.potential - energy));
    e.gap = std::max(e.gap, report.misfit.linear);
  }
  return e;
}

double order(double coarse, double fine) { return std::log2(coarse / fine); }

TEST(ChainRelease, FiveLinksConvergeWithOrderOne) {
  const std::vector<double> theta(5, M_PI / 2);
  ReleaseErrors e[3];
  for (int i = 0; i < 3; ++i)
    e[i] = release("D01_chain5_release", theta, 1.0, 0.4, 1.5, std::ldexp(1e-3, -i));

  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(order(e[i].tip, e[i + 1].tip), 1.0, 0.1);
    EXPECT_NEAR(order(e[i].speed, e[i + 1].speed), 1.0, 0.15);
    EXPECT_NEAR(order(e[i].energy, e[i + 1].energy), 1.0, 0.1);
    EXPECT_NEAR(order(e[i].reaction, e[i + 1].reaction), 1.0, 0.25);
    // SPOOK leaves what a step bends the joints' paths by, |a| h^2 times a factor
    EXPECT_NEAR(order(e[i].gap, e[i + 1].gap), 2.0, 0.1);
  }
  EXPECT_LT(e[2].tip, 2e-3);
  EXPECT_LT(e[2].speed, 0.02);
  EXPECT_LT(e[2].reaction, 1.0);  // of 150 N at the most
  EXPECT_LT(e[2].energy, 0.02);   // of 49 J
  EXPECT_LT(e[2].gap, 1e-5);
}

TEST(ChainRelease, ThirtyTwoLinksConvergeWithOrderOne) {
  const std::vector<double> theta(32, 0.3);
  ReleaseErrors e[2];
  for (int i = 0; i < 2; ++i)
    e[i] = release("D01_chain32_small", theta, 0.1, 0.05, 2.0, std::ldexp(5e-4, -i));

  EXPECT_NEAR(order(e[0].tip, e[1].tip), 1.0, 0.05);
  EXPECT_NEAR(order(e[0].speed, e[1].speed), 1.0, 0.05);
  EXPECT_NEAR(order(e[0].energy, e[1].energy), 1.0, 0.05);
  EXPECT_NEAR(order(e[0].reaction, e[1].reaction), 1.0, 0.25);
  EXPECT_LT(e[1].tip, 4e-4);
  EXPECT_LT(e[1].speed, 1e-3);
  EXPECT_LT(e[1].reaction, 0.01);  // of 32 N
  EXPECT_LT(e[1].energy, 6e-4);    // of 25 J
}

/// Period of a chain of `n` rods, 1 m and 2 kg in all, let go in the shape of a mode, 1e-4 rad at
/// the most, over `periods` of them; the mode's frequency from the linearised equations.
double modal_period(int n, int mode, double h, int periods, double& omega) {
  const double m = 2.0 / n, l = 1.0 / n;
  Eigen::MatrixXd mass(n, n), stiffness = Eigen::MatrixXd::Zero(n, n);
  for (int i = 0; i < n; ++i) {
    stiffness(i, i) = m * kG * l * (0.5 + (n - 1 - i));
    for (int j = 0; j < n; ++j)
      mass(i, j) = m * l * l * (i == j ? 1.0 / 3.0 + (n - 1 - i) : 0.5 + (n - 1 - std::max(i, j)));
  }
  const Modes modes = modes_of(stiffness, mass);
  const Eigen::VectorXd shape = modes.vectors.col(mode - 1);
  const Eigen::VectorXd probe = mass * shape;
  omega = std::sqrt(modes.values[mode - 1]);
  const Eigen::VectorXd start = 1e-4 / shape.cwiseAbs().maxCoeff() * shape;
  const auto sim = simulate(
      hanging_rods(std::vector<double>(start.begin(), start.end()), m, l).yaml(time_of(h)));
  const auto amplitude = [&] {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) {
      const Quat& q = body_of(*sim, i).pose.q;
      sum += probe[i] * (start[i] + 2.0 * std::atan2(q.z(), q.w()));
    }
    return sum;
  };

  double before = amplitude(), first = 0.0, last = 0.0;
  for (int crossings = 0; crossings < 2 * periods + 1;) {
    sim->step();
    const double now = amplitude();
    if (before * now < 0.0) {
      last = sim->state().time - h * now / (now - before);
      if (crossings++ == 0) first = last;
    }
    before = now;
  }
  return (last - first) / periods;
}

/// The step is the leapfrog, sin(w h/2) = omega h/2: a period is short by omega^2 h^2/24.
void expect_modes(int n, const std::vector<int>& modes, double h) {
  const ReferenceSeries ref = read_reference("D02_chain_modes_N" + std::to_string(n));
  for (const int mode : modes) {
    const std::size_t row = static_cast<std::size_t>(mode - 1);
    const double exact = ref.at(row, "period_s");
    for (const double step : {h, 0.5 * h}) {
      double omega = 0.0;
      const double period = modal_period(n, mode, step, mode == 1 ? 1 : 3, omega);

      EXPECT_NEAR(omega, ref.at(row, "omega_chain_rad_s"), 1e-9 * omega);
      const double shift = std::pow(omega * step, 2) / 24.0;
      // amplitudes of 1e-4 rad lengthen periods by about 1e-9
      EXPECT_NEAR(period / exact - 1.0, -shift, 0.03 * shift + 2e-9) << n << " " << mode;
    }
  }
}

TEST(ChainModes, PeriodsOfTenLinksAreShortByTheLeapfrogsError) {
  expect_modes(10, {1, 2, 5, 10}, 2e-3);
}

TEST(ChainModes, PeriodsOfAHundredLinksAreShortByTheLeapfrogsError) {
  expect_modes(100, {5}, 5e-4);
}

struct Catenary {
  int n;
  double m, l, dx, dy, h;
  int steps;
  double tolerance;  ///< of forces in the chain's plane, over the largest
};

/// Where joint j of a chain of `n` links is, by the body before or after it.
Vec3 joint_place(const Simulation& sim, std::size_t j) {
  const JointConstants& joint = sim.bodies().joints[j];
  const std::size_t side = joint.body[1] == kNoBody ? 0 : 1;
  const Pose& pose = body_of(sim, joint.body[side]).pose;
  return pose.p + pose.q * joint.frame[side].p;
}

/// A chain of rigid links that starts as it hangs at rest carries itself from the first step on and
/// stays there.
void expect_rest(const Catenary& c, const std::string& joint) {
  const std::string name = "D03_catenary_N" + std::to_string(c.n);
  const auto values = read_values(name);
  const ReferenceSeries ref = read_reference(name);
  const auto sim = simulate(
      "gravity: [0, -9.81, 0]\ngenerators:\n  - chain: {name: c, links: " + std::to_string(c.n) +
      ", joint: " + joint + ", catenary: {from: [0, 0, 0], to: [" + text_of(c.dx) + ", " +
      text_of(c.dy) + ", 0], length: " + text_of(c.n * c.l) +
      "}, anchored: both, mass: " + text_of(c.m) +
      ", inertia: " + text_of(Vec3(Vec3::Constant(c.m * c.l * c.l / 12))) + "}\n" + time_of(c.h));
  const auto start = places(*sim);
  for (std::size_t row = 0; row < ref.rows.size(); ++row) {
    const Vec3 place(ref.at(row, "x"), ref.at(row, "y"), 0.0);
    EXPECT_LT((joint_place(*sim, static_cast<std::size_t>(ref.at(row, "joint"))) - place).norm(),
              1e-11 * c.n * c.l);
  }

  for (int step = 1; step <= c.steps; ++step) {
    sim->step();
    if (step != 1 && step != c.steps) continue;
    double in_plane = 0.0, across = 0.0;
    for (int j = 0; j <= c.n; ++j) {
      const Vec3 f = sim->stepper().joint_reaction(static_cast<std::size_t>(j)).impulse / c.h;
      const Vec3 exact(-values.at("H_N"), values.at("V_left_N") - j * c.m * kG, 0.0);
      in_plane = std::max(in_plane, (f - exact).head<2>().norm());
      across = std::max(across, std::abs(f.z()));
    }
    const double largest = std::hypot(values.at("H_N"), values.at("V_right_N"));
    EXPECT_LT(in_plane, c.tolerance * largest) << name << " " << joint << " step " << step;
    // hinges across the plane leave these open: of least norm, as far as the rank is known
    EXPECT_LT(across, 1e-6 * largest) << name << " " << joint << " step " << step;
  }
  EXPECT_LT(largest_move(*sim, start), 1e-12) << name << " " << joint;
  EXPECT_LT(sim->stepper().report().kinetic, 1e-18) << name << " " << joint;
}

TEST(Catenary, LinksStayWhereTheyHangAndJointsCarryTheirWeight) {
  // The solve ends at |w| < 1e-12 m/s; the whole chain answers that with M w/h, 1e-8 N for 10 kg
  // at 1 ms, and joints that miss one another by round-off at the start with about as much.
  for (const std::string joint : {"spherical", "revolute, axis: [0, 0, 1]"}) {
    expect_rest({20, 0.5, 0.1, 1.2, 0.0, 2e-3, 200, 1e-9}, joint);
    expect_rest({101, 0.05, 0.02, 1.0, 0.3, 1e-3, 200, 1e-9}, joint);
    expect_rest({10000, 0.001, 0.0005, 3.0, 0.5, 1e-3, 10, 1e-8}, joint);
  }
}

/// Vertical forces in the joints of a chain of `n` links of 0.04 kg that hangs straight down.
std::vector<double> hang(int n, const std::string& keys, SolveReport& solve) {
  const double h = 1e-3;
  const auto sim = simulate(
      "gravity: [0, -9.81, 0]\ngenerators:\n  - chain: {name: c, links: " + std::to_string(n) +
      ", mass: 0.04, inertia: [3e-5, 3e-5, 3e-6], from: [0, 0, 0], to: [0, " + text_of(-0.1 * n) +
      ", 0], " + keys + "}\n" + time_of(h));
  // links of 0.1 m do not meet to the last bit; what comes of that fades away by 3 % a step
  for (int i = 0; i < 50; ++i) solve = sim->step().solve;
  std::vector<double> force;
  for (std::size_t j = 0; j < sim->bodies().joints.size(); ++j)
    force.push_back(sim->stepper().joint_reaction(j).impulse.y() / h);
  return force;
}

TEST(HangingChain, EveryJointCarriesTheWeightBelow) {
  for (const std::string joint : {"spherical", "revolute, axis: [0, 0, 1]"}) {
    for (const int n : {1, 10, 1000}) {
      SolveReport solve;
      const std::vector<double> force = hang(n, "anchored: first, joint: " + joint, solve);

      ASSERT_EQ(static_cast<int>(force.size()), n);
      for (int j = 0; j < n; ++j) {
        const double weight = (n - j) * 0.04 * kG;
        EXPECT_NEAR(force[static_cast<std::size_t>(j)], weight, 1e-10 * weight)
            << joint << " " << j;
      }
      EXPECT_TRUE(solve.joints.redundant.empty());
    }
  }
}

TEST(HangingChain, HeldAtBothEndsJointsDifferByTheWeightBetweenThem) {
  for (const std::string joint : {"spherical", "revolute, axis: [0, 0, 1]"}) {
    for (const int n : {4, 1000}) {
      SolveReport solve;
      const std::vector<double> force = hang(n, "anchored: both, joint: " + joint, solve);

      ASSERT_EQ(static_cast<int>(force.size()), n + 1);
      const double total = n * 0.04 * kG;
      for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j)
        EXPECT_NEAR(force[j] - force[j + 1], 0.04 * kG, 1e-10 * total) << joint << " " << j;
      // a straight chain can be strained: a row along it depends on the others
      EXPECT_FALSE(solve.joints.redundant.empty()) << joint;
      if (joint != "spherical") {  // of least norm: half the weight at either end
        EXPECT_NEAR(force.front(), 0.5 * total, 1e-6 * total);
        EXPECT_NEAR(force.back(), -0.5 * total, 1e-6 * total);
      }
    }
  }
}

}  // namespace
}  // namespace catena::test
