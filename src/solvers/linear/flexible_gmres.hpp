// Generalised minimal residuals with a preconditioner that may change from step to step.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/constraints/operator.hpp"

namespace catena {

/// Saad's FGMRES, restarted, for A x = g on distributed vectors. Keeps its memory between solves.
class FlexibleGmres {
 public:
  /// z = P^-1 r, whose residual should fall below `goal` (2-norm); collective. False: failed.
  using Precondition =
      std::function<bool(std::span<const double> r, double goal, std::span<double> z)>;
  struct Report {
    bool finite = true;
    int iterations = 0;
    double residual = 0.0;  ///< |g - A x| / |g|, recomputed
  };

  explicit FlexibleGmres(const Communicator& comm) : comm_(comm) {}

  /// Collective. x from zero until the residual is below `tolerance` or no longer falls.
  Report solve(Operator& a, const Precondition& precondition, std::span<const double> g,
               std::span<double> x, double tolerance);

 private:
  double norm(std::span<const double> v) const;
  bool cycle(Operator& a, const Precondition& precondition, double goal, std::span<double> x,
             Report& report);

  Communicator comm_;
  std::vector<std::vector<double>> basis_, directions_;
  std::vector<double> residual_, trial_;
};

}  // namespace catena
