// Tiles: subdomains that do not depend on the number of ranks (docs/determinism.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"
#include "catena/partition/balance.hpp"
#include "catena/search/contact_search.hpp"

namespace catena {

/// Bodies of a tile at most, of `bodies` in all; `tile_bodies`: what the case says, 0 where it
/// leaves that to this. Then tiles are as large as four ranks allow, up to a size at which their
/// borders cost next to nothing: four of them, which three ranks cannot share evenly, below 8,000
/// bodies, since smaller ones take more sweeps on any number of ranks (docs/determinism.md).
std::int64_t size_of_tiles(std::int64_t bodies, int tile_bodies);

/// Collective. How many tiles of size_of_tiles all bodies make, at least 1. The tiles themselves
/// are the parts of partition_by_curve.
int count_tiles(const Communicator& comm, const Bodies& bodies, int tile_bodies);

/// Collective. The rank of each owned body, of which `tile` is the tile: each rank gets a run of
/// whole tiles of about equal counted work, that of joints (where their bodies are) and all else
/// added up: tiles cannot be even in both. Memory O(tiles).
std::vector<int> assign_tiles(const Communicator& comm, const Bodies& bodies,
                              const ContactSet& contacts, std::span<const int> tile, int n_tiles,
                              const BalanceSettings& settings, PartitionQuality& quality);

/// Collective. For each point the nearest tile, if this rank owns it, else -1: the distance is that
/// to the box around the centres of the tile's dynamic bodies, at equal distance the lowest number
/// counts. Without any dynamic body tile 0 begins on rank 0. Nothing of it depends on the ranks.
/// `points` are the same on every rank. Memory O(tiles).
std::vector<std::int32_t> nearest_own_tiles(const Communicator& comm, const Bodies& bodies,
                                            const State& state, std::span<const Vec3> points);

/// The first tile of each rank, and one past the last tile: ranks' runs as near to equal shares of
/// the weight as whole tiles allow.
std::vector<int> cut_tiles(std::span<const std::int64_t> weight, int n_ranks);

}  // namespace catena
