// Steps of the stepper natural that cannot be trusted: a run at and near singular positions, or
// beyond what an explicit method follows, is right or ends; and what is smooth is left as it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "catena/stepper/natural_stepper.hpp"
#include "stepper/natural_four_bars.hpp"
#include "stepper/natural_run.hpp"

namespace catena::test {
namespace {

/// Rows of 17 take 50 ms a step: most of them belong to the long tests.
const bool kLong = std::getenv("CATENA_LONG_TESTS") != nullptr;

struct Outcome {
  bool ended = false;   ///< by a BlowUp
  std::string found;    ///< its message
  int divided = 0;      ///< steps taken in sub-steps
  double energy = 0.0;  ///< largest energy_residual over the largest kinetic energy
  double off = 0.0;     ///< of the places of three cranks' ends from the closed form, m
  GlobalId joint = kNoBody;
};

Outcome run_four_bars(int n, double h, double end, const std::string& natural = "scheme: rk4") {
  char step[32];
  std::snprintf(step, sizeof step, "%.17g", h);
  const auto sim = natural_run(four_bars(n), step, natural);
  Outcome out;
  double kinetic = 0.0, residual = 0.0;
  VectorX y(2);
  y << 0.0, 1.0;
  try {
    while (sim->state().time < end - 0.5 * h) {
      const StepReport& r = sim->step();
      out.divided += r.parts > 1;
      kinetic = std::max(kinetic, r.kinetic);
      residual = std::max(residual, std::abs(r.energy_residual));
      y = four_bars_at(n, y, h, 40);
      for (const int crank : {0, n / 2, n}) {
        const Vec3 along = body_of(*sim, crank).pose.q * Vec3::UnitY();
        out.off = std::max(out.off, (along - Vec3(std::sin(y[0]), std::cos(y[0]), 0.0)).norm());
      }
    }
  } catch (const BlowUp& blow_up) {
    out.ended = true;
    out.found = blow_up.found();
    EXPECT_EQ(blow_up.code(), ExitCode::blow_up);
    EXPECT_FALSE(blow_up.fix().empty());
  }
  out.energy = residual / kinetic;
  out.joint = sim->stepper().report().doubtful_joint;
  std::printf("%3d four-bars, h %.4g s, %s: %s, %d steps divided, energy %.1e, off %.1e m\n", n, h,
              natural.c_str(), out.ended ? out.found.c_str() : "done", out.divided, out.energy,
              out.off);
  return out;
}

void expect_right_or_ended(const Outcome& out) {
  // what the steps until then did was right
  EXPECT_LT(out.energy, 1e-4);
  EXPECT_LT(out.off, 2e-2);
  if (!out.ended) return;
  EXPECT_NE(out.found.find("joint "), std::string::npos) << out.found;
  EXPECT_NE(out.found.find("t = "), std::string::npos) << out.found;
  EXPECT_NE(out.joint, kNoBody);
}

// Rods of all lengths of rows pass the positions in line, or the run ends: which of the two depends
// on where steps end, but none is silently wrong.
TEST(NaturalGuard, RowsOfFourBarsAreRightOrEnd) {
  for (const int n : {1, 2})
    for (const double h : {20e-3, 10e-3, 7e-3, 5e-3, 3e-3, 2e-3, 1e-3}) {
      SCOPED_TRACE(std::to_string(n) + " at " + std::to_string(h));
      expect_right_or_ended(run_four_bars(n, h, 3.0));
    }
  if (!kLong) return;
  for (const double h : {20e-3, 10e-3, 5e-3, 2e-3}) {
    SCOPED_TRACE("17 at " + std::to_string(h));
    expect_right_or_ended(run_four_bars(17, h, 2.0));
  }
}

TEST(NaturalGuard, LongRowsOfFourBarsAreRightOrEnd) {
  // past the first position in line, at 0.72 s
  if (!kLong) {
    expect_right_or_ended(run_four_bars(40, 8e-3, 0.75));
    return;
  }
  for (const double h : {8e-3, 4e-3}) {
    SCOPED_TRACE("40 at " + std::to_string(h));
    expect_right_or_ended(run_four_bars(40, h, 1.5));
  }
  for (const double h : {8e-3, 5e-3}) {
    SCOPED_TRACE("200 at " + std::to_string(h));
    expect_right_or_ended(run_four_bars(200, h, 0.8));
  }
}

// Where steps of the usual stages would lose half a mechanism's energy those near the position in
// line, at 0.72 s, leave nothing to guard against (natural_singular_test).
TEST(NaturalGuard, RowsInLineArePassedInWholeSteps) {
  const Outcome out = kLong ? run_four_bars(17, 1e-3, 1.5) : run_four_bars(5, 2e-3, 0.75);

  EXPECT_FALSE(out.ended) << out.found;
  EXPECT_EQ(out.divided, 0);
  EXPECT_LT(out.energy, 1e-7);
  EXPECT_LT(out.off, 1e-7);
}

// ---- a slider-crank with arms of one length: at 90 degrees both lie in line over the axle, and
// the rod might as well turn with the crank for ever

Outcome run_slider_crank(double h) {
  const std::string text =
      "gravity: [0, 0, 0]\nbodies:\n"
      "  - {name: crank, mass: 1, inertia: [0.01, 0.0833333333, 0.0833333333], position: [0.5, 0, "
      "0], angular_velocity: [0, 0, 2], velocity: [0, 1, 0]}\n"
      "  - {name: rod, mass: 1, inertia: [0.01, 0.0833333333, 0.0833333333], position: [1.5, 0, "
      "0], angular_velocity: [0, 0, -2], velocity: [0, 1, 0]}\n"
      "joints:\n"
      "  - {name: axle, type: revolute, between: [world, crank], at: [0, 0, 0], axis: [0, 0, 1]}\n"
      "  - {name: pin, type: revolute, between: [crank, rod], at: [1, 0, 0], axis: [0, 0, 1]}\n"
      "  - {name: slot, type: point_on_line, between: [world, rod], at: [2, 0, 0], axis: [1, 0, "
      "0]}\n";
  char step[32];
  std::snprintf(step, sizeof step, "%.17g", h);
  const auto sim = natural_run(text, step);
  Outcome out;
  double kinetic = 0.0, residual = 0.0;
  try {
    while (sim->state().time < 3.0) {
      const StepReport& r = sim->step();
      out.divided += r.parts > 1;
      kinetic = std::max(kinetic, r.kinetic);
      residual = std::max(residual, std::abs(r.energy_residual));
      // mirror images of each other in the vertical through the pin
      const Vec3 crank = body_of(*sim, 0).pose.q * Vec3::UnitX(),
                 rod = body_of(*sim, 1).pose.q * Vec3::UnitX();
      out.off = std::max(out.off, (rod - Vec3(crank.x(), -crank.y(), 0.0)).norm());
    }
  } catch (const BlowUp& blow_up) {
    out.ended = true;
    out.found = blow_up.found();
  }
  out.energy = residual / kinetic;
  out.joint = sim->stepper().report().doubtful_joint;
  std::printf("slider-crank, h %.4g s: %s, %d steps divided, energy %.1e, off %.1e m\n", h,
              out.ended ? out.found.c_str() : "done", out.divided, out.energy, out.off);
  return out;
}

TEST(NaturalGuard, ASliderCrankAtItsDeadPointsIsRightOrEnds) {
  for (const double h : {20e-3, 10e-3, 7e-3, 5e-3, 3e-3, 1e-3}) {
    SCOPED_TRACE(h);
    expect_right_or_ended(run_slider_crank(h));
  }
}

// ---- beyond the bound of RK4, omega h = 2.83

/// A mass on a spring of omega = 1000/s: largest distance from cos(omega t) in five steps.
double spring_error(const std::string& step, int& parts) {
  const auto sim = natural_run(
      "gravity: [0, 0, 0]\n"
      "bodies: [{name: bob, mass: 1, inertia: [1, 1, 1], position: [1.01, 0, 0]}]\n"
      "forces: [{name: coil, type: spring, between: [world, bob], at: [[0, 0, 0], [1.01, 0, 0]], "
      "stiffness: 1e6, length: 1}]",
      step);
  double off = 0.0;
  parts = 1;
  for (int i = 0; i < 5; ++i) {
    const StepReport& r = sim->step();
    parts = std::max(parts, r.parts);
    off = std::max(off, std::abs(body_of(*sim, 0).pose.p.x() - 1.0 -
                                 0.01 * std::cos(1000.0 * sim->state().time)));
  }
  return off;
}

TEST(NaturalGuard, AStepBeyondTheBoundOfStabilityIsDividedAndSaysSo) {
  int parts = 0;

  EXPECT_LT(spring_error("0.1 ms", parts), 1e-5);
  EXPECT_EQ(parts, 1);
  // omega h = 4: unguarded the mass is 60 m away after five steps
  EXPECT_LT(spring_error("4 ms", parts), 1e-3);
  EXPECT_GT(parts, 1);
}

TEST(NaturalGuard, AStepFarBeyondTheBoundEndsTheRun) {
  int parts = 0;
  try {
    spring_error("2", parts);
    ADD_FAILURE() << "no end";
  } catch (const BlowUp& blow_up) {
    EXPECT_EQ(blow_up.code(), ExitCode::blow_up);
  }
}

// ---- no false alarms

/// Largest number of parts of any step.
int most_parts(const std::string& text, const std::string& step, int steps,
               const std::string& natural = "scheme: rk4") {
  const auto sim = natural_run(text, step, natural);
  int parts = 1;
  for (int i = 0; i < steps; ++i) parts = std::max(parts, sim->step().parts);
  return parts;
}

TEST(NaturalGuard, MechanismsAtRestAreLeftAlone) {
  // energies are round-off there, of which any part is as good as all
  EXPECT_EQ(most_parts("generators: [{chain: {name: c, mass: 0.1, inertia: [1e-4, 1e-3, 1e-3], "
                       "links: 20, joint: spherical, anchored: first, from: [0, 0, 0], to: [0, 0, "
                       "-4]}}]\n",
                       "5 ms", 200),
            1);
  // a mass between two taut springs, without weight
  EXPECT_EQ(most_parts("gravity: [0, 0, 0]\n"
                       "bodies: [{name: bob, mass: 1, inertia: [1, 1, 1], position: [0, 0, 0]}]\n"
                       "forces:\n"
                       "  - {name: a, type: spring, between: [world, bob], at: [[-1, 0, 0], [0, 0, "
                       "0]], stiffness: 1000, length: 0.3}\n"
                       "  - {name: b, type: spring, between: [world, bob], at: [[1, 0, 0], [0, 0, "
                       "0]], stiffness: 1000, length: 0.3}\n",
                       "5 ms", 200),
            1);
  EXPECT_EQ(most_parts("gravity: [0, 0, 0]\nbodies: [{name: one, mass: 1, inertia: [1, 1, 1]}]\n",
                       "5 ms", 20),
            1);
  EXPECT_EQ(most_parts("gravity: [0, 0, 0]\n", "5 ms", 3), 1);
}

TEST(NaturalGuard, AuditsOfSecondOrderAreNoErrors) {
  // a motor that follows a table: its work is a mean of two ends
  const std::string driven =
      "bodies: [{name: arm, mass: 2, inertia: [0.2, 0.1, 0.15], position: [0.5, 0, 0]}]\n"
      "joints: [{name: hinge, type: revolute, between: [world, arm], at: [0, 0, 0], axis: [0, 1, "
      "0], motor: {velocity: 3, table: {rows: [[0, 0], [0.2, 1], [0.4, -1], [0.55, 1], [1, 0]]}}}]";
  EXPECT_EQ(most_parts(driven, "10 ms", 100), 1);
  const std::string shaken =
      "bodies:\n"
      "  - {name: base, motion: {harmonics: [{amplitude: [0.1, 0, 0], angle_amplitude: [0, 0, "
      "0.3], frequency: 1.5}]}}\n"
      "  - {name: arm, mass: 2, inertia: [0.2, 0.1, 0.15], position: [0.5, 0, 0]}\n"
      "joints: [{name: hinge, type: revolute, between: [base, arm], at: [0, 0, 0], axis: [0, 1, "
      "0]}]";
  EXPECT_EQ(most_parts(shaken, "10 ms", 100), 1);
}

TEST(NaturalGuard, AllJointsMoveInWholeSteps) {
  EXPECT_EQ(most_parts(kAllJoints, "2 ms", 100), 1);
  EXPECT_EQ(most_parts(kAllJoints, "20 ms", 20, "scheme: dop853"), 1);
}

TEST(NaturalGuard, ExamplesAndValidationRunInWholeSteps) {
  int cases = 0;
  for (const char* folder : {"/examples", "/validation"})
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(CATENA_CONFIGS) + folder)) {
      if (entry.path().extension() != ".yaml") continue;
      const CaseSettings settings = read_case(Communicator::self(), entry.path().string());
      if (settings.time.stepper != StepperKind::natural) continue;
      Simulation sim(Communicator::self(), settings);
      ++cases;
      const std::int64_t steps = std::min<std::int64_t>(sim.n_steps(), 40);
      int parts = 1;
      for (std::int64_t i = 0; i < steps; ++i) parts = std::max(parts, sim.step().parts);
      // its shortest links are taut enough for round-off to grow at this step: 1e-7 J by step 16
      if (entry.path().stem() == "catenary_10000")
        EXPECT_GT(parts, 1);
      else
        EXPECT_EQ(parts, 1) << entry.path();
    }
  EXPECT_GT(cases, 3);
}

