// Who owns which body: splitting the constraint graph, and moving bodies to match.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catena/base/settings.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"
#include "catena/partition/cost_model.hpp"
#include "catena/partition/mechanisms.hpp"
#include "catena/search/contact_search.hpp"

namespace catena {

/// What bodies weigh: their counted work, or that times their rank's clock time over its count.
enum class WorkWeights { counted, measured };
/// Names of the kinds of weights in cases.
inline constexpr std::array<std::string_view, 2> kWorkWeightsNames = {"counted", "measured"};

/// The keys of `parallel:` that concern who owns what.
struct BalanceSettings {
  /// Steps between checks of the balance, in which a move must pay; 0: only at the start.
  int rebalance_steps = 200;
  double imbalance = 1.1;   ///< of the work, above which bodies may move
  double move_price = 1.0;  ///< factor on the counted price; 0: bodies move whether it pays or not
  WorkWeights weights = WorkWeights::counted;
  std::int64_t max_graph = 200000;  ///< vertices of the graph that one rank may hold
  int subdomains = 0;               ///< total number; 0: one per rank
  bool deterministic = false;       ///< the same bits on any number of ranks: subdomains are tiles
  int tile_bodies = 0;              ///< of a tile; 0: size_of_tiles
  /// Which mechanisms one rank eliminates whole, as solver.joints says: those of fewer joints (0:
  /// joints are not eliminated), but for chains that go along their order. Set by the program, not
  /// by a case.
  std::int64_t whole_below = 1000;
  bool chains_in_order = true;
};
/// The keys, with ranges and help.
void describe(SettingsVisitor& visit, BalanceSettings& s);

/// Subdomains of a run that is not deterministic.
inline int subdomains_of(const BalanceSettings& s, int ranks) {
  return s.subdomains > 0 ? s.subdomains : ranks;
}

/// What a partition is like; the same on every rank.
struct PartitionQuality {
  std::int64_t vertices =
      0;                   ///< of the graph split (dynamic bodies, or cells of them); 0: curve cut
  std::int64_t edges = 0;  ///< pairs of vertices in contact or in a joint
  std::int64_t edge_cut = 0;  ///< rows of contacts and joints between parts
  WorkBalance balance;        ///< of the parts; a whole mechanism's joints count where most are
  bool aggregated = false;    ///< cells instead of bodies
  std::int64_t moved = 0;     ///< bodies that changed rank; set by rebalance
};

/// Collective. A part in 0 .. n_parts-1 for each owned body: METIS on the body/constraint
/// graph (vertex weights = counted work of the body and the contacts at home there, and of the
/// joints, times the factor of its rank; edge weight = rows between the two, those of joints
/// several times, so that mechanisms stay together; joints and the rest are two weights, unless
/// joints are little of the work or one mechanism that is eliminated whole is more of them than a
/// part's share), gathered on rank 0 if it has at most max_graph
/// vertices; else on cells of bodies along a space-filling curve (along chains and rings of 500
/// joints and more, where these are), at most max_graph of them. Fixed seed: the same input gives
/// the same parts. Without contacts and joints, or for cells fewer than
/// a few per part, the curve itself is cut.
std::vector<int> partition_bodies(const Communicator& comm, const Bodies& bodies,
                                  const State& state, const ContactSet& contacts, int n_parts,
                                  const BalanceSettings& settings, PartitionQuality& quality,
                                  const WorkRate& rate = {});

/// Bytes that rank 0 holds at most while a graph is split, METIS' own included: linear in
/// vertices (at most max_graph) and edges (of a packing about 6 a vertex; cells of many
/// bodies have about 10).
std::int64_t partition_memory(std::int64_t vertices, std::int64_t edges, int n_parts);

/// METIS' version as "5.1.0", for --version and provenance.
std::string metis_version();

/// Collective. Cuts the space-filling curve into n_parts of equal count (to within one): the
/// start, before any contact is known. The same parts on any number of ranks.
std::vector<int> partition_by_curve(const Communicator& comm, const Bodies& bodies,
                                    const State& state, int n_parts);

/// Rank that owns part (subdomain) `part` of n_parts.
inline int rank_of_part(int part, int n_parts, int n_ranks) {
  return static_cast<int>(std::int64_t{part} * n_ranks / n_parts);
}

/// Collective. Renumbers parts so that the fewest bodies change owner; of more than 512 parts few
/// (greedy on the largest overlaps of new parts with ranks).
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

/// What a check of the balance found and did; the same on every rank.
struct RebalanceDecision {
  std::int64_t step = -1;  ///< State::step; -1: no graph was split yet
  WorkBalance balance;     ///< of the ranks as bodies lie, at the present contacts
  /// Row sweeps that the new parts spare the busiest rank in rebalance_steps steps.
  double gain = 0.0;
  double price = 0.0;        ///< of splitting and moving, with its factor
  PartitionQuality quality;  ///< of the new parts
  bool taken = false;        ///< bodies moved; else they stay where they are
};

/// What a rank has in a step.
struct RankLoad {
  std::int64_t contact_rows = 0;
  std::int64_t joint_rows = 0;  ///< that it eliminates; of joints that are swept: holds
  std::int64_t bodies = 0;      ///< dynamic ones
};

/// Collective. Adds a step's work to what the next look is decided from, and says how even it was.
/// `factor`: WorkRate::factor.
WorkBalance note_work(const Communicator& comm, const RankLoad& load, double sweeps, double factor,
                      BalanceSums& sums);

/// WorkBalance::all of the last step.
double imbalance_of(const BalanceSums& sums);

/// Whether the graph should be split: the imbalance is above settings.imbalance and what the
/// busiest rank does above the mean would cost more in rebalance_steps steps than a split and a
/// move (at a `due` look; between looks once a quarter of that was lost since the last split), or
/// has cost more already (so that, whatever the load does next, moving never costs much more than
/// it could have saved). Splits that were of no use raise the price
/// (BalanceSums::split_price_factor). Without a price: whenever the imbalance is above, at due
/// looks.
bool split_pays(const BalanceSums& sums, const BalanceSettings& settings, int n_ranks, bool due);

/// Collective. As rebalance, but bodies stay where the new parts do not spare more work until the
/// next look than moving costs. Sets `sums` back.
RebalanceDecision rebalance_if_it_pays(const Communicator& comm, Bodies& bodies, State& state,
                                       const ContactSet& contacts, const BalanceSettings& settings,
                                       const WorkRate& rate);

/// Key of a point on the Hilbert curve of a fixed grid over `box`: cubic cells, 2^21 along
/// the longest edge, from box.lo. Points outside, and NaN, go to the grid's border.
std::uint64_t curve_key(const Vec3& point, const Aabb& box);

}  // namespace catena
