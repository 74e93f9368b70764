// Counter-based random numbers: a pure function of (seed, id, stream), so that a
// generated scene does not depend on the rank count.
#pragma once

#include <cstdint>

namespace catena {

/// SplitMix64's finaliser: a well-mixed 64-bit hash.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Uniform in [0, 1), the same for the same arguments everywhere.
constexpr double uniform01(std::uint64_t seed, std::uint64_t id, std::uint64_t stream) {
  const std::uint64_t bits = mix64(mix64(mix64(seed) ^ id) ^ stream);
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

/// Uniform in [-1, 1).
constexpr double uniform_pm1(std::uint64_t seed, std::uint64_t id, std::uint64_t stream) {
  return 2.0 * uniform01(seed, id, stream) - 1.0;
}

}  // namespace catena
