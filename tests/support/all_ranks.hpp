// What all ranks know, hold and do together.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include "catena/comm/communicator.hpp"

namespace catena::test {

/// Collective. What each rank has, in the order of the ranks, on every rank. T: plain data.
template <class T>
std::vector<T> all_of(const Communicator& comm, const std::vector<T>& own) {
  const std::vector<std::byte> bytes = comm.all_gather_bytes(std::as_bytes(std::span(own)));
  std::vector<T> all(bytes.size() / sizeof(T));
  std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(all)).begin());
  return all;
}

/// Collective. Whether `found` equals `expected` on every rank of `comm`; fails the test on those
/// ranks where it does not. For facts without which a test cannot go on: ASSERT_ would leave the
/// other ranks alone in their next exchange.
///
///   if (!all_ranks_have(comm, bodies.size(), 4U)) return;
template <class Found, class Expected>
bool all_ranks_have(const Communicator& comm, const Found& found, const Expected& expected,
                    std::source_location at = std::source_location::current()) {
  bool here = false;
  if constexpr (std::integral<Found> && !std::same_as<Found, bool>)
    here = std::cmp_equal(found, expected);
  else
    here = found == expected;
  if (!here)
    ADD_FAILURE_AT(at.file_name(), static_cast<int>(at.line()))
        << "found " << testing::PrintToString(found) << ", expected "
        << testing::PrintToString(expected);
  return comm.min(static_cast<std::int64_t>(here ? 1 : 0)) == 1;
}

}  // namespace catena::test
