#pragma once

namespace catena::test {

inline constexpr double kG = 9.81;  ///< m/s^2

}  // namespace catena::test
