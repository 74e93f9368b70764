// Proximal Newton: the law's function and its derivatives, problems solved by hand, the dense
// reference, published problems.
#include "solvers/newton/proximal_newton.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/math/cone.hpp"
#include "solvers/newton/law_function.hpp"
#include "support/dense_reference.hpp"
#include "support/fclib_problem.hpp"
#include "support/hand_problems.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

using test::Scene;
using test::Solved;

constexpr double kStep = 0.005;

StopRule to_tolerance(double tolerance, Metric metric = Metric::natural_map) {
  return test::stop_at(metric, tolerance);
}

Solved solve_newton(const ConstraintProblem& problem, const StopRule& stop) {
  return test::solve_with(*make_proximal_newton(stop), problem);
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

/// Two spheres on a plane with rolling and spinning friction and cohesion, the first with a limit
/// along x, a motor about z and a bilateral row along y: all kinds of blocks.
Scene furnished_sphere(ContactLaw law) {
  Scene scene = test::with_couples(test::two_spheres_on_plane(0.5, kStep, 0.05), 2e-3, 1e-3, 0.01);
  scene.law = law;
  for (const BlockKind kind : {BlockKind::unilateral, BlockKind::boxed, BlockKind::bilateral}) {
    test::SceneBlock block;
    block.kind = kind;
    block.bodies = {1};
    const bool turns = kind == BlockKind::boxed;
    block.jacobians = {{0, 0, 0, 0, 0, 0}};
    block.jacobians[0][turns ? 5 : kind == BlockKind::bilateral ? 1 : 0] = 1.0;
    block.q = {turns ? 3.0 : kind == BlockKind::bilateral ? 0.02 : 0.5};
    block.angular = {static_cast<std::uint8_t>(turns ? 1 : 0)};
    if (turns) {
      block.lower = {-2e-4};
      block.upper = {3e-4};
    }
    scene.blocks.push_back(block);
  }
  return scene;
}

/// |lambda - P_K(lambda - what)| over the largest of |r|, |lambda|, |w|, of an assembled operator:
/// Siconos' error, written once more.
double siconos_error(const ConstraintProblem& problem, const std::vector<double>& lambda) {
  const AssembledOperator& n = *problem.assembled;
  double map = 0.0, r = 0.0, l = 0.0, w = 0.0;
  std::vector<double> residual(n.r);
  for (std::size_t i = 0; i < residual.size(); ++i) {
    for (auto k = static_cast<std::size_t>(n.row_begin[i]);
         k < static_cast<std::size_t>(n.row_begin[i + 1]); ++k)
      residual[i] += n.value[k] * lambda[static_cast<std::size_t>(n.column[k])];
    r += n.r[i] * n.r[i];
    l += lambda[i] * lambda[i];
    w += residual[i] * residual[i];
  }
  for (std::size_t k = 0; k < n.friction.size(); ++k) {
    Vec3 x(lambda[3 * k], lambda[3 * k + 1], lambda[3 * k + 2]);
    const Vec3 z = x;
    const double slip = n.friction[k] * std::hypot(residual[3 * k + 1], residual[3 * k + 2]);
    x -= Vec3(residual[3 * k] + slip, residual[3 * k + 1], residual[3 * k + 2]);
    map += (z - project_cone(x, n.friction[k])).squaredNorm();
  }
  return std::sqrt(map / std::max({r, l, w}));
}

TEST(LawFunction, DerivativesAreThoseOfDifferences) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::frictionless}) {
    Scene scene = furnished_sphere(law);
    for (RigidContact& c : test::sphere_pile(8, 12, 0.5, kStep, 2).contacts) {
      c.body_a = c.body_a % 3;
      c.body_b = c.body_a == 2 ? 1 : 2;
      if (c.body_a != c.body_b) scene.contacts.push_back(c);
    }
    const ConstraintProblem problem = test::whole(scene);
    const LawFunction function(problem);
    const auto n = static_cast<std::size_t>(problem.n_rows());
    BlockMatrices a(problem), b(problem);
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<double> lambda(n), w(n), f(n), ahead(n), behind(n), dl(n), dw(n);
      for (std::size_t i = 0; i < n; ++i) {
        const double scale = function.scales()[i];
        lambda[i] = normal(random) / scale;
        w[i] = normal(random) - 0.5;
        dl[i] = normal(random) / scale;
        dw[i] = normal(random);
      }
      function.differentiate(lambda, w, f, a, b);
      const double h = 1e-7;
      const auto at = [&](double t, std::vector<double>& out) {
        std::vector<double> l = lambda, v = w;
        for (std::size_t i = 0; i < n; ++i) {
          l[i] += t * dl[i];
          v[i] += t * dw[i];
        }
        function.evaluate(l, v, out);
      };
      at(h, ahead);
      at(-h, behind);
      std::size_t row = 0;
      for (Index k = 0; k < problem.n_blocks(); ++k) {
        const auto m = static_cast<std::size_t>(block_view(problem, k).rows);
        for (std::size_t i = 0; i < m; ++i) {
          double expected = 0.0;
          for (std::size_t j = 0; j < m; ++j)
            expected += a.block(k)[i * m + j] * dl[row + j] + b.block(k)[i * m + j] * dw[row + j];
          EXPECT_NEAR((ahead[row + i] - behind[row + i]) / (2.0 * h), expected, 1e-4)
              << "block " << k << " row " << i;
        }
        row += m;
      }
    }
  }
}

