// Law lagged: friction by the last step's sliding. Against closed forms, against Coulomb's law and
// ccp, by all solvers, and through passes.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/case_text.hpp"

namespace catena::test {
namespace {

constexpr double kG = 9.81;
constexpr double kFriction = 0.5;

/// A ball that hardly turns (its inertia is large) slides at 1 m/s over the ground.
std::string sliding_ball(const std::string& contact, double h) {
  return "materials: {m: {density: 1000, friction: " + text_of(kFriction) +
         "}}\n"
         "contact: {" +
         contact +
         "}\n"
         "bodies:\n"
         "  - {name: ball, material: m, mass: 1, inertia: [1e6, 1e6, 1e6], shape: {sphere: "
         "{radius: 0.1}}, position: [0, 0, 0.1], velocity: [1, 0, 0]}\n"
         "  - {name: ground, material: m, shape: plane}\n"
         "solver: {relative_tolerance: 1e-12, absolute_tolerance: 1e-18}\n"
         "time: {step: " +
         text_of(h) + ", end: 0.4}\n";
}

struct Slide {
  double way = 0.0;      ///< at the end, m
  double highest = 0.0;  ///< above the start, m
};

Slide slide(const std::string& contact, double h) {
  Simulation sim(Communicator::self(), case_of(sliding_ball(contact, h)));
  Slide result;
  for (std::int64_t i = 0; i < sim.n_steps(); ++i) {
    sim.step();
    const Vec3& p = sim.state().body[0].pose.p;
    result.highest = std::max(result.highest, p.z() - 0.1);
    result.way = p.x();
  }
  return result;
}

TEST(Lagged, SlidingBallStopsWhereFrictionStopsItToFirstOrder) {
  const double way = 1.0 / (2.0 * kFriction * kG);
  for (const char* stiffness : {"rigid", "auto"}) {
    SCOPED_TRACE(stiffness);
    const std::string contact = std::string("law: lagged, stiffness: ") + stiffness;
    double error[3];
    const double steps[3] = {8e-3, 2e-3, 5e-4};
    for (int i = 0; i < 3; ++i) {
      const Slide s = slide(contact, steps[i]);
      error[i] = std::abs(s.way - way);
      // no hop by h mu |w_t|
      EXPECT_LT(s.highest, 0.1 * steps[i] * kFriction);
    }
    EXPECT_LT(error[0], 5e-3);
    EXPECT_LT(error[2], 4e-4);
    EXPECT_GT(std::log2(error[0] / error[2]) / 4.0, 0.8);
  }
}

TEST(Lagged, CcpHopsInTheSameScene) {
  EXPECT_GT(slide("law: ccp, stiffness: rigid", 2e-3).highest, 0.5 * 2e-3 * kFriction);
}

/// A pile that is being made.
std::string pile(const std::string& contact, const std::string& solver) {
  return R"(
materials: {m: {density: 2500, friction: 0.45}}
contact: {)" +
         contact + R"(}
generators:
  - container: {name: bin, material: m, size: [0.46, 0.46, .inf], origin: [0, 0, 0]}
  - lattice: {name: grains, material: m, shape: {sphere: {radius: 5 cm}}, radius_jitter: 0.12,
              count: [4, 4, 4], spacing: 0.113, origin: [0.06, 0.06, 0.06], position_jitter: 3 mm}
time: {step: 4 ms, end: 1}
solver: {)" +
         solver + R"(}
)";
}

struct Pile {
  double largest_error = 0.0, mean_error = 0.0;  ///< of Coulomb's law, relative
  std::int64_t missed = 0, opening = 0;
  std::vector<Vec3> place;
};

Pile settle(const std::string& text, int steps) {
  Simulation sim(Communicator::self(), case_of(text));
  Pile result;
  for (int i = 0; i < steps; ++i) {
    sim.step();
    const StepReport& r = sim.stepper().report();
    result.largest_error = std::max(result.largest_error, r.lag_error);
    result.mean_error += r.lag_error / steps;
    result.opening += r.lag_opening;
    if (r.solve.status != SolveStatus::converged) ++result.missed;
  }
  for (const BodyMotionState& b :
       std::vector<BodyMotionState>(sim.state().body.begin(), sim.state().body.end()))
    result.place.push_back(b.pose.p);
  return result;
}

TEST(Lagged, PassesLeadToCoulombsLawItself) {
  const Pile one = settle(pile("law: lagged", ""), 100);
  const Pile many = settle(pile("law: lagged, lagged_passes: 60", ""), 100);
  const Pile exact = settle(pile("law: coulomb", ""), 100);

  EXPECT_EQ(one.missed, 0);
  EXPECT_EQ(many.missed, 0);
  EXPECT_GT(one.mean_error, 1e-3);
  EXPECT_LT(many.mean_error, 1e-2 * one.mean_error);
  EXPECT_GT(one.opening, 0);
  EXPECT_EQ(exact.largest_error, 0.0);
}

TEST(Lagged, EverySolverMakesTheSameRun) {
  const std::string tight = "relative_tolerance: 1e-18, absolute_tolerance: 1e-24, ";
  const Pile sweeps = settle(pile("law: lagged", tight + "max_iterations: 20000"), 40);
  for (const char* method : {"apgd", "jacobi", "interior_point", "auto"}) {
    SCOPED_TRACE(method);
    const Pile other =
        settle(pile("law: lagged", tight + "max_iterations: 20000, method: " + method), 40);
    for (std::size_t i = 0; i < sweeps.place.size(); ++i)
      EXPECT_NEAR((sweeps.place[i] - other.place[i]).norm(), 0.0, 1e-7) << i;
  }
}

}  // namespace
}  // namespace catena::test
