#include <gtest/gtest.h>

#include "newton_system_cases.hpp"
#include "solvers/newton/rigid_modes.hpp"

namespace catena {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::Scene;

constexpr double kTolerance = 1e-11;

/// A scene's system with dense matrices whose solution is known, and its solution on all ranks.
struct Case {
  Case(const Scene& s, double scale, bool is_symmetric)
      : scene(s),
        dense(test::dense_problem(test::whole(s))),
        symmetric(is_symmetric),
        c(test::random_blocks(s, symmetric, scale, 1)),
        b(symmetric ? MatrixXd::Identity(s.n_rows(), s.n_rows())
                    : test::random_blocks(s, false, 1.0, 5)),
        expected(test::random_vector(s.n_rows(), 2)),
        g((c + b * dense.N) * expected) {}

  /// |solution - reference| / |reference|, of dlambda and of its change of velocity.
  std::pair<double, double> errors(const LinearSettings& settings, const test::Owner& owner) {
    const Communicator comm = Communicator::world();
    const test::LocalScene local = test::distribute(scene, comm, owner);
    const ConstraintProblem& problem = local.problem;
    DelassusOperator op(problem);
    NewtonSystem system(problem, op, settings, "test");
    const BlockMatrices c_blocks = test::blocks_of(c, problem, local.row);
    const BlockMatrices b_blocks = test::blocks_of(b, problem, local.row);
    EXPECT_TRUE(system.factor(c_blocks, symmetric ? nullptr : &b_blocks));
    const std::vector<double> right =
        test::local_rows(local, {g.data(), static_cast<std::size_t>(g.size())});
    std::vector<double> x(right.size());
    std::vector<double> change(static_cast<std::size_t>(problem.bodies.n_dofs()));
    report = system.solve(right, x, change, kTolerance);
    description = system.description();
    unknowns = system.unknowns();
    const VectorXd moved = dense.inverse_mass * dense.G.transpose() * expected;
    const std::vector<double> all = test::gather_rows(local, x);
    const std::vector<double> all_changes = test::gather_velocities(local, change);
    const Eigen::Map<const VectorXd> found(all.data(), g.size());
    const Eigen::Map<const VectorXd> found_change(all_changes.data(), moved.size());
    return {(found - expected).norm() / expected.norm(),
            (found_change - moved).norm() / moved.norm()};
  }

