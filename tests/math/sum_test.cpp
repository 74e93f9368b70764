#include "catena/math/sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "catena/math/types.hpp"

namespace catena {
namespace {

double exact_sum(const std::vector<double>& terms) {
  Sum sum(true);
  for (const double x : terms) sum += x;
  return sum.value();
}

/// Terms of all sizes and signs.
std::vector<double> wild_terms(int n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> digits(-1.0, 1.0);
  std::uniform_int_distribution<int> exponent(-300, 300);
  std::vector<double> terms;
  for (int i = 0; i < n; ++i) terms.push_back(std::ldexp(digits(random), exponent(random)));
  return terms;
}

TEST(Sum, SmallTermsSurviveLargeOnesThatCancel) {
  EXPECT_EQ(exact_sum({1e300, 1.0, -1e300}), 1.0);
  EXPECT_EQ(exact_sum({1.0, 1e-300, -1.0}), 1e-300);
  EXPECT_EQ(exact_sum({-1e17, 3.0, 1e17, -5.0}), -2.0);
}

TEST(Sum, IsTheNearestNumberToTheTrueSum) {
  // 0.1 is 3602879701896397 / 2^55; ten of them are 36028797018963970 / 2^55, which lies
  // between 1 - 2^-53 ... 1 and is nearest to 1
  EXPECT_EQ(exact_sum(std::vector<double>(10, 0.1)), 1.0);
  // 2^53 + 1 + 1 is a double, though no single step towards it is
  EXPECT_EQ(exact_sum({9007199254740992.0, 1.0, 1.0}), 9007199254740994.0);
}

TEST(Sum, OrderOfTermsDoesNotMatter) {
  std::vector<double> terms = wild_terms(2000, 1);
  const double expected = exact_sum(terms);
  double plain_low = kInfinity, plain_high = -kInfinity;
  std::mt19937_64 random(7);
  for (int turn = 0; turn < 20; ++turn) {
    std::shuffle(terms.begin(), terms.end(), random);
    EXPECT_EQ(exact_sum(terms), expected);
    Sum plain;
    for (const double x : terms) plain += x;
    plain_low = std::min(plain_low, plain.value());
    plain_high = std::max(plain_high, plain.value());
  }
  EXPECT_LT(plain_low, plain_high) << "the terms would add up alike in any order anyway";
}

TEST(Sum, WordsOfSeveralRanksAddUpToTheWhole) {
  const std::vector<double> terms = wild_terms(999, 2);
  const std::size_t n = Sum::n_words(true);
  for (const std::size_t ranks : {1, 2, 7}) {
    std::vector<double> total(n, 0.0), words(n);
    for (std::size_t r = 0; r < ranks; ++r) {
      Sum part(true);
      for (std::size_t i = r; i < terms.size(); i += ranks) part += terms[i];
      part.write(words.data());
      for (std::size_t w = 0; w < n; ++w) total[w] += words[w];
    }
    EXPECT_EQ(Sum::value_of(true, total.data()), exact_sum(terms)) << ranks << " ranks";
  }
}

TEST(Sum, EdgesOfTheRangeAreExact) {
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  constexpr double kMost = std::numeric_limits<double>::max();
  EXPECT_EQ(exact_sum({kLeast, kLeast, kLeast}), 3.0 * kLeast);
  EXPECT_EQ(exact_sum({kMost, kLeast, -kMost}), kLeast);
  EXPECT_EQ(exact_sum({kMost, kMost, -kMost}), kMost);
  EXPECT_EQ(exact_sum({}), 0.0);
  EXPECT_EQ(exact_sum({-2.5}), -2.5);
}

TEST(Sum, WhatIsNotFiniteSpoilsIt) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(exact_sum({1.0, kNaN, 2.0})));
  EXPECT_EQ(exact_sum({1.0, kInfinity}), kInfinity);
  EXPECT_TRUE(std::isnan(exact_sum({kInfinity, -kInfinity})));
}

}  // namespace
}  // namespace catena
