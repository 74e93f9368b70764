// Which sweeps are worth a look at the errors.
#pragma once

#include "catena/metrics/errors.hpp"

namespace catena {

/// A look at the errors is an estimate, or an evaluation, which costs some sweeps. Where the change
/// of a sweep is known, |f|^2 in a norm in which it falls as the energy error does
/// (SweepEngine::change), the error of the present iterate is foretold from the last look's:
///
///   excess(now) = excess(last look) (change(now) / change(last look))^p,  p = 1 of the energy, 1/2
///
/// of the other metrics, which are of the order of its root. A look that is asked for is left out
/// while that is above kFar, kMostLeftOut in a row at most, and one that is not is made where it is
/// below kNear. Where the change is not known (NaN), and before the first look, looks are made as
/// they are asked for, and the last sweep is always evaluated.
class Looks {
 public:
  Looks(Metric metric, int max_iterations)
      : last_sweep_(max_iterations), exponent_(metric == Metric::energy ? 1.0 : 0.5) {}

  /// Whether the iterate after `sweep` is to be evaluated, which is then taken to be done; to be
  /// asked once per sweep. `asked`: by the stop rule. `excess`: error over what is to be reached
  /// (StopMonitor::excess) of the last look. The same on every rank where the arguments are.
  bool due(int sweep, double change, bool asked, double excess);

  static constexpr double kFar = 4.0, kNear = 0.5;
  static constexpr int kMostLeftOut = 3;

 private:
  int last_sweep_;
  double exponent_;
  int at_ = 0, left_out_ = 0;  ///< sweep of the last look; looks left out since
  double change_ = 0.0;        ///< at the last look
};

}  // namespace catena
