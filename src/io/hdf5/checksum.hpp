// A checksum that ranks make of their parts in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "catena/base/random.hpp"

namespace catena {

/// A sum over words of 8 bytes, so that ranks make it part by part in any order: any change of one
/// word changes it, other changes with a chance of 1 - 2^-64. `first_word` is the place of the
/// first word in the whole; bytes beyond the last word do not count.
inline std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t first_word) {
  constexpr std::uint64_t kStride = 0xd6e8feb86659fd93ULL;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, 8);
    sum += mix64(word + kStride * (first_word + i / 8 + 1));
  }
  return sum;
}

}  // namespace catena
