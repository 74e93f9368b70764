// What a run on a given number of ranks would be like, without running it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"
#include "catena/partition/balance.hpp"
#include "catena/search/contact_search.hpp"

namespace catena {

/// Least, mean and largest of a number per planned rank.
struct PlanRange {
  double min = 0.0;
  double mean = 0.0;
  double max = 0.0;
};

/// The split of a scene over n_ranks ranks; the same on every rank.
struct PartitionPlan {
  int n_ranks = 1;
  std::vector<int> part;  ///< of each owned body of this rank: its planned rank
  PartitionQuality quality;
  std::int64_t bodies = 0;    ///< owned ones, prescribed included
  std::int64_t contacts = 0;  ///< over all ranks
  std::int64_t joints = 0;    ///< the same
  PlanRange bodies_per_rank;
  PlanRange contacts_per_rank;
  PlanRange joints_per_rank;
  PlanRange halo;        ///< ghosts of dynamic bodies that a rank's contacts and joints need
  PlanRange neighbours;  ///< ranks that a rank exchanges with
  PlanRange memory;      ///< bytes of state, contacts, joints, problem and solver; see rank_memory;
                         ///< of mechanisms that are no chains their elimination, too, on the rank
                         ///< to which their joints' work counts
  std::int64_t split_memory =
      0;  ///< bytes besides on rank 0 while a graph is split (partition_memory)
};

/// Bytes of a rank's bodies, ghosts, contacts and joints (of chains) in state, search, problem and
/// gauss_seidel, with the slack of growing arrays; without what MPI and other libraries take.
double rank_memory(std::int64_t bodies, std::int64_t ghosts, std::int64_t contacts,
                   std::int64_t joints = 0);

/// Collective. Bytes that each of n_ranks planned ranks (any number, not this communicator's) needs
/// besides rank_memory for the elimination of mechanisms that are no simple chains, with the slack
/// of growing arrays; the same on every rank. `part`: the planned rank of each owned body. A
/// mechanism that is not cut counts whole for the rank with most of its joints.
std::vector<double> elimination_memory(const Communicator& comm, const Bodies& bodies,
                                       const ContactSet& contacts, std::span<const int> part,
                                       int n_ranks, const BalanceSettings& settings);

/// Collective. Splits the bodies as partition_bodies would for n_ranks ranks (any number,
/// not this communicator's) and counts what each would hold. `contacts` are those of the
/// scene as it is now; of a scene that has yet to settle they are few, and the plan shows
/// the curve's cut.
PartitionPlan plan_partition(const Communicator& comm, const Bodies& bodies, const State& state,
                             const ContactSet& contacts, int n_ranks,
                             const BalanceSettings& settings);

}  // namespace catena
