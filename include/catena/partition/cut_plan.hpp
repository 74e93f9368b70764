// What the elimination of large mechanisms over ranks would take, without running it.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"
#include "catena/partition/mechanisms.hpp"
#include "catena/search/contact_search.hpp"

namespace catena {

/// A mechanism that is cut over ranks, node by node of its tree (by their numbers, from 1 on); the
/// same on every rank. A joint's rows are those of its type, without motors.
struct CutPlan {
  std::int64_t component = 0;  ///< smallest name of its joints
  std::int64_t joints = 0;
  std::int64_t loops = 0;  ///< closed ones, as JointPlace's numbers of joints and bodies tell
  DealtTree dealt;
  std::vector<std::int64_t> rows;        ///< own ones
  std::vector<std::int64_t> rows_above;  ///< of separators above that its elimination changes

  double factor_per_row = 0.0;  ///< bytes of the fronts of parts

  const PartTree& tree() const { return dealt.tree; }
  std::int64_t rows_of_all() const {
    return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  }
  /// Multiply-adds and bytes of a separator's front.
  double front_work(int node) const;
  double front_memory(int node) const;
  /// Bytes of a part's fronts, whose order is not made: estimated as those of a tree or a net.
  double part_memory(int node) const;
};

/// Collective. The mechanisms that n_ranks ranks (any number, not this communicator's) would share,
/// in the order of their names. `part`: the planned rank of each owned body, where they are cut
/// unless `settings` ask for deterministic runs.
std::vector<CutPlan> plan_cuts(const Communicator& comm, const Bodies& bodies,
                               const ContactSet& contacts, std::span<const int> part, int n_ranks,
                               const BalanceSettings& settings);

}  // namespace catena
