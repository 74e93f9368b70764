// Collective operations of a communicator, and the bytes that they gather.
#pragma once

#include <cstdint>

#include "catena/comm/communicator.hpp"

namespace catena {

/// Operations of all ranks, and of the parts that they were split into, since the communicator was
/// made; those of all are the same on each rank. What they cost grows with the ranks however few
/// neighbours a rank has: about log2(ranks) messages one after the other each, and `gathered_bytes`
/// in proportion to the ranks.
struct CollectiveCount {
  /// Those that a rank waits in: reductions, barriers, gathers, broadcasts, and exchanges, whose
  /// end all ranks agree on. Lists whose length others do not know count twice, for length and
  /// items, and those that one rank alone receives three times, for the check of their total
  /// besides. What libraries do (PETSc, HDF5) is not counted.
  std::int64_t blocking = 0;
  std::int64_t posted = 0;          ///< reductions on their way while the rank works on
  std::int64_t gathered_bytes = 0;  ///< that each rank has received of all, its own included
};

/// Not collective.
const CollectiveCount& collective_count(const Communicator& comm);

}  // namespace catena
