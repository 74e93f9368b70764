// Mechanisms: the components of the graph of bodies and joints, found over all ranks without
// gathering, and which rank eliminates which joint.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/partition/part_tree.hpp"

namespace catena {

/// One bilateral block as the graph sees it: an edge between its dynamic bodies.
struct JointEdge {
  std::int64_t key = 0;  ///< unique over all ranks; decides all orders
  int rows = 0;
  int n_bodies = 0;  ///< dynamic ones; 1: held to the world or to a prescribed body
  std::array<GlobalId, 4> body = {kNoBody, kNoBody, kNoBody,
                                  kNoBody};  ///< dynamic ones, in the block's order
};

/// chain: no body has more than two joints, no closed loop (the world closes none);
/// tree: no closed loop, every joint has one or two dynamic bodies;
/// ring: no body has more than two joints, one closed loop, no joint to the world;
/// looped: all others.
enum class MechanismKind : std::uint8_t { chain, tree, ring, looped };

/// Where a joint stands.
struct JointPlace {
  /// Chains of fewer joints gain nothing from being cut.
  static constexpr std::int64_t kShortChain = 500;

  std::int64_t component = 0;  ///< smallest key of its mechanism
  MechanismKind kind = MechanismKind::chain;
  std::int64_t n_joints = 0, n_rows = 0;  ///< of the mechanism
  std::int64_t n_bodies = 0;              ///< dynamic ones of the mechanism
  /// chain and ring: 0 .. n_joints - 1 along it, from the end (ring: the joint) with the smaller
  /// key, a ring on towards its neighbour with the smaller key; others: in the order of keys.
  std::int64_t index = 0;
  /// chain and ring: which of the edge's bodies it shares with the next joint and the one before;
  /// -1: none. (A ring's last joint has the first as next.)
  int next_body = -1, previous_body = -1;

  /// A chain that is eliminated as one. Held at both ends its rows may depend on others, as a
  /// four-bar's do, or those of a taut chain, and the elimination of trees finds those.
  bool is_simple_chain() const {
    const bool may_be_redundant =
        n_joints > n_bodies && (n_rows > 3 * n_joints || n_joints <= kShortChain);
    return kind == MechanismKind::chain && !may_be_redundant;
  }
};

/// Collective. Places of this rank's joints, in the order of `edges`. Rounds of messages:
/// O(log n); memory O(own joints) with a directory by body id.
std::vector<JointPlace> find_mechanisms(const Communicator& comm, std::span<const JointEdge> edges);

/// What is in a scene; the same on every rank.
struct MechanismCount {
  std::int64_t joints = 0, chains = 0, trees = 0, rings = 0, looped = 0;
  std::int64_t longest_chain = 0, largest = 0;  ///< joints
};
/// Collective. How many mechanisms of which kind all ranks have.
MechanismCount count_mechanisms(const Communicator& comm, std::span<const JointPlace> places);

/// In how many pieces a chain is eliminated where that must not depend on the ranks. Short ones
/// gain nothing from being cut; two pieces go from the chain's ends inwards at no price, of more
/// the inner ones have fill.
inline std::int64_t pieces_of_chain(std::int64_t joints) {
  constexpr std::int64_t kShort = 1000, kPiece = 2000;
  return joints < kShort ? 1 : std::max<std::int64_t>(2, joints / kPiece);
}
/// The first joint of piece k of `pieces`; one past the last joint for k = pieces.
inline std::int64_t piece_begin(std::int64_t joints, std::int64_t pieces, std::int64_t k) {
  return joints * k / pieces;
}
/// Whether a piece but the first one begins with joint `index` of a chain.
inline bool begins_piece(std::int64_t joints, std::int64_t index) {
  const std::int64_t pieces = pieces_of_chain(joints);
  const std::int64_t k = (index * pieces + joints - 1) / joints;
  return index > 0 && piece_begin(joints, pieces, k) == index;
}

/// Who eliminates what. All chains (and what is treated as such) stand one after another in one
/// global row of places 0 .. n-1, cut into one contiguous part per rank of about equal cost
/// (rows^3); chains of fewer than `split` joints are not cut, nor, with `in_pieces`, the pieces of
/// pieces_of_chain. Other mechanisms are dealt whole, to
/// the rank that holds most of their joints (the lowest of equals). Chains stand in the order of
/// the rank that holds their first joint, then of components, so that joints stay where they are
/// held as far as balance allows.
struct JointAssignment {
  std::vector<int> rank;            ///< per local joint: who eliminates it
  std::vector<std::int64_t> place;  ///< per local joint: its place if in a chain, else -1
  std::vector<std::int64_t> first;  ///< n_ranks + 1: places [first[r], first[r+1]) are rank r's
};

/// Collective. `as_chain[i]`: joint i belongs to a mechanism that is eliminated as a chain (all
/// joints of a mechanism agree; kind chain).
JointAssignment assign_joints(const Communicator& comm, std::span<const JointEdge> edges,
                              std::span<const JointPlace> places, std::span<const char> as_chain,
                              std::int64_t split = 500, bool in_pieces = false);

/// A mechanism that is no chain, cut over ranks.
struct MechanismParts {
  std::int64_t component = 0;
  DealtTree tree;
};

/// Collective. Cuts mechanisms in 2^levels parts (`levels[j]` of joint j's, the same for all of a
/// mechanism; 0: stays whole): the node of its PartTree of each of this rank's joints, 0 where the
/// mechanism is not cut, since separators would be too much of it. One rank a mechanism gathers its
/// graph, of at most `max_graph` vertices: where there are more joints, a vertex stands for several
/// that follow each other in JointPlace::index. The nodes do not depend on who holds what.
std::vector<int> cut_mechanisms(const Communicator& comm, std::span<const JointEdge> edges,
                                std::span<const JointPlace> places, std::span<const int> levels,
                                std::int64_t max_graph = 200000);

/// Part of a mechanism's rows that separators may have.
inline constexpr double kMostSeparating = 0.25;

/// Mechanisms cut between the ranks that have their bodies.
struct PlacedCut {
  static constexpr int kNone = -1;

  /// Per joint the node of its mechanism's tree; 0: one rank has all of its bodies, and it stays
  /// whole; kNone: separators would be too much of it.
  std::vector<int> node;
  std::vector<MechanismParts> parts;  ///< ascending in component, the same on every rank
};

/// Collective. Cuts the marked mechanisms (`marked[j]`: that of joint j) where their bodies' ranks
/// meet: a part a rank, so that a joint whose bodies are all on one rank (`owner[j]`, in the order
/// of JointEdge::body) is eliminated there, and separators are the joints between ranks. Ranks
/// stand in the tree so that those that share many joints stand near to each other.
PlacedCut cut_between_ranks(const Communicator& comm, std::span<const JointEdge> edges,
                            std::span<const JointPlace> places,
                            std::span<const std::array<int, 4>> owner,
                            std::span<const char> marked);

/// Collective. Cuts the marked mechanisms over n_ranks ranks (those that `owner` names; any number,
/// not this communicator's): between the ranks of their bodies, and by their graphs where bodies
/// lie too mixed for that. With `by_graph` all by their graphs, in parts whose number does not
/// depend on the ranks; `owner` is not read then.
PlacedCut cut_over_ranks(const Communicator& comm, std::span<const JointEdge> edges,
                         std::span<const JointPlace> places,
                         std::span<const std::array<int, 4>> owner, std::span<const char> marked,
                         int n_ranks, bool by_graph);

}  // namespace catena
