#include "solvers/joints/elimination/redundant/growing_pivots.hpp"

#include <algorithm>
#include <cmath>

namespace catena {
namespace {

/// A redundant row's pivot is proportional to epsilon, any other's is not: geometric mean of no
/// growth and all of it between the two epsilons.
const double kGrowth = std::sqrt(kLargeRegularisation / kJointRegularisation);
/// epsilon once rows have been found, in misfits of the joints (MechanismRows::misfit).
constexpr double kRegularisationOfMisfit = 1e-3;

/// Misfits contradict each other on redundant rows by about their size, which 1/epsilon magnifies.
/// No larger than it must be: what holds a mechanism together may be as soft as that.
double regularisation_by_misfit(double misfit) {
  return std::clamp(kRegularisationOfMisfit * misfit, kJointRegularisation, kLargeRegularisation);
}

}  // namespace

void GrowingPivots::find(const MechanismRows& joints, const SuspiciousRows& suspicious,
                         std::vector<Index>& redundant) {
  const std::span<const double> pivot = suspicious.pivots();
  const std::vector<std::vector<Index>>& candidates = suspicious.candidates();
  std::vector<double> second(pivot.size());
  factor_->factor(joints, kLargeRegularisation, true);
  factor_->cholesky().pivots(second);
  factor_->factor(joints, regularisation_by_misfit(joints.misfit), true);
  searched_.assign(pivot.size(), Searched::no);
  // of mechanisms that were not asked, or passed
  for (std::size_t i = 0; i < pivot.size(); ++i)
    if (candidates[rows_->mechanism()[i]].empty() && pivot[i] < kSuspicious)
      searched_[i] = Searched::genuine;
  for (const std::vector<Index>& rows : candidates) {
    for (const Index row : rows) {
      if (row == kNoIndex) continue;
      searched_[row] = Searched::genuine;
      // round-off may have taken the first pivot
      const double first = std::max(pivot[row], kPivotFloor * kJointRegularisation);
      if (!(second[row] > kGrowth * first * rows_->diagonal()[row])) continue;
      searched_[row] = Searched::redundant;
      redundant.push_back(row);
    }
  }
  found_ = rows_->any(!redundant.empty());
}

bool GrowingPivots::factor_again(const MechanismRows& joints, SuspiciousRows& suspicious) {
  factor_->factor(joints, regularisation_by_misfit(joints.misfit), true);
  if (factor_->cholesky().costly_pivots()) return true;
  suspicious.read_pivots(*factor_);
  const std::span<const double> pivot = suspicious.pivots();
  bool changed = false;
  for (std::size_t i = 0; i < pivot.size(); ++i) {
    changed |= searched_[i] == Searched::no
                   ? pivot[i] < kSuspicious
                   : searched_[i] == Searched::redundant && pivot[i] > kDoubtful;
  }
  found_ = !rows_->any(changed);
  return found_;
}

}  // namespace catena
