#include "catena/base/text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

namespace catena {
namespace {

TEST(Text, ShortNumbersHaveTheDigitsAskedFor) {
  EXPECT_EQ(short_text(0.012345678), "0.0123457");
  EXPECT_EQ(short_text(1234567.0), "1.23457e+06");
  EXPECT_EQ(short_text(-2.0), "-2");
  EXPECT_EQ(short_text(0.012345678, 3), "0.0123");
  EXPECT_EQ(short_text(1e-18, 2), "1e-18");
  EXPECT_EQ(short_text(std::numeric_limits<double>::infinity()), "inf");
}

TEST(Text, WholeNumbersHaveNoFraction) {
  EXPECT_EQ(whole_text(1e7), "10000000");
  EXPECT_EQ(whole_text(119.6), "120");
}

TEST(Text, ExactNumbersReadBackTheSame) {
  for (const double x : {0.1, 1.0 / 3.0, -6.02214076e23, std::numeric_limits<double>::denorm_min()})
    EXPECT_EQ(std::strtod(exact_text(x).c_str(), nullptr), x);
  EXPECT_EQ(exact_text(0.1), "0.10000000000000001");
}

TEST(Text, StepsOfFilesSortAsNames) {
  EXPECT_EQ(step_text(0), "00000000");
  EXPECT_EQ(step_text(120), "00000120");
  EXPECT_EQ(step_text(1234567890), "1234567890");
}

}  // namespace
}  // namespace catena
