// What batches know of their errors: the same as the evaluator, which recomputes velocities from
// impulses; and solves that go by it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "catena/metrics/errors.hpp"
#include "solvers/gauss_seidel/sweep_engine.hpp"
#include "solvers/kernel_paths.hpp"
#include "support/hand_problems.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

using test::Scene;

constexpr double kFriction = 0.3;
constexpr double kRoundOff = 1e-11;  ///< relative, of some hundred contacts and a few sweeps

struct Case {
  std::string name;
  Scene scene;
};

/// Spheres, boxes, and spheres that roll and spin; rigid, compliant, frictionless in part.
std::vector<Case> cases() {
  Scene pile = test::sphere_pile(8, 14, kFriction, 0.005, 11);
  for (std::size_t k = 0; k < pile.contacts.size(); k += 5) pile.contacts[k].friction = 0.0;
  Scene soft = pile;
  for (std::size_t k = 0; k < soft.contacts.size(); ++k) {
    RigidContact& c = soft.contacts[k];
    c.compliance = 0.1 + 0.03 * std::sin(static_cast<double>(k));
    c.tangent_compliance = 0.15;
    c.tangent_bias = {0.02 * std::sin(3.0 * static_cast<double>(k)), 0.03};
  }
  return {{"rigid spheres", pile},
          {"compliant spheres", soft},
          {"boxes", test::box_on_plane(kFriction, 0.005, 0.5)},
          {"rolling", test::with_couples(soft, 0.01, -1.0)},
          {"spinning", test::with_couples(soft, -1.0, 0.02)},
          {"rolling and spinning", test::with_couples(pile, 0.003, 0.02)},
          {"bounds of zero", test::with_couples(pile, 0.0, 0.0)}};
}

void expect_near(double found, double expected, double size, const std::string& where) {
  EXPECT_NEAR(found, expected, kRoundOff * size) << where;
}

/// Errors of the engine beside those of the evaluator, at zero impulses and after some sweeps.
void expect_same_errors(const Scene& scene, const Communicator& comm, const BatchKernels& kernels,
                        const test::SubdomainOf& subdomain, bool rolls, const std::string& where) {
  const test::LocalScene local = distribute(scene, comm, test::slabs(comm, scene), subdomain);
  const ConstraintProblem& problem = local.problem;
  DelassusOperator op(problem);
  std::vector<double> impulses(problem.n_rows());
  for (std::size_t i = 0; i < impulses.size(); ++i)
    impulses[i] = 0.02 * std::sin(static_cast<double>(local.row[i]));
  const SweepOptions options{LocalSolveOptions{scene.law, LocalSolve::exact, 1.0}, kernels};
  const auto engine = make_hybrid_engine();
  engine->start(problem, op, options, nullptr, impulses);
  ErrorEvaluator evaluator(problem, op);
  EXPECT_TRUE(engine->knows_errors()) << where;
  EXPECT_NE(engine->errors_at_zero(), nullptr) << where;
  if (!engine->knows_errors() || engine->errors_at_zero() == nullptr) return;

  const auto total = [&](const Sum& sum) { return comm.sum(sum.value()); };
  const Errors zero = evaluator.evaluate_zero(ErrorSet::energy);
  expect_near(total(engine->errors_at_zero()->normal), zero.energy_normal, zero.energy, where);
  expect_near(total(engine->errors_at_zero()->friction), zero.energy_friction, zero.energy, where);
  const double floor = energy_round_off(total(engine->errors_at_zero()->scale));
  const double expected_floor = evaluator.energy_round_off();
  // explicit rows are measured number by number: no more than contacts' bounds
  EXPECT_GE(floor, (rolls ? 0.2 : 1.0 - kRoundOff) * expected_floor) << where;
  EXPECT_LE(floor, (rolls ? 5.0 : 1.0 + kRoundOff) * expected_floor) << where;

  for (int sweep = 0; sweep <= 6; ++sweep) {
    engine->store_impulses(impulses);
    const Errors errors = evaluator.evaluate(impulses, {}, ErrorSet::energy);
    const ErrorParts parts = engine->errors();
    expect_near(total(parts.normal), errors.energy_normal, zero.energy, where);
    expect_near(total(parts.friction), errors.energy_friction, zero.energy, where);
    engine->sweep(true);
  }
}