// ---- the first step

TEST(NaturalGuard, ForbiddenVelocitiesOfTheStartAreReportedWithTheirEnergy) {
  // the impulse p = 2/(2 (1/m + l^2/I))
  // at the joint costs p (relative velocity)/2
  const double p = 2.0 / (2.0 * (1.0 + 0.25 / 0.1));
  const auto sim = natural_run(kTwoArms, "1 ms");
  const StepReport& r = sim->step();
  EXPECT_NEAR(r.forbidden_energy, p, 1e-9);
  EXPECT_EQ(r.forbidding_joint, 0);
  EXPECT_EQ(sim->step().forbidden_energy, 0.0);  // of the first step alone
  // the same under spook
  Simulation other(Communicator::self(),
                   case_of(std::string(kTwoArms) + "\ntime: {step: 1 ms, end: 1}\n"));
  EXPECT_NEAR(other.step().forbidden_energy, p, 1e-9);
  EXPECT_EQ(other.stepper().report().forbidding_joint, 0);
  EXPECT_EQ(other.step().forbidden_energy, 0.0);
  // velocities that are allowed cost nothing
  const auto fine = natural_run(four_bars(2), "1 ms");
  EXPECT_LT(std::abs(fine->step().forbidden_energy), 1e-12);
}

}  // namespace
}  // namespace catena::test
