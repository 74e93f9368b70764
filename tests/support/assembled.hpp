// N of small problems by N times unit vectors, and problems without bodies made of it.
#pragma once

#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena::test {

/// Dense N of a problem on one rank, row by row (n_rows x n_rows), by DelassusOperator::apply.
std::vector<double> assemble_dense(const ConstraintProblem& problem);

/// The same problem as an assembled operator (one rank only): no bodies. Throws std::logic_error
/// where blocks other than contacts of 3 rows without cohesion exist.
ConstraintProblem assembled_problem(const ConstraintProblem& problem);

}  // namespace catena::test
