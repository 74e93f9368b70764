// How far impulses are from the sets that their blocks admit.
#pragma once

#include <span>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/metrics/errors.hpp"

namespace catena {

/// Local. Of this rank's blocks (Errors::cone_violation, Errors::largest_impulse); no impulses:
/// zeros. `row_diagonal`: N_ii of the general blocks' rows, which bring rolling and spinning rows
/// to N s. A number that is not finite makes the distance infinite.
ConeViolation cone_violation_of(const ConstraintProblem& problem, std::span<const double> impulses,
                                std::span<const double> row_diagonal);

}  // namespace catena
