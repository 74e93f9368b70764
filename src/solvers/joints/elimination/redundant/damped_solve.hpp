// Redundant rows of joints without null vectors: iterated Tikhonov regularisation.
#pragma once

#include <span>
#include <vector>

#include "solvers/joints/elimination/redundant/suspicious_rows.hpp"

namespace catena {

/// Solves A x = b with what null vectors would do, by powers of theta = (A + E)^-1 E, where what
/// the regularisation takes for null is null.
class DampedSolve {
 public:
  /// Both must outlive it.
  DampedSolve(const OwnRows& rows, RegularisedFactor& factor) : rows_(&rows), factor_(&factor) {}

  /// Collective where there are guests. Of one mechanism alone, since norms over several would hide
  /// a light one's; pivots must be those of this factorisation, none of them raised. An ordered
  /// problem remembers nothing, and could not change over where such solves do not settle; where
  /// one has not, none is made again.
  bool is_possible(const MechanismRows& joints, const SuspiciousRows& suspicious);
  /// Collective where there are guests. x <- A^-1 [x but for what is contradictory], of least norm.
  /// Returns the energy of what was contradictory, J.
  double solve(std::span<double> x);

 private:
  bool have_small_pivots(const SuspiciousRows& suspicious) const;
  bool is_distinct(const MechanismRows& joints, const SuspiciousRows& suspicious);
  int take_contradictions(std::span<double> x);
  double energy_taken();

  const OwnRows* rows_;
  RegularisedFactor* factor_;
  bool stalled_ = false;  ///< a solve has not settled
  std::vector<double> b_, asked_, delta_;
};

}  // namespace catena
