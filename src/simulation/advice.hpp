// What to change in a case whose step failed, from what was measured of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/solvers/solver.hpp"

namespace catena {

/// The largest of something over all bodies or pairs, and whose it is; 0: there is none.
struct Extreme {
  double value = 0.0;
  GlobalId a = kNoBody, b = kNoBody;
  std::string name_a, name_b;
};

/// How a solve converged.
struct Convergence {
  int iterations = 0;
  double error = 0.0, wanted = 0.0;  ///< of the stop rule's metric
  /// Factor of the error per iteration over the last half of the solve; NaN: not known.
  double factor = 0.0;
  /// Iterations that it would still take at this factor; infinite where the error does not fall.
  double missing = 0.0;
  /// 1 / (1 - factor): of the size of the condition number for sweeps, infinite at 1.
  double condition = 0.0;
};
/// Local. From a report's history.
Convergence convergence_of(const SolveReport& report);

/// What is measured of a failed step, over all ranks.
struct FailureMeasures {
  bool blow_up = false;        ///< else the tolerance was missed
  bool finite = true;          ///< the solve did not break down
  std::string method, metric;  ///< names of solver.method and solver.metric
  std::string unit;            ///< of the metric
  std::string body;            ///< that blew up; empty: none is known
  Convergence convergence;
  Extreme mass_ratio;        ///< heavier over lighter of two dynamic bodies in a contact or joint
  Extreme overlap;           ///< penetration over the smaller body's bounding radius
  double penetration = 0.0;  ///< m, deepest
  Extreme motion;            ///< way in a step over the bounding radius, or angle in a step, rad
  double step = 0.0;         ///< h, s
  std::int64_t bodies = 0;   ///< dynamic ones
  std::int64_t contacts = 0;
  std::int64_t rows = 0;           ///< of all constraints
  double contacts_per_body = 0.0;  ///< that a dynamic body takes part in, on average
  std::int64_t most_contacts = 0;  ///< of one body
  bool explicit_stepper = false;   ///< time.stepper: natural
  bool joints_swept = false;       ///< solver.joints.method: iterative
  std::int64_t longest_chain = 0;  ///< joints
};

/// Reasons, the gravest first, and one paragraph that says what was measured and what to change.
struct Advice {
  std::vector<std::string> reasons;  ///< overlap, fast_motion, mass_ratio, ...; see docs/output.md
  std::string text;
};

Advice advise(const FailureMeasures& measures);

}  // namespace catena
