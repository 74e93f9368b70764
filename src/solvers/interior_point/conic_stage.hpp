// One stage of interior point: direction, correctors, step.
#pragma once

#include <vector>

#include "solvers/interior_point/conic_iterate.hpp"
#include "solvers/interior_point/second_order_cone.hpp"

namespace catena {

/// Mehrotra's predictor and corrector in Nesterov and Todd's scaling W, for W^-1 s = W z.
class ConicStage {
 public:
  /// Both must outlive it.
  ConicStage(ConicIterate& iterate, ConicSystem& system);

  /// Collective. Moves and measures the iterate; false if the linear systems cannot be solved or no
  /// step is left.
  bool advance();
  /// The part of its direction that the last stage took.
  double step() const { return step_; }

 private:
  /// A change of the iterate that takes the products W^-1 s o W z by -products; `s_hat` = W^-1 s,
  /// `z_hat` = W z.
  struct Direction {
    std::vector<double> lambda;
    std::vector<Vec3> s, z, s_hat, z_hat, products;
  };

  bool factor();
  bool direct(double tolerance, Direction& out);
  double step_length(const Direction& d) const;
  double mu_after(const Direction& d, double t) const;
  bool predict(double tolerance);
  bool correct(double tolerance);
  bool move();

  ConicIterate& iterate_;
  ConicSystem& system_;
  std::vector<second_order_cone::Scaling> scaling_;
  std::vector<Vec3> point_;            ///< W^-1 s = W z
  std::vector<Vec3> quotient_, pull_;  ///< of a direction: u, and Q^T (W u + s_gap)
  Direction direction_, trial_;
  double target_mu_ = 0.0, step_ = 0.0;
  std::vector<double> right_;
};

}  // namespace catena
