// Connected components of a problem on one rank: blocks that have nothing to do with each other.
#pragma once

#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// Blocks that are connected with each other by bodies, ascending.
struct Component {
  std::vector<Index> blocks;
  Index rows = 0;
};

/// Local, one rank. All components, in the order of their first blocks. Two blocks are connected
/// where they act on the same body, unless that has no inverse mass (prescribed ones, and those
/// with M^-1 = 0); rows of an assembled operator by entries other than 0. O(blocks).
std::vector<Component> connected_components(const ConstraintProblem& problem);

/// Local, one rank. A component's blocks and their bodies as a problem of their own; both in the
/// order of `problem`. Rows lie one after the other as in rows_of().
ConstraintProblem problem_of(const ConstraintProblem& problem, const Component& component);

/// Rows of a component's blocks in `problem`, in the order of problem_of().
std::vector<Index> rows_of(const ConstraintProblem& problem, const Component& component);

}  // namespace catena
