// Redundant rows of joints by null vectors.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "solvers/joints/elimination/redundant/suspicious_rows.hpp"

namespace catena {

/// N: null vectors of A, D-orthonormal within each mechanism; with it what redundant rows
/// contradict is taken out of right-hand sides, and reactions are made those of least norm. Without
/// any, neither changes anything.
class NullVectors {
 public:
  /// Both must outlive it.
  NullVectors(OwnRows& rows, RegularisedFactor& factor) : rows_(&rows), factor_(&factor) {}

  void clear();
  /// Collective where there are guests. Among the combinations of the softest directions; appends
  /// the redundant rows, as many as there are null vectors.
  void find(const MechanismRows& joints, const SuspiciousRows& suspicious,
            std::vector<Index>& redundant);
  /// Collective where there are guests. b <- b - D N N^T b, after drives have yielded. Returns the
  /// energy of what was taken out, J.
  double take_out_contradictions(std::span<double> b);
  /// Collective where there are guests. x <- x - N N^T D x: what is left is of least norm in the
  /// metric of D.
  void remove_reactions_at_rest(std::span<double> x);

 private:
  void iterate(const SuspiciousRows& suspicious);
  void separate(const MechanismRows& joints, const SuspiciousRows& suspicious,
                std::vector<Index>& redundant);
  void find_yielding_drives(double misfit);
  void yield_drives(std::span<double> b);

  OwnRows* rows_;
  RegularisedFactor* factor_;
  std::vector<std::vector<double>> null_;  ///< vector i of all mechanisms in one
  /// Per mechanism the compliance of its drives, D^(1/2) b of its drives' rows, for N^T b = 1.
  std::vector<Eigen::MatrixXd> yield_;
  std::vector<std::vector<Index>> drives_;  ///< per mechanism: rows
  std::vector<double> scratch_, asked_;
};

}  // namespace catena
