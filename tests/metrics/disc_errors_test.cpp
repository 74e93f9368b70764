// Errors of contacts with rolling, spinning and cohesion; sets of errors; groups of contacts.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "catena/math/cone.hpp"
#include "catena/math/disc_cone.hpp"
#include "catena/metrics/errors.hpp"
#include "metrics/cone_energies.hpp"
#include "metrics/row_errors.hpp"
#include "support/dense_reference.hpp"
#include "support/hand_problems.hpp"

namespace catena {
namespace {

using test::Scene;

Errors errors_of(const ConstraintProblem& problem, const std::vector<double>& impulses,
                 ErrorSet set = ErrorSet::all) {
  DelassusOperator op(problem);
  return ErrorEvaluator(problem, op).evaluate(impulses, {}, set);
}

std::vector<double> random_rows(std::size_t n, unsigned seed, double size) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(0.0, size);
  std::vector<double> x(n);
  for (double& value : x) value = normal(engine);
  return x;
}

/// Projection on K without the closed form: bisection for the normal of
///   g(n) = n - x_n - sum mu_i max(0, |x_i| - mu_i n), increasing.
Vec6 searched_projection(const DiscCone& cone, const Vec6& x) {
  const auto g = [&](double n) {
    double sum = n - x[0];
    for (std::size_t i = 0; i < 3; ++i)
      sum -= cone.bound[i] * std::max(0.0, disc_length(x, i) - cone.bound[i] * n);
    return sum;
  };
  double low = 0.0, high = 1.0 + 10.0 * x.norm();
  if (g(low) >= 0.0) high = 0.0;
  for (int i = 0; i < 200 && high > 0.0; ++i)
    (g(0.5 * (low + high)) < 0.0 ? low : high) = 0.5 * (low + high);
  Vec6 z = x;
  z[0] = high;
  for (std::size_t i = 0; i < 3; ++i) {
    const double length = disc_length(x, i), limit = cone.bound[i] * high;
    for (int row = kDiscBegin[i]; row < kDiscBegin[i] + kDiscRows[i]; ++row)
      if (length > limit) z[row] *= limit / length;
  }
  return z;
}

Scene pile(double rolling, double spinning, double cohesion, ContactLaw law = ContactLaw::coulomb) {
  Scene scene =
      test::with_couples(test::sphere_pile(8, 14, 0.4, 1e-3, 11), rolling, spinning, cohesion);
  scene.law = law;
  return scene;
}

TEST(DiscErrors, AreWhatTheirFormulasGiveWithASearchedProjection) {
  constexpr double kRolling = 4e-3, kSpinning = 2e-3, kCohesion = 0.02;
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp}) {
    const ConstraintProblem problem = test::whole(pile(kRolling, kSpinning, kCohesion, law));
    const test::DenseProblem dense = test::dense_problem(problem);
    const std::size_t n = static_cast<std::size_t>(problem.n_rows());
    const std::vector<double> impulses = random_rows(n, 3, 0.02);
    const Eigen::VectorXd lambda =
        Eigen::Map<const Eigen::VectorXd>(impulses.data(), problem.n_rows());
    const Eigen::VectorXd w = dense.N * lambda + dense.r;

    double energy = 0.0, natural = 0.0, angular = 0.0, work = 0.0;
    for (Index row = 0; row < problem.n_rows(); row += 6) {
      const Vec6 d = dense.N.diagonal().segment<6>(row);
      Vec6 l = lambda.segment<6>(row), slip = w.segment<6>(row);
      l[0] += kCohesion;
      const double a_t = 0.5 * (d[1] + d[2]), a_r = 0.5 * (d[3] + d[4]);
      work += l.dot(slip);
      if (law == ContactLaw::coulomb)
        slip[0] += 0.4 * slip.segment<2>(1).norm() + kRolling * slip.segment<2>(3).norm() +
                   kSpinning * std::abs(slip[5]);
      Vec6 root;
      root << d[0], a_t, a_t, a_r, a_r, d[5];
      root = root.cwiseSqrt();
      const DiscCone scaled{
          {0.4 * root[1] / root[0], kRolling * root[3] / root[0], kSpinning * root[5] / root[0]}};
      const Vec6 y = root.cwiseProduct(l), z = slip.cwiseQuotient(root);
      energy += 0.5 * (y - searched_projection(scaled, y - z)).squaredNorm();

      const double a = (d[0] + d[1] + d[2]) / 3.0;
      Vec6 length;
      length << 1, 1, 1, std::sqrt(a / a_r), std::sqrt(a / a_r), std::sqrt(a / d[5]);
      const DiscCone linear{{0.4, kRolling / length[3], kSpinning / length[5]}};
      const Vec6 l_hat = l.cwiseQuotient(length), w_hat = slip.cwiseProduct(length);
      const Vec6 e = a * (l_hat - searched_projection(linear, l_hat - w_hat / a));
      natural = std::max(natural, e.head<3>().norm());
      angular = std::max(angular, e.tail<3>().cwiseQuotient(length.tail<3>()).norm());
    }

    const Errors errors = errors_of(problem, impulses);

    EXPECT_NEAR(errors.energy, energy, 1e-11 * energy);
    EXPECT_NEAR(errors.natural_map, natural, 1e-11 * natural);
    EXPECT_NEAR(errors.natural_map_angular, angular, 1e-11 * angular);
    EXPECT_NEAR(errors.objective, lambda.dot(0.5 * dense.N * lambda + dense.r), 1e-12);
    const double quadratic = lambda.dot(dense.N * lambda), free = lambda.dot(dense.r);
    EXPECT_NEAR(errors.gap, std::abs(work) / std::max(std::abs(quadratic), std::abs(free)), 1e-11);
  }
}