TEST(SweepErrors, AreThoseThatAreRecomputedFromImpulses) {
  const Communicator comm = Communicator::world();
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::frictionless})
    for (Case& c : cases()) {
      c.scene.law = law;
      const bool rolls = !c.scene.blocks.empty();
      for (const KernelPath path : test::kernel_paths()) {
        const BatchKernels kernels = choose_kernels(path);
        const std::string where =
            c.name + ", " + kernels.name + ", law " + std::to_string(ordinal(law));
        expect_same_errors(c.scene, comm, kernels, {}, rolls, where);
        // several subdomains a rank: masses are split
        const Index each = 2 * comm.size();
        const auto subdomain = [&](GlobalId id) {
          return to_index(id) * each / to_index(c.scene.bodies.size());
        };
        if (comm.size() == 1)
          expect_same_errors(c.scene, comm, kernels, subdomain, rolls, where + ", split");
      }
    }
}

SolverSettings by_estimates(int sweeps) {
  SolverSettings settings;
  settings.method = SolverMethod::gauss_seidel;
  settings.stop.relative_tolerance = 1e-30;
  settings.stop.absolute_tolerance = 0.0;
  settings.stop.max_iterations = sweeps;
  settings.stop.check_interval = 1;
  settings.stop.history_set = settings.stop.report_set = ErrorSet::energy;
  return settings;
}

// Over-relaxed sweeps do not lower the error each time.
TEST(SweepErrors, BestIterateIsReturnedWhereItIsKeptByTheSweeps) {
  const Scene scene = test::sphere_pile(8, 14, kFriction, 0.005, 11);
  const ConstraintProblem problem = whole(scene);
  SolverSettings settings = by_estimates(40);
  settings.gauss_seidel.relaxation = 1.95;

  const test::Solved s = test::solve(problem, settings);

  double least = HUGE_VAL;
  for (const HistoryEntry& entry : s.report.history) least = std::min(least, entry.errors.energy);
  EXPECT_LT(least, 0.999 * s.report.history.back().errors.energy);
  EXPECT_NEAR(s.report.errors.energy, least, 1e-9 * least);
  DelassusOperator op(problem);
  ErrorEvaluator evaluator(problem, op);
  EXPECT_EQ(evaluator.evaluate(s.impulses, {}, ErrorSet::energy).energy, s.report.errors.energy);
}

TEST(SweepErrors, SolveEndsWhereTheEvaluatedErrorMeetsTheRule) {
  const Communicator comm = Communicator::world();
  Scene scene = test::sphere_pile(8, 14, kFriction, 0.005, 11);
  for (RigidContact& c : scene.contacts) c.compliance = c.tangent_compliance = 0.1;
  const test::LocalScene local = distribute(scene, comm, test::deal(comm));
  SolverSettings settings = by_estimates(1000);
  settings.stop.relative_tolerance = 1e-8;

  const test::Solved s = test::solve_with(*make_solver(settings), local);

  EXPECT_EQ(s.report.status, SolveStatus::converged);
  EXPECT_LE(s.report.errors.energy, s.report.threshold);
  EXPECT_NEAR(s.report.threshold, 1e-8 * s.report.initial.energy, 1e-20);
  // a sweep less does not do
  EXPECT_GT(s.report.history.end()[-2].errors.energy, s.report.threshold);
  EXPECT_EQ(s.report.history.back().iteration, s.report.iterations);
  const ConstraintProblem problem = whole(scene);
  DelassusOperator op(problem);
  ErrorEvaluator evaluator(problem, op);
  EXPECT_NEAR(evaluator.evaluate(s.impulses, {}, ErrorSet::energy).energy, s.report.errors.energy,
              1e-6 * s.report.threshold);
}

// From a guess that is the solution, no sweep is made; a guess with NaN is a breakdown.
TEST(SweepErrors, GuessesAreJudgedBeforeTheFirstSweep) {
  Scene scene = test::sphere_pile(8, 14, kFriction, 0.005, 11);
  for (RigidContact& c : scene.contacts) c.compliance = c.tangent_compliance = 0.1;
  const ConstraintProblem problem = whole(scene);
  SolverSettings settings = by_estimates(2000);
  settings.stop.relative_tolerance = 1e-12;
  const test::Solved cold = test::solve(problem, settings);

  const test::Solved warm = test::solve(problem, settings, cold.impulses);

  EXPECT_EQ(cold.report.status, SolveStatus::converged);
  EXPECT_EQ(warm.report.status, SolveStatus::converged);
  EXPECT_EQ(warm.report.iterations, 0);
  EXPECT_LT(test::distance(warm.impulses, cold.impulses), 1e-14);
  std::vector<double> broken = cold.impulses;
  broken[0] = std::nan("");
  EXPECT_EQ(test::solve(problem, settings, broken).report.status, SolveStatus::breakdown);
}

}  // namespace
}  // namespace catena
