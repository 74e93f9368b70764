#include "solvers/first_order/row_layout.hpp"

#include <algorithm>

#include "catena/constraints/contact_cone.hpp"
#include "solvers/sphere_contacts.hpp"

namespace catena::first_order {
namespace {

/// Two bodies of six velocities each, or one.
bool fits_rows(const ConstraintProblem& problem, Index general) {
  const GeneralBlocks& blocks = problem.blocks;
  const Index first = blocks.body_begin[general], last = blocks.body_begin[general + 1];
  return last - first <= 2 && std::all_of(blocks.body.begin() + first, blocks.body.begin() + last,
                                          [&](Index b) { return problem.bodies.dofs(b) == 6; });
}

/// Appends contacts of one kind, padded to whole groups; returns the number of groups.
std::size_t place_contacts(const std::vector<Index>& blocks, RowLayout& layout) {
  for (std::size_t i = 0; i < blocks.size(); ++i)
    layout.places.push_back(
        {blocks[i], layout.size + (i / kLanes) * kGroupRows + i % kLanes, kLanes, 3});
  const std::size_t n = (blocks.size() + kLanes - 1) / kLanes;
  layout.size += n * kGroupRows;
  return n;
}

}  // namespace

RowLayout lay_out(const ConstraintProblem& problem, bool with_joints) {
  const auto n_contacts = to_index(problem.contacts.size());
  SphereContacts round;
  round.start(problem);
  const bool discs = !law_form(problem.law).box;
  const auto six = [&](Index b) { return problem.bodies.dofs(b) == 6; };
  std::vector<Index> spheres, contacts, rows, flat;
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    if (view.kind == BlockKind::bilateral && !with_joints) continue;
    if (view.kind != BlockKind::contact || view.rows != 3 || !has_kernels(problem) ||
        problem.assembled) {
      flat.push_back(k);
    } else if (k >= n_contacts) {
      (fits_rows(problem, k - n_contacts) ? rows : flat).push_back(k);
    } else {
      const RigidContact& c = problem.contacts[k];
      (!six(c.body_a) || !six(c.body_b) ? flat
       : discs && round.contains(c)     ? spheres
                                        : contacts)
          .push_back(k);
    }
  }
  RowLayout layout;
  layout.sphere_groups = place_contacts(spheres, layout);
  layout.contact_groups = place_contacts(contacts, layout);
  layout.row_groups = place_contacts(rows, layout);
  for (const Index k : flat) {
    const std::size_t n = block_view(problem, k).rows;
    layout.places.push_back({k, layout.size, 1, n});
    layout.size += n;
  }
  return layout;
}

}  // namespace catena::first_order
