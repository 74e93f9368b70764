// The groups of a problem's contacts.
#pragma once

#include <span>

#include "catena/base/huge_pages.hpp"
#include "solvers/first_order/row_layout.hpp"

namespace catena::first_order {

/// All contacts of a layout's groups, with three iterates each.
class ContactGroups {
 public:
  /// Lanes without a contact, and bodies that a contact has not, take the six velocities from
  /// `nowhere` on.
  ContactGroups(const ConstraintProblem& problem, const RowLayout& layout, Index nowhere);

  /// x of the impulses, made admissible.
  void load(std::span<const double> impulses, int slot);
  void store(int slot, std::span<double> impulses) const;
  /// The pass over all groups.
  StepSums step(const StepPass& pass);

 private:
  void pack_sphere(const Place& place, const RigidContact& contact);
  void pack_contact(const Place& place, const RigidContact& contact);
  void pack_rows(const Place& place);
  /// Rows of a place in an iterate, in the contact's frame.
  Vec3 get(const Place& place, int slot) const;
  void set(const Place& place, int slot, const Vec3& x);

  const ConstraintProblem& problem_;
  const RowLayout& layout_;
  StepKernels kernels_;
  std::size_t n_grouped_ = 0;  ///< places in groups
  HugeVector<SphereGroup> spheres_;
  HugeVector<ContactGroup> contacts_;
  HugeVector<RowGroup> rows_;
};

}  // namespace catena::first_order
