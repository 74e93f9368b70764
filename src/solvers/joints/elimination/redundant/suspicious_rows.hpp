// Rows of joints that may be redundant, by their pivots.
#pragma once

#include <span>
#include <vector>

#include "solvers/joints/elimination/redundant/regularised_factor.hpp"

namespace catena {

/// Rows with pivots (over the diagonal) below this may be redundant.
inline constexpr double kSuspicious = 1e-7;
/// A null vector with little on the rows that come last leaves these a pivot far above its own
/// value: where some rows are suspicious, so are a few more with pivots below this.
inline constexpr double kDoubtful = 1e-3;

/// Candidates for redundant rows, mechanism by mechanism, and what has been found out about their
/// pivots before.
class SuspiciousRows {
 public:
  /// Collective where there are guests. `rows` must outlive it.
  SuspiciousRows(const MechanismRows& structure, OwnRows& rows);

  /// Reads pivots as they are at the first time again.
  void forget();
  /// Collective where there are guests. Pivots of the last factor.
  void read_pivots(const RegularisedFactor& factor);
  /// Collective where there are guests. Candidates by these pivots.
  void find(const MechanismRows& joints, const RegularisedFactor& factor);
  /// Whether the pivots that were read last may be those of rows of which none is redundant.
  bool may_be_clear(const MechanismRows& joints) const;
  /// Collective where there are guests. Whether this is so by those of the last factor, regularised
  /// by round-off alone: then there are no candidates.
  bool find_none(const MechanismRows& joints, RegularisedFactor& factor);
  /// Collective where there are guests. All mechanisms but those with a mark on any rank are looked
  /// at again only below a third of their smallest pivot.
  void note_genuine(std::span<const char> but);

  std::span<const double> pivots() const { return pivot_; }  ///< over the diagonal
  double smallest_pivot() const { return smallest_pivot_; }  ///< when they were last read
  /// Per mechanism the rows that may be redundant, those with the smallest pivots first; kNoIndex:
  /// another rank's.
  const std::vector<std::vector<Index>>& candidates() const { return candidates_; }
  std::size_t most() const { return most_; }  ///< of a mechanism, of all ranks
  /// For null vectors to be sought.
  bool are_too_many() const;

 private:
  void pass_independent(const MechanismRows& joints);
  void gather(std::size_t suspicious);
  bool any_null(const MechanismRows& joints, RegularisedFactor& factor);

  OwnRows* rows_;
  std::vector<char> tree_held_once_;  ///< per mechanism
  double clear_;                      ///< pivots up to this may be a redundant row's
  std::vector<double> pivot_;
  double smallest_pivot_ = 1.0;
  /// Per mechanism its smallest pivot, when they were last read, and the one below which pivots
  /// have not been seen to be genuine.
  std::vector<double> smallest_, genuine_;
  std::vector<std::vector<Index>> candidates_;
  std::size_t most_ = 0;
};

}  // namespace catena
