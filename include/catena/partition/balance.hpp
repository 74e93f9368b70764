// Who owns which body: splitting the constraint graph, and moving bodies to match.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "catena/base/settings.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"
#include "catena/partition/contact_search.hpp"

namespace catena {

struct BalanceSettings {
  int rebalance_steps = 200;        ///< steps between looks at the balance; 0: only at the start
  double imbalance = 1.1;           ///< of the counted work, above which bodies move
  std::int64_t max_graph = 200000;  ///< vertices of the graph that one rank may hold
  int subdomains = 0;               ///< total number; 0: one per rank
  bool deterministic = false;       ///< the same bits on any number of ranks: subdomains are tiles
  int tile_bodies = 500;            ///< of a tile
};
void describe(SettingsVisitor& visit, BalanceSettings& s);

/// What a partition is like; the same on every rank.
struct PartitionQuality {
  std::int64_t vertices =
      0;                   ///< of the graph split (dynamic bodies, or cells of them); 0: curve cut
  std::int64_t edges = 0;  ///< pairs of vertices in contact or in a joint
  std::int64_t edge_cut = 0;  ///< rows of contacts and joints between parts
  double imbalance = 1.0;     ///< largest part's work (rows + 1 per body) over the mean
  bool aggregated = false;    ///< cells instead of bodies
  std::int64_t moved = 0;     ///< bodies that changed rank; set by rebalance
};

/// Collective. A part in 0 .. n_parts-1 for each owned body: METIS on the body/constraint
/// graph (vertex weight = rows of contacts and joints at home there + 1, edge weight = rows between
/// the two, so that chains stay together), gathered on rank 0 if it has at most max_graph vertices;
/// else on cells of bodies along a space-filling curve, at most max_graph of them. Fixed seed: the
/// same input gives the same parts. Without contacts and joints, or for cells fewer than a few per
/// part, the curve itself is cut.
std::vector<int> partition_bodies(const Communicator& comm, const Bodies& bodies,
                                  const State& state, const ContactSet& contacts, int n_parts,
                                  const BalanceSettings& settings, PartitionQuality& quality);

/// Bytes that rank 0 holds at most while a graph is split, METIS' own included: linear in
/// vertices (at most max_graph) and edges (of a packing about 6 a vertex; cells of many
/// bodies have about 10).
std::int64_t partition_memory(std::int64_t vertices, std::int64_t edges, int n_parts);

/// Collective. Cuts the space-filling curve into n_parts of equal count (to within one): the
/// start, before any contact is known. The same parts on any number of ranks.
std::vector<int> partition_by_curve(const Communicator& comm, const Bodies& bodies,
                                    const State& state, int n_parts);

/// Rank that owns part (subdomain) `part` of n_parts.
inline int rank_of_part(int part, int n_parts, int n_ranks) {
  return static_cast<int>(static_cast<std::int64_t>(part) * n_ranks / n_parts);
}

/// Collective. Renumbers parts so that few bodies change owner (greedy on the largest
/// overlaps of new parts with ranks).
void relabel_parts(const Communicator& comm, std::span<int> part, int n_parts);

/// Collective. Moves bodies (constants, state, keyed impulses and couples of contacts whose
/// home they are) to the rank of part[i] and sets their subdomain; then orders each rank's bodies
/// along the curve (ties by id). Joints and their states, which may be held anywhere before, come
/// to the owners of their homes (link_joints), ascending in id, and links are made anew. Walks the
/// one list of state. Returns how many moved over all ranks. Memory O(own bodies and joints before
/// and after).
std::int64_t migrate(const Communicator& comm, Bodies& bodies, State& state,
                     std::span<const int> part, int n_parts);

/// The same with the rank of each body given.
std::int64_t migrate(const Communicator& comm, Bodies& bodies, State& state,
                     std::span<const int> part, std::span<const int> rank);

/// Collective. partition_bodies, relabel_parts and migrate in one, into settings.subdomains
/// parts (0: one per rank). `contacts` belong to the old places and must be found anew.
PartitionQuality rebalance(const Communicator& comm, Bodies& bodies, State& state,
                           const ContactSet& contacts, const BalanceSettings& settings);

/// Work of a step: sweeps (rows + bodies), the weights by which graphs are split times the
/// sweeps. Not a clock time, so that balance decisions can be repeated.
double counted_work(std::int64_t rows, double sweeps, std::int64_t bodies);

/// Collective. Whether the largest rank's counted work exceeds settings.imbalance times the
/// mean; `imbalance`, if not null, gets the ratio (1 without work). Same on every rank.
bool imbalanced(const Communicator& comm, double local_work, const BalanceSettings& settings,
                double* imbalance);

/// Key of a point on the Hilbert curve of a fixed grid over `box`: cubic cells, 2^21 along
/// the longest edge, from box.lo. Points outside, and NaN, go to the grid's border.
std::uint64_t curve_key(const Vec3& point, const Aabb& box);

}  // namespace catena