  Scene scene;
  test::DenseProblem dense;
  bool symmetric;
  MatrixXd c, b;
  VectorXd expected, g;
  LinearReport report;
  std::string description;
  std::int64_t unknowns = 0;
};

TEST(NewtonSystemMpi, FactorsAnswerAsOneDenseMatrixHoweverBodiesAreDealt) {
  const Communicator comm = Communicator::world();
  for (const bool symmetric : {true, false})
    for (const Scene& scene : {test::mixed_ring(9, 3), test::sphere_pile(30, 80, 0.5, 5e-3, 1)}) {
      Case it(scene, 0.1, symmetric);
      for (const test::Owner& owner : {test::deal(comm), test::slabs(comm, scene)}) {
        const auto [impulse, change] = it.errors({.method = LinearMethod::direct}, owner);

        EXPECT_LT(impulse, 1e-9) << symmetric;
        EXPECT_LT(change, 1e-9) << symmetric;
        EXPECT_TRUE(it.report.ok);
        EXPECT_EQ(it.description, comm.size() == 1 ? "dense" : "MUMPS");
      }
    }
}

TEST(NewtonSystemMpi, LongRingsAreFactoredAsSparseMatricesOnOneRank) {
  const Communicator comm = Communicator::world();
  // the larger has more unknowns than a dense factor may have
  for (const int bodies : {60, 110})
    for (const bool symmetric : {true, false}) {
      Case it(test::mixed_ring(bodies, 3), 0.1, symmetric);
      const auto [impulse, change] =
          it.errors({.method = LinearMethod::automatic}, test::slabs(comm, it.scene));

      EXPECT_LT(impulse, 1e-9) << symmetric;
      EXPECT_LT(change, 1e-9) << symmetric;
      EXPECT_TRUE(it.report.ok);
      EXPECT_EQ(it.description, comm.size() == 1 ? "sparse" : "MUMPS");
      EXPECT_EQ(it.unknowns > 500, bodies == 110) << it.unknowns;
    }
}

TEST(NewtonSystemMpi, RanksWithoutBodiesTakePart) {
  const Communicator comm = Communicator::world();
  const Scene scene = test::sphere_pile(20, 50, 0.5, 5e-3, 2);
  const test::Owner last = [&](GlobalId) { return comm.size() - 1; };
  for (const LinearMethod method : {LinearMethod::direct, LinearMethod::cg}) {
    Case it(scene, 0.1, true);
    EXPECT_LT(it.errors({.method = method}, last).first, 1e-8);
  }
}

TEST(NewtonSystemMpi, ConjugateGradientsAnswerTheSameWithEveryPreconditioner) {
  const Communicator comm = Communicator::world();
  Case it(test::sphere_pile(40, 110, 0.5, 5e-3, 1), 0.1, true);
  for (const LinearPreconditioner preconditioner :
       {LinearPreconditioner::gamg, LinearPreconditioner::block_jacobi,
        LinearPreconditioner::icc}) {
    const auto [impulse, change] =
        it.errors({.method = LinearMethod::cg, .preconditioner = preconditioner},
                  test::slabs(comm, it.scene));

    EXPECT_LT(impulse, 1e-9) << static_cast<int>(preconditioner);
    EXPECT_LT(change, 1e-9) << static_cast<int>(preconditioner);
    EXPECT_GT(it.report.iterations, 3);
    EXPECT_EQ(it.description.substr(0, 7), "cg with") << it.description;
  }
}

TEST(NewtonSystemMpi, NextToNothingBesideRedundantRowsIsSolvedOnAllRanks) {
  const Communicator comm = Communicator::world();
  const Scene scene = test::box_stack(8, 0.5, 5e-3);
  const test::DenseProblem dense = test::dense_problem(test::whole(scene));
  const MatrixXd c = 1e-15 * dense.N.diagonal().asDiagonal().toDenseMatrix();
  const VectorXd g = dense.N * test::random_vector(scene.n_rows(), 2);
  const test::LocalScene local = test::distribute(scene, comm, test::slabs(comm, scene));
  DelassusOperator op(local.problem);
  NewtonSystem system(local.problem, op, {}, "test");

  EXPECT_TRUE(system.factor(test::blocks_of(c, local.problem, local.row)));
  const std::vector<double> right =
      test::local_rows(local, {g.data(), static_cast<std::size_t>(g.size())});
  std::vector<double> x(right.size());
  system.solve(right, x, {}, 1e-12);

  const std::vector<double> all = test::gather_rows(local, x);
  const Eigen::Map<const VectorXd> found(all.data(), g.size());
  EXPECT_LT((g - dense.N * found).norm(), 2e-12 * g.norm());
}

TEST(ContactPositions, FollowFromArmsOfContactsAndJointsOverAllRanks) {
  // a string of bodies at random places, hung together by contacts and by one joint
  constexpr GlobalId kBodies = 7;
  const Communicator comm = Communicator::world();
  const VectorXd place = test::random_vector(3 * kBodies, 3);
  const auto arm = [&](GlobalId b, const Vec3& point) {
    return Vec3(point - place.segment<3>(3 * b));
  };
  Scene scene;
  for (GlobalId b = 0; b < kBodies; ++b) scene.add_rigid(1.0, Vec3(0.1, 0.2, 0.3));
  for (GlobalId b = 0; b + 1 < kBodies; ++b) {
    const Vec3 point = test::random_vector(3, 10 + static_cast<unsigned>(b));
    const RigidContact& c = scene.add_contact(b, b + 1, Vec3(0.6, 0.0, 0.8), arm(b, point),
                                              arm(b + 1, point), 0.0, 0.5);
    if (b == 3) {
      scene.blocks.push_back(test::wide_block(c, -1.0, -1.0));
      scene.blocks.back().kind = BlockKind::bilateral;
      scene.contacts.pop_back();
    }
  }
  const test::LocalScene local = test::distribute(scene, comm, test::deal(comm));

  const std::vector<Vec3> found = contact_positions(local.problem);

  std::vector<double> all(3 * kBodies, 0.0);
  for (Index b = 0; b < local.problem.bodies.n_owned; ++b)
    for (int i = 0; i < 3; ++i)
      all[static_cast<std::size_t>(3 * local.problem.bodies.id[static_cast<std::size_t>(b)] + i)] =
          found[static_cast<std::size_t>(b)][i];
  comm.sum(all);
  for (GlobalId b = 1; b < kBodies; ++b)
    for (int i = 0; i < 3; ++i)
      EXPECT_NEAR(all[static_cast<std::size_t>(3 * b + i)] - all[static_cast<std::size_t>(i)],
                  place[3 * b + i] - place[i], 1e-12)
          << b;
}

}  // namespace
}  // namespace catena