TEST(DiscErrors, WithoutRollingAndSpinningAreThoseOfThreeRows) {
  for (const ContactLaw law :
       {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box, ContactLaw::frictionless}) {
    const ConstraintProblem three = test::whole(pile(-1.0, -1.0, 0.01, law));
    const ConstraintProblem six = test::whole(pile(0.0, 0.0, 0.01, law));
    const std::vector<double> x = random_rows(static_cast<std::size_t>(three.n_rows()), 5, 0.02);
    std::vector<double> y(static_cast<std::size_t>(six.n_rows()), 0.0);
    for (std::size_t i = 0; i < x.size(); ++i) y[i / 3 * 6 + i % 3] = x[i];

    const Errors a = errors_of(three, x), b = errors_of(six, y);

    for (std::size_t m = 0; m < kMetricNames.size(); ++m) {
      const double value = value_of(a, static_cast<Metric>(m));
      EXPECT_NEAR(value_of(b, static_cast<Metric>(m)), value, 1e-12 * value) << kMetricNames[m];
    }
    EXPECT_NEAR(b.energy_normal, a.energy_normal, 1e-12 * a.energy);
    EXPECT_NEAR(b.energy_friction, a.energy_friction, 1e-12 * a.energy);
    EXPECT_NEAR(b.objective, a.objective, 1e-12 * std::abs(a.objective));
  }
}

TEST(DiscErrors, VanishAtTheDenseSolution) {
  for (const ContactLaw law :
       {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box, ContactLaw::frictionless}) {
    Scene scene = test::with_couples(test::sphere_pile(4, 6, 0.4, 1e-3, 7), 4e-3, 2e-3, 5e-3);
    scene.law = law;
    const ConstraintProblem problem = test::whole(scene);
    const test::DenseSolution dense = test::solve_dense(problem, 1e-11, 5000);
    ASSERT_LE(dense.residual, 1e-11);

    const Errors e = errors_of(problem, dense.impulses);

    const Errors zero =
        errors_of(problem, std::vector<double>(static_cast<std::size_t>(problem.n_rows()), 0.0));
    for (std::size_t m = 0; m < kMetricNames.size(); ++m) {
      if (static_cast<Metric>(m) == Metric::gap && law != ContactLaw::ccp) continue;
      EXPECT_LE(value_of(e, static_cast<Metric>(m)), 1e-9) << kMetricNames[m];
      EXPECT_GT(value_of(zero, static_cast<Metric>(m)), 1e-6) << kMetricNames[m];
    }
    EXPECT_LE(e.natural_map_angular, 1e-8);
    EXPECT_LE(e.energy, 1e-20);
  }
}

