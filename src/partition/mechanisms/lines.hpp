// The order of joints along chains and rings whose joints lie on any ranks.
#pragma once

#include <vector>

#include "catena/base/index.hpp"
#include "catena/partition/mechanisms.hpp"
#include "partition/mechanisms/address.hpp"

namespace catena::partition {

/// Ends of joints: 4 * joint + which of its bodies.
inline constexpr int kEnds = 4;

/// The one joint of another rank that shares a body with an own one.
struct RemoteMate {
  std::int64_t key = 0;
  std::int32_t rank = -1;
  std::int32_t end = -1;  ///< there
};

inline constexpr std::int32_t kNoMate = -1;

/// What an end of an own joint of a chain or ring meets at its body: the other end (>= 0, own),
/// remote[-2 - mate] (<= -2), or kNoMate. (Of other mechanisms, where more ends may be at the body,
/// mates mean nothing.)
struct Mates {
  std::vector<std::int32_t> of_end;
  std::vector<RemoteMate> remote;
};

/// Collective. Sets index, next_body and previous_body of the joints of chains and rings; kind and
/// component are given. Runs of joints held by one rank are walked; the runs are ranked by
/// pointer doubling, O(log(runs)) rounds.
void order_lines(const Communicator& comm, std::span<const JointEdge> edges, const Mates& mates,
                 std::vector<JointPlace>& places);

/// Collective. Sets the index of the joints of trees and looped mechanisms: the order of keys.
/// O(1) rounds; each rank sorts the joints of one interval of keys.
void order_by_key(const Communicator& comm, std::span<const JointEdge> edges,
                  std::vector<JointPlace>& places);

}  // namespace catena::partition
