// Who does the work on joints: the owners of their bodies, or the one rank that eliminates a
// mechanism whole.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catena/partition/balance.hpp"
#include "catena/partition/mechanisms.hpp"
#include "partition/graph/curve.hpp"

namespace catena::partition {

/// This rank's joints as edges between their dynamic bodies, with the rows of their types.
std::vector<JointEdge> joint_edges(const Bodies& bodies, const ContactSet& set);

/// The same with the rows that are eliminated: of ropes and tendons the one that holds their
/// length.
std::vector<JointEdge> eliminated_edges(const Bodies& bodies, const ContactSet& set);

/// Closed loops of a mechanism, those through the world among them; of one that hangs on nothing
/// one fewer, so that a ring, which is a path between two joints, has none.
std::int64_t n_loops(const JointPlace& place);

/// Part of a mechanism's joints that paths and branches leave to fronts: where every body has three
/// joints or more, a graph of L loops has 3 (L - 1) edges at most.
double share_of_fronts(double joints, double loops);

/// Bytes of the factor of a joint at `place`, a share of its mechanism's, where that is not
/// eliminated as a simple chain (whose factors rank_memory counts). A tree's are those of its
/// kernels, and a chain's the same; a path's, as a ring is one, carry the path's first body along.
/// Joints in fronts are taken for those of a net of as many joints, two a knot: 8 N log2 N numbers
/// for N knots and joints of a row (docs/theory.md, "Nets and machines"), with one added under the
/// logarithm for a single joint; blocks of joints in space have more.
double factor_memory(const JointPlace& place);

/// The counted work on this rank's joints.
class JointWork {
 public:
  /// Collective. Rounds of messages as find_mechanisms(), where any rank has joints.
  JointWork(const Communicator& comm, const Bodies& bodies, const ContactSet& set,
            const BalanceSettings& settings, const WorkRate& rate = {});

  /// Work on the largest mechanism that is whole, the same on every rank; 0: there is none.
  std::int64_t largest_whole() const { return largest_whole_; }

  /// Collective. Puts the owned bodies of long chains and rings behind all others, in the order of
  /// these: `places`, one for each owned body, are those along the curve, which may pass through a
  /// chain in several runs. Where a body stands in its chain does not depend on who holds joints.
  void follow_chains(const Communicator& comm, const ContactSet& set,
                     std::span<CurvePlace> places) const;

  /// Collective. Adds the joints' work to that of parts, `part` being that of each owned body: of a
  /// whole mechanism all of it to the part with most of its joints, the lowest of equals; of other
  /// joints to the part of their home. What is added to a part lies on any rank.
  void add_to(const Communicator& comm, std::span<const int> part, std::span<PartWork> parts) const;

  /// Collective. Deals any amounts, one for each of this rank's joints (or none, where no rank has
  /// joints), in the same way: adds them to `sums`, one for each part.
  void deal(const Communicator& comm, std::span<const int> part,
            std::span<const std::int64_t> amounts, std::span<std::int64_t> sums) const;

 private:
  struct Joint {
    std::int64_t mechanism = -1;             ///< JointPlace::component
    std::int64_t in_line = -1;               ///< of a long chain or ring: JointPlace::index
    int next_body = -1, previous_body = -1;  ///< as JointPlace says
    std::int64_t work = 0;
    Index home = 0;
    bool whole = false;
  };
  std::vector<Joint> joints_;
  std::int64_t largest_whole_ = 0;
};

}  // namespace catena::partition
