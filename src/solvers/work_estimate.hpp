// What the iterations of contact solvers take, counted, not timed: the same on every machine.
#pragma once

#include <cstdint>

#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// Work of one iteration on this problem, in seconds of a core that does 5e9 sparse and 1.5e10
/// dense operations a second; meant for ratios. The largest of all ranks where ranks work at once.
struct WorkEstimate {
  double sweep = 0.0;        ///< of Gauss-Seidel
  double product = 0.0;      ///< of apgd
  double newton_step = 0.0;  ///< one factor of the Newton system, assembled and solved
  std::int64_t unknowns =
      0;                  ///< of the Newton system: velocities, or rows of an assembled operator
  std::int64_t rows = 0;  ///< of all ranks
};

/// Seconds of a factor of the Newton system with so many unknowns, the same way.
double estimate_factor(std::int64_t unknowns);

/// The same of a dense matrix with so many rows.
double estimate_dense_factor(std::int64_t rows);

/// Collective.
WorkEstimate estimate_work(const ConstraintProblem& problem);

}  // namespace catena