TEST(ProximalNewton, BlockOnInclineSticksOrSlidesAsFrictionHasIt) {
  const double mass = 2.0, tilt = 0.3, load = mass * test::kGravity * kStep;
  for (const double friction : {0.1, 0.5}) {
    const Solved s =
        solve_newton(test::block_on_incline(mass, tilt, friction, kStep), to_tolerance(1e-13));

    EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
    const bool sticks = friction >= std::tan(tilt);
    EXPECT_NEAR(s.impulses[0], load * std::cos(tilt), 1e-13);
    EXPECT_NEAR(s.impulses[1], load * (sticks ? std::sin(tilt) : friction * std::cos(tilt)), 1e-13);
  }
}

TEST(ProximalNewton, RowsOfTheirOwnHaveTheirClosedForms) {
  const Solved joint =
      solve_newton(test::whole(test::pendulum(2.0, 0.1, 0.5, kStep)), to_tolerance(1e-13));
  EXPECT_EQ(joint.report.status, SolveStatus::converged) << joint.report.reason;
  EXPECT_NEAR(joint.impulses[2], 2.0 * test::kGravity * kStep * 0.1 / (0.1 + 2.0 * 0.25), 1e-13);
  for (const double clearance : {1e-4, 1.0}) {
    const Solved limit =
        solve_newton(test::whole(test::limit(3.0, clearance, kStep)), to_tolerance(1e-13));
    EXPECT_NEAR(limit.impulses[0],
                std::max(0.0, 3.0 * (test::kGravity * kStep - clearance / kStep)), 1e-12);
  }
  for (const double most : {0.05, 5.0}) {
    const StopRule stop = to_tolerance(1e-13, Metric::energy);
    const Solved motor = solve_newton(test::whole(test::motor(0.2, -3.0, most)), stop);
    EXPECT_NEAR(motor.impulses[0], -std::min(most, 0.6), 1e-6);
  }
}

TEST(ProximalNewton, VelocitiesAreThoseOfTheDenseReference) {
  std::vector<Scene> scenes = {test::box_on_plane(0.3, kStep, 0.2), test::box_stack(3, 0.5, kStep),
                               test::sphere_pile(12, 30, 0.5, kStep, 7),
                               furnished_sphere(ContactLaw::coulomb)};
  for (std::size_t i = 0; i < scenes.size(); ++i) {
    for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::frictionless}) {
      scenes[i].law = law;
      const ConstraintProblem problem = test::whole(scenes[i]);
      const test::DenseSolution expected = test::solve_dense(problem);

      const Solved s = solve_newton(problem, to_tolerance(1e-12));

      EXPECT_EQ(s.report.status, SolveStatus::converged)
          << "scene " << i << ": " << s.report.reason;
      EXPECT_LT(s.report.errors.natural_map_angular, 1e-8) << i;
      SCOPED_TRACE("scene " + std::to_string(i) + " law " + std::to_string(static_cast<int>(law)));
      EXPECT_LT(expected.residual, 1e-12);
      expect_near(s.velocities, expected.velocities, 1e-8);
    }
  }
}

TEST(ProximalNewton, PublishedProblemsAreSolvedToTheLastDigits) {
  for (const std::string name : {"Capsules-i101-404", "OneObject-i100000-316", "local_problem_test",
                                 "NESpheres_10_1", "Rover1040"}) {
    const ConstraintProblem problem = test::fclib_problem(name + ".hdf5");
    const Solved s = solve_newton(problem, to_tolerance(1e-10, Metric::siconos));

    EXPECT_EQ(s.report.status, SolveStatus::converged) << name << ": " << s.report.reason;
    EXPECT_LE(siconos_error(problem, s.impulses), 1.0001e-10) << name;
    EXPECT_LE(s.report.errors.scaled, 1e-6) << name;
    EXPECT_LE(s.report.iterations, 100) << name;
  }
}

TEST(ProximalNewton, LimitsReturnAdmissibleImpulses) {
  const ConstraintProblem problem = test::fclib_problem("local_problem_test.hdf5");
  StopRule few = to_tolerance(1e-14, Metric::siconos), late = few;
  few.max_iterations = 2;
  late.time_limit = 0.0;

  const Solved stopped = solve_newton(problem, few);
  const Solved timed = solve_newton(problem, late);

  EXPECT_EQ(stopped.report.status, SolveStatus::iteration_limit);
  EXPECT_LE(stopped.report.iterations, 2);
  EXPECT_EQ(timed.report.status, SolveStatus::time_limit);
  for (std::size_t k = 0; k < stopped.impulses.size() / 3; ++k) {
    const double* p = &stopped.impulses[3 * k];
    EXPECT_GE(p[0], 0.0);
    EXPECT_LE(std::hypot(p[1], p[2]), problem.assembled->friction[k] * p[0] * (1.0 + 1e-14));
  }
}

TEST(ProximalNewton, NumbersThatAreNotFiniteAreABreakdown) {
  ConstraintProblem problem = test::block_on_incline(2.0, 0.3, 0.5, kStep);
  problem.bodies.free_velocity[8] = std::numeric_limits<double>::quiet_NaN();

  EXPECT_EQ(solve_newton(problem, to_tolerance(1e-9)).report.status, SolveStatus::breakdown);
}

TEST(ProximalNewton, LawBoxIsRefused) {
  ConstraintProblem problem = test::block_on_incline(2.0, 0.3, 0.5, kStep);
  problem.law = ContactLaw::box;

  EXPECT_THROW(solve_newton(problem, to_tolerance(1e-9)), Error);
}

}  // namespace
}  // namespace catena
