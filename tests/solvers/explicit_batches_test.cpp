// Contacts with stored Jacobians in batches: what fits, and that they are solved as one by one.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "catena/base/random.hpp"
#include "solvers/batches/explicit_contacts.hpp"
#include "solvers/batches/sweep_order.hpp"
#include "solvers/kernel_paths.hpp"
#include "support/dense_reference.hpp"
#include "support/fclib_problem.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

/// Numbers in (-1, 1), one after the other.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  double operator()() { return uniform_pm1(seed_, 7, next_++); }

 private:
  std::uint64_t seed_, next_ = 0;
};

enum class Masses { diagonal, rigid, full };

struct Spec {
  Masses masses = Masses::diagonal;
  double compliance = 0.0, cohesion = 0.0;
};

void add_body(ConstraintProblem& problem, Masses masses, Draw& draw) {
  using Matrix = Eigen::Matrix<double, 6, 6>;
  Matrix inverse = Matrix::Identity();
  for (int i = 0; i < 6; ++i) inverse(i, i) += 0.5 * draw();
  if (masses == Masses::full) {
    Matrix a;
    for (double& x : a.reshaped()) x = 0.2 * draw();
    inverse += a * a.transpose();
  }
  if (masses == Masses::rigid) {
    inverse.topLeftCorner<3, 3>() = inverse(0, 0) * Eigen::Matrix3d::Identity();
    Eigen::Matrix3d a;
    for (double& x : a.reshaped()) x = 0.3 * draw();
    inverse.bottomRightCorner<3, 3>() += a * a.transpose();
  }
  std::array<double, 6> velocity;
  for (double& v : velocity) v = draw();
  problem.bodies.add_dense(problem.bodies.size(), {inverse.data(), 36}, velocity);
}

/// A contact of three rows with any Jacobians.
void add_contact(ConstraintProblem& problem, const std::vector<Index>& bodies, const Spec& spec,
                 Draw& draw) {
  GeneralBlocks& blocks = problem.blocks;
  blocks.kind.push_back(BlockKind::contact);
  blocks.name.push_back(blocks.size());
  blocks.row_begin.push_back(blocks.row_begin.back() + 3);
  for (const Index b : bodies) {
    blocks.body.push_back(b);
    for (int i = 0; i < 3 * problem.bodies.dofs(b); ++i) blocks.jacobian.push_back(draw());
    blocks.jacobian_begin.push_back(std::ssize(blocks.jacobian));
  }
  blocks.body_begin.push_back(to_index(blocks.body.size()));
  blocks.friction.push_back(0.4 + 0.3 * draw());
  if (spec.cohesion > 0.0) {
    blocks.rolling.push_back(-1.0);
    blocks.spinning.push_back(-1.0);
    blocks.cohesion.push_back(spec.cohesion * (1.0 + draw()));
  }
  for (int i = 0; i < 3; ++i) {
    blocks.q.push_back(0.5 * draw());
    blocks.compliance.push_back(spec.compliance * (1.0 + 0.5 * draw()));
    blocks.lower.push_back(0.0);
    blocks.upper.push_back(0.0);
    blocks.angular.push_back(0);
  }
}

/// A ring of bodies, each in contact with the next one and the one after; every fifth also alone.
ConstraintProblem ring(Index n, const Spec& spec, std::uint64_t seed) {
  ConstraintProblem problem(Communicator::self());
  Draw draw(seed);
  for (Index b = 0; b < n; ++b) add_body(problem, spec.masses, draw);
  problem.bodies.n_owned = n;
  for (Index b = 0; b < n; ++b) {
    for (const Index step : {1, 2}) {
      const Index other = (b + step) % n;
      add_contact(problem, {std::min(b, other), std::max(b, other)}, spec, draw);
    }
    if (b % 5 == 0) add_contact(problem, {b}, spec, draw);
  }
  check_problem(problem);
  return problem;
}

SweepPlan plan_of(const ConstraintProblem& problem) {
  std::vector<Index> blocks(static_cast<std::size_t>(problem.n_blocks()));
  std::iota(blocks.begin(), blocks.end(), 0);
  const std::vector<BodyRole> own(static_cast<std::size_t>(problem.bodies.size()), BodyRole::own);
  return plan_sweep(problem, blocks, own, {});
}

