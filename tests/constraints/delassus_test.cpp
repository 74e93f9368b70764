#include "catena/constraints/delassus.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/delassus_matrix.hpp"
#include "support/assembled.hpp"
#include "support/dense_reference.hpp"
#include "support/hand_problems.hpp"

namespace catena {
namespace {

std::vector<double> wave(std::size_t n) {
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = std::sin(1.0 + 3.0 * static_cast<double>(i));
  return x;
}

class DelassusOfRandomProblems : public testing::TestWithParam<int> {
 protected:
  DelassusOfRandomProblems()
      : problem_(test::whole(test::mixed_ring(GetParam(), 11))),
        dense_(test::dense_problem(problem_)) {}
  ConstraintProblem problem_;
  test::DenseProblem dense_;
};

TEST_P(DelassusOfRandomProblems, MultiplyIsDenseN) {
  const std::vector<double> x = wave(static_cast<std::size_t>(problem_.n_rows()));
  std::vector<double> y(x.size());
  DelassusOperator(problem_).apply(x, y);

  const Eigen::VectorXd expected =
      dense_.N * Eigen::Map<const Eigen::VectorXd>(x.data(), problem_.n_rows());

  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_NEAR(y[i], expected[static_cast<int>(i)], 1e-13 * expected.norm());
}

TEST_P(DelassusOfRandomProblems, VelocitiesAndSlipsFollowTheirDefinitions) {
  const std::vector<double> x = wave(static_cast<std::size_t>(problem_.n_rows()));
  std::vector<double> v(static_cast<std::size_t>(problem_.bodies.n_dofs()));
  std::vector<double> dv(v.size()), w(x.size()), r(x.size());
  DelassusOperator op(problem_);
  op.velocities(x, v);
  op.velocity_changes(x, dv);
  op.residual_velocities(v, x, w);
  op.free_residual(r);

  const Eigen::Map<const Eigen::VectorXd> lambda(x.data(), problem_.n_rows());
  const Eigen::VectorXd changes = dense_.inverse_mass * dense_.G.transpose() * lambda;
  const Eigen::VectorXd slips = dense_.N * lambda + dense_.r;

  for (std::size_t i = 0; i < v.size(); ++i) {
    EXPECT_NEAR(dv[i], changes[static_cast<int>(i)], 1e-13 * changes.norm());
    EXPECT_NEAR(v[i], changes[static_cast<int>(i)] + problem_.bodies.free_velocity[i],
                1e-13 * changes.norm());
  }
  for (std::size_t i = 0; i < w.size(); ++i) {
    EXPECT_NEAR(w[i], slips[static_cast<int>(i)], 1e-13 * slips.norm());
    EXPECT_NEAR(r[i], dense_.r[static_cast<int>(i)], 1e-13 * slips.norm());
  }
}

TEST_P(DelassusOfRandomProblems, DiagonalBlocksAndAssembledRowsAreThoseOfDenseN) {
  for (Index k = 0; k < problem_.n_blocks(); ++k) {
    const BlockView view = block_view(problem_, k);
    std::vector<double> block(view.rows * view.rows), diagonal(view.rows);
    block_diagonal(problem_, k, block);
    row_diagonals(problem_, k, diagonal);
    for (Index i = 0; i < view.rows; ++i) {
      EXPECT_EQ(diagonal[i], block[i * view.rows + i]);
      for (Index j = 0; j < view.rows; ++j)
        EXPECT_NEAR(block[i * view.rows + j], dense_.N(view.row + i, view.row + j),
                    1e-13 * dense_.N.norm());
    }
  }
  const std::vector<double> n = test::assemble_dense(problem_);
  for (Index i = 0; i < problem_.n_rows(); ++i)
    for (Index j = 0; j < problem_.n_rows(); ++j)
      EXPECT_NEAR(n[static_cast<std::size_t>(i * problem_.n_rows() + j)], dense_.N(i, j),
                  1e-13 * dense_.N.norm());
}

/// Sum of s_b G_b M_b^-1 G_b^T from the dense matrices: M^-1 times s of each body.
TEST_P(DelassusOfRandomProblems, DiagonalBlocksWeighBodies) {
  const ProblemBodies& bodies = problem_.bodies;
  std::vector<double> weight;
  Eigen::MatrixXd weighed = dense_.inverse_mass;
  for (Index b = 0; b < bodies.size(); ++b) {
    weight.push_back(1.0 + b % 3);
    weighed.middleRows(bodies.dof_begin[b], bodies.dofs(b)) *= weight.back();
  }
  const Eigen::MatrixXd sigma = dense_.N - dense_.G * dense_.inverse_mass * dense_.G.transpose();
  const Eigen::MatrixXd n = dense_.G * weighed * dense_.G.transpose() + sigma;
  for (Index k = 0; k < problem_.n_blocks(); ++k) {
    const BlockView view = block_view(problem_, k);
    std::vector<double> block(view.rows * view.rows);
    block_diagonal(problem_, k, block, weight);
    for (Index i = 0; i < view.rows; ++i)
      for (Index j = 0; j < view.rows; ++j)
        EXPECT_NEAR(block[i * view.rows + j], n(view.row + i, view.row + j), 1e-13 * n.norm());
  }
}

/// The mean of the tangents by the trace is that of their diagonals.
TEST_P(DelassusOfRandomProblems, MobilityByTheTraceIsThatOfTheFrame) {
  for (Index k = 0; k < std::ssize(problem_.contacts); ++k) {
    const auto [n, t] = cone_diagonal(problem_, k);
    std::array<double, 3> d;
    row_diagonals(problem_, k, d);
    EXPECT_NEAR(n, d[0], 1e-13 * d[0]);
    EXPECT_NEAR(t, 0.5 * (d[1] + d[2]), 1e-13 * (d[1] + d[2]));
  }
}

/// Masses with all their numbers give what rigid bodies' seven do, weights included.
TEST_P(DelassusOfRandomProblems, DiagonalBlocksOfDenseMassesAreThoseOfRigidBodies) {
  ConstraintProblem problem = problem_;
  ProblemBodies& bodies = problem.bodies;
  bodies.inverse_mass.clear();
  bodies.mass_begin.assign(1, 0);
  std::vector<double> weight;
  for (Index b = 0; b < bodies.size(); ++b) {
    weight.push_back(1.0 + b % 3);
    const Index first = bodies.dof_begin[b], n = bodies.dofs(b);
    if (!bodies.is_prescribed(b)) {
      bodies.mass_kind[b] = MassKind::dense;
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j)
          bodies.inverse_mass.push_back(dense_.inverse_mass(first + i, first + j));
    }
    bodies.mass_begin.push_back(to_index(bodies.inverse_mass.size()));
  }
  check_problem(problem);
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const std::size_t rows = block_view(problem, k).rows;
    std::vector<double> found(rows * rows), expected(rows * rows);
    block_diagonal(problem, k, found, weight);
    block_diagonal(problem_, k, expected, weight);
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], 1e-13 * dense_.N.norm());
  }
}

