// How joints are solved.
#pragma once

#include "catena/base/settings.hpp"

namespace catena {

/// automatic: chains by elimination, trees leaf to root, few loops by a border or paths, others
/// direct; chain: the same, but refuses mechanisms that are no chains; direct: sparse direct for
/// all; iterative: joint rows are swept like contacts.
enum class JointMethod { automatic, chain, direct, iterative };

/// Unit of the odd/even elimination of chains [MV]: a joint, or a rank's segment. Chains of ordered
/// problems are eliminated by pieces that do not depend on the ranks, which no case asks for.
enum class ChainGrouping { automatic, body, rank, piece };

/// `solver.joints:`
struct JointSolverSettings {
  JointMethod method = JointMethod::automatic;
  ChainGrouping grouping = ChainGrouping::automatic;
  int cholesky_limit = 1000;  ///< blocks at which odd/even elimination ends in Cholesky
  int cut_from = 1000;  ///< joints from which mechanisms that are no chains are cut over ranks

  /// Whether simple chains are eliminated along their order, in pieces that follow each other from
  /// rank to rank, and not as trees.
  bool chains_in_order() const { return method != JointMethod::direct; }
};
/// The keys of `solver.joints:`.
void describe(SettingsVisitor& visit, JointSolverSettings& s);

}  // namespace catena
