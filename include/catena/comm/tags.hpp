// The register of message tags: a name for each exchange, so that no two that are under way on one
// communicator at once can take each other's messages.
#pragma once

#include <cstddef>

namespace catena {

/// Tags of messages, one a purpose, so that no two exchanges mix.
enum class Tag : int {
  // of this module's own: two sparse exchanges in turn, ordered reductions, timing of messages
  exchange = 1,
  next_exchange,
  reduction,
  timing,
  // partition
  graph_parts,
  // constraints
  delassus_forces,
  delassus_velocities,
  delassus_impulses,
  delassus_ordered_forces,
  // solvers/gauss_seidel
  assembled_impulses,
  shared_changes,
  shared_velocities,
  // solvers/first_order
  product_forces,
  product_velocities,
  product_impulses,
  product_scales,
  block_counts,
  whole_block_counts,
  // solvers/newton and interior_point
  newton_forces,
  newton_velocities,
  delassus_entry_rows,
  mode_positions_to_ghosts,
  mode_positions_to_owners,
  // solvers/joints
  joint_rows_to_eliminator,
  joint_rows_from_eliminator,
  joint_velocities,
  joint_changes,
  joint_ordered_changes,
  jointed_bodies,
  all_jointed_bodies,
  chain_couplings,
  chain_updates,
  chain_forward,
  chain_backward,
  chain_gathered_factor,
  chain_gathered_forward,
  chain_gathered_backward,
  across_jacobians,
  across_values,
  across_root_masses,
  across_root_velocities,
  across_updates,
  across_forward,
  across_backward,
  // stepper
  stiffness_to_owners,
  stiffness_to_ghosts,
  stiffness_in_order,
  natural_places,
  natural_loads,
  // probes
  contact_counts,
  // drivers
  calibration,
  /// The levels of a chain take kTagsPerLevel each from here on: the last of the register.
  chain_levels
};

/// Messages of different kinds at one level of a chain's elimination.
inline constexpr int kTagsPerLevel = 3;

/// Tag `k` of a chain's level.
constexpr Tag chain_level_tag(std::size_t level, int k) {
  return Tag{static_cast<int>(Tag::chain_levels) + kTagsPerLevel * static_cast<int>(level) + k};
}

}  // namespace catena
