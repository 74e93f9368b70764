// Integer types for bodies, constraints and positions in arrays, and the one way from a wide
// integer to a narrow one (docs/design/0013-sizes-and-indices.md).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "catena/base/error.hpp"

namespace catena {

/// Identity of a body over all ranks and the whole run; never reused.
using GlobalId = std::int64_t;

/// Position of a body, block or row in this rank's arrays.
using Index = std::int32_t;

/// Position in an array that holds several numbers for each body, block or row (Jacobians,
/// factors).
using Offset = std::int64_t;

/// The id of no body: the world, or nothing.
inline constexpr GlobalId kNoBody = -1;
/// The place of nothing.
inline constexpr Index kNoIndex = -1;

/// `n` as a narrower integer, which it fits: checked in Debug builds.
template <std::integral To, std::integral From>
constexpr To narrow(From n) {
  CATENA_ASSERT(std::in_range<To>(n));
  return static_cast<To>(n);
}

/// A count or position as Index.
template <std::integral From>
constexpr Index to_index(From n) {
  return narrow<Index>(n);
}

/// Position of an enumerator in the tables of its kind.
template <class Enum>
requires std::is_enum_v<Enum>
constexpr std::size_t ordinal(Enum e) { return static_cast<std::size_t>(e); }

}  // namespace catena
