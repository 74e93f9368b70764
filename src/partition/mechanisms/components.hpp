// Components of a graph whose nodes and edges lie on any ranks.
#pragma once

#include <vector>

#include "catena/comm/communicator.hpp"
#include "partition/mechanisms/address.hpp"

namespace catena::partition {

/// An edge between two nodes; it may lie on any rank.
struct NodeLink {
  Address a = kNowhere, b = kNowhere;
};

/// Collective. The node that stands for its component, for each of this rank's `n_own` nodes;
/// equal for two nodes exactly if links lead from one to the other.
///
/// Every node that stands for others hooks itself to the neighbour of the least hashed number;
/// of two that chose one another the lesser stays; pointers are then jumped to the roots and links
/// renamed. Each round at least halves the nodes of a component that is not yet one, so there are
/// O(log n) rounds; the trees of a round are shallow, as hashed numbers ascend along no long path.
/// Memory O(own nodes and links).
std::vector<Address> join_nodes(const Communicator& comm, std::size_t n_own,
                                std::vector<NodeLink> links);

}  // namespace catena::partition
