// What the tests of contacts that give share.
#pragma once

#include <numbers>
#include <string>

#include "support/gravity.hpp"

namespace catena::test {

inline constexpr double kPi = std::numbers::pi;

/// Solves to round-off.
inline const std::string kTight =
    "solver: {max_iterations: 5000, relative_tolerance: 1e-24, absolute_tolerance: 1e-30}\n";

}  // namespace catena::test
