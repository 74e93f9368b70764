#include "solvers/joints/elimination/redundant/null_values.hpp"

#include <algorithm>

namespace catena {
namespace {

/// Up to kNullOfMisfit m^2 the widest gap in the spectrum decides. Above kSoftest nothing is null
/// whatever the misfit: a direction that is taken for null holds nothing together, one that is
/// taken for genuine stops the mechanism for a step.
constexpr double kNullOfMisfit = 1e4;
constexpr double kSoftest = 1e-4;
/// Least ratio that is a gap: the softest values of a chain of N hinges, all of them genuine,
/// follow each other as 1, 16, 81, 256, ...
constexpr double kGap = 30.0;

}  // namespace

double null_by_misfit(double misfit) { return std::min(kNullOfMisfit * misfit * misfit, kSoftest); }

Eigen::Index count_null(const Eigen::VectorXd& values, double misfit, double above) {
  const double expected = std::max(kNull, misfit * misfit);
  const double most = std::max(kNull, null_by_misfit(misfit));
  Eigen::Index least = 0;
  while (least < values.size() && values[least] <= kNull) ++least;
  // beyond that a misfit says nothing of which values are null
  if (least == values.size() || expected > kSoftest) return least;
  Eigen::Index null = least;
  double widest = std::max(kGap, values[least] / expected);
  for (Eigen::Index n = least + 1; n <= values.size() && values[n - 1] <= most; ++n) {
    const double gap = (n < values.size() ? values[n] : above) / std::max(values[n - 1], expected);
    if (!(gap > widest)) continue;
    widest = gap;
    null = n;
  }
  return null;
}

}  // namespace catena