/// The pile with all lengths times L: linear impulses times L, angular ones times L^2.
Scene stretched(double L, ContactLaw law) {
  Scene scene = test::sphere_pile(8, 14, 0.4, 1e-3, 11);
  for (test::SceneBody& body : scene.bodies) {
    for (std::size_t i = 0; i < 3; ++i) body.free_velocity[i] *= L;
    for (std::size_t i = 1; i < body.inverse_mass.size(); ++i) body.inverse_mass[i] /= L * L;
  }
  for (RigidContact& c : scene.contacts) {
    c.arm_a *= L;
    c.arm_b *= L;
    c.bias *= L;
  }
  scene = test::with_couples(scene, 4e-3 * L, 2e-3 * L, 0.01 * L);
  scene.law = law;
  return scene;
}

TEST(DiscErrors, FollowTheUnitOfLength) {
  constexpr double L = 1000.0;  // mm
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp}) {
    const ConstraintProblem metres = test::whole(stretched(1.0, law));
    const ConstraintProblem millimetres = test::whole(stretched(L, law));
    const std::vector<double> x = random_rows(static_cast<std::size_t>(metres.n_rows()), 5, 0.02);
    std::vector<double> y = x;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= i % 6 < 3 ? L : L * L;

    const Errors a = errors_of(metres, x), b = errors_of(millimetres, y);

    EXPECT_NEAR(b.energy, L * L * a.energy, 1e-11 * b.energy);
    EXPECT_NEAR(b.natural_map, L * a.natural_map, 1e-11 * b.natural_map);
    EXPECT_NEAR(b.natural_map_rms, L * a.natural_map_rms, 1e-11 * b.natural_map_rms);
    EXPECT_NEAR(b.natural_map_angular, a.natural_map_angular, 1e-11 * a.natural_map_angular);
    EXPECT_NEAR(b.scaled, a.scaled, 1e-11 * a.scaled);
    EXPECT_NEAR(b.gap, a.gap, 1e-11 * a.gap);
    EXPECT_NEAR(b.siconos, a.siconos, 1e-11 * a.siconos);
    EXPECT_NEAR(b.fischer_burmeister, L * a.fischer_burmeister, 1e-11 * b.fischer_burmeister);
    EXPECT_NEAR(b.cone_violation, L * a.cone_violation, 1e-11 * b.cone_violation);
    EXPECT_NEAR(b.largest_impulse, L * a.largest_impulse, 1e-11 * b.largest_impulse);
  }
}

TEST(DiscErrors, OfRigidContactsWithCohesionAreThoseOfTheirExplicitBlocks) {
  for (const ContactLaw law :
       {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box, ContactLaw::frictionless}) {
    Scene rigid = test::sphere_pile(8, 14, 0.4, 1e-3, 11);
    rigid.law = law;
    for (RigidContact& c : rigid.contacts) c.cohesion = 0.01;
    const ConstraintProblem general = test::whole(pile(-1.0, -1.0, 0.01, law));
    const std::vector<double> x = random_rows(static_cast<std::size_t>(general.n_rows()), 5, 0.02);
    const Errors a = errors_of(test::whole(rigid), x), b = errors_of(general, x);
    for (std::size_t m = 0; m < kMetricNames.size(); ++m) {
      const double value = value_of(a, static_cast<Metric>(m));
      EXPECT_NEAR(value_of(b, static_cast<Metric>(m)), value, 1e-11 * value) << kMetricNames[m];
    }
  }
}

TEST(ErrorSets, GiveTheSameNumbersAndNaNForWhatIsLeftOut) {
  for (const ContactLaw law :
       {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box, ContactLaw::frictionless}) {
    Scene scene = test::mixed_ring(13, 4);
    scene.blocks.push_back(test::wide_block(scene.contacts.front(), 1e-2, 1e-2, 0.1));
    scene.law = law;
    const ConstraintProblem problem = test::whole(scene);
    const std::vector<double> x = random_rows(static_cast<std::size_t>(problem.n_rows()), 8, 1.0);
    const Errors all = errors_of(problem, x);
    const Errors energy = errors_of(problem, x, ErrorSet::energy);
    const Errors natural = errors_of(problem, x, ErrorSet::natural_map);
    EXPECT_EQ(energy.energy, all.energy);
    EXPECT_EQ(natural.energy, all.energy);
    EXPECT_EQ(energy.energy_friction, all.energy_friction);
    EXPECT_EQ(natural.natural_map, all.natural_map);
    EXPECT_EQ(natural.natural_map_rms, all.natural_map_rms);
    EXPECT_EQ(natural.natural_map_angular, all.natural_map_angular);
    EXPECT_TRUE(std::isnan(energy.natural_map) && std::isnan(energy.scaled));
    EXPECT_TRUE(std::isnan(natural.siconos) && std::isnan(natural.objective));
    EXPECT_TRUE(std::isnan(natural.cone_violation) && std::isnan(energy.cone_violation));
    EXPECT_GT(all.cone_violation, 0.1);
  }
}

