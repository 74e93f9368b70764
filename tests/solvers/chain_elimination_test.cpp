// Chains on one rank: counts, accuracy, redundant rows.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chain_cases.hpp"
#include "solvers/joints/chain/block_kernels.hpp"
#include "solvers/joints/chain/chain_factor.hpp"
#include "solvers/joints/chain/cost.hpp"
#include "support/sanitized.hpp"

namespace catena {
namespace {

using test::place;

ChainFactor factored(const ChainPart& a, ChainGrouping grouping, int limit = 1) {
  ChainFactor factor(Communicator::self(), a, test::settings_of(grouping, limit));
  test::factor_numbers(factor, a);
  return factor;
}

TEST(ChainElimination, CountsTheKnownMultiplesOfTheCubeOfABlock) {
  // leading terms for large blocks: 2.33 b^3 and 6.33 b^3 flops, two to a multiply-add
  const double b = 1e6;
  EXPECT_NEAR(2.0 * elimination_flops(b, 0.0, b) / (b * b * b), 7.0 / 3.0, 1e-5);
  EXPECT_NEAR(2.0 * elimination_flops(b, b, b) / (b * b * b), 19.0 / 3.0, 1e-5);

  // blocks of 3: Cholesky 10, W 18, W^T W 18, W_l^T W_r 27
  const std::int64_t n = 1024;
  const ChainPart a = test::random_chains({static_cast<int>(n)}, 3, 1);
  const ChainCost serial = factored(a, ChainGrouping::rank).cost();
  const ChainCost levels = factored(a, ChainGrouping::body).cost();
  EXPECT_EQ(serial.factor_flops, 46 * n - 36);
  EXPECT_EQ(serial.solve_flops, 30 * n - 18);
  // the first block of each of the ten levels has no neighbour before it; one block is left
  EXPECT_EQ(levels.levels, 10);
  EXPECT_EQ(levels.factor_flops, 109 * (n - 1) - 10 * (109 - 46) + 10);
  EXPECT_EQ(serial.messages + serial.rounds + levels.messages + levels.rounds, 0);
}

TEST(ChainElimination, LeavesAtMostTheLimitToCholesky) {
  const ChainPart a = test::random_chains({1000}, 3, 1);
  for (const int limit : {1, 7, 100, 999, 1000}) {
    const ChainCost cost = factored(a, ChainGrouping::body, limit).cost();
    EXPECT_LE(cost.cholesky_blocks, limit);
    EXPECT_EQ(cost.cholesky_blocks, 1000 >> cost.levels);
    EXPECT_TRUE(cost.levels == 0 || 1000 >> (cost.levels - 1) > limit);
  }
}

TEST(ChainElimination, KeepsTheBackwardErrorAtRoundOffForAllLengthsAndShapes) {
  for (const std::int64_t joints : {10, 1000, test::kSanitized ? 2000 : 100000})
    for (const bool revolute : {false, true})
      for (const double turn : {0.0, 0.5})
        for (const bool free : {false, true}) {
          const test::RodChain chain{
              .joints = joints, .revolute = revolute, .turn = turn, .free = free};
          const ChainPart a = test::rod_chain(chain, 0, joints);
          const std::vector<double> b = test::random_vector(place(a.row_begin.back()), 3);
          for (const auto& [grouping, limit] :
               {std::pair{ChainGrouping::rank, 1}, std::pair{ChainGrouping::body, 1},
                std::pair{ChainGrouping::body, 1000}}) {
            ChainFactor factor = factored(a, grouping, limit);
            std::vector<double> x = b;

            factor.solve(x);

            EXPECT_LE(test::backward_error(a, kJointRegularisation, x, b), 1e-13)
                << joints << " " << revolute << " " << turn << " " << free << " limit " << limit;
            EXPECT_EQ(factor.report().raised, 0);
            EXPECT_EQ(factor.report().regularisation, kJointRegularisation);
          }
        }
}

TEST(ChainElimination, TellsTheSmallestPivot) {
  ChainPart a;
  Eigen::MatrixXd block(2, 2);
  block << 4.0, 2.0, 2.0, 2.0;  // the second pivot is 2 - 2^2/4 = 1, half of the diagonal
  test::append_block(a, block, Eigen::MatrixXd(), 7);

  const FactorReport report = factored(a, ChainGrouping::rank).report();

  EXPECT_NEAR(report.smallest_pivot, 0.5, 1e-11);
  EXPECT_TRUE(report.redundant.empty());
}

TEST(ChainElimination, NamesRowsThatHangOnOthersAndSharesTheirReactions) {
  // row 2 of the block is row 0 again: reactions of least norm are equal halves
  ChainPart a;
  Eigen::MatrixXd block(3, 3);
  block << 2.0, 1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 2.0;
  test::append_block(a, block, Eigen::MatrixXd(), 11);
  const std::vector<double> b = {2.0, 1.0, 2.0};
  std::vector<double> x = b;

  ChainFactor factor = factored(a, ChainGrouping::rank);
  factor.solve(x);

  // the pivot is 2e-12 of the diagonal, where round-off leaves three digits
  EXPECT_NEAR(x[0], 0.5, 1e-3);
  EXPECT_NEAR(x[2], 0.5, 1e-3);
  EXPECT_LE(test::backward_error(a, kJointRegularisation, x, b), 1e-15);
  ASSERT_EQ(factor.report().redundant.size(), 1u);
  EXPECT_EQ(factor.report().redundant[0].name, 11);
  EXPECT_EQ(factor.report().redundant[0].row, 2);
  EXPECT_LT(factor.report().smallest_pivot, 1e-11);
}

TEST(ChainElimination, OfAPlanarChainHeldAtBothEndsNamesThreeRowsOfTheLastJoint) {
  // all axes along z: the links stay in their plane, so that the other end's translation across it
  // and two rotations are held already
  const test::RodChain chain{.joints = 8, .revolute = true, .turn = 0.3, .both = true};
  const ChainPart a = test::rod_chain(chain, 0, chain.joints);
  // a motion's defect is a right-hand side that such a chain can answer: b = A y
  const std::vector<double> y = test::random_vector(place(a.row_begin.back()), 3);
  const Eigen::VectorXd product =
      test::dense(a, 0.0) * Eigen::Map<const Eigen::VectorXd>(y.data(), a.row_begin.back());
  const std::vector<double> b(product.begin(), product.end());
  std::vector<double> x = b;

  ChainFactor factor = factored(a, ChainGrouping::rank);
  factor.solve(x);

  EXPECT_LE(test::backward_error(a, 0.0, x, b), 1e-12);
  ASSERT_EQ(factor.report().redundant.size(), 3u);
  for (const RedundantRow& row : factor.report().redundant) EXPECT_EQ(row.name, 7);
}

TEST(ChainElimination, RaisesAPivotBelowZeroAndSaysSo) {
  ChainPart a;
  Eigen::MatrixXd block(2, 2);
  block << 1.0, 1.0 + 1e-9, 1.0 + 1e-9, 1.0;  // indefinite by more than the regularisation
  test::append_block(a, block, Eigen::MatrixXd(), 5);
  std::vector<double> x = {1.0, 1.0};

  ChainFactor factor = factored(a, ChainGrouping::rank);
  factor.solve(x);

  EXPECT_EQ(factor.report().raised, 1);
  EXPECT_NEAR(factor.report().regularisation, 2e-9, 1e-11);
  EXPECT_LT(factor.report().smallest_pivot, 0.0);
  EXPECT_TRUE(std::isfinite(x[0]) && std::isfinite(x[1]));
}

TEST(ChainElimination, ARowThatNothingCanMoveGetsNoReaction) {
  ChainPart a;
  Eigen::MatrixXd block(2, 2);
  block << 0.0, 0.0, 0.0, 4.0;
  test::append_block(a, block, Eigen::MatrixXd(), 5);
  std::vector<double> x = {0.0, 2.0};

  ChainFactor factor = factored(a, ChainGrouping::rank);
  factor.solve(x);

  EXPECT_EQ(x[0], 0.0);
  EXPECT_NEAR(x[1], 0.5, 1e-11);
  EXPECT_EQ(factor.report().raised, 1);
}

TEST(ChainElimination, RefusesPartsThatDoNotFit) {
  ChainPart a = test::random_chains({4}, 3, 1);
  const Communicator comm = Communicator::self();
  ChainPart seven;
  test::append_block(seven, Eigen::MatrixXd::Identity(7, 7), Eigen::MatrixXd(), 0);
  EXPECT_ANY_THROW(ChainFactor(comm, seven, {}));
  ChainPart dangling = test::slice(a, 0, 2);  // couples to a block that is not there
  EXPECT_ANY_THROW(ChainFactor(comm, dangling, {}));
  ChainFactor factor(comm, a, {});
  EXPECT_ANY_THROW(test::factor_numbers(factor, test::slice(a, 0, 2)));
  std::vector<double> x(11);
  EXPECT_ANY_THROW(factor.solve(x));
}

TEST(ChainModel, OfOneRankEachEndsTheLevelsWhereALevelCostsWhatItSaves) {
  // a level takes one elimination with two neighbours (6.33) and halves what Cholesky (2.33 each)
  // finds: without messages it pays down to 2 * 6.33 / 2.33 = 5.4 blocks
  const std::int64_t n = 1 << 12;
  const auto ranks = deal_evenly(n, static_cast<int>(n));
  const auto flops = [&](std::int64_t limit) {
    return count_chain(ranks, 3.0, ChainGrouping::body, limit).factor_flops;
  };
  EXPECT_LT(flops(4), flops(8));
  EXPECT_LE(flops(4), flops(2));
  EXPECT_LT(flops(8), flops(64));
  EXPECT_LT(flops(64), flops(1024));
}

}  // namespace
}  // namespace catena
