#include "solvers/newton/newton_system.hpp"

#include <gtest/gtest.h>

#include "newton_system_cases.hpp"
#include "support/assembled.hpp"

namespace catena {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::Scene;

/// A one-rank problem with its dense N, and the answers of a system to it.
struct Case {
  explicit Case(const Scene& s, bool assembled = false)
      : scene(s),
        bodies(test::whole(s)),
        problem(assembled ? test::assembled_problem(bodies) : bodies),
        dense(test::dense_problem(bodies)),
        op(problem),
        system(problem, op, {}, "test") {}

  bool factor(const MatrixXd& c) {
    return system.factor(test::blocks_of(c, problem, test::own_rows(problem)));
  }
  bool factor(const MatrixXd& c, const MatrixXd& b) {
    const BlockMatrices blocks = test::blocks_of(b, problem, test::own_rows(problem));
    return system.factor(test::blocks_of(c, problem, test::own_rows(problem)), &blocks);
  }
  VectorXd solve(const VectorXd& g, double tolerance) {
    VectorXd x(g.size());
    change.resize(problem.bodies.n_dofs());
    report = system.solve({g.data(), static_cast<std::size_t>(g.size())},
                          {x.data(), static_cast<std::size_t>(x.size())},
                          {change.data(), static_cast<std::size_t>(change.size())}, tolerance);
    return x;
  }

  Scene scene;
  ConstraintProblem bodies, problem;
  test::DenseProblem dense;
  DelassusOperator op;
  NewtonSystem system;
  LinearReport report;
  VectorXd change;
};

double relative(const VectorXd& a, const VectorXd& b) { return (a - b).norm() / b.norm(); }

TEST(NewtonSystem, SymmetricKindIsSolvedForEveryKindOfBlockAndBody) {
  const Scene scene = test::mixed_ring(8, 3);
  Case it(scene);
  const MatrixXd c = test::random_blocks(scene, true, 0.5, 1);
  const VectorXd g = test::random_vector(scene.n_rows(), 2);

  ASSERT_TRUE(it.factor(c));
  const VectorXd x = it.solve(g, 1e-13);

  const VectorXd expected = test::ldlt_solve(c + it.dense.N, g);
  EXPECT_LT(relative(x, expected), 1e-11);
  EXPECT_LT(relative(it.change, it.dense.inverse_mass * it.dense.G.transpose() * expected), 1e-11);
  EXPECT_TRUE(it.report.ok);
  EXPECT_LT(it.report.residual, 1e-13);
}

TEST(NewtonSystem, GeneralKindIsSolvedForEveryKindOfBlockAndBody) {
  const Scene scene = test::mixed_ring(8, 4);
  Case it(scene);
  const MatrixXd c = test::random_blocks(scene, false, 0.5, 1);
  const MatrixXd b = test::random_blocks(scene, false, 1.0, 5);
  const VectorXd g = test::random_vector(scene.n_rows(), 2);

  ASSERT_TRUE(it.factor(c, b));
  const VectorXd x = it.solve(g, 1e-13);

  EXPECT_LT(relative(x, test::lu_solve(c + b * it.dense.N, g)), 1e-10);
}

TEST(NewtonSystem, AssembledOperatorIsSolvedInRows) {
  const Scene scene = test::sphere_pile(20, 60, 0.5, 5e-3, 1);
  Case it(scene, true);
  const MatrixXd c = test::random_blocks(scene, true, 0.1, 1);
  const MatrixXd general = test::random_blocks(scene, false, 0.1, 1);
  const MatrixXd b = test::random_blocks(scene, false, 1.0, 5);
  const VectorXd g = test::random_vector(scene.n_rows(), 2);

  ASSERT_TRUE(it.factor(c));
  EXPECT_LT(relative(it.solve(g, 1e-13), test::ldlt_solve(c + it.dense.N, g)), 1e-11);
  ASSERT_TRUE(it.factor(general, b));
  EXPECT_LT(relative(it.solve(g, 1e-13), test::lu_solve(general + b * it.dense.N, g)), 1e-10);
}

TEST(NewtonSystem, NextToNothingBesideRedundantRowsIsSolvedToRoundOff) {
  // Four contacts under each box: N is singular. g lies in its range.
  const Scene scene = test::box_stack(6, 0.5, 5e-3);
  for (const bool assembled : {false, true})
    for (const double part : {1e-4, 1e-8, 1e-12, 1e-16}) {
      Case it(scene, assembled);
      const MatrixXd c = part * it.dense.N.diagonal().asDiagonal().toDenseMatrix();
      const VectorXd g = it.dense.N * test::random_vector(scene.n_rows(), 2);

      ASSERT_TRUE(it.factor(c));
      const VectorXd x = it.solve(g, 1e-12);

      EXPECT_LT((g - c * x - it.dense.N * x).norm(), 2e-12 * g.norm()) << part << assembled;
      EXPECT_LT(x.norm(), 1e2 * std::sqrt(scene.n_rows())) << part << assembled;
    }
}

TEST(NewtonSystem, StickingRowsOfTheGeneralKindHaveNoCAtAll) {
  const Scene scene = test::box_stack(6, 0.5, 5e-3);
  Case it(scene);
  const MatrixXd none = MatrixXd::Zero(scene.n_rows(), scene.n_rows());
  const MatrixXd b = test::random_blocks(scene, false, 1.0, 5);
  const VectorXd g = b * it.dense.N * test::random_vector(scene.n_rows(), 2);

  ASSERT_TRUE(it.factor(none, b));
  const VectorXd x = it.solve(g, 1e-12);

  EXPECT_LT((g - b * it.dense.N * x).norm(), 2e-12 * g.norm());
  EXPECT_LT(x.norm(), 1e2 * std::sqrt(scene.n_rows()));
}

TEST(NewtonSystem, NumbersThatAreNotFiniteHaveNoFactor) {
  const Scene scene = test::box_stack(1, 0.5, 5e-3);
  Case it(scene);
  MatrixXd c = test::random_blocks(scene, true, 0.5, 1);
  c(4, 4) = std::numeric_limits<double>::quiet_NaN();

  EXPECT_FALSE(it.factor(c));
}

TEST(NewtonSystem, RenewedNumbersAreSolvedWithTheLastFactor) {
  const Scene scene = test::mixed_ring(8, 3);
  Case it(scene);
  const MatrixXd c = test::random_blocks(scene, true, 0.5, 1);
  const VectorXd g = test::random_vector(scene.n_rows(), 2);

  ASSERT_TRUE(it.factor(c));
  it.system.renew(test::blocks_of(3.0 * c, it.problem, test::own_rows(it.problem)));
  const VectorXd x = it.solve(g, 1e-12);

  EXPECT_LT(relative(x, test::ldlt_solve(3.0 * c + it.dense.N, g)), 1e-10);
  EXPECT_GT(it.report.iterations, 3);
}

}  // namespace
}  // namespace catena
