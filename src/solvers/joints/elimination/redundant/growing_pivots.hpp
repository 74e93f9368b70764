// Redundant rows of joints that are too many for null vectors, by pivots that grow.
#pragma once

#include <vector>

#include "solvers/joints/elimination/redundant/suspicious_rows.hpp"

namespace catena {

/// Those candidates are redundant whose pivots grow with epsilon, looked for again when pivots ask
/// for it. Reactions are of least norm as far as velocities do not contradict each other.
class GrowingPivots {
 public:
  /// Both must outlive it.
  GrowingPivots(const OwnRows& rows, RegularisedFactor& factor) : rows_(&rows), factor_(&factor) {}

  bool were_found() const { return found_; }
  void forget() { found_ = false; }
  /// Appends the redundant rows, and leaves the factor as they need it.
  void find(const MechanismRows& joints, const SuspiciousRows& suspicious,
            std::vector<Index>& redundant);
  /// Collective where there are guests. Factors anew with the rows that were found; false if they
  /// are to be looked for again: one that was no candidate has a pivot that makes it one, or one of
  /// them has a pivot out of doubt.
  bool factor_again(const MechanismRows& joints, SuspiciousRows& suspicious);

 private:
  /// What was found of a row: no candidate, one that is none of the redundant rows, or one of them.
  enum class Searched : char { no, genuine, redundant };

  const OwnRows* rows_;
  RegularisedFactor* factor_;
  bool found_ = false;
  std::vector<Searched> searched_;  ///< per row
};

}  // namespace catena
