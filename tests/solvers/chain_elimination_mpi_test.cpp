// Chains eliminated over ranks: any number of them, with empty parts.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "chain_cases.hpp"
#include "solvers/joints/chain/chain_factor.hpp"
#include "solvers/joints/chain/cost.hpp"
#include "support/all_ranks.hpp"
#include "support/dense_algebra.hpp"
#include "support/sanitized.hpp"

namespace catena {
namespace {

using test::place;

/// First block of each rank, and the end.
std::vector<std::int64_t> deal(std::int64_t blocks, int ranks, int how) {
  std::vector<std::int64_t> begin;
  for (std::int64_t r = 0; r <= ranks; ++r) {
    switch (how) {
      case 0:  // even
        begin.push_back(blocks * r / ranks);
        break;
      case 1:  // every second rank has nothing, rank 0 among them
        begin.push_back(blocks * (r / 2) / std::max(1, ranks / 2));
        break;
      case 2:  // all on the last rank
        begin.push_back(r == ranks ? blocks : 0);
        break;
      default:  // one block each, the rest on rank ranks / 2
        begin.push_back(r <= ranks / 2 ? std::min(r, blocks)
                                       : std::max(std::min(r, blocks), blocks - (ranks - r)));
    }
  }
  begin.back() = blocks;
  return begin;
}

struct Solved {
  std::vector<double> x;  ///< of all ranks
  std::int64_t raised = 0;
  ChainGrouping grouping = ChainGrouping::automatic;
};

/// Factors and solves over all ranks, `times` over.
Solved solve_chain(const Communicator& comm, const ChainPart& whole, const std::vector<double>& b,
                   int how, const JointSolverSettings& settings, int times = 1) {
  const std::vector<std::int64_t> begin = deal(whole.size(), comm.size(), how);
  const std::int64_t first = begin[place(comm.rank())];
  const std::int64_t end = begin[place(comm.rank()) + 1];
  const ChainPart part = test::slice(whole, first, end);
  ChainFactor chain(comm, part, settings);
  std::vector<double> x;
  for (int k = 0; k < times; ++k) {
    test::factor_numbers(chain, part);
    x.assign(b.begin() + whole.row_begin[place(first)], b.begin() + whole.row_begin[place(end)]);
    chain.solve(x);
  }
  Solved solved;
  solved.x = test::all_of(comm, x);
  solved.raised = comm.sum(chain.report().raised);
  solved.grouping = chain.grouping();
  return solved;
}

struct Way {
  ChainGrouping grouping;
  int limit;
};
const std::vector<Way> kWays = {{ChainGrouping::rank, 1000},
                                {ChainGrouping::body, 1},
                                {ChainGrouping::body, 3},
                                {ChainGrouping::body, 1000},
                                {ChainGrouping::automatic, 1000}};

void expect_dense(const Communicator& comm, const ChainPart& whole, double tolerance) {
  const std::vector<double> b = test::random_vector(place(whole.row_begin.back()), 5);
  const Eigen::VectorXd expected =
      test::cholesky_solve(test::dense(whole, kJointRegularisation),
                           Eigen::Map<const Eigen::VectorXd>(b.data(), whole.row_begin.back()));
  for (const Way& way : kWays)
    for (int how = 0; how < 4; ++how) {
      const Solved solved =
          solve_chain(comm, whole, b, how, test::settings_of(way.grouping, way.limit), 2);
      SCOPED_TRACE("grouping " + std::to_string(static_cast<int>(way.grouping)) + ", limit " +
                   std::to_string(way.limit) + ", dealt " + std::to_string(how));
      EXPECT_EQ(solved.x.size(), b.size());
      if (solved.x.size() != b.size()) continue;
      EXPECT_LE(test::backward_error(whole, kJointRegularisation, solved.x, b), 1e-14);
      EXPECT_EQ(solved.raised, 0);
      const double scale = expected.lpNorm<Eigen::Infinity>();
      double off = 0.0;
      for (std::size_t i = 0; i < b.size(); ++i)
        off = std::max(off, std::abs(solved.x[i] - expected[static_cast<Eigen::Index>(i)]));
      EXPECT_LE(off, tolerance * scale);
    }
}

TEST(ChainElimination, OfRandomBlocksIsDenseCholesky) {
  const Communicator comm = Communicator::world();
  for (const int rows : {0, 1, 3, 4, 5})
    for (const int blocks : {1, 2, 3, 7, 8, 9, 40, 64}) {
      if (test::kSanitized && rows % 3 != 0) continue;
      expect_dense(comm, test::random_chains({blocks}, rows, place(blocks)), 1e-13);
    }
}

TEST(ChainElimination, OfSeveralChainsIsDenseCholesky) {
  const Communicator comm = Communicator::world();
  for (const int rows : {0, 3}) {
    expect_dense(comm, test::random_chains({1, 1, 1, 1, 1, 1, 1, 1, 1}, rows, 1), 1e-13);
    expect_dense(comm, test::random_chains({5, 1, 9, 2, 2, 17, 3}, rows, 2), 1e-13);
    expect_dense(comm, test::random_chains({30, 4, 4}, rows, 3), 1e-13);
    expect_dense(comm, test::random_chains({3, 21, 11}, rows, 4), 1e-13);
  }
}

TEST(ChainElimination, OfRodsIsDenseCholesky) {
  const Communicator comm = Communicator::world();
  for (const bool revolute : {false, true})
    for (const double turn : {0.0, 0.7})
      for (const bool free : {false, true}) {
        const test::RodChain chain{.joints = 30, .revolute = revolute, .turn = turn, .free = free};
        // conditions up to 4 N^4 = 3e6
        expect_dense(comm, test::rod_chain(chain, 0, chain.joints), 1e-9);
      }
}

/// Blocks [first, end) with the pieces that begin between them.
ChainPart slice_with_pieces(const ChainPart& whole, const std::vector<Index>& pieces, Index first,
                            Index end) {
  ChainPart part = test::slice(whole, first, end);
  for (const Index begin : pieces)
    if (begin > first && begin < end) part.piece_begin.push_back(begin - first);
  return part;
}

TEST(ChainElimination, ByPiecesIsDenseCholeskyAndTheSameBitsWhereverPiecesLie) {
  const Communicator comm = Communicator::world();
  // a chain of four pieces, one of one, two of two and three
  const std::vector<int> lengths = {40, 3, 25, 30};
  const std::vector<Index> pieces = {10, 20, 30, 55, 78, 88};
  std::vector<std::int64_t> borders = {0, 40, 43, 68, 98};
  borders.insert(borders.end(), pieces.begin(), pieces.end());
  std::ranges::sort(borders);
  for (const int rows : {0, 3}) {
    const ChainPart whole = test::random_chains(lengths, rows, 5);
    const std::vector<double> b = test::random_vector(place(whole.row_begin.back()), 5);
    const JointSolverSettings settings = test::settings_of(ChainGrouping::piece, 1);
    const auto solve_part = [&](const Communicator& on, Index first, Index end) {
      const ChainPart part = slice_with_pieces(whole, pieces, first, end);
      ChainFactor chain(on, part, settings);
      std::vector<double> x;
      for (int k = 0; k < 2; ++k) {
        test::factor_numbers(chain, part);
        x.assign(b.begin() + whole.row_begin[place(first)],
                 b.begin() + whole.row_begin[place(end)]);
        chain.solve(x);
      }
      return x;
    };
    const std::vector<double> alone = solve_part(Communicator::self(), 0, whole.size());
    EXPECT_LE(test::backward_error(whole, kJointRegularisation, alone, b), 1e-14);
    const Eigen::VectorXd expected =
        test::cholesky_solve(test::dense(whole, kJointRegularisation),
                             Eigen::Map<const Eigen::VectorXd>(b.data(), whole.row_begin.back()));
    for (std::size_t i = 0; i < alone.size(); ++i)
      EXPECT_NEAR(alone[i], expected[static_cast<Eigen::Index>(i)],
                  1e-13 * expected.lpNorm<Eigen::Infinity>());
    for (int how = 0; how < 4; ++how) {
      std::vector<std::int64_t> begin = deal(whole.size(), comm.size(), how);
      for (std::int64_t& at : begin)
        at = *std::ranges::min_element(borders, {},
                                       [&](std::int64_t border) { return std::abs(border - at); });
      const std::vector<double> own = solve_part(comm, to_index(begin[place(comm.rank())]),
                                                 to_index(begin[place(comm.rank()) + 1]));
      EXPECT_EQ(test::all_of(comm, own), alone) << rows << " " << how;
    }
  }
}

TEST(ChainElimination, OfNothingIsNothing) {
  const Communicator comm = Communicator::world();
  for (const Way& way : kWays) {
    const Solved solved =
        solve_chain(comm, ChainPart(), {}, 0, test::settings_of(way.grouping, way.limit));
    EXPECT_TRUE(solved.x.empty());
  }
}

TEST(ChainElimination, OfLongChainsKeepsTheBackwardErrorAtRoundOff) {
  const Communicator comm = Communicator::world();
  for (const bool revolute : {false, true})
    for (const double turn : {0.0, 0.5}) {
      const test::RodChain chain{
          .joints = test::kSanitized ? 1000 : 20000, .revolute = revolute, .turn = turn};
      const ChainPart whole = test::rod_chain(chain, 0, chain.joints);
      const std::vector<double> b = test::random_vector(place(whole.row_begin.back()), 8);
      for (const Way& way : {kWays[0], kWays[1], kWays[3]}) {
        const Solved solved =
            solve_chain(comm, whole, b, 0, test::settings_of(way.grouping, way.limit));
        EXPECT_LE(test::backward_error(whole, kJointRegularisation, solved.x, b), 1e-13)
            << revolute << " " << turn << " " << static_cast<int>(way.grouping);
        EXPECT_EQ(solved.raised, 0);
      }
    }
}

/// Largest integer not above log2(n), n >= 1.
int log2_of(int n) { return std::bit_width(static_cast<unsigned>(n)) - 1; }

TEST(ChainElimination, ByRanksTakesRoundsAndMessagesAsLog2OfRanks) {
  const Communicator comm = Communicator::world();
  const int ranks = comm.size();
  const test::RodChain chain{.joints = 10 * ranks};
  const std::int64_t first = 10 * comm.rank();
  const ChainPart part = test::rod_chain(chain, first, first + 10);
  ChainFactor factor(comm, part, test::settings_of(ChainGrouping::rank, 1));
  std::vector<double> x(place(part.row_begin.back()), 1.0);

  const std::int64_t before = comm.traffic().messages;
  test::factor_numbers(factor, part);
  const std::int64_t between = comm.traffic().messages;
  factor.solve(x);
  const std::int64_t after = comm.traffic().messages;

  // ranks - 1 separators; a round to them and back, and two for each level of theirs
  const int levels = ranks > 2 ? log2_of(ranks - 1) : 0;
  EXPECT_EQ(factor.cost().levels, levels);
  EXPECT_EQ(factor.cost().rounds, ranks > 1 ? 2 + 2 * levels : 0);
  EXPECT_EQ(factor.cost().messages, after - before);
  // two for the segments; a separator answers at most two neighbours on each level, once each way
  EXPECT_LE(after - between, 2 + 2 * levels);
  EXPECT_LE(between - before, 2 + 2 * levels);
}

TEST(ChainElimination, CountsOfTheModelAreThoseOfTheRun) {
  const Communicator comm = Communicator::world();
  const test::RodChain chain{.joints = 100};
  const std::vector<std::int64_t> begin = deal(100, comm.size(), 0);
  const ChainPart part =
      test::rod_chain(chain, begin[place(comm.rank())], begin[place(comm.rank()) + 1]);
  const std::vector<ChainRank> ranks = deal_evenly(100, comm.size());
  for (const Way& way : {kWays[0], kWays[1], kWays[2], kWays[3]}) {
    const ChainFactor factor(comm, part, test::settings_of(way.grouping, way.limit));
    const ChainWork work = count_chain(ranks, 3.0, way.grouping, way.limit);

    EXPECT_EQ(factor.cost().rounds, work.solve_rounds);
    EXPECT_EQ(factor.cost().levels, work.levels);
    EXPECT_EQ(factor.cost().cholesky_blocks, work.cholesky_blocks);
    // the path takes the largest share of every level, the largest rank has less or as much
    const double most = static_cast<double>(comm.max(factor.cost().factor_flops));
    EXPECT_GE(work.factor_flops, most);
    EXPECT_LE(work.factor_flops, 1.5 * most + 700.0);
  }
}

TEST(ChainElimination, ChainsThatEndAtBordersOfRanksSendNothing) {
  const Communicator comm = Communicator::world();
  const ChainPart part = test::random_chains({4, 1, 7}, 0, place(comm.rank()));
  for (const ChainGrouping grouping : {ChainGrouping::rank, ChainGrouping::body}) {
    // odd/even alone: what is left for Cholesky would be gathered from other chains, too
    ChainFactor factor(comm, part, test::settings_of(grouping, 1));
    std::vector<double> x = test::random_vector(place(part.row_begin.back()), 4);
    const std::int64_t before = comm.traffic().messages;

    test::factor_numbers(factor, part);
    factor.solve(x);

    EXPECT_EQ(comm.traffic().messages, before);
    EXPECT_EQ(factor.cost().rounds, 0);
  }
}

TEST(ChainElimination, ChainsThatEndInRanksBetweenJoinNobody) {
  const Communicator comm = Communicator::world();
  // one block a rank; behind every even rank a chain ends: 0 | 1 2 | 3 4 | ...
  std::vector<int> lengths = {1};
  for (int r = 1; r < comm.size(); r += 2) lengths.push_back(std::min(2, comm.size() - r));
  const ChainPart whole = test::random_chains(lengths, 3, 6);
  const ChainPart part = test::slice(whole, comm.rank(), comm.rank() + 1);

  const ChainFactor factor(comm, part, test::settings_of(ChainGrouping::body, 1));

  // the first level eliminates the even ranks' blocks; those that are left have no neighbours
  EXPECT_EQ(factor.cost().rounds, comm.size() > 2 ? 2 : 0);
  const bool even = comm.rank() % 2 == 0 && comm.rank() > 0;
  const bool odd = comm.rank() % 2 == 1 && comm.rank() + 1 < comm.size();
  // even: its update in factor, and forward; odd: its coupling in factor, and back
  EXPECT_EQ(factor.cost().messages, even || odd ? 2 : 0);
}

TEST(ChainElimination, AutomaticKeepsShortChainsTogetherAndSplitsLongOnes) {
  const Communicator comm = Communicator::world();
  const auto grouping_of = [&](std::int64_t joints) {
    const std::vector<std::int64_t> begin = deal(joints, comm.size(), 0);
    const ChainPart part = test::rod_chain({.joints = joints}, begin[place(comm.rank())],
                                           begin[place(comm.rank()) + 1]);
    return ChainFactor(comm, part, test::settings_of(ChainGrouping::automatic, 1000)).grouping();
  };
  if (comm.size() > 2) {
    EXPECT_EQ(grouping_of(30), ChainGrouping::body);
  }
  EXPECT_EQ(grouping_of(20000), ChainGrouping::rank);
}

TEST(ChainElimination, ABlockOfNanIsSeenInTheSolutionOfEveryRankOfItsChain) {
  const Communicator comm = Communicator::world();
  ChainPart whole = test::random_chains({40}, 3, 9);
  whole.diagonal[9 * 17] = std::nan("");
  const std::vector<double> b(120, 1.0);
  for (const Way& way : kWays) {
    const Solved solved =
        solve_chain(comm, whole, b, 0, test::settings_of(way.grouping, way.limit));
    int nan = 0;
    for (const double x : solved.x) nan += std::isnan(x) ? 1 : 0;
    EXPECT_EQ(nan, 120);
  }
}

}  // namespace
}  // namespace catena
