#include <gtest/gtest.h>

#include "catena/base/error.hpp"
#include "joint_elimination_scenes.hpp"
#include "solvers/linear/linear_solver.hpp"

namespace catena {
namespace {

using test::DenseJoints;
using test::MechanismMaker;

/// Both factors for anything: our own and PETSc's.
class SparseElimination
    : public ::testing::TestWithParam<std::unique_ptr<JointElimination> (*)(const MechanismRows&)> {
};

TEST_P(SparseElimination, BlocksOfUpToFourRigidAndDenseBodiesEqualTheDenseSolution) {
  MechanismMaker maker(1);
  for (int i = 0; i < 30; ++i) {
    maker.body(std::pow(10.0, maker.uniform(-2, 2)), maker.any());
    if (i % 3 == 0) {
      const int n = 2 + i % 4;
      Eigen::MatrixXd root(n, n);
      for (double& v : root.reshaped()) v = maker.uniform(-1, 1);
      const Eigen::MatrixXd mass = root * root.transpose() + Eigen::MatrixXd::Identity(n, n);
      const std::vector<double> rest(static_cast<std::size_t>(n), 0.0);
      maker.made.bodies.add_dense(1000 + i, {mass.data(), static_cast<std::size_t>(n * n)}, rest);
      maker.centre.push_back(Vec3::Zero());
    }
  }
  const Index n = maker.made.bodies.size();
  for (Index i = 0; i < 35; ++i) {
    std::vector<Index> bodies = {i % n};
    for (Index k = 1; k <= i % 4; ++k) bodies.push_back((i + 7 * k) % n);
    maker.rows(bodies, 1 + static_cast<std::size_t>(i) % 3, i % 5 == 0 ? 1e-2 : 0.0);
  }
  const DenseJoints dense(maker.made);
  const Eigen::VectorXd b = dense.consistent(maker);

  const auto elimination = GetParam()(maker.made);
  elimination->factor(maker.made);
  const Eigen::VectorXd x = test::solve(*elimination, b);

  EXPECT_LT(dense.backward_error(x, b), 3e-15);
  EXPECT_LT(dense.difference(x, dense.solution(b)), 1e-10);
  EXPECT_GT(elimination->report().flops, 0);
}

TEST_P(SparseElimination, AgreesWithTheTreeElimination) {
  MechanismMaker maker(2);
  for (Index b = 0; b < 300; ++b) {
    maker.body(1.0, 3.0 * maker.any());
    if (b == 0) continue;
    maker.hinge(maker.integer(b), b, 3.0 * maker.any(), maker.any());
  }
  maker.joint(0, -1, maker.any());
  const DenseJoints dense(maker.made);
  const Eigen::VectorXd b = dense.consistent(maker);

  const auto sparse = GetParam()(maker.made);
  const auto tree = make_tree_elimination(maker.made);
  sparse->factor(maker.made);
  tree->factor(maker.made);

  EXPECT_LT(dense.difference(test::solve(*sparse, b), test::solve(*tree, b)), 1e-9);
}

TEST_P(SparseElimination, RedundantRowsAreNamedAndReactionsOfLeastNormStepAfterStep) {
  // two four-bars side by side on one ground, planar: A02 with two loops; 3 redundant rows each
  MechanismMaker maker(3);
  const auto at = [](int i, bool top) { return Vec3(i, 0, top ? 1 : 0); };
  for (int i = 0; i < 3; ++i) maker.body(1.0, at(i, false) + Vec3(0, 0, 0.5));
  for (int i = 0; i < 2; ++i) maker.body(1.0, at(i, true) + Vec3(0.5, 0, 0));
  for (Index i = 0; i < 3; ++i) maker.hinge(i, -1, at(i, false), Vec3::UnitY());
  for (Index i = 0; i < 2; ++i) {
    maker.hinge(i, 3 + i, at(i, true), Vec3::UnitY());
    maker.hinge(3 + i, i + 1, at(i + 1, true), Vec3::UnitY());
  }
  const auto elimination = GetParam()(maker.made);
  const auto bordered = make_bordered_elimination(maker.made);

  for (int step = 0; step < 2; ++step) {
    for (double& m : maker.made.bodies.inverse_mass) m *= 1.5;
    const DenseJoints dense(maker.made);
    const Eigen::VectorXd b = dense.consistent(maker);
    elimination->factor(maker.made);
    bordered->factor(maker.made);
    const Eigen::VectorXd x = test::solve(*elimination, b);

    // at this place, with equal cranks, one more row than the two times three is dependent
    // neither in motion nor in A: the rank tells
    const auto redundant = static_cast<std::size_t>(dense.a.rows() - dense.rank());
    EXPECT_EQ(redundant, 6U);
    EXPECT_EQ(elimination->report().redundant.size(), redundant) << step;
    EXPECT_EQ(bordered->report().redundant.size(), redundant) << step;
    EXPECT_LT(dense.difference(x, dense.least_norm(b)), 1e-9) << step;
    EXPECT_LT(dense.difference(test::solve(*bordered, b), dense.least_norm(b)), 1e-9) << step;
    EXPECT_LT(dense.backward_error(x, b), 2e-15) << step;
  }
}

TEST_P(SparseElimination, RowsThatBecomeRedundantLaterAreFoundOneStepAfterTheyHurt) {
  MechanismMaker maker(4);
  maker.body(1.0, Vec3::Zero());
  maker.rows({0}, 3);
  maker.rows({0}, 3);
  const auto elimination = GetParam()(maker.made);
  elimination->factor(maker.made);
  EXPECT_TRUE(elimination->report().redundant.empty());

  // the last row is now the sum of two others, and its velocity contradicts theirs
  double* g = maker.made.blocks.jacobian.data();
  for (int i = 0; i < 6; ++i) g[30 + i] = g[i] + g[12 + i];
  const DenseJoints dense(maker.made);
  Eigen::VectorXd b = dense.consistent(maker);
  b[5] += 1.0;
  elimination->factor(maker.made);
  test::solve(*elimination, b);
  elimination->factor(maker.made);

  EXPECT_EQ(elimination->report().redundant.size(), 1U);
  EXPECT_LT(dense.difference(test::solve(*elimination, b), dense.least_norm(b)), 1e-8);
}

TEST_P(SparseElimination, NaNComesBackAsNaN) {
  MechanismMaker maker(5);
  maker.body(1.0, Vec3::Zero());
  maker.rows({0}, 3);
  const auto elimination = GetParam()(maker.made);
  maker.made.blocks.jacobian[3] = std::numeric_limits<double>::quiet_NaN();
  elimination->factor(maker.made);
  EXPECT_TRUE(std::isnan(test::solve(*elimination, Eigen::VectorXd::Ones(3))[0]));
}

INSTANTIATE_TEST_SUITE_P(Factors, SparseElimination,
                         ::testing::Values(make_dissected_elimination, make_sparse_elimination),
                         [](const auto& made) {
                           return made.param == make_sparse_elimination ? "petsc" : "dissected";
                         });

/// Two unknowns, [a b; b c] given by its upper triangle a, b, c.
std::unique_ptr<LinearSolver> upper_triangle_of_two() {
  MatrixPattern pattern;
  pattern.owned = 2;
  pattern.total = 2;
  pattern.upper_triangle = true;
  pattern.row = {0, 0, 1};
  pattern.column = {0, 1, 1};
  return make_petsc_solver(Communicator::self(), pattern, {"catena_joint_", "rows", "here", "fix"});
}

TEST(PetscSolver, MatrixThatIsNotPositiveIsReportedNotThrown) {
  const auto cholesky = upper_triangle_of_two();
  EXPECT_FALSE(cholesky->factor(std::vector<double>{1.0, 2.0, 1.0}, true));
  EXPECT_TRUE(cholesky->factor(std::vector<double>{4.0, 2.0, 2.0}, true));
  std::vector<double> x = {8.0, 6.0};
  EXPECT_GE(cholesky->solve(x, 0.0), 0);
  EXPECT_NEAR(x[0], 1.0, 1e-14);
  EXPECT_NEAR(x[1], 2.0, 1e-14);
}

TEST(PetscSolver, FailedFactorIsNotSolvedWith) {
  const auto cholesky = upper_triangle_of_two();
  EXPECT_FALSE(cholesky->factor(std::vector<double>{0.0, 0.0, 0.0}, true));
  std::vector<double> x(2, 1.0);

  EXPECT_THROW(cholesky->solve(x, 0.0), std::logic_error);

  // the next factor starts anew
  ASSERT_TRUE(cholesky->factor(std::vector<double>{2.0, 1.0, 2.0}, true));
  x = {3.0, 3.0};
  cholesky->solve(x, 0.0);
  EXPECT_NEAR(x[0], 1.0, 1e-15);
  EXPECT_NEAR(x[1], 1.0, 1e-15);
}

TEST(JointEliminations, NothingToEliminateIsFine) {
  const MechanismRows none;
  std::unique_ptr<JointElimination> all[] = {
      make_dissected_elimination(none), make_sparse_elimination(none), make_tree_elimination(none),
      make_bordered_elimination(none)};
  for (const auto& elimination : all) {
    elimination->factor(none);
    elimination->solve({}, {});
    EXPECT_TRUE(elimination->report().redundant.empty());
  }
}

}  // namespace
}  // namespace catena