TEST_P(DelassusOfRandomProblems, MatrixHasTheRowsOfDenseN) {
  std::vector<double> scale(problem_.n_rows());
  for (Index i = 0; i < problem_.n_rows(); ++i) scale[i] = i % 5;
  for (const std::vector<double>& s : {std::vector<double>{}, scale}) {
    const DelassusMatrix n = assemble_delassus(problem_, s);
    Eigen::MatrixXd found = Eigen::MatrixXd::Zero(n.n_rows(), n.n_rows());
    for (Index i = 0; i < n.n_rows(); ++i)
      for (auto e = n.row_begin[i]; e < n.row_begin[i + 1]; ++e)
        found(i, n.column[e]) += n.value[e];
    Eigen::MatrixXd expected = dense_.N;
    if (!s.empty()) {
      const Eigen::Map<const Eigen::VectorXd> d(s.data(), n.n_rows());
      expected = d.asDiagonal() * expected * d.asDiagonal();
    }
    EXPECT_LT((found - expected).norm(), 1e-13 * expected.norm());
  }
}

INSTANTIATE_TEST_SUITE_P(Rings, DelassusOfRandomProblems, testing::Values(4, 7, 12));

TEST(Delassus, PrescribedMotionCountsInTheFreeSlips) {
  // a plane rising at 2 m/s meets a body at rest: w_n = -2
  test::Scene scene;
  scene.add_prescribed({Vec3(0, 0, 2), Vec3::Zero()});
  scene.add_rigid(1.0, Vec3::Ones());
  scene.add_contact(0, 1, Vec3::UnitZ(), Vec3::Zero(), Vec3::Zero(), 0.0, 0.5);
  const ConstraintProblem problem = test::whole(scene);
  std::vector<double> r(3);

  DelassusOperator(problem).free_residual(r);

  EXPECT_DOUBLE_EQ(r[0], -2.0);
  EXPECT_DOUBLE_EQ(r[1], 0.0);
}

TEST(Delassus, BiasLeavesNoTraceInTheProductHoweverLarge) {
  test::Scene scene = test::incline_scene(1.0, 0.2, 0.5, 0.01);
  scene.contacts[0].bias = 1e12;
  const ConstraintProblem problem = test::whole(scene);
  std::vector<double> y(3);

  DelassusOperator(problem).apply(std::vector<double>{1e-6, 0, 0}, y);

  EXPECT_DOUBLE_EQ(y[0], 1e-6);
}

TEST(AssembledProblem, HasTheSameOperatorAndFreeSlips) {
  const ConstraintProblem problem = test::whole(test::sphere_pile(8, 14, 0.5, 0.01, 5));
  const ConstraintProblem assembled = test::assembled_problem(problem);
  ASSERT_EQ(assembled.n_rows(), problem.n_rows());
  check_problem(assembled);
  const std::vector<double> x = wave(static_cast<std::size_t>(problem.n_rows()));
  std::vector<double> v(static_cast<std::size_t>(problem.bodies.n_dofs()));
  std::vector<double> w(x.size()), w_assembled(x.size());
  DelassusOperator op(problem), op_assembled(assembled);
  op.velocities(x, v);
  op.residual_velocities(v, x, w);
  op_assembled.residual_velocities({}, x, w_assembled);
  std::vector<double> block(9), block_assembled(9);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(w[i], w_assembled[i], 1e-13);
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    block_diagonal(problem, k, block);
    block_diagonal(assembled, k, block_assembled);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(block[i], block_assembled[i], 1e-13);
  }
}

TEST(AssembledProblem, RefusesBlocksOtherThanContacts) {
  EXPECT_THROW(test::assembled_problem(test::whole(test::pendulum(1, 1, 1, 0.01))),
               std::logic_error);
}

TEST(AssembledOperator, WithAColumnOutOfRangeIsRefused) {
  ConstraintProblem problem = test::assembled_problem(test::block_on_incline(1, 0.1, 0.5, 0.01));
  problem.assembled->column[0] = 3;
  EXPECT_THROW(check_problem(problem), std::logic_error);
}

}  // namespace
}  // namespace catena
