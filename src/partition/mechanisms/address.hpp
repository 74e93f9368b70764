// Places on other ranks, for the analysis of mechanisms.
#pragma once

#include <cstddef>
#include <cstdint>

#include "catena/base/index.hpp"

namespace catena::partition {

/// A place in an array of some rank, in one number.
using Address = std::int64_t;
inline constexpr Address kNowhere = -1;
inline constexpr int kPlaceBits = 40;

inline Address address_of(int rank, std::size_t place) {
  return (static_cast<Address>(rank) << kPlaceBits) | static_cast<Address>(place);
}
inline int rank_of(Address a) { return narrow<int>(a >> kPlaceBits); }
inline std::size_t place_of(Address a) { return a & ((Address{1} << kPlaceBits) - 1); }

}  // namespace catena::partition
