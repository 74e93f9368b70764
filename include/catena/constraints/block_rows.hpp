// The one walk over the bodies that a block acts on.
#pragma once

#include <array>

#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// Calls visit(body, G) for the bodies of general block k in their order; G: rows x dofs numbers,
/// row by row.
template <class Visit>
void for_each_body(const GeneralBlocks& blocks, Index k, Visit&& visit) {
  for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j)
    visit(blocks.body[j], blocks.jacobian.data() + blocks.jacobian_begin[j]);
}

/// The same for any block of a problem with bodies: G of a rigid contact (body a, then b; 3 x 6) is
/// made for the call.
template <class Visit>
void for_each_body(const ConstraintProblem& problem, Index block, Visit&& visit) {
  const auto n_contacts = to_index(problem.contacts.size());
  if (block >= n_contacts) return for_each_body(problem.blocks, block - n_contacts, visit);
  const RigidContact& c = problem.contacts[block];
  std::array<double, 18> g_a, g_b;
  contact_jacobian(c, g_a, g_b);
  visit(c.body_a, static_cast<const double*>(g_a.data()));
  visit(c.body_b, static_cast<const double*>(g_b.data()));
}

/// Calls visit(body) for the bodies of a block in the same order, without Jacobians.
template <class Visit>
void for_each_body_index(const ConstraintProblem& problem, Index block, Visit&& visit) {
  const auto n_contacts = to_index(problem.contacts.size());
  if (block < n_contacts) {
    visit(problem.contacts[block].body_a);
    visit(problem.contacts[block].body_b);
    return;
  }
  const GeneralBlocks& blocks = problem.blocks;
  const Index k = block - n_contacts;
  for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) visit(blocks.body[j]);
}

}  // namespace catena
