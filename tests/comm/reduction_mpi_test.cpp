#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "catena/base/random.hpp"
#include "catena/comm/communicator.hpp"

namespace catena {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Addends whose sum depends on the order of addition in its last bits.
double addend(int rank, int round) {
  const double size = std::pow(10.0, static_cast<double>((3 * rank + round) % 17) - 8.0);
  return size *
         uniform_pm1(11, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(round));
}

bool same_bits_everywhere(const Communicator& comm, double value) {
  const std::vector<double> all = comm.all_gather(std::span<const double>(&value, 1));
  for (const double other : all)
    if (std::memcmp(&other, &all[0], sizeof other) != 0) return false;
  return true;
}

TEST(Reduction, SumsAreTheSameBitsOnEveryRankAndInEveryRun) {
  const Communicator comm = Communicator::world();
  for (int round = 0; round < 50; ++round) {
    const double mine = addend(comm.rank(), round);
    const double once = comm.sum(mine);
    const double again = comm.sum(mine);
    EXPECT_TRUE(same_bits_everywhere(comm, once));
    EXPECT_EQ(once, again);
    double reference = 0.0;
    double size = 0.0;
    for (int r = 0; r < comm.size(); ++r) {
      reference += addend(r, round);
      size += std::abs(addend(r, round));
    }
    EXPECT_NEAR(once, reference, 1e-15 * size * comm.size());
  }
}

TEST(Reduction, VectorSumsEqualScalarSumsBitByBit) {
  const Communicator comm = Communicator::world();
  std::vector<double> values;
  for (int i = 0; i < 20; ++i) values.push_back(addend(comm.rank(), i));

  comm.sum(std::span<double>(values));

  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(values[static_cast<std::size_t>(i)], comm.sum(addend(comm.rank(), i)));
}

TEST(Reduction, IntegersAreExactBeyondTheRangeOfDoubles) {
  const Communicator comm = Communicator::world();
  const std::int64_t big = (std::int64_t{1} << 60) / comm.size() + comm.rank();
  std::int64_t expected = 0;
  for (int r = 0; r < comm.size(); ++r) expected += (std::int64_t{1} << 60) / comm.size() + r;
  EXPECT_EQ(comm.sum(big), expected);
  std::vector<std::int64_t> values{big, std::int64_t{1}};
  comm.sum(std::span<std::int64_t>(values));
  EXPECT_EQ(values[0], expected);
  EXPECT_EQ(values[1], comm.size());
  EXPECT_EQ(comm.max(std::int64_t{comm.rank()}), comm.size() - 1);
  EXPECT_EQ(comm.min(std::int64_t{comm.rank()}), 0);
  EXPECT_EQ(comm.exclusive_sum(std::int64_t{comm.rank() + 1}), comm.rank() * (comm.rank() + 1) / 2);
}

TEST(Reduction, MaximaAndMinimaAreFound) {
  const Communicator comm = Communicator::world();
  const double mine = comm.rank() == comm.size() / 2 ? 5.0 : -1.0 - comm.rank();
  EXPECT_EQ(comm.max(mine), 5.0);
  EXPECT_EQ(comm.min(-mine), -5.0);
}

TEST(Reduction, NanOnAnyRankReachesAllOfThem) {
  const Communicator comm = Communicator::world();
  for (int bad = 0; bad < comm.size(); ++bad) {
    const double mine = comm.rank() == bad ? kNan : 1.0;
    EXPECT_TRUE(std::isnan(comm.max(mine)));
    EXPECT_TRUE(std::isnan(comm.min(mine)));
    EXPECT_TRUE(std::isnan(comm.sum(mine)));
    std::vector<double> values{mine, 2.0};
    comm.max(std::span<double>(values));
    EXPECT_TRUE(std::isnan(values[0]));
    EXPECT_EQ(values[1], 2.0);
  }
}

TEST(PendingReduction, SumsAndMaximaArriveWhileOthersAreMade) {
  const Communicator comm = Communicator::world();
  PendingReduction reduction(comm);
  for (int round = 0; round < 20; ++round) {
    const double sums[] = {addend(comm.rank(), round), 1.0, 2.0 * comm.rank()};
    const double maxima[] = {static_cast<double>(comm.rank())};

    reduction.begin(sums, maxima);
    EXPECT_TRUE(reduction.pending());
    EXPECT_EQ(comm.sum(1.0), comm.size());  // blocking ones may pass it
    double sum[3];
    double max[1];
    reduction.end(sum, max);

    EXPECT_FALSE(reduction.pending());
    EXPECT_TRUE(same_bits_everywhere(comm, sum[0]));
    EXPECT_EQ(sum[1], comm.size());
    EXPECT_EQ(sum[2], comm.size() * (comm.size() - 1));
    EXPECT_EQ(max[0], comm.size() - 1);
  }
}

TEST(PendingReduction, SameAddendsGiveTheSameBitsWhoeverComesFirst) {
  const Communicator comm = Communicator::world();
  PendingReduction reduction(comm);
  double first = 0.0;
  for (int round = 0; round < 20; ++round) {
    const double mine = addend(comm.rank(), 3);
    // another rank is late each time
    volatile double busy = 0.0;
    if (comm.rank() == round % comm.size())
      for (int i = 0; i < 200000; ++i) busy = busy + 1.0;
    double sum = 0.0;
    reduction.begin({&mine, 1}, {});
    reduction.end({&sum, 1}, {});
    if (round == 0) first = sum;
    EXPECT_EQ(sum, first);
  }
}

TEST(PendingReduction, MaximaHandNanOn) {
  const Communicator comm = Communicator::world();
  PendingReduction reduction(comm);
  for (int bad = 0; bad < comm.size(); ++bad) {
    const double mine = comm.rank() == bad ? kNan : 1.0;
    double max = 0.0;
    reduction.begin({}, {&mine, 1});
    reduction.end({}, {&max, 1});
    EXPECT_TRUE(std::isnan(max));
  }
}

TEST(PendingReduction, SecondBeginAndEndWithoutBeginAreRefused) {
  const Communicator comm = Communicator::world();
  PendingReduction reduction(comm);
  EXPECT_THROW(reduction.end({}, {}), std::logic_error);
  const double one = 1.0;
  reduction.begin({&one, 1}, {});
  EXPECT_THROW(reduction.begin({&one, 1}, {}), std::logic_error);
  double sum = 0.0;
  reduction.end({&sum, 1}, {});
  EXPECT_EQ(sum, comm.size());
}

}  // namespace
}  // namespace catena
