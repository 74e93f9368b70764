// Bodies of all ranks in one place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/model/model.hpp"
#include "support/all_ranks.hpp"

namespace catena::test {

/// Bodies of all ranks, on every rank, in the order of ranks.
inline std::vector<BodyRecord> gathered(const Communicator& comm, const Bodies& bodies,
                                        const State& state) {
  std::vector<BodyRecord> own;
  for (std::size_t i = 0; i < bodies.constants.size(); ++i)
    own.push_back({bodies.constants[i], state.body[i]});
  return all_of(comm, own);
}

}  // namespace catena::test
