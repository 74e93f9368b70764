#include "catena/base/random.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace catena {
namespace {

TEST(Mix64, EqualsTheFirstOutputsOfSplitMix64) {
  // Vigna's splitmix64.c with seed 1234567; its state grows by the golden gamma
  const std::uint64_t gamma = 0x9e3779b97f4a7c15ULL;
  const std::uint64_t expected[] = {6457827717110365317ULL, 3203168211198807973ULL,
                                    9817491932198370423ULL};
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(mix64(1234567 + i * gamma), expected[i]);
}

TEST(Uniform01, HasTheMomentsOfTheUniformDistributionInEachArgument) {
  // mean 1/2 and variance 1/12; of n samples the mean deviates by sqrt(1/12n), 5 sigma allowed
  constexpr int n = 100000;
  for (int argument = 0; argument < 3; ++argument) {
    double mean = 0.0;
    double square = 0.0;
    for (int i = 0; i < n; ++i) {
      const auto k = static_cast<std::uint64_t>(i);
      const double u = argument == 0   ? uniform01(k, 1, 2)
                       : argument == 1 ? uniform01(1, k, 2)
                                       : uniform01(1, 2, k);
      EXPECT_GE(u, 0.0);
      EXPECT_LT(u, 1.0);
      mean += u / n;
      square += u * u / n;
    }
    EXPECT_NEAR(mean, 0.5, 5.0 * std::sqrt(1.0 / 12.0 / n));
    EXPECT_NEAR(square - mean * mean, 1.0 / 12.0, 5.0 * std::sqrt(1.0 / 180.0 / n));
  }
}

TEST(Uniform01, StreamsOfOneBodyAreUncorrelated) {
  constexpr int n = 100000;
  double product = 0.0;
  for (int i = 0; i < n; ++i) {
    const auto id = static_cast<std::uint64_t>(i);
    product += uniform_pm1(5, id, 0) * uniform_pm1(5, id, 1) / n;
  }
  EXPECT_NEAR(product, 0.0, 5.0 / 3.0 / std::sqrt(n));  // each factor has variance 1/3
}

}  // namespace
}  // namespace catena
