// Numbers in a random order that is known without a list.
#pragma once

#include <bit>
#include <cstdint>

#include "catena/base/random.hpp"

namespace catena::scenarios {

/// Place of `i` in a random order of 0 .. n-1 that follows from the seed: a Feistel network on the
/// next larger even number of bits, gone through again until the result is below n.
constexpr std::uint64_t permuted(std::uint64_t i, std::uint64_t n, std::uint64_t seed) {
  const int half = n <= 2 ? 1 : (static_cast<int>(std::bit_width(n - 1)) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  constexpr std::uint64_t kRounds = 4;
  do {
    std::uint64_t left = i >> half, right = i & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ (mix64(mix64(seed ^ mix64(round)) ^ right) & mask);
      left = right;
      right = next;
    }
    i = left << half | right;
  } while (i >= n);
  return i;
}

}  // namespace catena::scenarios