std::vector<Spec> specs() {
  return {{Masses::diagonal},
          {Masses::rigid},
          {Masses::full},
          {Masses::diagonal, 0.05, 0.1},
          {Masses::full, 0.05}};
}

constexpr std::array<ContactLaw, 4> kLaws = {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box,
                                             ContactLaw::frictionless};

TEST(ExplicitBatches, EveryInstructionSetGivesTheSame) {
  for (const Spec& spec : specs())
    for (const ContactLaw law : kLaws)
      for (const double omega : {1.0, 1.2})
        for (const bool accelerated : {false, true}) {
          ConstraintProblem problem = ring(61, spec, 3);
          problem.law = law;
          SolverSettings settings;
          settings.stop = test::iterations(20);
          settings.gauss_seidel.relaxation = omega;
          settings.gauss_seidel.accelerated = accelerated;
          settings.gauss_seidel.kernels = KernelPath::plain;
          const test::Solved plain = test::solve(problem, settings);

          for (const KernelPath path : test::kernel_paths()) {
            settings.gauss_seidel.kernels = path;
            const test::Solved other = test::solve(problem, settings);

            EXPECT_LE(test::distance(plain.impulses, other.impulses), test::kPathTolerance)
                << "law " << static_cast<int>(law) << " path " << static_cast<int>(path);
            EXPECT_LE(test::distance(plain.velocities, other.velocities), test::kPathTolerance);
          }
        }
}

/// The same sweeps one block at a time, in the order of the batches.
test::Solved one_by_one(const ConstraintProblem& problem, const std::vector<double>& guess,
                        int sweeps) {
  test::Solved out;
  out.impulses = guess;
  ExplicitBlocks blocks;
  for (const Index k : flatten(plan_of(problem)))
    append_block(blocks, problem, k, problem.law, guess, [&](Index b) {
      return BodyPlace{problem.bodies.dof_begin[static_cast<std::size_t>(b)], 1.0};
    });
  const auto store = [&] {
    for (const ExplicitBlocks::Block& block : blocks.blocks)
      std::copy_n(blocks.lambda.data() + block.row, block.rows,
                  out.impulses.data() + block.problem_row);
  };
  store();
  out.velocities.resize(static_cast<std::size_t>(problem.bodies.n_dofs()));
  DelassusOperator(problem).velocities(out.impulses, out.velocities);
  std::vector<double> scratch(static_cast<std::size_t>(2 * blocks.most_rows));
  const LocalSolveOptions rules{problem.law, LocalSolve::exact, 1.0};
  for (int i = 0; i < sweeps; ++i)
    sweep_explicit_blocks(blocks, 0, blocks.size(), out.velocities, rules, true, scratch);
  store();
  return out;
}

TEST(ExplicitBatches, SweepsAreThoseOfBlocksOneByOne) {
  for (const Spec& spec : specs())
    for (const ContactLaw law : kLaws)
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        ConstraintProblem problem = ring(29, spec, seed);
        problem.law = law;
        std::vector<double> guess(static_cast<std::size_t>(problem.n_rows()));
        Draw draw(seed + 100);
        for (double& x : guess) x = 0.3 * draw();
        SolverSettings settings;
        settings.stop = test::iterations(7);
        settings.gauss_seidel.accelerated = false;
        const test::Solved reference = one_by_one(problem, guess, 7);

        for (const KernelPath path : test::kernel_paths()) {
          settings.gauss_seidel.kernels = path;
          const test::Solved s = test::solve(problem, settings, guess);

          EXPECT_LT(test::distance(s.impulses, reference.impulses), 1e-10)
              << "law " << static_cast<int>(law) << " seed " << seed;
          EXPECT_LT(test::distance(s.velocities, reference.velocities), 1e-10);
        }
      }
}

TEST(ExplicitBatches, HaveTheVelocitiesOfTheDenseReference) {
  for (const Spec& spec : specs())
    for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp}) {
      ConstraintProblem problem = ring(12, spec, 4);
      problem.law = law;
      const test::DenseSolution dense = test::solve_dense(problem, 1e-12);
      SolverSettings settings;
      settings.stop = test::stop_at(Metric::natural_map, 1e-11, 20000);

      const test::Solved s = test::solve(problem, settings);

      EXPECT_EQ(s.report.status, SolveStatus::converged) << s.report.reason;
      EXPECT_LT(test::distance(s.velocities, dense.velocities), 1e-8);
    }
}

