// A dumped step as the run held it: group /catena/step of a problem file.
#pragma once

#include "catena/constraints/constraint_problem.hpp"
#include "io/hdf5/file.hpp"

namespace catena {

/// Collective. The problem of all ranks on rank 0, as one rank would hold it: bodies by rank, each
/// rank's in its order, prescribed ones once; contacts by key and other blocks by name where there
/// is more than one rank. Every block keeps the subdomain that sweeps it.
ConstraintProblem gather_step(const ConstraintProblem& problem);

/// Not collective, after all else is in the file: group /catena/step.
void write_step(hdf5::File& file, const ConstraintProblem& step);

}  // namespace catena