/// One contact of a ball on a plane, by hand.
TEST(ConeViolation, IsTheDistanceFromTheConeThatTheLawHas) {
  const auto violation = [](ContactLaw law, double friction, double cohesion,
                            const std::vector<double>& lambda) {
    Scene scene;
    scene.law = law;
    scene.add_prescribed();
    scene.add_rigid(2.0, Vec3::Constant(0.1));
    scene.add_contact(0, 1, Vec3::UnitZ(), Vec3::Zero(), Vec3(0, 0, -0.3), 0.0, friction).cohesion =
        cohesion;
    return errors_of(test::whole(scene), lambda).cone_violation;
  };
  const double sqrt2 = std::sqrt(2.0);
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp}) {
    EXPECT_EQ(violation(law, 1.0, 0.0, {5, 3, 4}), 0.0);
    EXPECT_NEAR(violation(law, 1.0, 0.0, {5, 6, 8}), 5.0 / sqrt2, 1e-14);
    EXPECT_NEAR(violation(law, 1.0, 0.0, {-5, 3, 0}), std::hypot(5.0, 3.0), 1e-14);
    EXPECT_EQ(violation(law, 0.0, 0.0, {-5, 0, 0}), 5.0);
    EXPECT_EQ(violation(law, 0.0, 0.0, {5, 0, 2}), 2.0);
    EXPECT_EQ(violation(law, 1.0, 7.0, {-5, 0, 2}), 0.0);
    EXPECT_EQ(violation(law, 0.0, 7.0, {-9, 0, 0}), 2.0);
  }
  EXPECT_EQ(violation(ContactLaw::box, 1.0, 0.0, {5, 5, -5}), 0.0);
  EXPECT_EQ(violation(ContactLaw::box, 1.0, 0.0, {5, 6, -8}), 3.0);
  EXPECT_EQ(violation(ContactLaw::box, 0.5, 1.0, {-2, 0, 0}), 1.0);
  EXPECT_EQ(violation(ContactLaw::frictionless, 1.0, 0.0, {5, 3, 4}), 5.0);
  EXPECT_EQ(violation(ContactLaw::frictionless, 1.0, 0.0, {-5, 0, 0}), 5.0);
  EXPECT_TRUE(std::isnan(violation(ContactLaw::coulomb, 1.0, 0.0, {5, std::nan(""), 0})));
}

/// Rolling rows count by the length that turns their mobility into that of the linear rows.
TEST(ConeViolation, OfCouplesIsInNewtonSeconds) {
  Scene scene;
  scene.add_prescribed();
  scene.add_rigid(2.0, Vec3::Constant(0.1));
  scene.add_contact(0, 1, Vec3::UnitZ(), Vec3::Zero(), Vec3::Zero(), 0.0, 0.5);
  const ConstraintProblem problem = test::whole(test::with_couples(scene, 0.0, 0.02, 1.0));
  // N = 1/2 kg^-1 in linear rows, 10 / (kg m^2) in angular ones: l = sqrt(0.5/10) m
  const double length = std::sqrt(0.05);

  EXPECT_NEAR(errors_of(problem, {3, 1, 1, 0.2, 0.1, 0}).cone_violation,
              std::hypot(0.2, 0.1) / length, 1e-13);
  EXPECT_NEAR(errors_of(problem, {3, 1, 1, 0, 0, 0.08}).cone_violation, 0.0, 1e-15);
  EXPECT_NEAR(errors_of(problem, {-3, 0, 0, 0, 0, 0}).cone_violation, 2.0, 1e-14);
}

