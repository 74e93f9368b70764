// Bodies of all ranks in one place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/model/model.hpp"

namespace catena::test {

/// Bodies of all ranks, on every rank, in the order of ranks.
inline std::vector<BodyRecord> gathered(const Communicator& comm, const Bodies& bodies,
                                        const State& state) {
  std::vector<BodyRecord> own;
  for (std::size_t i = 0; i < bodies.constants.size(); ++i)
    own.push_back({bodies.constants[i], state.body[i]});
  const std::vector<std::byte> bytes = comm.all_gather_bytes(std::as_bytes(std::span(own)));
  std::vector<BodyRecord> all(bytes.size() / sizeof(BodyRecord));
  std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(all)).begin());
  return all;
}

}  // namespace catena::test
