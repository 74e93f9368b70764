// Where bodies lie beside each other, from the arms of their contacts and joints.
#pragma once

#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// Collective. Positions of the local bodies' centres of mass, m, each from some point that all
/// bodies share that are connected by contacts or joints that hold points together (prescribed
/// bodies connect nothing): x_a + r_a = x_b + r_b. Where loops do not close (periodic scenes) one
/// way round is taken. Zero for prescribed bodies.
std::vector<Vec3> contact_positions(const ConstraintProblem& problem);

}  // namespace catena
