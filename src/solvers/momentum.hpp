// Nesterov's momentum.
#pragma once

#include <algorithm>
#include <cmath>

namespace catena {

/// How far beyond the last step the next one starts, beta in y = x_k + beta (x_k - x_(k-1)):
///
///   theta_(k+1)^2 = (1 - theta_(k+1)) theta_k^2,
///   beta = theta_k (1 - theta_k) / (theta_k^2 + theta_(k+1))
///
/// (Y. Nesterov, Introductory lectures on convex optimization, 2004, section 2.2). It grows from 0
/// to 1; a new one is a restart.
struct Momentum {
  double theta = 1.0, beta = 0.0;

  void grow() {
    const double squared = theta * theta;
    const double next = 0.5 * (theta * std::sqrt(squared + 4.0) - squared);
    beta = theta * (1.0 - theta) / (squared + next);
    theta = next;
  }

  /// Back to about half as many steps since the start, theta falling as 2/k.
  void halve() { theta = std::min(1.0, 2.0 * theta); }
};

}  // namespace catena