TEST(ExplicitBatches, OfOneBatchShareNoMovingBodyAndHoldEveryContactOnce) {
  const ConstraintProblem problem = ring(203, {}, 2);
  std::set<Index> seen;
  std::size_t places = 0;
  for (const PartPlan& part : plan_of(problem)) {
    EXPECT_TRUE(part.general.empty());
    const std::vector<Index>& list = part.explicit_contacts;
    ASSERT_EQ(list.size() % kLanes, 0U);
    places += list.size();
    for (std::size_t first = 0; first < list.size(); first += kLanes) {
      std::set<Index> bodies;
      for (std::size_t i = first; i < first + kLanes; ++i) {
        if (list[i] == kNoIndex) continue;
        EXPECT_TRUE(seen.insert(list[i]).second);
        const auto k = static_cast<std::size_t>(list[i]);
        for (auto j = problem.blocks.body_begin[k]; j < problem.blocks.body_begin[k + 1]; ++j)
          EXPECT_TRUE(bodies.insert(problem.blocks.body[static_cast<std::size_t>(j)]).second);
      }
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(problem.n_blocks()));
  EXPECT_LT(static_cast<double>(places), 1.2 * static_cast<double>(seen.size()));
}

TEST(ExplicitBatches, OtherBodiesAndMassesAreSweptOneByOne) {
  ConstraintProblem problem(Communicator::self());
  Draw draw(1);
  for (int i = 0; i < 3; ++i) add_body(problem, Masses::full, draw);
  // gyroscopic: M^-1 is not symmetric
  problem.bodies.inverse_mass[5] += 0.01;
  problem.bodies.add_dense(3, std::vector<double>{1.0, 0.0, 0.0, 1.0}, std::vector<double>(2));
  problem.bodies.n_owned = 4;
  add_contact(problem, {1, 2}, {}, draw);
  add_contact(problem, {0, 1}, {}, draw);
  add_contact(problem, {1, 3}, {}, draw);
  add_contact(problem, {0, 1, 2}, {}, draw);

  EXPECT_TRUE(fits_explicit_batch(problem, 0));
  for (const Index k : {1, 2, 3}) EXPECT_FALSE(fits_explicit_batch(problem, k)) << k;
}

TEST(ExplicitBatches, InverseMassesAreOfTheLeastFormThatHoldsAll) {
  const auto form_of = [](std::vector<Masses> kinds) {
    ConstraintProblem problem(Communicator::self());
    Draw draw(1);
    for (const Masses masses : kinds) add_body(problem, masses, draw);
    std::vector<Index> bodies(kinds.size());
    std::iota(bodies.begin(), bodies.end(), 0);
    const auto place = [](Index b) { return BodyPlace{Offset{8} * (b + 1), 1.0}; };
    return InverseMasses(problem, bodies, place, kinds.size() + 1).lines().form;
  };

  EXPECT_EQ(form_of({Masses::diagonal, Masses::diagonal}), MassForm::diagonal);
  EXPECT_EQ(form_of({Masses::rigid, Masses::rigid}), MassForm::rigid);
  EXPECT_EQ(form_of({Masses::rigid, Masses::full}), MassForm::full);
  // its first three numbers differ
  EXPECT_EQ(form_of({Masses::rigid, Masses::diagonal}), MassForm::full);
}

TEST(ExplicitBatches, HoldAllContactsOfPublishedProblemsOfRigidBodies) {
  const ConstraintProblem problem = test::fclib_problem("Spheres-i099-356-679.hdf5");

  for (const PartPlan& part : plan_of(problem)) EXPECT_TRUE(part.general.empty());
}

TEST(ExplicitBatches, WhatNothingMovesHasNoImpulse) {
  ConstraintProblem problem(Communicator::self());
  Draw draw(1);
  problem.bodies.add_prescribed(0, {});
  problem.bodies.add_prescribed(1, {});
  problem.bodies.n_owned = 2;
  add_contact(problem, {0, 1}, {Masses::diagonal, 0.0, 0.1}, draw);
  SolverSettings settings;
  settings.stop = test::iterations(3);

  const test::Solved s = test::solve(problem, settings, {0.2, 0.1, 0.0});

  EXPECT_EQ(s.impulses, std::vector<double>({0.0, 0.0, 0.0}));
}

}  // namespace
}  // namespace catena
