// Connected components: solved apart by dantzig, so that what happens in one does not reach the
// others; and what it does with a component that it cannot solve.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "catena/base/error.hpp"
#include "catena/constraints/delassus.hpp"
#include "catena/metrics/errors.hpp"
#include "solvers/dantzig_cases.hpp"
#include "solvers/pivoting/components.hpp"
#include "support/assembled.hpp"
#include "support/dense_reference.hpp"
#include "support/hand_problems.hpp"

namespace catena {
namespace {

using test::Scene;
using test::solve;
using test::Solved;
using test::to_tolerance;

double largest(const std::vector<double>& x) {
  double most = 0.0;
  for (const double v : x) most = std::max(most, std::abs(v));
  return most;
}

/// One of the 48 states of Painleve's rod (validation case E07): a uniform rod of 1 kg and 1 m,
/// `theta` above the horizontal, whose lower end slides at 1 m/s into its lean. Where
/// 1 + 3 cos(theta) (cos(theta) - mu sin(theta)) < 0 friction presses it into the floor faster than
/// it turns away: no force exists, or two.
struct RodState {
  double mu, theta, omega;
};

std::vector<RodState> rod_states() {
  std::vector<RodState> states;
  for (const double mu : {1.0, 1.3, 1.5, 2.0})
    for (const double theta : {0.6, 0.9, 1.25, 1.4})
      for (const double omega : {0.0, 3.0, 6.0}) states.push_back({mu, theta, omega});
  return states;
}

/// Adds the rod's body and its contact with body 0, a floor.
void add_rod(const RodState& rod, double h, Scene& scene) {
  const Vec3 end = -0.5 * Vec3(std::cos(rod.theta), 0.0, std::sin(rod.theta));
  Twist twist;
  twist.w = Vec3(0.0, rod.omega, 0.0);
  twist.v = Vec3(-1.0, 0.0, 0.0) - twist.w.cross(end);
  twist.v.z() -= test::kGravity * h;
  const GlobalId body = scene.add_rigid(1.0, Vec3::Constant(1.0 / 12.0), twist);
  scene
      .add_contact(0, body, Vec3::UnitZ(), end, end,
                   0.5 * h * std::sin(rod.theta) * rod.omega * rod.omega, rod.mu)
      .tangent = Vec3::UnitX();
}

TEST(DantzigComponents, FortyEightPainleveRodsInOneSceneEqualTheRodsAlone) {
  const std::vector<RodState> states = rod_states();
  ASSERT_EQ(states.size(), 48u);
  for (const double h : {1e-3, 1e-5}) {
    Scene together;
    together.add_prescribed();
    std::vector<double> alone;
    int paradoxes = 0, unsolved = 0;
    for (const RodState& rod : states) {
      Scene scene;
      scene.add_prescribed();
      add_rod(rod, h, scene);
      add_rod(rod, h, together);
      const Solved s = solve(whole(scene), SolverSettings{.method = SolverMethod::dantzig});
      EXPECT_EQ(s.report.status, SolveStatus::converged)
          << "mu " << rod.mu << " theta " << rod.theta << " omega " << rod.omega << ": "
          << s.report.reason;
      unsolved += s.report.status != SolveStatus::converged;
      alone.insert(alone.end(), s.impulses.begin(), s.impulses.end());
      paradoxes +=
          std::cos(rod.theta) * (std::cos(rod.theta) - rod.mu * std::sin(rod.theta)) < -1.0 / 3.0;
    }
    EXPECT_GT(paradoxes, 5);

    const Solved s = solve(whole(together), SolverSettings{.method = SolverMethod::dantzig});

    EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
    EXPECT_LE(test::distance(s.impulses, alone), 1e-10 * largest(alone)) << "h " << h;
    EXPECT_GT(largest(alone), 0.1);
    std::printf("48 rods, h = %.0e s: apart by %.1e of the largest impulse, %d unsolved alone\n", h,
                test::distance(s.impulses, alone) / largest(alone), unsolved);
  }
}

TEST(DantzigComponents, RodsAreSolvedFromGuessesFarTooLarge) {
  // bounds of friction that begin far too wide: rods stick at first, and their impulses do not
  // change from pass to pass until the bounds have come down to them
  Scene scene;
  scene.add_prescribed();
  for (const RodState& rod : rod_states()) add_rod(rod, 1e-3, scene);
  const ConstraintProblem problem = whole(scene);
  for (const double factor : {0.01, 3.0, 100.0}) {
    std::vector<double> guess =
        solve(problem, SolverSettings{.method = SolverMethod::dantzig}).impulses;
    for (double& v : guess) v *= factor;

    const Solved s = solve(problem, to_tolerance(1e-11), guess);

    EXPECT_EQ(s.report.status, SolveStatus::converged) << factor << ": " << s.report.reason;
    DelassusOperator op(problem);
    EXPECT_LE(ErrorEvaluator(problem, op).evaluate(s.impulses).natural_map, 1e-11) << factor;
  }
}

/// A point mass that comes down on the floor (body 0) with `v`; returns its body.
GlobalId add_falling_point(const Vec3& v, double friction, Scene& scene) {
  const GlobalId body = scene.add_rigid(2.0, Vec3::Ones(), {v, Vec3::Zero()});
  scene.add_contact(0, body, Vec3::UnitZ(), Vec3::Zero(), Vec3::Zero(), 0.0, friction).tangent =
      Vec3::UnitX();
  return body;
}

/// A point mass between the floor and a press (body 1) that comes down on it: no impulses keep both
/// contacts from closing.
GlobalId add_pressed_point(double friction, Scene& scene) {
  const GlobalId body = scene.add_rigid(2.0, Vec3::Ones(), {});
  scene.add_contact(0, body, Vec3::UnitZ(), Vec3::Zero(), Vec3::Zero(), 0.0, friction);
  scene.add_contact(1, body, -Vec3::UnitZ(), Vec3::Zero(), Vec3::Zero(), 0.0, friction);
  return body;
}

TEST(DantzigComponents, OneThatHasNoSolutionLeavesTheOthersAloneAndIsNamed) {
  for (const ContactLaw law : {ContactLaw::frictionless, ContactLaw::box, ContactLaw::coulomb}) {
    Scene scene;
    scene.law = law;
    scene.add_prescribed();
    scene.add_prescribed({Vec3(0.0, 0.0, -1.0), Vec3::Zero()});
    add_falling_point(Vec3(3.0, 0.0, -1.0), 0.3, scene);
    const GlobalId pressed = add_pressed_point(0.3, scene);
    add_falling_point(Vec3(0.0, 0.1, -2.0), 0.3, scene);
    SolverSettings settings = to_tolerance(1e-12, 20);

    const Solved s = solve(whole(scene), settings);

    EXPECT_EQ(s.report.status, SolveStatus::iteration_limit) << s.report.reason;
    const bool slides = law != ContactLaw::frictionless;
    // rows: 3 of the first point, 6 of the pressed one, 3 of the last
    const std::vector<double> first(s.impulses.begin(), s.impulses.begin() + 3);
    const std::vector<double> last(s.impulses.end() - 3, s.impulses.end());
    EXPECT_LT(test::distance(first, {2.0, slides ? -0.6 : 0.0, 0.0}), 1e-12);
    EXPECT_LT(test::distance(last, {4.0, 0.0, slides ? -0.2 : 0.0}), 1e-12);
    ASSERT_EQ(s.report.apart.size(), 1u) << s.report.reason;
    EXPECT_EQ(s.report.n_apart, 1);
    const SolvedApart& failed = s.report.apart[0];
    EXPECT_FALSE(failed.solved);
    EXPECT_TRUE(failed.contact);
    EXPECT_EQ(failed.key.b, pressed);
    EXPECT_EQ(failed.blocks, 2);
    EXPECT_EQ(failed.rows, 6);
    EXPECT_FALSE(s.report.stuck.empty()) << s.report.reason;
    EXPECT_NE(s.report.reason.find("contact of bodies"), std::string::npos) << s.report.reason;
    EXPECT_NE(s.report.reason.find(std::to_string(pressed)), std::string::npos) << s.report.reason;
  }
}

TEST(DantzigComponents, OneAloneThatHasNoSolutionIsNamedAsWell) {
  Scene scene;
  scene.law = ContactLaw::frictionless;
  scene.add_prescribed();
  scene.add_prescribed({Vec3(0.0, 0.0, -1.0), Vec3::Zero()});
  const GlobalId pressed = add_pressed_point(0.0, scene);

  const Solved s = solve(whole(scene), to_tolerance(1e-12, 20));

  EXPECT_NE(s.report.status, SolveStatus::converged);
  ASSERT_EQ(s.report.apart.size(), 1u);
  EXPECT_EQ(s.report.apart[0].key.b, pressed);
  EXPECT_FALSE(s.report.stuck.empty());
  EXPECT_EQ(s.report.stuck.find("round-off allows"), std::string::npos);
}

TEST(DantzigComponents, NoContactsAndNoBodiesAreSolved) {
  Scene empty;
  EXPECT_EQ(solve(whole(empty), to_tolerance(1e-12)).report.status, SolveStatus::converged);
  Scene free;
  free.add_rigid(1.0, Vec3::Ones(), {Vec3(1.0, 2.0, 3.0), Vec3::Zero()});
  const Solved s = solve(whole(free), to_tolerance(1e-12));
  EXPECT_EQ(s.report.status, SolveStatus::converged);
  EXPECT_EQ(s.velocities[2], 3.0);
}

/// Where bodies of `from` stand when they are appended to a scene.
void append(const Scene& from, Scene& to) {
  const auto shift = static_cast<GlobalId>(to.bodies.size());
  to.bodies.insert(to.bodies.end(), from.bodies.begin(), from.bodies.end());
  for (RigidContact c : from.contacts) {
    c.body_a += static_cast<Index>(shift);
    c.body_b += static_cast<Index>(shift);
    c.key.a += shift;
    c.key.b += shift;
    to.contacts.push_back(c);
  }
  for (test::SceneBlock b : from.blocks) {
    for (GlobalId& id : b.bodies) id += shift;
    to.blocks.push_back(b);
  }
}

TEST(DantzigComponents, MixedOnesEqualTheDenseReference) {
  // rings of joints, limits and motors beside each other, and redundant contacts
  Scene scene = test::mixed_ring(6, 3);
  append(test::box_stack(2, 0.0, 0.01), scene);
  append(test::pendulum(2.0, 0.5, 0.8, 0.01), scene);
  append(test::mixed_ring(5, 8), scene);
  scene.law = ContactLaw::frictionless;
  const ConstraintProblem problem = whole(scene);
  EXPECT_GE(connected_components(problem).size(), 4u);

  const Solved s = solve(problem, to_tolerance(1e-12));
  const test::DenseSolution expected = test::solve_dense(problem);

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_LT(test::distance(s.velocities, expected.velocities), 1e-10);
}

TEST(DantzigComponents, JointsAndContactsOfOneComponentEqualGaussSeidel) {
  // two pendulums whose bobs rest on floors of their own, sliding
  Scene scene;
  for (int k = 0; k < 2; ++k) {
    // body 0 is the bob; the normal points from it to the floor
    Scene one = test::pendulum(2.0, 0.5, 0.8, 0.01);
    const GlobalId floor = one.add_prescribed();
    one.add_contact(0, floor, -Vec3::UnitZ(), Vec3(0.1, 0.0, -0.2), Vec3(0.1, 0.0, -0.2),
                    -0.02 * (k + 1), 0.4);
    append(one, scene);
  }
  const ConstraintProblem problem = whole(scene);
  const std::vector<Component> components = connected_components(problem);
  ASSERT_EQ(components.size(), 2u);
  EXPECT_EQ(components[0].blocks.size(), 2u);
  EXPECT_EQ(components[0].rows, 6);

  const Solved s = solve(problem, to_tolerance(1e-12));
  SolverSettings sweeps;
  sweeps.joints.method = JointMethod::iterative;
  sweeps.stop = to_tolerance(1e-12, 100000).stop;
  const Solved expected = test::solve(problem, sweeps);

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_EQ(expected.report.status, SolveStatus::converged) << expected.report.reason;
  EXPECT_LT(test::distance(s.velocities, expected.velocities), 1e-9);
  EXPECT_GT(largest(s.impulses), 1e-3);
}

TEST(DantzigComponents, BodiesWithoutInverseMassConnectNothing) {
  Scene scene;
  scene.add_prescribed();
  const GlobalId heavy = scene.add_dense(std::vector<double>(36, 0.0), std::vector<double>(6, 0.0));
  for (int k = 0; k < 3; ++k) {
    const GlobalId body = scene.add_rigid(1.0, Vec3::Ones(), {Vec3(0, 0, -1), Vec3::Zero()});
    scene.add_contact(heavy, body, Vec3::UnitZ(), Vec3::Zero(), Vec3::Zero(), 0.0, 0.5);
    scene.add_contact(0, body, Vec3::UnitX(), Vec3::Zero(), Vec3::Zero(), 0.0, 0.5);
  }
  const std::vector<Component> components = connected_components(whole(scene));

  ASSERT_EQ(components.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_EQ(components[k].blocks,
              (std::vector<Index>{static_cast<Index>(2 * k), static_cast<Index>(2 * k + 1)}));
}

TEST(DantzigComponents, AssembledOperatorsFallIntoTheSameOnes) {
  Scene scene;
  scene.add_prescribed();
  for (const RodState& rod : rod_states()) add_rod(rod, 1e-3, scene);
  const ConstraintProblem problem = whole(scene);
  const ConstraintProblem assembled = test::assembled_problem(problem);
  EXPECT_EQ(connected_components(assembled).size(), 48u);

  const Solved s = solve(assembled, to_tolerance(1e-12));
  const Solved expected = solve(problem, to_tolerance(1e-12));

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  EXPECT_LT(test::distance(s.impulses, expected.impulses), 1e-9);
}

TEST(DantzigComponents, TheLimitOnRowsIsThatOfAComponent) {
  Scene scene;
  scene.law = ContactLaw::box;
  scene.add_prescribed();
  const int n = kMaxDantzigRows / 3 + 7;
  for (int k = 0; k < n; ++k) add_falling_point(Vec3(3.0, 0.0, -1.0 - 1e-4 * k), 0.3, scene);

  const Solved s = solve(whole(scene), SolverSettings{.method = SolverMethod::dantzig});

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  for (int k = 0; k < n; k += 97) {
    const double normal = 2.0 * (1.0 + 1e-4 * k);
    EXPECT_NEAR(s.impulses[static_cast<std::size_t>(3 * k)], normal, 1e-12);
    EXPECT_NEAR(s.impulses[static_cast<std::size_t>(3 * k + 1)], -0.3 * normal, 1e-12);
  }
}

TEST(DantzigComponents, AGuessOfOneDoesNotReachTheOthers) {
  // a guess that makes the first point's start worse than zero impulses
  Scene scene;
  scene.add_prescribed();
  add_falling_point(Vec3(3.0, 0.0, -1.0), 0.3, scene);
  add_falling_point(Vec3(1.0, 1.0, -2.0), 0.3, scene);

  const Solved s = solve(whole(scene), to_tolerance(1e-13), {500.0, 10.0, -20.0, 4.0, 0.0, 0.0});

  EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
  const double friction = 0.3 * 4.0 / std::sqrt(2.0);
  EXPECT_LT(test::distance(s.impulses, {2.0, -0.6, 0.0, 4.0, -friction, -friction}), 1e-11);
}

TEST(DantzigComponents, PassesThatDoNotSettleGoOnByAnotherMethodAndSaySo) {
  // a block on four corners with high friction: its passes wander
  int handed_on = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Scene scene = test::sphere_pile(12, 40, 1.5, 0.005, seed);
    append(test::pendulum(2.0, 0.5, 0.8, 0.01), scene);
    const ConstraintProblem problem = whole(scene);

    const Solved s = solve(problem, to_tolerance(1e-9));

    DelassusOperator op(problem);
    const Errors errors = ErrorEvaluator(problem, op).evaluate(s.impulses);
    EXPECT_EQ(s.report.status == SolveStatus::converged, errors.natural_map <= 1e-9) << seed;
    if (s.report.choice.empty()) continue;
    ++handed_on;
    EXPECT_EQ(s.report.choice.rfind("dantzig, then gauss_seidel", 0), 0u) << s.report.choice;
    EXPECT_NE(s.report.reason.find("went on by"), std::string::npos) << s.report.reason;
    EXPECT_GT(s.report.n_apart, 0);
    EXPECT_EQ(s.report.status, SolveStatus::converged) << seed << ": " << s.report.reason;
    EXPECT_LE(s.report.iterations, 200);
  }
  std::printf("%d of 12 piles handed on\n", handed_on);
  EXPECT_GT(handed_on, 0);
}

}  // namespace
}  // namespace catena
