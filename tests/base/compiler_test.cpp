// Does the compiler, with the flags of this build, translate what the code relies on?
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

namespace catena {
namespace {

// Not inlined, so that the constant is copied and not folded into the comparison.
[[gnu::noinline]] std::unique_ptr<double[]> two_equal_then_zeros() {
  const double constant[4] = {1.0, 1.0, 0.0, 0.0};
  std::unique_ptr<double[]> copy(new double[4]);
  std::memcpy(copy.get(), constant, sizeof constant);
  return copy;
}

[[gnu::noinline]] std::vector<double> three_equal_then_zero() { return {2.0, 2.0, 2.0, 0.0}; }

TEST(Compiler, ConstantsCopiedAsABlockKeepTheirValues) {
  // g++ 12.2 with -march=native on CPUs tuned for 32-byte block copies (skylake-avx512,
  // rocketlake) writes the first value to all four places; -mmove-max=128 -mstore-max=128
  // keeps it from using such copies
  const auto pair = two_equal_then_zeros();
  EXPECT_EQ(pair[1], 1.0);
  EXPECT_EQ(pair[2], 0.0);
  EXPECT_EQ(pair[3], 0.0);
  EXPECT_EQ(three_equal_then_zero()[3], 0.0);
}

}  // namespace
}  // namespace catena
