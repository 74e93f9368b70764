// Which rank eliminates which joint, and where its rows stand there.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/partition/mechanisms.hpp"
#include "catena/solvers/joint_solver_settings.hpp"

namespace catena {

/// A bilateral block of a problem, as the rank that holds it sees it.
struct HeldJoint {
  std::int64_t name = 0;
  Index block = 0;                          ///< number among the general blocks
  Index rows = 0;                           ///< that are eliminated
  Index left_out = 0;                       ///< the block's rows behind these, which are at rest
  std::array<std::uint8_t, 4> member = {};  ///< its dynamic bodies among those of the block
  std::int16_t drives = 0;                  ///< of the rows, the last ones: motors without bound
  std::int8_t bodies = 0;                   ///< dynamic ones
  std::int8_t rested = 0;                   ///< factorisations since all of `rows` were live
  /// Ranks of these; 0 where layouts do not follow them.
  std::array<int, 4> owner = {0, 0, 0, 0};

  /// Of its j-th dynamic body: the place in GeneralBlocks::body.
  Index reference(const ConstraintProblem& problem, Index j) const {
    return problem.blocks.body_begin[block] + member[j];
  }
  Index body(const ConstraintProblem& problem, Index j) const {
    return problem.blocks.body[reference(problem, j)];
  }
  /// Whether a layout made with one of the two serves the other.
  bool is_like(const HeldJoint& other) const {
    return name == other.name && rows == other.rows && bodies == other.bodies &&
           drives == other.drives && owner == other.owner;
  }
};

/// Rows of the joints held here, and whether a layout serves them.
struct HeldRows {
  std::int64_t rows = 0, resting = 0;  ///< eliminated; of these at rest for long
  std::int64_t outdated = 0;           ///< 1: other joints, or rows, or ranks of their bodies
  std::int64_t too_small = 0;          ///< 1: rows that the layout left out have come to life
};

/// Whether a layout serves joints.
enum class LayoutUse : std::int8_t {
  serves,     ///< as it is
  outdated,   ///< a new one is to be made
  too_small,  ///< a new one with all rows at rest: some that it left out have come to life
};

/// Local. `held` becomes all of a problem's bilateral blocks, in their order. Returns whether a
/// layout made with what it was before serves them. Rows that it has stay where they are at rest,
/// until many have been so for long; not where the problem is ordered: there all must follow from
/// the problem as it is.
HeldRows find_held_joints(const ConstraintProblem& problem, std::vector<HeldJoint>& held);
/// Collective. By what all ranks hold, the same on each.
LayoutUse layout_use(const Communicator& comm, const HeldRows& own);
/// Local. Says which rows at rest a new layout has: all, or those that were live not long ago.
void choose_rows_at_rest(const ConstraintProblem& problem, bool all, std::span<HeldJoint> held);

/// A joint as the rank that eliminates it sees it; travels there as it is.
struct AssignedJoint {
  int holder = 0;         ///< rank that holds it
  std::size_t index = 0;  ///< of the joints held here, or of those received
  std::int64_t name = 0;
  int rows = 0;
  int drives = 0;  ///< of them, the last ones: motors without bound
  JointPlace place;
  std::int64_t position = -1;  ///< among the chains of all ranks; -1: in none
  int node = 0;                ///< of a cut mechanism's PartTree; 0: in none
  std::int64_t group = -1;     ///< of the others: -1, or the mechanism if it stands alone
  int bodies = 0;              ///< dynamic ones
  std::array<GlobalId, 4> body = {};
  std::array<Index, 4> dofs = {};  ///< of each
  std::array<MassKind, 4> mass_kind = {};
  std::size_t first_row = 0;  ///< its first place among the rows of a JointLayout

  bool is_chain() const { return position >= 0; }
  bool is_cut() const { return node > 0; }
  /// Numbers of G and M^-1 of its j-th body.
  std::size_t numbers_of(int j) const {
    const std::size_t n = dofs[j];
    return Offset{rows} * n + (mass_kind[j] == MassKind::rigid ? 7 : n * n);
  }
};

/// Who eliminates what, as long as the same blocks stand in the same order on every rank. A vector
/// of its rows has those of all assigned joints in their order, then `width` places for each joint
/// that is held here and eliminated by another rank.
struct JointLayout {
  MechanismCount count;  ///< the same on every rank
  int width = 6;         ///< most rows of a block, of all ranks
  /// Of all cut mechanisms, ascending in component, the same on every rank.
  std::vector<MechanismParts> parts;
  /// Chains by position, then cut mechanisms by the places of their nodes and by name, then the
  /// others by group, mechanism and name.
  std::vector<AssignedJoint> assigned;
  std::size_t n_chain = 0;                ///< of them: in chains
  std::size_t n_cut = 0;                  ///< of them: in cut mechanisms
  std::size_t n_received = 0;             ///< of them: held by other ranks
  std::vector<std::int64_t> chain_begin;  ///< JointAssignment::first
  /// Per rank that eliminates some of them: joints held here, ascending in both.
  std::vector<std::pair<int, std::vector<std::size_t>>> sent;
  std::vector<Index> held_row;  ///< per joint held here: its first row
  std::size_t n_assigned_rows = 0, n_rows = 0;

  /// Those of a mechanism that is cut.
  const MechanismParts& parts_of(std::int64_t component) const {
    return *std::ranges::lower_bound(parts, component, {}, &MechanismParts::component);
  }
};

/// Collective. Throws Error(bad_input) where the method refuses a mechanism.
JointLayout lay_out_joints(const ConstraintProblem& problem, std::span<const HeldJoint> held,
                           const JointSolverSettings& settings);

}  // namespace catena
