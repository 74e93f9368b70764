// Newton's direction for a proximal problem.
#pragma once

#include <span>
#include <vector>

#include "solvers/newton/law_function.hpp"
#include "solvers/newton/newton_system.hpp"

namespace catena {

/// The direction d of lambda with
///
///   (A + alpha B D) d + B N d = -F,   A = dF/dlambda, B = dF/dw,
///
/// alpha the proximal weight and D the rows' scales, and what w + alpha D lambda becomes along it.
class ProximalDirection {
 public:
  /// Local. All must outlive it.
  ProximalDirection(const ConstraintProblem& problem, DelassusOperator& op, const LawFunction& law,
                    NewtonSystem& system);

  /// Local. F and its derivatives at (lambda, w); returns this rank's |F|^2.
  double differentiate(std::span<const double> lambda, std::span<const double> w,
                       std::span<double> f) {
    return law_.differentiate(lambda, w, f, a_, b_);
  }
  /// Collective. For the derivatives that were taken last; false: there is no factor.
  bool find(double weight, std::span<const double> f);
  std::span<const double> lambda() const { return lambda_; }
  std::span<const double> w() const { return w_; }
  int linear_iterations() const { return linear_iterations_; }

 private:
  const ConstraintProblem& problem_;
  DelassusOperator& op_;
  const LawFunction& law_;
  NewtonSystem& system_;
  BlockMatrices a_, b_, c_;
  std::vector<double> right_, lambda_, w_;
  int linear_iterations_ = 0;
};

}  // namespace catena
