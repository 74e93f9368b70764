// Whether a scene fits into the memory of the machine that runs it.
#pragma once

#include <span>
#include <string>

#include "catena/comm/communicator.hpp"
#include "catena/scenarios/scene.hpp"

namespace catena {

/// Bytes that this rank's host has to give: what the kernel calls available, or what a control
/// group's limit leaves beside its processes' own memory, whichever is less; infinity where neither
/// can be read.
double available_memory();

/// Collective. Ranks on this rank's host.
int ranks_on_host(const Communicator& comm);

/// Bytes that this rank may keep besides for a while: half of what its host has to give, in equal
/// shares of its ranks.
double memory_to_spare(int ranks_on_host);

/// What the ranks of one host need for their share of a scene, beside what the host has, bytes.
struct MemoryNeed {
  std::string host;
  std::int64_t n_bodies = 0, n_joints = 0;  ///< over all ranks
  int ranks = 1;                            ///< on this host
  double bodies = 0.0;       ///< bodies, joints and their elimination: what any run takes at least
  double settled = 0.0;      ///< with three contacts a body, as settled grains have them, and bonds
  double elimination = 0.0;  ///< the part of both that elimination_memory counts
  double available = 0.0;    ///< of the host
};

/// Collective. Of the host with the least to spare, the same on every rank. The estimate of
/// rank_memory (catena plan prints it) for the bodies and joints at the start, in equal shares.
/// `available`: bytes of this rank's host, before bodies were made. `elimination`: of each rank, by
/// elimination_memory; empty as long as bodies are not made, and mechanisms not known.
MemoryNeed memory_need(const Communicator& comm, const SceneSettings& scene, const Model& model,
                       double available, std::span<const double> elimination = {});

/// Throws Error(bad_input) with both numbers where bodies, joints and their elimination alone do
/// not fit.
void refuse_beyond_memory(const MemoryNeed& need);

/// A warning where they fit, but not once bodies touch as settled grains do; empty otherwise.
std::string memory_warning(const MemoryNeed& need);

}  // namespace catena
