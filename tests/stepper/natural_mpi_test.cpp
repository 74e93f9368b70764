// Mechanisms in natural coordinates on any number of ranks beside one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stepper/natural_run.hpp"

namespace catena::test {
namespace {

/// What a run ends with, on every rank.
struct End {
  std::vector<double> bodies;  ///< by id: place, axes, twist
  std::vector<double> joints;  ///< by id: impulses of the last step, angles
  StepReport report;
  int most_steps = 0;  ///< sub-steps of a step
};

End end_of(const Communicator& comm, const std::string& text, const std::string& step, int steps,
           const std::string& natural) {
  const auto sim = natural_run(comm, text, step, natural);
  End end;
  for (int i = 0; i < steps; ++i)
    end.most_steps = std::max(end.most_steps, sim->step().solve.iterations);
  end.report = sim->stepper().report();
  constexpr std::size_t kOfBody = 18, kOfJoint = kJointRows + 2;
  std::int64_t bodies = 0, joints = 0;
  for (const BodyConstants& c : sim->bodies().constants) bodies = std::max(bodies, c.id + 1);
  for (const JointConstants& c : sim->bodies().joints) joints = std::max(joints, c.id + 1);
  bodies = comm.max(bodies);
  joints = comm.max(joints);
  end.bodies.assign(kOfBody * static_cast<std::size_t>(bodies), 0.0);
  end.joints.assign(kOfJoint * static_cast<std::size_t>(joints), 0.0);
  for (std::size_t i = 0; i < sim->bodies().constants.size(); ++i) {
    double* out = &end.bodies[kOfBody * static_cast<std::size_t>(sim->bodies().constants[i].id)];
    const BodyMotionState& s = sim->state().body[i];
    Eigen::Map<Vec3>{out} = s.pose.p;
    Eigen::Map<Mat3>{out + 3} = s.pose.q.toRotationMatrix();
    Eigen::Map<Vec3>{out + 12} = s.twist.v;
    Eigen::Map<Vec3>{out + 15} = s.twist.w;
  }
  for (std::size_t j = 0; j < sim->bodies().joints.size(); ++j) {
    double* out = &end.joints[kOfJoint * static_cast<std::size_t>(sim->bodies().joints[j].id)];
    const JointState& s = sim->state().joints[j];
    std::copy(s.impulse.begin(), s.impulse.end(), out);
    std::copy(s.angle.begin(), s.angle.end(), out + kJointRows);
  }
  comm.sum(end.bodies);
  if (!end.joints.empty()) comm.sum(end.joints);
  return end;
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = a.size() == b.size() ? 0.0 : 1e300;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double d = std::abs(a[i] - b[i]);
    if (!(d <= worst)) worst = d;  // NaN stays
  }
  return worst;
}

/// Compares all ranks with one; `impulses`: whether they are unique.
End expect_alike(const std::string& text, const std::string& step, int steps, double tolerance,
                 const std::string& natural = "scheme: rk4", bool impulses = true) {
  const End alone = end_of(Communicator::self(), text, step, steps, natural);
  const End together = end_of(Communicator::world(), text, step, steps, natural);
  EXPECT_LT(difference(alone.bodies, together.bodies), tolerance);
  if (impulses) {
    EXPECT_LT(difference(alone.joints, together.joints), tolerance);
  }
  const double scale = 1.0 + std::abs(alone.report.kinetic) + std::abs(alone.report.potential);
  EXPECT_NEAR(alone.report.energy_residual, together.report.energy_residual, tolerance * scale);
  EXPECT_NEAR(alone.report.audit[EnergyTerm::motor_work],
              together.report.audit[EnergyTerm::motor_work], tolerance * scale);
  EXPECT_NEAR(alone.report.audit[EnergyTerm::joint_work],
              together.report.audit[EnergyTerm::joint_work], tolerance * scale);
  EXPECT_NEAR(alone.report.audit[EnergyTerm::external_work],
              together.report.audit[EnergyTerm::external_work], tolerance * scale);
  EXPECT_LT(std::abs(together.report.misfit.linear - alone.report.misfit.linear), tolerance);
  EXPECT_LT(std::abs(together.report.misfit.angular - alone.report.misfit.angular), tolerance);
  EXPECT_EQ(alone.most_steps, together.most_steps);
  return together;
}

std::string chain(const std::string& what) {
  return "generators: [{chain: {name: c, mass: 0.1, inertia: [1e-4, 1e-3, 1e-3], " + what + "}}]\n";
}

TEST(NaturalOverRanks, AChainOfBallsSwingsAlike) {
  const End end =
      expect_alike(chain("links: 300, joint: spherical, anchored: first, from: [0, 0, 0], "
                         "to: [60, 3, 0]"),
                   "2 ms", 40, 1e-11);
  EXPECT_LT(end.bodies[18 * 200 + 2], -0.02);  // it falls
  EXPECT_EQ(end.report.solve.joints.chains, 1);
}

// Its softness changes as it is pulled straight, and places that meet the joints are known to
// round-off over the singular values of a chain of 300.
TEST(NaturalOverRanks, AChainOfBallsThatHangsFromBothEndsSwingsAlike) {
  expect_alike(
      chain("links: 300, joint: spherical, anchored: both, catenary: {from: [0, 0, 0], to: [50, "
            "0, 3], length: 60}, velocity: [0, 1, 0]"),
      "2 ms", 40, 1e-9);
}

TEST(NaturalOverRanks, PendulumsOnPinsThatAreShakenSwingAlike) {
  std::string bodies = "bodies:\n", joints = "joints:\n";
  for (int k = 0; k < 6; ++k) {
    const std::string n = std::to_string(k);
    bodies += "  - {name: b" + n + ", mass: 1, inertia: [0.1, 0.1, 0.01], position: [" + n +
              ", 0, -0.5]}\n";
    joints += "  - {name: j" + n + ", type: spherical, between: [pins-" + n + ", b" + n +
              "], at: [" + n + ", 0, 0]}\n";
  }
  // a pin and its pendulum may be on two ranks: the pin's motion comes along with it
  const End end = expect_alike(
      "materials: {m: {density: 1000}}\n" + bodies +
          "generators: [lattice: {name: pins, material: m, shape: {sphere: {radius: 1 cm}}, "
          "collide: "
          "false, count: [6, 1, 1], spacing: 1, motion: {harmonics: [{amplitude: [0.1, 0, 0], "
          "frequency: 1 Hz, phase: 90 deg}]}}]\n" +
          joints,
      "2 ms", 100, 1e-11);
  for (std::size_t k = 0; k < 6; ++k)
    EXPECT_NEAR(end.bodies[18 * (6 + k)],
                static_cast<double>(k) + 0.1 * (std::cos(2.0 * M_PI * 0.2) - 1.0), 1e-12);
}

TEST(NaturalOverRanks, AFreeChainOfBallsFliesAlike) {
  const End end =
      expect_alike("gravity: [0, 0, -1]\n" +
                       chain("links: 300, joint: spherical, from: [0, 0, 0], to: [60, 3, "
                             "0], velocity: [0, 1, 0]") +
                       "forces: [{name: push, type: force, body: c-17, force: [0, 5, 5]}]",
                   "2 ms", 40, 1e-11);
  // together 30 kg
  EXPECT_NEAR(end.report.linear_momentum.z(), 0.08 * (5.0 - 30.0), 1e-10);
  EXPECT_NEAR(end.report.linear_momentum.y(), 30.0 + 0.08 * 5.0, 1e-10);
}

TEST(NaturalOverRanks, ChainsOfHingesSwingAlike) {
  expect_alike(
      chain("links: 300, joint: revolute, anchored: first, from: [0, 0, 0], to: [60, 0, 3]"),
      "2 ms", 40, 1e-10);
  expect_alike(chain("links: 60, joint: revolute, from: [0, 0, 0], to: [12, 0, 3]"), "2 ms", 40,
               1e-10);
  // held at both ends three rows depend on others
  const End end =
      expect_alike(chain("links: 20, joint: revolute, anchored: both, catenary: {from: [0, 0, "
                         "0], to: [10, 0, 3], length: 12}, axis: [0, 1, 0]") +
                       "forces: [{name: push, type: force, body: c-7, force: [20, 0, 5]}]",
                   "2 ms", 40, 1e-9, "scheme: rk4", false);
  EXPECT_EQ(end.report.solve.joints.redundant.size(), 3U);
}

TEST(NaturalOverRanks, ARingOfBallsTurnsAlike) {
  expect_alike(
      chain("links: 48, joint: spherical, closed: true, path: [[0, 0, 0], [2, 0, 0], [2, 2, 0], "
            "[0, 2, 0]], velocity: [0, 0, 1]") +
          "forces: [{name: push, type: force, body: c-5, force: [1, 2, 3]}]",
      "1 ms", 40, 1e-9);
}

TEST(NaturalOverRanks, AHubWithTwelvePendulaSwingsAlike) {
  std::string text =
      "bodies:\n  - {name: hub, mass: 5, inertia: [1, 1, 2], position: [0, 0, 0], "
      "angular_velocity: [0, "
      "0, 1]}\n";
  std::string joints =
      "joints:\n  - {name: axle, type: revolute, between: [world, hub], at: [0, 0, 0], axis: [0, "
      "0, "
      "1]}\n";
  for (int i = 0; i < 12; ++i) {
    const double a = 2.0 * M_PI * i / 12.0, c = std::cos(a), s = std::sin(a);
    char line[400];
    // general bodies, laminae and rods
    const char* inertia = i % 3 == 0   ? "[0.01, 0.02, 0.015]"
                          : i % 3 == 1 ? "[0.01, 0.02, 0.03]"
                                       : "[0.02, 0.02, 0]";
    std::snprintf(line, sizeof line,
                  "  - {name: p%d, mass: 0.5, inertia: %s, position: [%.17g, %.17g, -0.4]}\n", i,
                  inertia, 3.0 * c, 3.0 * s);
    text += line;
    std::snprintf(line, sizeof line,
                  "  - {name: j%d, type: spherical, between: [hub, p%d], at: [%.17g, %.17g, 0]}\n",
                  i, i, 3.0 * c, 3.0 * s);
    joints += line;
  }
  expect_alike(text + joints, "2 ms", 60, 1e-11);
}

TEST(NaturalOverRanks, SpringsPullAlikeWithoutAnyJoint) {
  std::string text = "gravity: [0, 0, 0]\nbodies:\n", forces = "forces:\n";
  for (int i = 0; i < 8; ++i) {
    char line[400];
    std::snprintf(line, sizeof line,
                  "  - {name: b%d, mass: %g, inertia: [0.01, 0.02, 0.015], position: [%d, 0, 0], "
                  "velocity: [%g, %g, 0.1], angular_velocity: [0, 1, %d]}\n",
                  i, 1.0 + 0.1 * i, i, 0.3 * (i % 3), -0.2 * (i % 2), i % 4);
    text += line;
    if (i == 0) continue;
    std::snprintf(
        line, sizeof line,
        "  - {name: s%d, type: spring, between: [b%d, b%d], at: [[%g, 0.1, 0], [%g, 0, 0.1]], "
        "stiffness: 30, damping: 2}\n",
        i, i - 1, i, i - 0.8, i - 0.3);
    forces += line;
  }
  const End end = expect_alike(text + forces, "2 ms", 100, 1e-12);
  EXPECT_LT(end.report.audit[EnergyTerm::joint_work], -1e-3);  // dampers
  EXPECT_LT(std::abs(end.report.energy_residual), 1e-6);
}

TEST(NaturalOverRanks, AllJointsMoveAlikeUnderBothSchemes) {
  expect_alike(kAllJoints, "2 ms", 50, 1e-10);
  const End end = expect_alike(kAllJoints, "20 ms", 10, 1e-9, "scheme: dop853");
  EXPECT_GT(end.most_steps, 1);
}

TEST(NaturalOverRanks, DriversAndMovingBasesDoTheirWorkAlike) {
  const std::string text =
      "bodies:\n"
      "  - {name: base, motion: {harmonics: [{amplitude: [0.1, 0, 0], angle_amplitude: [0, 0, "
      "0.3], "
      "frequency: 1.5}]}}\n"
      "  - {name: crank, mass: 1, inertia: [0.01, 0.02, 0.03], position: [1.1, 0, 0]}\n"
      "  - {name: rod, mass: 0.8, inertia: [0, 0.024, 0.024], position: [1.5, 0, 0]}\n"
      "  - {name: arm, mass: 1, inertia: [0.01, 0.02, 0.03], position: [2, 0, 0]}\n"
      "  - {name: car, mass: 1, inertia: [0.01, 0.02, 0.03], position: [4, 0, 0]}\n"
      "  - {name: bob, mass: 1, inertia: [0, 0, 0], position: [4, 0, -1]}\n"
      "joints:\n"
      "  - {name: axle, type: revolute, between: [base, crank], at: [1, 0, 0], axis: [0, 0, 1], "
      "motor: "
      "{position: 1, table: {rows: [[0, 0], [0.033, 0.2], [0.2, 0]]}}}\n"
      "  - {name: pin, type: spherical, between: [crank, rod], at: [1.2, 0, 0]}\n"
      "  - {name: end, type: spherical, between: [rod, arm], at: [1.8, 0, 0]}\n"
      "  - {name: guide, type: prismatic, between: [world, car], at: [0, 0, 0], axis: [1, 0, 0], "
      "motor: "
      "{velocity: 1, table: {rows: [[0, 0], [0.05, 2], [0.1, 0]]}}}\n"
      "  - {name: line, type: distance, between: [car, bob], at: [[4, 0, 0], [4, 0, -1]]}\n"
      "forces: [{name: spring, type: spring, between: [base, car], at: [[0, 0, 0], [4, 0, 0]], "
      "stiffness: "
      "20, damping: 1}]\n";
  const End end = expect_alike(text, "2 ms", 60, 1e-11);
  EXPECT_GT(std::abs(end.report.audit[EnergyTerm::motor_work]), 0.1);
  EXPECT_GT(std::abs(end.report.audit[EnergyTerm::external_work]), 0.1);
}

TEST(NaturalOverRanks, FewBodiesLeaveRanksEmpty) {
  expect_alike(
      "bodies: [{name: arm, mass: 2, inertia: [0.2, 0.1, 0.15], position: [0.5, 0, 0]}]\njoints: "
      "[{name: hinge, type: revolute, between: [world, arm], at: [0, 0, 0], axis: [0, 1, 0]}]",
      "2 ms", 100, 1e-13);
  expect_alike(
      "bodies: [{name: free, mass: 2, inertia: [0.2, 0.1, 0.15], angular_velocity: [1, 2, 3]}]",
      "2 ms", 100, 1e-13, "scheme: dop853");
}

}  // namespace
}  // namespace catena::test
