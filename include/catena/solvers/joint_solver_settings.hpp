// How joints are solved.
#pragma once

#include "catena/base/settings.hpp"
#include "catena/partition/mechanisms.hpp"

namespace catena {

/// automatic: chains by elimination, trees leaf to root, few loops by a border or paths, others
/// direct; chain: chains along their order, also long ones on several ranks, and refuses mechanisms
/// that are no chains; direct: sparse direct for all; iterative: joint rows are swept like
/// contacts.
enum class JointMethod { automatic, chain, direct, iterative };

/// Unit of the odd/even elimination of chains [MV]: a joint, or a rank's segment. Chains of ordered
/// problems are eliminated by pieces that do not depend on the ranks, which no case asks for.
enum class ChainGrouping { automatic, body, rank, piece };

/// `solver.joints:`
struct JointSolverSettings {
  JointMethod method = JointMethod::automatic;
  ChainGrouping grouping = ChainGrouping::automatic;
  int cholesky_limit = 1000;  ///< blocks at which odd/even elimination ends in Cholesky
  int cut_from = 5000;        ///< joints from which mechanisms are cut over ranks

  /// Which chains are eliminated along their order: all where a case asks for that, and where the
  /// problem is `ordered`, since their pieces then do not depend on the ranks.
  ChainRule chains(bool ordered) const;
};
/// The keys of `solver.joints:`.
void describe(SettingsVisitor& visit, JointSolverSettings& s);

}  // namespace catena
