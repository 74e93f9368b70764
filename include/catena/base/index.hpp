// Integer types for bodies and constraints.
#pragma once

#include <cstdint>

namespace catena {

/// Identity of a body over all ranks and the whole run; never reused.
using GlobalId = std::int64_t;

/// Position in this rank's arrays.
using Index = std::int32_t;

inline constexpr GlobalId kNoBody = -1;
inline constexpr Index kNoIndex = -1;

}  // namespace catena
