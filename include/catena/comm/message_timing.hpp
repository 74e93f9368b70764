// What single messages cost between two ranks: for calibration.
#pragma once

#include <cstddef>

#include "catena/comm/communicator.hpp"

namespace catena {

/// Collective. Half a round trip of `bytes` between ranks `a` and `b`, s, the mean of `rounds` in a
/// row; the other ranks wait. The same on all ranks.
double ping_pong_seconds(const Communicator& comm, int a, int b, std::size_t bytes, int rounds);

/// Collective. Time per message of 8 bytes when rank `a` sends `count` of them to `b` at once, s.
double message_overhead_seconds(const Communicator& comm, int a, int b, int count);

}  // namespace catena