TEST(ConeViolation, OfRowsIsTheDistanceFromTheirBounds) {
  const ConstraintProblem limit = test::whole(test::limit(2.0, 0.01, 0.1));
  EXPECT_EQ(errors_of(limit, {-0.25}).cone_violation, 0.25);
  EXPECT_EQ(errors_of(limit, {0.25}).cone_violation, 0.0);
  const ConstraintProblem motor = test::whole(test::motor(0.1, 3.0, 0.5));
  EXPECT_EQ(errors_of(motor, {0.75}).cone_violation, 0.25);
  EXPECT_EQ(errors_of(motor, {-1.0}).cone_violation, 0.5);
  EXPECT_EQ(errors_of(motor, {0.5}).cone_violation, 0.0);
  const ConstraintProblem joint = test::whole(test::pendulum(1.0, 0.1, 0.5, 0.01));
  EXPECT_EQ(errors_of(joint, {-9, 9, -9}).cone_violation, 0.0);
}

TEST(ErrorSets, ZeroImpulsesNeedNoVector) {
  const ConstraintProblem problem = test::whole(test::mixed_ring(13, 4));
  DelassusOperator op(problem);
  ErrorEvaluator evaluator(problem, op);
  const std::vector<double> zero(static_cast<std::size_t>(problem.n_rows()), 0.0);
  const Errors a = evaluator.evaluate(zero), b = evaluator.evaluate_zero();
  for (std::size_t m = 0; m < kMetricNames.size(); ++m)
    EXPECT_DOUBLE_EQ(value_of(a, static_cast<Metric>(m)), value_of(b, static_cast<Metric>(m)));
}

TEST(ConeGroup, ErrorsAreThoseOfSingleContacts) {
  std::mt19937_64 engine(9);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 300; ++round) {
    for (const bool coulomb : {true, false}) {
      ConeGroup g{};
      for (std::size_t i = 0; i < ConeGroup::kSize; ++i) {
        for (auto* numbers : {&g.lambda_n, &g.lambda_1, &g.lambda_2, &g.w_n, &g.w_1, &g.w_2})
          (*numbers)[i] = round % 7 == 3 && i % 5 == 0 ? 0.0 : normal(engine);
        g.d_n[i] = i % 13 == 5 ? 0.0 : std::abs(normal(engine));
        g.a_t[i] = i % 13 == 5 || i % 11 == 7 ? 0.0 : std::abs(normal(engine));
        g.mu[i] = i % 6 == 2 ? 0.0 : std::abs(normal(engine));
        if (round % 5 == 4) g.w_1[i] = g.w_2[i] = 0.0;
      }
      cone_energies(g, coulomb);
      cone_natural_maps(g, coulomb);
      for (std::size_t i = 0; i < ConeGroup::kSize; ++i) {
        const double shift = coulomb ? g.mu[i] * row_errors::length_of(g.w_1[i], g.w_2[i]) : 0.0;
        const auto part_with = [&](double pushed) {
          return row_errors::cone_contact<ErrorSet::natural_map>(
              {g.lambda_n[i], g.lambda_1[i], g.lambda_2[i]},
              {g.w_n[i] + pushed, g.w_1[i], g.w_2[i]}, g.d_n[i], g.a_t[i], g.mu[i]);
        };
        const row_errors::Part part = part_with(g.a_t[i] > 0.0 ? shift : 0.0);
        const double natural = part_with(shift).natural;
        EXPECT_NEAR(g.natural[i], natural, 1e-12 * (1.0 + natural)) << i;
        // tests may be compiled with fused multiply-adds, the library is not
        EXPECT_NEAR(g.normal[i], part.energy_normal, 1e-12 * (1.0 + part.energy_normal)) << i;
        EXPECT_NEAR(g.friction[i], part.energy_friction, 1e-12 * (1.0 + part.energy_friction)) << i;
      }
    }
  }
}

TEST(ConeGroup, NotANumberStaysOne) {
  for (int which = 0; which < 6; ++which) {
    ConeGroup g{};
    g.d_n.fill(1.0);
    g.a_t.fill(1.0);
    g.mu.fill(0.5);
    const std::array<ConeGroup::Numbers*, 6> numbers = {&g.lambda_n, &g.lambda_1, &g.lambda_2,
                                                        &g.w_n,      &g.w_1,      &g.w_2};
    (*numbers[static_cast<std::size_t>(which)])[3] = NAN;
    cone_energies(g, true);
    cone_natural_maps(g, true);
    EXPECT_TRUE(std::isnan(g.normal[3] + g.friction[3])) << which;
    EXPECT_TRUE(std::isnan(g.natural[3])) << which;
    EXPECT_EQ(g.normal[4] + g.friction[4], 0.0);
  }
}

}  // namespace
}  // namespace catena
