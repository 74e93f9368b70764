// A factor of joints' A with something added to its diagonal.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "solvers/joints/elimination/redundant/own_rows.hpp"
#include "solvers/joints/elimination/tree_factor.hpp"

namespace catena {

/// The second regularisation with which redundant rows are found that are too many for null
/// vectors, and the largest one.
inline constexpr double kLargeRegularisation = 1e-9;

/// As small as a sum with the diagonal can tell: E x is round-off, and nothing is to be refined.
inline constexpr double kRoundOffAlone = std::numeric_limits<double>::epsilon();

/// A + E, E = epsilon D. Its solution x has the residual E x in A x = b, exactly: no product with A
/// is needed to refine it.
class RegularisedFactor {
 public:
  /// `rows` must outlive it.
  RegularisedFactor(std::unique_ptr<CholeskyFactor> factor, const OwnRows& rows);

  /// `soft_drives`: rows of drives have a larger epsilon, so that what contradicts is for the most
  /// part theirs. Where the matrix is not positive definite to round-off, that of
  /// kLargeRegularisation; throws Error if that is not, either.
  void factor(const MechanismRows& joints, double epsilon, bool soft_drives = false);
  double epsilon() const { return epsilon_; }
  std::span<const double> added() const { return added_; }  ///< E

  /// x <- (A + E)^-1 x.
  void solve(std::span<double> x) { factor_->solve(x); }
  /// x <- theta x, theta = (A + E)^-1 E: 1 on null vectors, and on a vector of the value sigma =
  /// n^T A n, n^T D n = 1, epsilon/(epsilon + sigma).
  void damp(std::span<double> x);

  CholeskyFactor& cholesky() const { return *factor_; }

 private:
  std::unique_ptr<CholeskyFactor> factor_;
  const OwnRows* rows_;
  double epsilon_ = 0.0;
  std::vector<double> added_;
};

}  // namespace catena
